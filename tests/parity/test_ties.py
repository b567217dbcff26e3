"""Where equal elements stand after sorting and ranking: PyTorch's places wherever it says what they are."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("torch")

import flambeau as ours  # noqa: E402

EVERY = {  # functions of (torch, x, k, dim) with a result that says where the elements are
    "sort": lambda torch, x, k, dim: torch.sort(x, dim=dim, stable=True),
    "sort, descending": lambda torch, x, k, dim: torch.sort(x, dim=dim, descending=True, stable=True),
    "median": lambda torch, x, k, dim: torch.median(x, dim),
    "nanmedian": lambda torch, x, k, dim: torch.nanmedian(x, dim),
    "max": lambda torch, x, k, dim: torch.max(x, dim),
    "min": lambda torch, x, k, dim: torch.min(x, dim),
    "cummax": lambda torch, x, k, dim: torch.cummax(x, dim),
    "cummin": lambda torch, x, k, dim: torch.cummin(x, dim),
}
OF_FEW = {  # up to 16 elements; with more, PyTorch's places depend on the processor and on the C++ library
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


def inputs():
    rng = np.random.default_rng(0)
    for length in (1, 2, 5, 16, 17, 40, 300):
        for kinds in (1, 3, 10):
            array = rng.integers(0, kinds, (length, 3))
            yield array
            yield np.where(rng.random(array.shape) < 0.1, -0.0, array).astype(np.float32)


@pytest.mark.parametrize("name", [*EVERY, *OF_FEW, *VALUES_ALONE])
def test_ties(name):
    call = (EVERY | OF_FEW | VALUES_ALONE)[name]
    for array in inputs():
        length = len(array)
        for k in {1, min(3, length), length}:
            wanted, got = call(theirs, theirs.tensor(array), k, 0), call(ours, ours.tensor(array), k, 0)
            np.testing.assert_array_equal(got[0].numpy(), wanted[0].numpy())
            if name in EVERY or (name in OF_FEW and length <= FEW):
                np.testing.assert_array_equal(got[1].numpy(), wanted[1].numpy())
            places = got[1].numpy().reshape(-1, 3)
            np.testing.assert_array_equal(np.take_along_axis(array, places, 0), got[0].numpy().reshape(-1, 3))
            assert name.startswith("cum") or all(len(set(column)) == len(places) for column in places.T)
