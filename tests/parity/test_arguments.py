"""Accepted and rejected arguments, compared with PyTorch: numbers in place of tensors, indices and dtypes."""

from __future__ import annotations

import functools
import itertools
import warnings

import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402


def outcome(torch, call):
    """Return the dtype and values of a call's result, or the type of its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call(torch)
        except Exception as error:
            return type(error)
    return (str(made.dtype), tuple(made.shape), made.flatten().tolist()) if isinstance(made, torch.Tensor) else made


def assert_alike(call, what):
    got, wanted = outcome(ours, call), outcome(theirs, call)
    if isinstance(wanted, tuple) and isinstance(got, tuple):
        assert got[:2] == wanted[:2], what
        assert got[2] == pytest.approx(wanted[2], rel=1e-5, nan_ok=True), what
    else:
        assert got == wanted, what


# --- numbers for tensors ------------------------------------------------------------------------------------------

BINARY = [
    "add",
    "sub",
    "subtract",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "floor_divide",
    "fmod",
    "remainder",
    "pow",
    "atan2",
    "arctan2",
    "hypot",
    "copysign",
    "nextafter",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "gcd",
    "lcm",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "ldexp",
    "heaviside",
    "xlogy",
    "logaddexp",
    "logaddexp2",
    "rsub",
    "polar",
    "complex",
    "dist",
    "cross",
    "dot",
    "vdot",
    "inner",
    "outer",
    "ger",
    "mm",
    "matmul",
    "mv",
    "bmm",
    "kron",
    "equal",
    "allclose",
    "isclose",
    "special.xlogy",
    "special.xlog1py",
    "special.zeta",
    "special.chebyshev_polynomial_t",
    "special.hermite_polynomial_h",
    "special.legendre_polynomial_p",
    "igamma",
    "igammac",
    "where",
    "take_along_dim",
    "lerp",
    "clamp_min",
    "clamp_max",
    "masked_select",
    "cosine_similarity",
    "pairwise_distance",
    "cdist",
    "isin",
    "searchsorted",
    "bucketize",
    "max",
    "min",
]
TAKE_MORE = {"max", "min", "where"}  # these also accept a dimension as second argument, or no second argument
NUMBERS = {"int": 2, "float": 1.5, "bool": True, "None": None, "list": [1.0], "str": "a"}


@pytest.mark.parametrize("name", BINARY)
def test_numbers_for_tensors(name):
    """Call functions of two tensors with a number or another object in place of the first or second."""
    for dtype, (kind, number), shape, first in itertools.product(
        ("float32", "int64", "bool"), NUMBERS.items(), ((3,), ()), (0, 1)
    ):
        if name in TAKE_MORE and kind in ("None", "int", "str"):
            continue

        def call(torch, dtype=dtype, number=number, shape=shape, first=first):
            x = torch.full(shape, 2).to(getattr(torch, dtype))
            return functools.reduce(getattr, name.split("."), torch)(*((number, x) if first else (x, number)))

        assert_alike(call, (name, dtype, kind, shape, first))


@pytest.mark.parametrize(
    "name", [each for each in BINARY if hasattr(theirs.Tensor, each) and each not in ("max", "min", "where")]
)
def test_numbers_for_tensors_of_methods(name):
    for dtype, (kind, number) in itertools.product(("float32", "int64"), NUMBERS.items()):
        assert_alike(lambda torch, d=dtype, n=number: getattr(torch.ones(3).to(getattr(torch, d)), name)(n), (name, dtype, kind))


# --- indices ------------------------------------------------------------------------------------------------------

INDICES = {
    "inside": [1], "last": [2], "below": [-1], "far below": [-9], "above": [3], "far above": [10**6], "none": [], "rows": [[0], [1]],
}  # fmt: skip
BY_INDEX = {
    "index_select": lambda torch, x, i: torch.index_select(x, 0, i),
    "index_select along columns": lambda torch, x, i: torch.index_select(x, 1, i),
    "index_select of 3 dimensions": lambda torch, x, i: torch.index_select(x.reshape(3, 1, 2), 2, i),
    "gather": lambda torch, x, i: torch.gather(x, 0, in_pairs(i)),
    "gather along columns": lambda torch, x, i: torch.gather(x, 1, in_pairs(i)),
    "scatter": lambda torch, x, i: torch.scatter(x, 0, in_pairs(i), torch.ones(9, 9)),
    "scatter of a number": lambda torch, x, i: torch.scatter(x, 0, in_pairs(i), 5.0),
    "scatter, multiplied": lambda torch, x, i: torch.scatter(x, 0, in_pairs(i), torch.ones(9, 9), reduce="multiply"),
    "scatter_add": lambda torch, x, i: torch.scatter_add(x, 0, in_pairs(i), torch.ones(9, 9)),
    "scatter_reduce": lambda torch, x, i: torch.scatter_reduce(x, 0, in_pairs(i), torch.ones(9, 9), "amax"),
    "take": lambda torch, x, i: torch.take(x, i),
    "put": lambda torch, x, i: x.put_(i, torch.ones(i.numel())),
    "put too much": lambda torch, x, i: x.put_(i, torch.ones(i.numel() + 1)),
    "take_along_dim": lambda torch, x, i: torch.take_along_dim(x, in_pairs(i), 0),
    "index_add": lambda torch, x, i: torch.index_add(x, 0, i, torch.ones(i.numel(), 2)),
    "index_add along columns": lambda torch, x, i: torch.index_add(x, 1, i, torch.ones(3, i.numel())),
    "index_add in the middle": lambda torch, x, i: torch.index_add(x.reshape(1, 3, 2), 1, i, torch.ones(1, i.numel(), 2)),
    "index_add to a vector": lambda torch, x, i: torch.index_add(x[:, 0], 0, i, torch.ones(i.numel())),
    "index_copy": lambda torch, x, i: torch.index_copy(x, 0, i, torch.ones(i.numel(), 2)),
    "index_fill": lambda torch, x, i: torch.index_fill(x, 0, i, 7.0),
    "index_reduce": lambda torch, x, i: torch.index_reduce(x, 0, i, torch.ones(i.numel(), 2), "mean"),
    "index_put": lambda torch, x, i: torch.index_put(x, (i,), torch.tensor(3.0)),
    "getitem": lambda torch, x, i: x[i],
    "setitem": lambda torch, x, i: x.__setitem__(i, 1.0),
    "embedding": lambda torch, x, i: torch.nn.functional.embedding(i, x),
    "embedding_bag": lambda torch, x, i: torch.nn.functional.embedding_bag(i, x, torch.tensor([0])),
    "one_hot": lambda torch, x, i: torch.nn.functional.one_hot(i, 3),
    "bincount": lambda torch, x, i: torch.bincount(i),
    "nll_loss": lambda torch, x, i: torch.nn.functional.nll_loss(x[: i.numel()], i),
    "repeat_interleave": lambda torch, x, i: torch.repeat_interleave(x[:1], i, 0),
    "masked_select": lambda torch, x, i: torch.masked_select(x[:, :1], i),
    "of no dimension": lambda torch, x, i: torch.index_select(x[0, 0], 0, i),
    "gather of no dimension": lambda torch, x, i: torch.gather(x[0, 0], 0, i),
    "index_add of no dimension": lambda torch, x, i: torch.index_add(x[0, 0], 0, i, torch.tensor([2.0])),
    "int": lambda torch, x, i: int(i),
}  # fmt: skip


def in_pairs(index):
    return index.reshape(-1, 1).expand(-1, 2) if index.ndim == 1 else index


@pytest.mark.parametrize("how", BY_INDEX)
def test_indices(how):
    """Indices in and out of range, with every dtype."""
    given = [(values, "int64") for values in INDICES.values()]
    given += [([1], dtype) for dtype in ("int32", "int16", "int8", "uint8", "bool", "float32")]
    for values, dtype in given:
        if how == "repeat_interleave" and values == [10**6]:
            continue

        def call(torch, values=values, dtype=dtype):
            return BY_INDEX[how](torch, torch.arange(6.0).reshape(3, 2), torch.tensor(values, dtype=getattr(torch, dtype)))

        assert_alike(call, (how, values, dtype))
