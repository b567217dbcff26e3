"""Reductions and cumulative operations over many elements, for which kernels use separate algorithms."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau as torch

SHAPES = [(9000,), (30, 500), (500, 30), (3, 70, 60), (4, 5000), (9000, 2), (1, 10000), (0, 300)]


def tensors(dtype="float32", near=0.0):
    """Yield random tensors with mean `near`, including non-contiguous and expanded ones."""
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = torch.tensor((near + (0.01 if near else 1) * rng.standard_normal(shape)).astype(dtype))
        yield x
        yield x.T if x.ndim == 2 else x.transpose(0, -1)
        yield x[..., ::2]
        if x.numel():
            yield x[:1].expand(50, *shape[1:])
    yield torch.tensor((near + 0.01 * rng.standard_normal(20000)).astype(dtype)).unfold(0, 16, 8)


def dims(array):
    every = [None, *range(array.ndim), -1]
    return every + ([(0, 1), (0, -1)] if array.ndim > 1 else [])


def assert_close(got, expected, exact=1e-6, of=None):
    """Assert that the error is at most `exact` times the largest absolute value in `of` (by default, in `expected`)."""
    scale = np.abs(expected if of is None else of).max(initial=1e-30)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy() / scale, expected / scale, rtol=0, atol=exact)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_sum_and_mean(dtype):
    for x in tensors(dtype):
        array = x.numpy().astype("complex128" if dtype == "complex64" else "float64")
        for dim in dims(x):
            for keepdim in (False, True):
                sums, sizes = (np.asarray(each.sum(dim, keepdims=keepdim)) for each in (array, np.abs(array)))
                assert_close(x.sum(dim, keepdim), sums, 1e-6, sizes)
                if sums.size and array.size:
                    count = array.size // sums.size
                    assert_close(x.mean(dim, keepdim), sums / count, 1e-6, sizes / count)


def test_sums_of_equal_signs_lose_no_digits():
    for x in tensors(near=1.0):
        array = x.numpy().astype(np.float64)
        for dim in dims(x):
            assert_close(x.sum(dim), np.asarray(array.sum(dim)))
        for dim in (None, -1):
            assert_close(x.norm(2, dim), np.sqrt(np.asarray((array**2).sum(dim))))


def test_sums_of_infinities_and_nan():
    array = np.ones((20, 700), np.float32)
    array[3, 5], array[4, 600], array[5, :2] = np.inf, np.nan, (np.inf, -np.inf)
    for dim in dims(array):
        np.testing.assert_array_equal(torch.tensor(array).sum(dim).numpy(), array.sum(dim))
        np.testing.assert_array_equal(torch.tensor(array).nansum(dim).numpy(), np.nansum(array, dim))


def test_nansum():
    rng = np.random.default_rng(0)
    for x in tensors():
        x = x.masked_fill(torch.tensor(rng.random(x.shape) < 0.01), float("nan"))
        array = x.numpy().astype(np.float64)
        for dim in dims(x):
            sums, sizes = (np.asarray(np.nansum(each, dim)) for each in (array, np.abs(array)))
            assert_close(x.nansum(dim), sums, 1e-6, sizes)
    x = torch.tensor([[1.0, float("nan"), 3.0]], dtype=torch.float64, requires_grad=True)
    (x.nansum(1) * 2).sum().backward()
    assert x.grad.tolist() == [[2, 0, 2]]
    assert torch.tensor([2, 3], dtype=torch.int32).nansum().dtype is torch.int64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_prod(dtype):
    for x in tensors(dtype, near=1.0):
        for dim in (None, *range(x.ndim)):
            assert_close(x.prod() if dim is None else x.prod(dim), np.asarray(np.prod(x.numpy(), dim, np.float64)))


def test_products_keep_what_a_float_has_no_room_for():
    many = torch.full((4, 6000), 2.0)
    many[:, 3000:] = 0.5
    assert many.prod(1).tolist() == [1.0] * 4
    many[0, 17], many[1, 17] = 0, float("nan")
    assert many.prod(1)[0] == 0 and many.prod(1)[1].isnan() and many.prod().isnan()


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "complex64"])
def test_running_sums_and_products(name, dtype):
    wide = {"float32": "float64", "complex64": "complex128", "int32": "int64"}.get(dtype, dtype)
    for x in tensors(dtype, near=1.0):
        for dim in range(x.ndim):
            expected = getattr(np, name)(x.numpy(), dim, wide)
            result = getattr(x, name)(dim - x.ndim)
            assert result.is_contiguous()
            if "int" in dtype:
                np.testing.assert_array_equal(result.numpy(), expected)
            else:
                assert_close(result, expected)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_running_extremes(name, dtype):
    rng = np.random.default_rng(0)
    extreme = np.maximum if name == "cummax" else np.minimum
    for x in tensors("float32"):
        array = np.round(x.numpy() * 2).astype(dtype)
        if array.dtype.kind == "f":
            array[rng.random(array.shape) < 0.001] = np.nan
        for dim in range(array.ndim):
            values, indices = getattr(torch.tensor(array), name)(dim)
            expected = extreme.accumulate(array, dim)
            same = (array == expected) | np.isnan(array.astype(float))
            steps = np.arange(array.shape[dim]).reshape([-1 if d == dim else 1 for d in range(array.ndim)])
            np.testing.assert_array_equal(values.numpy(), expected)
            np.testing.assert_array_equal(indices.numpy(), np.maximum.accumulate(np.where(same, steps, 0), dim))


def test_trapezoid():
    for x in tensors("float64"):
        for dim in range(x.ndim):
            if x.shape[dim]:
                for spacing in (1, 0.25):
                    assert_close(
                        torch.trapezoid(x, dx=spacing, dim=dim), np.asarray(np.trapezoid(x.numpy(), dx=spacing, axis=dim))
                    )
    assert torch.trapezoid(torch.ones(2, 0)).tolist() == [0, 0] and torch.trapezoid(torch.tensor([1, 2])) == 1.5
    x = torch.arange(5.0, dtype=torch.float64).requires_grad_()
    torch.trapezoid(x, dx=2.0).backward()
    assert x.grad.tolist() == [1, 2, 2, 2, 1]


def test_norm():
    for x in tensors("float64"):
        for dim in dims(x):
            for keepdim in (False, True):
                assert_close(x.norm(2, dim, keepdim), np.sqrt(np.asarray((x.numpy() ** 2).sum(dim, keepdims=keepdim))))
    x = torch.zeros(2, 9000, requires_grad=True)
    x.norm(dim=1).sum().backward()
    assert not x.grad.any()


@pytest.mark.parametrize("function", ["layer_norm", "group_norm", "instance_norm", "batch_norm"])
def test_normalization_of_long_rows(function):
    x = torch.rand(1, 2, 400_000, generator=torch.Generator().manual_seed(0)) + 2
    array = x.numpy().astype(np.float64)
    expected = (array - array.mean(-1, keepdims=True)) / np.sqrt(array.var(-1, keepdims=True) + 1e-5)
    got = {
        "layer_norm": lambda: torch.nn.functional.layer_norm(x, (400_000,)),
        "group_norm": lambda: torch.nn.functional.group_norm(x, 2),
        "instance_norm": lambda: torch.nn.functional.instance_norm(x),
        "batch_norm": lambda: torch.nn.functional.batch_norm(x, None, None, training=True),
    }[function]()
    assert_close(got, expected, 2e-6)
