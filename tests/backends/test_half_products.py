"""Products of float16 and bfloat16 matrices on the NumPy backend, which converts the larger operand in blocks."""

import tracemalloc

import numpy as np
import pytest

import flambeau as torch
from flambeau_backends.numpy import half_products


@pytest.fixture
def small_blocks(monkeypatch):
    """Make every product consist of several blocks."""
    monkeypatch.setattr(half_products, "_block_size", lambda other: 40)
    monkeypatch.setattr(half_products, "_LARGE_BLOCK", 40)
    monkeypatch.setattr(half_products, "SHARED", 1)


@pytest.fixture
def threads():
    """A function that sets the number of threads until the end of the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


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


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_a_product_with_one_row_copies_no_complete_weight(name, is_transposed, threads):
    weight, x = torch.ones(2048, 2048, dtype=getattr(torch, name)), torch.ones(1, 2048, dtype=getattr(torch, name))
    weight = weight.T if is_transposed else weight
    threads(1)
    tracemalloc.start()
    try:
        result = x @ weight
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.shape == (1, 2048) and (result == 2048).all()
    assert peak < weight.numel() * 4 / 3  # a third of the weight in float32


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("depth", [64, 63, 62])
def test_float16_products_of_special_numbers(rows, depth, small_blocks):
    """Pairs of float16 numbers are converted together: subnormal, infinite and NaN weights affect only their own outputs."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 16, (40, depth), np.uint16)
    weight = bits.view(np.float16)
    weight[np.abs(weight) > 64] /= 1024  # sums stay finite, except those of infinities
    weight[::5] = rng.integers(0, 0x400, (8, depth), np.uint16).view(np.float16) * rng.choice([-1, 1], (8, depth))  # subnormal
    weight[3, 5], weight[17, 6], weight[18, 7] = np.inf, -np.inf, np.nan
    x = np.ones((rows, depth), np.float16)
    x[0, ::3] = 2.0**-24
    result = (torch.from_numpy(x) @ torch.from_numpy(weight).T).numpy()
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float64) @ weight.astype(np.float64).T
        np.testing.assert_allclose(result, expected.astype(np.float16), rtol=1.001 * 2.0**-10, atol=2.0**-24)


@pytest.mark.parametrize("has_small_products", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 5, 24, 25])
def test_few_rows_with_a_large_weight(rows, dtype, has_small_products, monkeypatch):
    """OpenBLAS's products of small matrices cover some columns of each block; the others are computed by one product."""
    monkeypatch.setattr(half_products, "has_small_products", lambda: has_small_products)
    torch.manual_seed(0)
    weight, x = (torch.randn(1031, 1000) / 32).to(dtype), torch.randn(rows, 1000).to(dtype)
    assert_rounded_once(x @ weight.T, np.matmul(*exact(x, weight.T)))
    assert_rounded_once(x[:, 1:] @ weight[:, 1:].T, np.matmul(*exact(x[:, 1:], weight[:, 1:].T)))  # an odd depth
    assert_rounded_once(x @ weight.T.contiguous(), np.matmul(*exact(x, weight.T)))
    weight[3, 5], weight[700, 6], weight[701, 7] = torch.inf, -torch.inf, torch.nan
    with np.errstate(invalid="ignore"):
        assert_rounded_once(x @ weight.T, np.matmul(*exact(x, weight.T)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_products_do_not_depend_on_the_number_of_threads(rows, dtype, threads):
    torch.manual_seed(0)
    weight, x = torch.randn(1500, 1024).to(dtype), torch.randn(rows, 1500).to(dtype)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append([(x @ weight).float().tolist(), (x[:, :1024] @ weight[:, :1024].T).float().tolist()])
    assert results[0] == results[1] == results[2]
