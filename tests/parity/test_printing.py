"""Tensors print as in PyTorch under all print options."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau

torch = pytest.importorskip("torch")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "bool"]
COMPLEX = ["complex64", "complex128"]

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-10, 10),
    st.floats(0.5, 400),
    st.integers(-1000, 1000).map(float),
    st.sampled_from([0.0, -0.0, 1e8, 1e8 + 1, 1e-4, 9.99e-5, 0.99995, 1000.0, 1e-45, 65504.0, float("nan"), float("inf")]),
)
shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 8]), max_size=4).map(tuple)
options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 3, 10, 1000, float("inf")]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.sampled_from([1, 20, 40, 80, 120]),
        "profile": st.sampled_from(["default", "short", "full", "unknown"]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


@pytest.fixture(autouse=True)
def default_options():
    yield
    for library in (torch, flambeau):
        library.set_printoptions(profile="default")
        library.set_default_dtype(library.float32)


def both(make):
    """Return two strings: `repr(make(library))` for PyTorch and for flambeau."""
    return repr(make(torch)), repr(make(flambeau))


def assert_same(make):
    expected, got = both(make)
    assert got == expected


def values_of(data, shape):
    count = 1
    for size in shape:
        count *= size
    few = data.draw(st.lists(numbers, min_size=1, max_size=6))
    chosen = data.draw(st.lists(st.integers(0, len(few) - 1), min_size=min(count, 40), max_size=min(count, 40)))
    return [few[chosen[i % len(chosen)]] for i in range(count)]


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(FLOATS + INTEGERS + COMPLEX), shapes, options)
def test_any_tensor_under_any_options(data, dtype, shape, options):
    values = values_of(data, shape)
    if dtype in INTEGERS:
        values = [int(value) % 128 if abs(value) < 1e6 else 0 for value in values]
    if dtype in COMPLEX:
        values = list(map(complex, values, reversed(values)))

    def make(library):
        library.set_printoptions(profile="default")
        library.set_printoptions(**options)
        return library.tensor(values, dtype=getattr(library, dtype)).reshape(shape)

    assert_same(make)


@pytest.mark.parametrize("shape", [(1001,), (2, 600), (600, 2), (7, 7, 30), (6, 6, 6, 6), (1, 1001, 1), (40, 1, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_summaries(shape, dtype):
    def make(library):
        count = 1
        for size in shape:
            count *= size
        values = (library.arange(count) * 7919 % 100003).to(library.float64) / 64
        return values.to(getattr(library, dtype)).reshape(shape)

    assert_same(make)


@pytest.mark.parametrize("default", ["float32", "float64", "float16"])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + COMPLEX)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3,)])
def test_suffixes(default, dtype, shape):
    def make(library):
        library.set_default_dtype(getattr(library, default))
        return library.zeros(shape, dtype=getattr(library, dtype))

    assert_same(make)


@pytest.mark.parametrize(
    "make",
    [
        lambda library: library.ones(3, requires_grad=True),
        lambda library: library.ones(3, requires_grad=True) * 2,
        lambda library: library.ones(3, requires_grad=True) - 1,
        lambda library: library.ones(3, requires_grad=True) / 3,
        lambda library: library.ones(2, 2, requires_grad=True) @ library.ones(2, 2),
        lambda library: library.ones(2, 2, requires_grad=True).sum(),
        lambda library: library.ones(2, 2, requires_grad=True).mean(),
        lambda library: library.ones(2, 2, requires_grad=True).t(),
        lambda library: library.ones(2, 2, requires_grad=True)[0],
        lambda library: library.ones(2, 2, requires_grad=True).view(4),
        lambda library: library.ones(2, 2, requires_grad=True).clone(),
        lambda library: library.ones(20, dtype=library.float64, requires_grad=True).exp(),
        lambda library: library.ones(2, requires_grad=True).detach(),
        lambda library: library.zeros(0, 2, requires_grad=True).clone(),
        lambda library: library.nn.Parameter(library.ones(2)),
    ],
)
def test_autograd(make):
    assert_same(make)


@settings(max_examples=100, deadline=None)
@given(numbers, st.sampled_from(["", ".2f", "10.3e", "g", "+.1f", "<8", "%"]))
def test_format(value, spec):
    for dtype in ("float32", "float64"):
        assert format(flambeau.tensor(value, dtype=getattr(flambeau, dtype)), spec) == format(
            torch.tensor(value, dtype=getattr(torch, dtype)), spec
        )
