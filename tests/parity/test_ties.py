"""Order of equal elements after sorting, topk and similar functions, where PyTorch defines it."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

EVERY = {  # functions of (torch, x, k, dim) that return indices
    "sort": lambda torch, x, k, dim: torch.sort(x, dim=dim, stable=True),
    "sort, descending": lambda torch, x, k, dim: torch.sort(x, dim=dim, descending=True, stable=True),
    "argsort": lambda torch, x, k, dim: at(x, torch.argsort(x, dim=dim, stable=True), dim),
    "argsort, descending": lambda torch, x, k, dim: at(x, torch.argsort(x, dim=dim, descending=True, stable=True), dim),
    "median": lambda torch, x, k, dim: torch.median(x, dim),
    "nanmedian": lambda torch, x, k, dim: torch.nanmedian(x, dim),
    "max": lambda torch, x, k, dim: torch.max(x, dim),
    "min": lambda torch, x, k, dim: torch.min(x, dim),
    "argmax": lambda torch, x, k, dim: at(x, torch.argmax(x, dim, True), dim),
    "argmin": lambda torch, x, k, dim: at(x, torch.argmin(x, dim, True), dim),
    "cummax": lambda torch, x, k, dim: torch.cummax(x, dim),
    "cummin": lambda torch, x, k, dim: torch.cummin(x, dim),
}
OF_FEW = {  # only up to 16 elements, because beyond that PyTorch's order depends on the processor and the C++ library
    "unstable sort": lambda torch, x, k, dim: torch.sort(x, dim),
    "unstable sort, descending": lambda torch, x, k, dim: torch.sort(x, dim, True),
    "mode": lambda torch, x, k, dim: torch.mode(x, dim),
}
VALUES_ALONE = {
    "topk": lambda torch, x, k, dim: torch.topk(x, k, dim),
    "topk of the smallest": lambda torch, x, k, dim: torch.topk(x, k, dim, largest=False),
    "kthvalue": lambda torch, x, k, dim: torch.kthvalue(x, k, dim),
}
FEW = 16
DTYPES = ["int64", "uint8", "float64", "float32", "float16", "bfloat16"]


def at(x, places, dim):
    return x.gather(dim, places), places


def inputs(dtype):
    """Yield arrays with many equal elements. Float arrays include -0.0 and NaN."""
    rng = np.random.default_rng(0)
    for length in (1, 2, 5, 16, 17, 40, 300):
        for kinds in (1, 3, 10):
            array = rng.integers(0, kinds, (length, 3))
            yield array, False
            if "float" in dtype:
                zeros = np.where(rng.random(array.shape) < 0.1, -0.0, array)
                yield zeros, False
                yield np.where(rng.random(array.shape) < 0.2, np.nan, zeros), True


def numbers(tensor):
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*EVERY, *OF_FEW, *VALUES_ALONE])
def test_ties(name, dtype):
    call = (EVERY | OF_FEW | VALUES_ALONE)[name]
    for array, with_nans in inputs(dtype):
        length = len(array)
        if name == "mode" and with_nans:  # which NaN PyTorch returns depends on the other elements
            continue
        for k in {1, min(3, length), length}:
            given, ourselves = (torch.tensor(array).to(getattr(torch, dtype)) for torch in (theirs, ours))
            wanted, got = call(theirs, given, k, 0), call(ours, ourselves, k, 0)
            np.testing.assert_array_equal(numbers(got[0]), numbers(wanted[0]))
            if name in EVERY or (name in OF_FEW and length <= FEW):
                np.testing.assert_array_equal(got[1].numpy(), wanted[1].numpy())
            places = got[1].numpy().reshape(-1, 3)
            np.testing.assert_array_equal(np.take_along_axis(array, places, 0), numbers(got[0]).reshape(-1, 3))
            assert name.startswith("cum") or all(len(set(column)) == len(places) for column in places.T)


WHOLE = {  # functions of (torch, x) whose results do not depend on the order of ties
    "msort": lambda torch, x: torch.msort(x),
    "unique": lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True),
    "unique rows": lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True, dim=0),
    "unique_consecutive": lambda torch, x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
    "unique_consecutive columns": lambda torch, x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1),
    "searchsorted": lambda torch, x: torch.searchsorted(x.flatten().sort()[0], x),
    "searchsorted, right": lambda torch, x: torch.searchsorted(x.flatten().sort()[0], x, right=True),
    "searchsorted in rows": lambda torch, x: torch.searchsorted(x.sort()[0], x),
    "searchsorted in rows, right": lambda torch, x: torch.searchsorted(x.sort()[0], x, right=True),
    "isin": lambda torch, x: torch.isin(x, x[:1]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WHOLE)
def test_equal_elements(name, dtype):
    for array, with_nans in inputs(dtype):
        if with_nans and name in ("unique", "unique rows"):  # PyTorch orders NaNs arbitrarily
            continue
        found = []
        for torch in (ours, theirs):
            made = WHOLE[name](torch, torch.tensor(array).to(getattr(torch, dtype)))
            found.append([numbers(each) for each in (made if isinstance(made, tuple) else (made,))])
        for got, wanted in zip(*found, strict=True):
            np.testing.assert_array_equal(got, wanted)
