"""Calls of the sample table with one invalid argument: flambeau raises the same type of exception as PyTorch.

Invalid shapes, dtypes, dimensions, sizes and mode names are tested here; wrong types in test_argument_types.py.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402
from flambeau.conformance.samples import families  # noqa: E402
from flambeau.conformance.samples.sample import find, replaced  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

TENSORS = {
    "of bools": lambda torch, x: x.bool(), "complex": lambda torch, x: x.to(torch.complex128), "whole": lambda torch, x: x.long(),
    "in half precision": lambda torch, x: x.to(torch.float16), "with more dimensions": lambda torch, x: x[None, None],
    "with no dimension": lambda torch, x: torch.ones((), dtype=x.dtype), "longer": lambda torch, x: longer(torch, x),
}  # fmt: skip
NUMBERS = {"too large": 30, "too small": -30}
SEQUENCES = {"too large": (30,), "too small": (-30,), "twice": (0, 0)}
WORDS = {"nonsense": "nonsense"}
TOLD_FIRST = {
    **dict.fromkeys(["of bools", "complex", "whole", "in half precision"], frozenset({RuntimeError, NotImplementedError})),
    "with no dimension": frozenset({RuntimeError, IndexError, ValueError}),
}


def longer(torch, x):
    return torch.ones((*x.shape[:-1], x.shape[-1] + 1) if x.ndim else (3,), dtype=x.dtype)


def invalid_variants(torch, value):
    """Return the ways to make an argument invalid: description -> function `(torch, argument)` that returns the invalid one."""
    if isinstance(value, torch.Tensor):
        return TENSORS
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], torch.Tensor):
        return {
            f"the last {each}": lambda torch, x, f=TENSORS[each]: [*x[:-1], f(torch, x[-1])]
            for each in ("longer", "with more dimensions")
        }
    table = {int: NUMBERS, str: WORDS, tuple: SEQUENCES, list: SEQUENCES}.get(type(value), {})
    return {what: lambda torch, x, wrong=wrong: type(x)(wrong) for what, wrong in table.items()}


def call_of(torch, sample):
    """Return the arguments of a sample's call as one dict, keyed by position or name."""
    calls = []

    def remember(*args, **kwargs):
        calls.append({**dict(enumerate(args)), **kwargs})
        return find(torch, sample.name)(*args, **kwargs)

    with contextlib.suppress(Exception):
        sample.call(replaced(torch, sample.name, remember), *map(torch.tensor, sample.arrays(np, sample.dtypes[0])))
    return calls[0] if calls else {}


def outcome(torch, name, call):
    torch.manual_seed(0)
    try:
        find(torch, name)(
            *[call[each] for each in call if isinstance(each, int)],
            **{each: value for each, value in call.items() if isinstance(each, str)},
        )
    except Exception as error:
        return type(error)
    return None


def errors_agree(got, wanted, what):
    # flambeau may support a call that PyTorch does not implement
    if got is wanted or (wanted is NotImplementedError and got is None):
        return True
    if {got, wanted} <= TOLD_FIRST.get(what, frozenset()):  # the call has two errors, and either may be reported
        return True
    return got is not None and wanted in (AttributeError, AssertionError, KeyError)  # accidents of PyTorch's Python code


SAMPLES: dict = {}
for _table in families().values():
    for _sample in _table:
        SAMPLES.setdefault(_sample.name, []).append(_sample)
CRASHES = {"lu_unpack", "nn.functional.embedding_bag"}  # not tested: PyTorch reads out of bounds and may crash
OTHER_MODES = {(place, what) for place in (2, 3) for what in ("too large", "too small")}
BIASES = {(2, "of bools"), (2, "whole"), (2, "in half precision")}
OTHERWISE = {
    "batch_norm": {(1, "with more dimensions"), (2, "with more dimensions")},  # PyTorch checks only the number of elements
    "nn.functional.batch_norm": {(3, "with more dimensions"), (4, "with more dimensions")},
    "affine_grid_generator": {(0, "whole")},  # flambeau rejects it: the grid would have an integer dtype
    "binary_cross_entropy_with_logits": {(1, "complex")},
    "conv_tbc": {*BIASES, (2, "complex")}, "convolution": {*BIASES, (2, "complex")},  # PyTorch casts the bias
    "embedding_bag": {(2, "of bools")},
    **{f"grid_sampler{dims}": OTHER_MODES for dims in ("", "_2d", "_3d")},  # PyTorch leaves the result uninitialized
    "rnn_relu": {(1, "with more dimensions")}, "rnn_tanh": {(1, "with more dimensions")},
    "combinations": {(1, "too large")},  # the sample has an empty tensor, for which PyTorch overflows
    # PyTorch rejects these only if `bins` is given
    "histogram": {(0, "in half precision")}, "histogramdd": {(0, "in half precision")},
    "index_reduce": {(0, "with more dimensions")},  # the call has two errors, and either may be reported
    # PyTorch has half precision FFTs of power-of-two lengths
    "istft": {("window", "of bools")}, "stft": {(0, "in half precision")},
    "lobpcg": {(0, "complex")},  # PyTorch's initial vectors are real
    "nn.functional.conv_transpose1d": BIASES, "nn.functional.conv_transpose2d": BIASES,  # PyTorch casts the bias
    "nn.functional.linear": {(2, "with more dimensions")},  # flambeau adds the bias with broadcasting
    "nn.functional.unfold": {("padding", "too large"), ("stride", "too large")},  # PyTorch rejects tuples of length 1
    "tensordot": {(2, "too large"), (2, "too small"), (2, "twice")},  # PyTorch requires a pair of tuples
}  # fmt: skip


@pytest.fixture(autouse=True)
def _left_to_right(monkeypatch):
    """Disable `opt_einsum`: it reorders the products of an einsum, which then raises other exceptions."""
    monkeypatch.setattr(theirs.backends.opt_einsum, "enabled", False)
    monkeypatch.setattr(ours.backends.opt_einsum, "enabled", False)


def differences(name):
    """Return the invalid arguments for which flambeau and PyTorch raise different types of exceptions, with both types."""
    samples = SAMPLES[name]
    calls = [[call_of(torch, each) for each in samples] for torch in (ours, theirs)]
    best = max(range(len(samples)), key=lambda each: len(calls[1][each]))
    mine, call = (each[best] for each in calls)
    found = {}
    for place, value in call.items():
        for what, wrong in invalid_variants(theirs, value).items():
            wanted = outcome(theirs, name, {**call, place: wrong(theirs, value)})
            got = outcome(ours, name, {**mine, place: wrong(ours, mine[place])})
            if not errors_agree(got, wanted, what):
                found[place, what] = got, wanted
    return found


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - CRASHES))
def test_refusals(name):
    found = differences(name)
    assert found.keys() == OTHERWISE.get(name, set()), found
