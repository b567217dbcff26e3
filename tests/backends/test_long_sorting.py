"""Sorting, topk and searching along long dimensions, for which kernels use separate algorithms."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

SHAPES = [(300,), (200, 7), (7, 200), (3, 100, 2), (0, 100)]
DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8"]


def arrays(dtype):
    """Yield arrays with many equal elements. Float arrays include -0.0, infinities and NaN; some arrays are not contiguous."""
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        for kinds in (4, 100):
            array = rng.integers(0, kinds, shape).astype(dtype)
            if array.dtype.kind == "f":
                array[rng.random(shape) < 0.1] = -0.0
                array[rng.random(shape) < 0.1] = -np.inf
                yield array.copy()
                array[rng.random(shape) < 0.1] = np.nan
                array[rng.random(shape) < 0.05] = -np.nan
            yield array
            yield array.T


def long_dims(array):
    return [dim for dim, length in enumerate(array.shape) if length >= 100]


def keys_descending(array):
    """Return integer keys that sort the elements in descending order, with NaN as the largest."""
    return -np.unique(array, return_inverse=True)[1].reshape(array.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype):
    for array in arrays(dtype):
        for dim in long_dims(array):
            for descending in (False, True):
                places = np.argsort(keys_descending(array) if descending else array, dim, kind="stable")
                values, indices = torch.tensor(array).sort(dim, descending)
                np.testing.assert_array_equal(indices.numpy(), places)
                expected = np.take_along_axis(array, places, dim)
                np.testing.assert_array_equal(values.numpy(), expected)
                np.testing.assert_array_equal(np.signbit(values.numpy()), np.signbit(expected))


def test_sorting_integers_of_every_size():
    far = np.array([2**63 - 1, -(2**63), 0] * 40)
    np.testing.assert_array_equal(torch.tensor(far).argsort().numpy(), np.argsort(far, kind="stable"))
    near = far[::3] - np.arange(40) % 7
    np.testing.assert_array_equal(torch.tensor(near).argsort(descending=True).numpy(), np.argsort(-near, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_topk(dtype):
    for array in arrays(dtype):
        tensor = torch.tensor(array)
        for dim in long_dims(array):
            ordered = np.sort(array, dim)
            for k in (0, 1, 5, array.shape[dim]):
                for largest, expected in ((True, np.flip(ordered, dim)), (False, ordered)):
                    values, indices = tensor.topk(k, dim, largest)
                    np.testing.assert_array_equal(values.numpy(), np.take(expected, range(k), dim))
                    np.testing.assert_array_equal(np.take_along_axis(array, indices.numpy(), dim), values.numpy())
                    assert (np.diff(np.sort(indices.numpy(), dim), axis=dim) > 0).all()  # no index occurs twice


@pytest.mark.parametrize("dtype", DTYPES)
def test_kthvalue(dtype):
    for array in arrays(dtype):
        for dim in long_dims(array):
            for k in (1, 60, 100):
                values, indices = torch.tensor(array).kthvalue(k, dim, keepdim=True)
                np.testing.assert_array_equal(values.numpy(), np.take(np.sort(array, dim), [k - 1], dim))
                np.testing.assert_array_equal(np.take_along_axis(array, indices.numpy(), dim), values.numpy())


def lower_median(row, skips_nan):
    """Return the median and its index in a stable sort, or the first NaN unless `skips_nan`."""
    order, known = np.argsort(row, kind="stable"), int((row == row).sum())
    middle = max(known - 1, 0) // 2 if skips_nan or known == len(row) else known
    return row[order[middle]], order[middle]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median(name, dtype):
    skips_nan = name == "nanmedian"
    for array in arrays(dtype):
        tensor = torch.tensor(array)
        if array.size:
            np.testing.assert_array_equal(getattr(tensor, name)().numpy(), lower_median(array.reshape(-1), skips_nan)[0])
        for dim in long_dims(array):
            values, indices = getattr(tensor, name)(dim - array.ndim)
            rows = np.moveaxis(array, dim, -1).reshape(-1, array.shape[dim])
            expected = [lower_median(row, skips_nan) for row in rows]
            np.testing.assert_array_equal(values.numpy().reshape(-1), [value for value, _ in expected])
            np.testing.assert_array_equal(indices.numpy().reshape(-1), [place for _, place in expected])


@pytest.mark.parametrize("name", ["median", "kthvalue", "topk", "sort"])
def test_gradients_of_long_dimensions(name):
    torch.manual_seed(0)
    x = torch.randn(3, 100, dtype=torch.float64, requires_grad=True)
    calls = {"kthvalue": lambda x: x.kthvalue(7, 1)[0], "topk": lambda x: x.topk(4, 1)[0]}
    assert torch.autograd.gradcheck(calls.get(name, lambda x: getattr(x, name)(1)[0]), (x,))
