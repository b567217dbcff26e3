"""The sample table in flambeau and PyTorch: values, dtypes, shapes, strides, gradients, method forms and errors."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import bad_calls, families  # noqa: E402
from flambeau.conformance.samples.sample import find, replaced  # noqa: E402

WRONG_THERE = {"as_strided_scatter"}  # PyTorch passes the gradient of overwritten elements to the input
ROUNDED_THERE = {"nn.functional.hardsigmoid"}  # PyTorch computes the slope 1/6 in float32
RAISES_THERE = (
    "is not implemented",
    "modified by an inplace operation",
)  # in messages of PyTorch, where it lacks a derivative or fails to compute it
TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}


def named(table):
    return [
        pytest.param(each, id=f"{family}-{number}-{each.name}")
        for family, found in table.items()
        for number, each in enumerate(found)
    ]


def tensors_of(torch, sample, dtype):
    return [torch.tensor(each) for each in sample.arrays(np, dtype)]


def results(made):
    return list(made) if isinstance(made, (tuple, list)) else [made]


def plain(value):
    if not hasattr(value, "detach"):
        return np.asarray(value)
    return value.detach().resolve_conj().resolve_neg().numpy(force=True)


def layout(tensor):
    """Return the strides of dimensions longer than 1; other strides are arbitrary."""
    return [step for step, length in zip(tensor.stride(), tensor.shape, strict=True) if length > 1] if tensor.numel() else []


def assert_same(got, wanted, what, least_tolerance=1e-9):
    got, wanted = plain(got), plain(wanted)
    assert got.dtype == wanted.dtype, f"{got.dtype} here, {wanted.dtype} there: {what}"
    assert got.shape == wanted.shape, f"{got.shape} here, {wanted.shape} there: {what}"
    tolerance = TOLERANCE.get(got.dtype.name, least_tolerance)
    np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=what)


@pytest.mark.parametrize("sample", named(families()))
def test_results(sample):
    """Compare values, shapes, dtypes and strides. Dtypes without a PyTorch kernel are skipped."""
    for dtype in sample.dtypes:
        try:
            wanted = results(sample.call(theirs, *tensors_of(theirs, sample, dtype)))
        except (RuntimeError, NotImplementedError) as error:
            assert "not implemented for" in str(error) or "not supported" in str(error), error
            continue
        got = results(sample.call(ours, *tensors_of(ours, sample, dtype)))
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert_same(a, b, dtype)
            if hasattr(b, "stride"):
                assert layout(a) == layout(b), dtype
            if sample.view and b.numel():
                assert a.storage_offset() == b.storage_offset(), dtype


DIFFERENTIABLE = [each for each in named(families()) if each.values[0].grad and each.values[0].name not in WRONG_THERE]


@pytest.mark.parametrize("sample", DIFFERENTIABLE)
def test_gradients(sample):
    dtype = next((each for each in sample.dtypes if each in ("float64", "complex128")), None)
    found = [gradients(ours, sample, dtype or sample.dtypes[0])]
    try:
        found.append(gradients(theirs, sample, dtype or sample.dtypes[0]))
    except RuntimeError as error:
        assert any(each in str(error) for each in RAISES_THERE), error
        return
    for number, (got, wanted) in enumerate(zip(*found, strict=True)):
        if got is None or wanted is None:  # a gradient of None is equivalent to zeros
            assert not plain(got if wanted is None else wanted).astype(bool).any(), f"input {number}: {got} here, {wanted} there"
        else:
            assert_same(got, wanted, f"gradient of input {number}", 1e-7 if sample.name in ROUNDED_THERE else 1e-9)


def gradients(torch, sample, dtype):
    tensors = tensors_of(torch, sample, dtype)
    leaves = [each.requires_grad_() for each in tensors if each.is_floating_point() or each.is_complex()]
    made = [each for each in results(sample.call(torch, *tensors)) if each.requires_grad]
    rng = np.random.default_rng(0)
    weights = [torch.tensor(rng.uniform(-1, 1, tuple(each.shape))).to(each.dtype) for each in made]
    return torch.autograd.grad(made, leaves, weights, allow_unused=True) if made else []


@pytest.mark.parametrize("name", sorted({each.name for table in families().values() for each in table}))
def test_forms(name):
    """An operation has a method, an in-place method and `out=` if it has them in PyTorch, and only then."""
    method = name.removeprefix("Tensor.")
    for each in (method, method + "_"):
        if "." not in each:
            assert hasattr(ours.Tensor, each) == hasattr(theirs.Tensor, each), each
    assert takes_out(ours, name) == takes_out(theirs, name), "out="


def takes_out(torch, name):
    """Whether a sample's call accepts `out=`."""
    seen = []

    def with_out(*args, **kwargs):
        made = find(torch, name)(*args, **kwargs)
        places = [torch.empty(tuple(each.shape), dtype=each.dtype) for each in results(made) if hasattr(each, "dtype")]
        try:
            find(torch, name)(*args, **kwargs, out=places[0] if len(places) == 1 else tuple(places))
            seen.append(True)
        except TypeError:
            seen.append(False)
        return made

    for sample in (each for table in families().values() for each in table if each.name == name):
        sample.call(replaced(torch, name, with_out), *tensors_of(torch, sample, sample.dtypes[0]))
    return any(seen)


@pytest.mark.parametrize("bad", named(bad_calls()))
def test_errors(bad):
    caught = []
    for torch in (ours, theirs):
        with pytest.raises(Exception) as info:
            bad.call(torch, *[torch.tensor(each) for each in bad.arrays(np, bad.dtype)])
        caught.append(type(info.value))
    assert caught[0] is caught[1]
