"""Attention of few queries, as in decoding, compared with a formula in float64."""

import ml_dtypes
import numpy as np
import pytest
from flambeau_fast import attention
from flambeau_fast.kernels import kernels as compiled

import flambeau as torch

TOLERANCE = {np.float32: 1e-5, np.float16: 2e-3, ml_dtypes.bfloat16: 1.5e-2}
SIZES = [  # samples, heads, queries, keys, features of keys, features of values
    (1, 1, 1, 1, 1, 1), (2, 3, 1, 513, 64, 64), (1, 2, 2, 300, 33, 17), (2, 2, 3, 70, 80, 80), (1, 3, 4, 1000, 128, 128),
    (1, 2, 7, 31, 64, 48), (2, 1, 16, 700, 5, 9), (1, 2, 5, 5, 64, 64),
]  # fmt: skip


def exact(query, key, value, mask, causal, scale):
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = query @ key.swapaxes(-1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    peaks = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(peaks == -np.inf, 0, peaks))
    return weights @ value / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_few_queries(sizes, causal, dtype):
    n, heads, length, seen, size, value_size = sizes
    random = np.random.default_rng(seen)
    query = random.standard_normal((n, length, heads, size)).astype(dtype).swapaxes(1, 2)
    key = random.standard_normal((n, heads, seen, size)).astype(dtype)
    value = random.standard_normal((n, seen, heads, value_size)).astype(dtype).swapaxes(1, 2)
    hidden, added = random.random((length, seen)) > 0.3, random.standard_normal((n, 1, length, seen))
    for mask in (None, hidden, added.astype(np.float32), np.zeros((1, 1, 1, seen), bool)):
        output = attention.attend_few(query, key, value, mask, causal, 0.3)
        assert output.dtype == dtype
        expected = exact(query, key, value, mask, causal, 0.3)
        np.testing.assert_allclose(output.astype(np.float64), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_few_queries_with_special_values(dtype):
    """NaN in one head affects only that head, and an infinite score receives the entire weight or NaN, as in the formula."""
    random = np.random.default_rng(0)
    query, key, value = (random.standard_normal((1, 3, length, 64)).astype(dtype) for length in (2, 400, 400))
    key[0, 1, 300, 5] = np.nan
    value[0, 2, 7, 9] = np.inf
    output = attention.attend_few(query, key, value, None, False, 0.1).astype(np.float64)
    assert np.isnan(output[0, 1]).all() and np.isfinite(output[0, 0]).all()
    assert (output[0, 2, :, 9] == np.inf).all() and np.isfinite(np.delete(output[0, 2], 9, 1)).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_few_queries_do_not_depend_on_the_number_of_threads(dtype):
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((2, 5, length, 64)).astype(dtype) for length in (3, 700, 700)]
    results, before = [], compiled.thread_count()
    try:
        for count in (1, 2, 5):
            compiled.set_thread_count(count)
            results.append(attention.attend_few(*arrays, None, False, 0.1))
    finally:
        compiled.set_thread_count(before)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_longer_and_recorded_attention_of_half_precision_is_computed_in_float32(dtype):
    torch.manual_seed(0)
    tensors = [torch.randn(1, 2, length, 32).to(dtype) for length in (40, 50, 50)]
    short = [tensors[0][:, :, :3].detach().requires_grad_(), *tensors[1:]]
    for arrays in (tensors, short):
        output = torch.nn.functional.scaled_dot_product_attention(*arrays)
        expected = exact(*(array.detach().to(torch.float32).numpy() for array in arrays), None, False, 32**-0.5)
        tolerance = 1e-2 if dtype is torch.bfloat16 else 1e-3
        np.testing.assert_allclose(output.detach().to(torch.float64).numpy(), expected, rtol=tolerance, atol=tolerance)
        assert output.dtype is dtype
    output.sum().backward()
    assert short[0].grad.isfinite().all()
