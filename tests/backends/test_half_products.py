"""Products of float16 and bfloat16 matrices on the NumPy backend, which converts the larger operand in blocks."""

import numpy as np
import pytest

import flambeau as torch
from flambeau_backends.numpy import half_products


@pytest.fixture
def small_blocks(monkeypatch):
    """Make every product consist of several blocks."""
    monkeypatch.setattr(half_products, "_block_size", lambda other: 40)


def exact(*tensors):
    return [tensor.to(torch.float64).numpy() for tensor in tensors]


def assert_rounded_once(result, expected):
    unit = 2.0**-11 if result.dtype == torch.float16 else 2.0**-8
    np.testing.assert_allclose(result.to(torch.float64).numpy(), expected, rtol=1.001 * unit, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sizes", [(1, 30, 50), (7, 9, 11), (50, 30, 1), (3, 0, 4), (0, 3, 4), (3, 4, 0)], ids=str)
def test_products_in_blocks(sizes, dtype, small_blocks):
    torch.manual_seed(0)
    n, m, p = sizes
    a, weight, bias = (torch.randn(shape).to(dtype) for shape in ((n, m), (p, m), (p,)))
    x, w, b = exact(a, weight, bias)
    assert_rounded_once(a @ weight.T, x @ w.T)
    assert_rounded_once(a @ weight.T.contiguous(), x @ w.T)
    assert_rounded_once(torch.nn.functional.linear(a, weight, bias), x @ w.T + b)
    assert_rounded_once(torch.addmm(bias, a, weight.T), x @ w.T + b)
    assert_rounded_once(torch.stack([a, -a]) @ torch.stack([weight, weight]).mT, np.stack([x @ w.T, -x @ w.T]))


def test_conversions_of_a_large_weight_take_a_few_blocks(monkeypatch):
    """A product with one row must not copy the whole weight to float32."""
    sizes = []
    convert = half_products.cast

    def counted(array, dtype):
        sizes.append(array.size)
        return convert(array, dtype)

    monkeypatch.setattr(half_products, "cast", counted)
    weight, x = np.ones((1024, 2048), np.float16), np.ones((1, 2048), np.float16)
    result = half_products.mm(x, weight.T)
    assert result.shape == (1, 1024) and (result == 2048).all()
    assert max(sizes) <= max(half_products.cache_size() // 8, 2 * x.size)
