"""Indexing, index_add and bincount with many indices, and integer matmul: kernels process these in blocks."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch
from flambeau.nn import functional as F

SHAPES = [(70000,), (300, 400), (3, 200, 300), (400, 5, 60)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def every_dim():
    return [(shape, dim) for shape in SHAPES for dim in range(len(shape))]


@pytest.mark.parametrize(("shape", "dim"), every_dim())
def test_along_a_dimension(shape, dim, rng):
    partial = tuple(2 * n if d == dim else max(n - 1, 1) for d, n in enumerate(shape))
    index, array, source = rng.integers(0, shape[dim], partial), rng.integers(0, 9, shape), rng.integers(0, 9, partial)
    cropped = array[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(partial))]
    x, places = torch.tensor(array, dtype=torch.float32), torch.tensor(index)
    np.testing.assert_array_equal(x.gather(dim, places).numpy(), np.take_along_axis(cropped, index, dim))
    np.testing.assert_array_equal(x.gather(dim, places.int()).numpy(), x.gather(dim, places).numpy())

    where = list(np.indices(partial, sparse=True))
    where[dim] = index
    expected = array.copy()
    np.add.at(expected, tuple(where), source)
    np.testing.assert_array_equal(x.scatter_add(dim, places, torch.tensor(source, dtype=torch.float32)).numpy(), expected)

    order = np.argsort(rng.random(shape), dim)
    expected = np.empty_like(array)
    np.put_along_axis(expected, order, array[::-1], dim)
    np.testing.assert_array_equal(x.scatter(dim, torch.tensor(order), x.flip(0)).numpy(), expected)

    for wrong in (-1, shape[dim]):
        places.view(-1)[-1] = wrong
        with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension {dim}"):
            x.gather(dim, places)


@pytest.mark.parametrize(("shape", "dim"), every_dim())
def test_index_add(shape, dim, rng):
    index = rng.integers(0, shape[dim], 500)
    source = rng.integers(0, 9, [500 if d == dim else n for d, n in enumerate(shape)]).astype(np.float32)
    expected = np.zeros(shape, np.float32)
    np.add.at(np.moveaxis(expected, dim, 0), index, 2 * np.moveaxis(source, dim, 0))
    result = torch.zeros(shape).index_add(dim, torch.tensor(index), torch.tensor(source), alpha=2)
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("shape", [(7, 40), (1, 4), (6, 1), (0, 3)])
def test_bags_of_one_length(shape, rng):
    ids, table = rng.integers(0, 50, shape), rng.standard_normal((50, 9))
    weight = torch.tensor(table, requires_grad=True)
    np.testing.assert_allclose(F.embedding_bag(torch.tensor(ids), weight, mode="mean").detach().numpy(), table[ids].mean(1))
    F.embedding_bag(torch.tensor(ids), weight, mode="sum").sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy()[:, 0], np.bincount(ids.reshape(-1), minlength=50))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_products_of_integers(dtype, rng):
    limits = np.iinfo(dtype)
    for low, high in [(0, 10), (max(limits.min, -(2**20)), min(limits.max, 2**20)), (limits.min, limits.max)]:
        a, b = (rng.integers(low, high, shape, dtype) for shape in ((70, 80), (80, 90)))
        np.testing.assert_array_equal((torch.tensor(a) @ torch.tensor(b)).numpy(), a @ b)  # both sides overflow with wraparound
        np.testing.assert_array_equal((torch.tensor(b).T @ torch.tensor(a).T).numpy(), b.T @ a.T)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float16", "uint8"])
def test_isin(dtype, rng):
    for shape, others in [((5, 6), 7), ((1000,), 50), ((), 3), ((0,), 3), ((3,), 0), ((2000,), 1000)]:
        elements, tests = rng.integers(0, 200, shape).astype(dtype), rng.integers(0, 200, others).astype(dtype)
        if elements.size > 3 and elements.dtype.kind == "f":
            elements.flat[1] = tests[0] = np.nan
        expected = (elements[..., None] == tests).any(-1)
        assert torch.isin(torch.tensor(elements), torch.tensor(tests)).dtype is torch.bool
        np.testing.assert_array_equal(torch.isin(torch.tensor(elements), torch.tensor(tests)).numpy(), expected)
        np.testing.assert_array_equal(torch.isin(torch.tensor(elements), torch.tensor(tests), invert=True).numpy(), ~expected)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_counts(dtype, rng):
    for numbers in (rng.integers(0, 50, 100000), np.array([3]), np.array([], int)):
        for least in (0, 7, 100):
            counts = torch.tensor(numbers.astype(dtype)).bincount(minlength=least)
            np.testing.assert_array_equal(counts.numpy(), np.bincount(numbers, minlength=least))
    x = rng.standard_normal(5000).astype(np.float32)
    assert torch.tensor(x).histc(8).sum() == 5000
    np.testing.assert_array_equal(torch.tensor(x).histc(4, -1, 1).numpy(), np.histogram(x, 4, (-1, 1))[0])
