"""Compare the NumPy backend's kernels with the array-API implementations that they replace: values and gradients."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as torch
import flambeau.nn.functional as F
from flambeau.engine.calls.op import OPS
from flambeau.operations.recurrent import elman_layer, gru_layer, lstm_layer
from flambeau_backends.numpy import kernels, kernels_pool, pool_indices, winograd
from flambeau_backends.numpy.layout import channels_last, channels_second, has_channels_last

few = settings(max_examples=30, deadline=None, derandomize=True)


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def assert_kernel_agrees(name, arrays, *params, tolerance=1e-9):
    """Assert that the kernel and the array-API implementation of an operation agree; return the kernel's result."""
    got = kernels.KERNELS[name](*arrays, *params)
    wanted = OPS[name].forward(np, *arrays, *params)
    for a, b in zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]:
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(
            a,
            b,
            rtol=tolerance,
            atol=tolerance,
            err_msg=f"{name}{[array.shape for array in arrays if array is not None]}{params}",
        )
    return got


# --- convolution --------------------------------------------------------------------------------------------------


@st.composite
def geometries(draw):
    """Draw a convolution: batch, groups, channels, and for each dimension length, kernel size, stride, padding and dilation."""
    n = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, outputs = groups * draw(st.sampled_from([1, 2, 9])), groups * draw(st.integers(1, 3))
    window = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    dilation = draw(st.lists(st.integers(1, 2), min_size=n, max_size=n))
    padding = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    stride = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    space = [d * (k - 1) + 1 + draw(st.integers(0, 4)) for k, d in zip(window, dilation, strict=True)]
    return draw(st.integers(0, 3)), groups, channels, outputs, space, window, tuple(stride), tuple(padding), tuple(dilation)


@few
@given(geometries())
def test_convolution(geometry):
    batch, groups, channels, outputs, space, window, stride, padding, dilation = geometry
    x, w = normal(batch, channels, *space), normal(outputs, channels // groups, *window, seed=1)
    assert_kernel_agrees("convolution", [x, w, normal(outputs, seed=2)], stride, padding, dilation, groups)
    slopes = OPS["convolution"].forward(np, x, w, None, stride, padding, dilation, groups)
    assert_kernel_agrees("convolution_transposed", [slopes, w, None], tuple(space), stride, padding, dilation, groups)
    assert_kernel_agrees("convolution_weight", [slopes, x], w.shape, stride, padding, dilation, groups)


@few
@given(st.integers(0, 4), st.sampled_from([1, 2]), st.integers(12, 30), st.integers(12, 30), st.integers(1, 4), st.integers(1, 2))
def test_convolution_with_few_windows(batch, groups, channels, outputs, length, stride):
    """Convolutions with a weight larger than the images compute a single matrix product for the whole batch."""
    x, w = normal(batch, groups * channels, length, length), normal(groups * outputs, channels, 1, 1, seed=1)
    geometry = (stride, stride), (0, 0), (1, 1), groups
    output = assert_kernel_agrees("convolution", [x, w, normal(groups * outputs, seed=2)], *geometry)
    assert_kernel_agrees("convolution_transposed", [output, w, None], (length, length), *geometry)
    assert_kernel_agrees("convolution_weight", [output, x], w.shape, *geometry)


@few
@given(geometries())
def test_what_the_forward_keeps_serves_the_gradient(geometry):
    batch, groups, channels, outputs, space, window, stride, padding, dilation = geometry
    x, w = normal(batch, channels, *space), normal(outputs, channels // groups, *window, seed=1)
    workspace: dict = {}
    output = kernels.KERNELS["convolution"](x, w, None, stride, padding, dilation, groups, workspace)
    kept = kernels.KERNELS["convolution_weight"](output, x, w.shape, stride, padding, dilation, groups, workspace)
    assert not workspace  # the backward removes the arrays that it has used, to free memory
    np.testing.assert_allclose(
        kept, kernels.KERNELS["convolution_weight"](output, x, w.shape, stride, padding, dilation, groups), 1e-9, 1e-9
    )


@few
@given(
    st.integers(1, 5),
    st.sampled_from([16, 17]),
    st.sampled_from([16, 19]),
    st.integers(3, 14),
    st.integers(3, 14),
    st.integers(0, 2),
)
def test_winograd(batch, channels, outputs, height, width, padding):
    """The rounding error of Winograd convolution is about ten times that of a direct convolution in float32."""
    x, w = normal(batch, channels, height, width, dtype=np.float32), normal(outputs, channels, 3, 3, seed=1, dtype=np.float32)
    geometry = (1, 1), (padding, padding), (1, 1), 1
    wanted = OPS["convolution"].forward(np, x, w, None, *geometry)
    np.testing.assert_allclose(winograd.convolve(x, w, None, (padding, padding)), wanted, 0, 1e-4 * abs(wanted).max())
    slopes = normal(*wanted.shape, seed=2, dtype=np.float32)
    wanted = OPS["convolution_weight"].forward(np, slopes, x, w.shape, *geometry)
    np.testing.assert_allclose(winograd.weight_gradient(slopes, x, (padding, padding)), wanted, 0, 1e-4 * abs(wanted).max())


@few
@given(geometries())
def test_windows(geometry):
    batch, _, channels, _, space, window, stride, padding, dilation = geometry
    if len(space) != 2:
        space, window, stride, padding, dilation = (
            (values * 2)[:2] for values in (space[:1], window[:1], stride[:1], padding[:1], dilation[:1])
        )
    x = normal(batch, channels, *space)
    assert_kernel_agrees("im2col", [x], tuple(window), tuple(dilation), tuple(padding), tuple(stride))
    columns = OPS["im2col"].forward(np, x, tuple(window), tuple(dilation), tuple(padding), tuple(stride))
    assert_kernel_agrees("col2im", [columns], tuple(space), tuple(window), tuple(dilation), tuple(padding), tuple(stride))


# --- pooling ------------------------------------------------------------------------------------------------------


@few
@given(geometries(), st.booleans(), st.booleans())
def test_pooling(geometry, ceil_mode, count_padding):
    from flambeau.operations.pooling import pooled_size

    batch, _, channels, _, space, window, stride, padding, dilation = geometry
    padding = tuple(min(p, (d * (k - 1) + 1) // 2) for p, k, d in zip(padding, window, dilation, strict=True))
    x, window, n = normal(batch, channels, *space).round(), tuple(window), len(space)
    size = pooled_size(space, window, stride, padding, dilation, ceil_mode)
    assert_kernel_agrees(f"max_pool{n}d", [x], window, stride, padding, dilation, size)
    output = OPS[f"max_pool{n}d"].forward(np, x, window, stride, padding, dilation, size)
    slopes = normal(*output.shape, seed=1)
    got = kernels.KERNELS["max_pool_backward"](slopes, x, window, stride, padding, dilation, size)
    indices = OPS["max_pool_indices"].forward(np, x, window, stride, padding, dilation, size)
    wanted = np.zeros((batch, channels, int(np.prod(space))))
    for sample, channel in np.ndindex(batch, channels):
        np.add.at(wanted[sample, channel], indices[sample, channel].reshape(-1), slopes[sample, channel].reshape(-1))
    np.testing.assert_allclose(got, wanted.reshape(x.shape), 1e-9, 1e-9)
    ones = (1,) * n
    size = pooled_size(
        space, window, stride, tuple(min(p, k // 2) for p, k in zip(padding, window, strict=True)), ones, ceil_mode
    )
    padding = tuple(min(p, k // 2) for p, k in zip(padding, window, strict=True))
    assert_kernel_agrees(f"avg_pool{n}d_windows", [x], window, stride, padding, size, count_padding, None)
    assert_kernel_agrees(
        "avg_pool_backward", [normal(batch, channels, *size)], tuple(space), window, stride, padding, size, count_padding, 3
    )


@few
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3), st.booleans(), st.booleans())
def test_places_of_maxima_of_uneven_windows(dims, with_nan, large):
    space, sizes = zip(*dims, strict=True)
    x = normal(3, 2, *space).round()
    if with_nan:
        x.flat[:: max(x.size // 3, 1)] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_indices, "MANY", 1 if large else 1000)
        assert_kernel_agrees("adaptive_max_indices", [x], sizes)
        assert_kernel_agrees("adaptive_max_indices", [x.astype(np.float16)], (1,) * len(sizes))


@pytest.mark.parametrize("window", [(8, 8), (24, 24), (7, 9)])
@pytest.mark.parametrize("special", [0.0, np.nan, -np.inf])
def test_gradients_of_maxima_of_large_windows(window, special):
    x = normal(2, 3, 24, 27).round()
    x[:, 1, ::5, ::3] = special
    size = tuple(n // k for n, k in zip(x.shape[2:], window, strict=True))
    geometry = window, window, (0, 0), (1, 1), size
    slopes = normal(2, 3, *size, seed=1)
    indices = OPS["max_pool_indices"].forward(np, x, *geometry)
    wanted = np.zeros((2, 3, 24 * 27))
    np.put_along_axis(wanted, indices.reshape(2, 3, -1), slopes.reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(kernels.KERNELS["max_pool_backward"](slopes, x, *geometry), wanted.reshape(x.shape))


@few
@given(st.integers(1, 12), st.integers(1, 20), st.integers(1, 40), st.booleans())
def test_places_of_the_largest_rows(bags, width, rows, with_nan):
    numbers = np.random.default_rng(rows).integers(0, bags + 1, rows)  # the number `bags` marks rows without a bag
    x = normal(rows, width).round()
    if with_nan:
        x[rows // 2, 0] = np.nan
    got = kernels.KERNELS["places_of_largest"](x, numbers, bags)
    for bag in range(bags):
        (members,) = np.nonzero(numbers == bag)
        if len(members):
            np.testing.assert_array_equal(got[bag], members[x[members].argmax(0)])
    filled = np.isin(np.arange(bags), numbers)
    np.testing.assert_array_equal(got[filled], OPS["places_of_largest"].forward(np, x, numbers, bags)[filled])


@few
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4), st.booleans())
def test_edges_that_are_elements(dims, turned):
    shape = tuple(length for length, _, _ in dims)
    x = normal(*shape[::-1]).T if turned else normal(*shape)
    for mode, most in ("reflect", -1), ("replicate", 9), ("circular", 0):
        pad = tuple((min(before, length + most), min(after, length + most)) for length, before, after in dims)
        padded = assert_kernel_agrees("edge_pad", [x], pad, mode)
        assert_kernel_agrees("edge_pad_backward", [normal(*padded.shape, seed=1)], pad, mode)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_max_pool_backward_keeps_bits(dtype):
    """Without overlapping windows, gradients are copied bit for bit, including -0.0, infinities and NaN."""
    x = normal(3, 2, 6, 7, 8).round().astype(dtype)
    geometry = (2, 3, 2), (2, 3, 2), (0, 0, 0), (1, 1, 1), (3, 2, 4)
    slopes = normal(3, 2, 3, 2, 4, seed=1).astype(dtype)
    slopes.flat[::3], slopes.flat[1::5], slopes.flat[2::7] = -0.0, np.nan, -np.inf
    got = kernels.KERNELS["max_pool_backward"](slopes, x, *geometry).reshape(3, 2, -1)
    indices = OPS["max_pool_indices"].forward(np, x, *geometry).reshape(3, 2, -1)
    assert np.take_along_axis(got, indices, -1).tobytes() == slopes.tobytes()
    np.put_along_axis(got, indices, 0, -1)
    assert not any(got.tobytes())


@pytest.mark.parametrize("most", [1, 1 << 10, 1 << 20])
def test_pooling_by_parts_keeps_channels_last(monkeypatch, most):
    monkeypatch.setattr(kernels_pool, "_CACHE", most)
    x = normal(5, 8, 24, 24)
    images = channels_second(np.ascontiguousarray(channels_last(x)))
    geometry = (2, 2), (2, 2), (0, 0)
    for name, rest in ("max_pool2d", [(1, 1), (12, 12)]), ("avg_pool2d_windows", [(12, 12), True, None]):
        got = kernels.KERNELS[name](images, *geometry, *rest)
        assert has_channels_last(got)
        np.testing.assert_array_equal(got, kernels.KERNELS[name](x, *geometry, *rest))


# --- softmax and classes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "log_sum_exp"])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize(
    ("shape", "dim"), [((7, 5), 1), ((7, 5), 0), ((3, 4, 5, 2), 1), ((300, 200), 1), ((1, 1), 0), ((0, 3), 1), ((6,), 0)]
)
def test_softmax(name, shape, dim, scale):
    if 0 in shape and name == "log_sum_exp":
        assert kernels.KERNELS[name](normal(*shape), dim).shape == (0, 2)
    elif name == "log_sum_exp":
        assert_logsumexp_agrees(normal(*shape) * scale, dim)
    else:
        assert_kernel_agrees(name, [normal(*shape) * scale], dim)


def assert_logsumexp_agrees(x, dim):
    """Assert that log_sum_exp agrees. It returns two terms, and only their sum is defined."""
    parts = kernels.KERNELS["log_sum_exp"](x, dim)
    wanted = OPS["log_sum_exp"].forward(np, x, dim)
    assert parts.shape == wanted.shape
    np.testing.assert_allclose(parts.sum(dim), wanted.sum(dim), 1e-12, 1e-12)


@pytest.mark.parametrize("offset", [0.0, 20.0, -20.0, 45.0, -45.0, 1e4])
def test_losses_of_large_logits_keep_their_digits(offset):
    x, target = normal(9, 5).astype(np.float32), np.arange(9) % 5
    x = np.round(x * 256) / 256 + np.float32(offset)  # multiples of 1/256, so adding the offset is exact
    exact = x.astype(np.float64) - offset
    logs = exact - np.log(np.exp(exact).sum(1, keepdims=True))
    parts = kernels.KERNELS["log_sum_exp"](x, 1)
    losses = kernels.KERNELS["cross_entropy"](x, parts, target, None, "none", -100)
    slopes = kernels.KERNELS["cross_entropy_backward"](np.ones(9, np.float32), x, parts, target, None, "none", -100)
    np.testing.assert_allclose(losses, -logs[np.arange(9), target], 1.3e-6, 1e-6)
    np.testing.assert_allclose(slopes, np.exp(logs) - np.eye(5)[target], 1.3e-6, 1e-6)
    np.testing.assert_allclose(kernels.KERNELS["log_softmax"](x, 1), logs, 1.3e-6, 1e-6)


def test_softmax_where_rows_differ_by_far():
    """Each row subtracts its own maximum: with a common one, exp() would underflow to zero in most rows."""
    x = normal(64, 16) + np.linspace(-600, 600, 64)[:, None]
    assert_logsumexp_agrees(x, 1)
    for name in ("softmax", "log_softmax"):
        assert_kernel_agrees(name, [x], 1)
    x[3] = -np.inf
    x[4, 5] = np.nan
    got = kernels.KERNELS["softmax"](x, 1)
    assert np.isnan(got[3:5]).all() and not np.isnan(np.delete(got, [3, 4], 0)).any()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("space", [(), (3,), (2, 3)])
def test_classes(space, weighted, reduction):
    x, target = normal(5, 4, *space), np.random.default_rng(1).integers(0, 4, (5, *space))
    weight = normal(4, seed=2) ** 2 if weighted else None
    for ignored in (-100, 2):
        assert_kernel_agrees("nll_loss", [x, target, weight], reduction, ignored)
        assert_kernel_agrees("cross_entropy", [x, OPS["log_sum_exp"].forward(np, x, 1), target, weight], reduction, ignored)
        slopes = normal(*(target.shape if reduction == "none" else ()))
        assert_kernel_agrees("nll_loss_backward", [np.asarray(slopes), target, weight], x.shape, reduction, ignored)
    for wrong in (-1, 4):
        target[(2, *(0,) * len(space))] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            kernels.KERNELS["nll_loss"](x, target, weight, reduction)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize(("lead", "queries", "keys"), [
    ((), 5, 7), ((2, 3), 7, 5), ((0,), 5, 7), ((40, 2), 1, 1), ((3,), 0, 2), ((40, 2), 30, 20), ((2,), 300, 200), ((), 200, 300),
])  # fmt: skip
def test_attention(lead, queries, keys, scale):
    query, key, value = normal(*lead, queries, 4) * scale, normal(*lead, keys, 4, seed=1), normal(*lead, keys, 3, seed=2)
    seen = normal(queries, keys, seed=3) > 0
    for mask in (None, seen, seen[:, :1], np.where(seen, normal(queries, keys, seed=4), -np.inf)):
        for causal in (False, True):
            assert_kernel_agrees("attention", [query, key, value, mask], causal, 0.5)
            assert_attention_gradients_agree(query, key, value, mask, causal)
    assert_kernel_agrees("attention", [query.swapaxes(-1, -2).copy().swapaxes(-1, -2), key, value, None], False, 0.5)


def assert_attention_gradients_agree(query, key, value, mask, causal, tolerance=1e-9):
    """Assert that the kernel's gradients, with and without stored forward results, match gradients through softmax."""
    scores = query.astype(float) @ key.astype(float).swapaxes(-1, -2) * 0.5
    hidden = np.zeros(scores.shape, bool) if mask is None or mask.dtype != bool else np.broadcast_to(~mask, scores.shape)
    scores = scores + (mask if mask is not None and mask.dtype != bool else 0)
    scores[hidden | (causal & ~np.tri(*scores.shape[-2:], dtype=bool))] = -np.inf
    peaks = scores.max(-1, keepdims=True, initial=-1e300)
    weights = np.exp(scores - peaks)
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    g = normal(*query.shape[:-1], value.shape[-1], seed=5, dtype=query.dtype)
    through = g @ value.swapaxes(-1, -2)
    slopes = weights * (through - (weights * through).sum(-1, keepdims=True)) * 0.5
    wanted = slopes @ key, slopes.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ g

    workspace: dict = {}
    out = kernels.KERNELS["attention"](query, key, value, mask, causal, 0.5, workspace)
    for stored in (workspace, {}):
        got = kernels.KERNELS["attention_gradients"](g, query, key, value, mask, out, causal, 0.5, stored)
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == query.dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(b).max(initial=0)))


@pytest.mark.parametrize(("queries", "keys", "size"), [(130, 1100, 16), (1100, 130, 16), (300, 300, 300)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_in_blocks(queries, keys, size, causal):
    """Attention over sizes that need several blocks and an incomplete one, and over few rows with many features."""
    query, key, value = (normal(2, n, size, seed=n, dtype=np.float32) / size**0.25 for n in (queries, keys, keys))
    mask = normal(queries, keys) > -1
    assert_kernel_agrees("attention", [query, key, value, mask], causal, 0.5, tolerance=1e-4)
    assert_attention_gradients_agree(query, key, value, mask, causal, tolerance=1e-5)
    for array in (query, key):
        array *= 100  # exp() of these scores overflows unless the maximum is subtracted
    assert_kernel_agrees("attention", [query, key, value, mask], causal, 0.001, tolerance=1e-4)


# --- the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "params"), [
    ("sigmoid", ()), ("silu", ()), ("gelu", ()), ("gelu_tanh", ()), ("erf", ()), ("leaky_relu", (0.1,)), ("leaky_relu", (2.0,)), ("elu", (0.7, 1.1, 0.9)),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (0, 3), (5, 7), (300, 301)])
def test_activations(name, params, shape):
    assert_kernel_agrees(name, [np.asarray(normal(*shape) * 3)], *params, tolerance=1e-12)
    assert_kernel_agrees(name, [np.asarray(normal(*shape) * 3).T.astype(np.float32)], *params, tolerance=2e-6)


def test_error_function_in_single_precision():
    x = np.linspace(-12, 12, 200001, dtype=np.float32)
    np.testing.assert_allclose(kernels.KERNELS["erf"](x), OPS["erf"].forward(np, x.astype(np.float64)), 3e-7, 1.5e-7)
    small = np.float32([1e-30, -1e-10, 1e-3])
    np.testing.assert_allclose(kernels.KERNELS["erf"](small), OPS["erf"].forward(np, small.astype(np.float64)), 2e-7)
    assert kernels.KERNELS["erf"](np.float32([np.inf, -np.inf])).tolist() == [1, -1]
    assert np.isnan(kernels.KERNELS["erf"](np.float32([np.nan]))).all()


@pytest.mark.parametrize(("shape", "dims"), [((4, 3, 5), (-1,)), ((4, 3, 5), (-2, -1)), ((300, 400), (-1,)), ((2, 1), (-1,))])
def test_layer_norm(shape, dims):
    weight = normal(*shape[len(shape) - len(dims) :], seed=1)
    assert_kernel_agrees("layer_norm", [normal(*shape) + 100, weight, weight + 1, None, None], dims, 1e-5, None)
    assert_kernel_agrees("layer_norm", [normal(*shape), None, None, None, None], dims, 1e-5, None)


@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(4, 3, 5), (300, 200), (2, 1)])
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, False)])
def test_gradients_of_layer_norm(shape, offset, given):
    """The gradients of the kernel match those of differentiable operations, for means near and far from zero."""
    x = torch.tensor(normal(*shape) + offset)
    parameters = [torch.tensor(normal(shape[-1], seed=seed)) if wanted else None for seed, wanted in enumerate(given, 1)]
    leaves = [t.requires_grad_() for t in (x, *parameters) if t is not None]
    output, slopes = F.layer_norm(x, shape[-1:], *parameters), torch.tensor(normal(*shape, seed=3))
    fast = torch.autograd.grad(output, leaves, slopes, retain_graph=True)
    formula = torch.autograd.grad(output, leaves, slopes, create_graph=True)
    for a, b in zip(fast, formula, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), 1e-7, 1e-9 * max(offset, 1))


def test_layer_norm_in_single_precision():
    """Subtracting a large mean does not amplify rounding errors."""
    for offset in (0.0, 1.9, 2.1, 30.0):
        x = (normal(500, 64) + offset).astype(np.float32)
        wide = x.astype(np.float64)
        wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
        got = kernels.KERNELS["layer_norm"](x, None, None, None, None, (-1,), 1e-5)
        assert abs(got - wanted).max() < 2e-6 * max(offset, 1)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 64, 65), (1, 1, 2)])
def test_channel_norms(shape):
    x, w = normal(*shape) + 100, normal(1, shape[1], *(1,) * (len(shape) - 2), seed=1)
    dims = (0, *range(2, len(shape)))
    assert_kernel_agrees("moments", [x], dims)
    mean, variance = OPS["moments"].forward(np, x, dims)
    assert_kernel_agrees("batch_norm", [x, w, w + 1, mean, variance], dims, 1e-5, None)
    assert_kernel_agrees("fixed_norm", [x, w, None, mean, variance], (), 1e-5, None)


@pytest.mark.parametrize(("normalize", "shape"), [
    (lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias), (16384, 64)),
    (lambda x, weight, bias: F.batch_norm(x, None, None, weight, bias, training=True), (512, 16, 32, 32)),
])  # fmt: skip
def test_gradients_of_weights_over_many_rows(normalize, shape):
    """The weight gradients are long sums with cancellation. Their relative error may be 1e-5; PyTorch's is 6e-6."""
    features = shape[1]
    x, slopes, w = normal(*shape) + 1.5, normal(*shape, seed=1) + 0.3, normal(features, seed=2)

    def gradients(dtype):
        weight, bias = (torch.tensor(array, dtype=dtype).requires_grad_() for array in (w, w + 1))
        output = normalize(torch.tensor(x.astype(np.float32)).to(dtype), weight, bias)
        output.backward(torch.tensor(slopes.astype(np.float32)).to(dtype))
        return weight.grad.numpy(), bias.grad.numpy()

    for got, wanted in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        np.testing.assert_allclose(got, wanted, 0, 1e-5 * abs(wanted).max())


def test_rows_of_a_table():
    table, places = normal(7, 3), np.array([[6, 0, 6], [1, 6, 0]])
    assert_kernel_agrees("embedding", [table, places], -1, False)
    assert_kernel_agrees("sum_rows", [normal(2, 3, 4), places], 8)
    assert_kernel_agrees("sum_rows", [normal(0, 4), np.zeros(0, int)], 8)
    assert_kernel_agrees("index_frequencies", [normal(2, 3, 4), places])


@pytest.mark.parametrize(("rows", "width", "count"), [
    (300, 64, 7), (3000, 1, 11), (40, 20_000, 3), (200, 3, 100), (3000, 32, 700), (2500, 40, 5), (4000, 20, 4000),
])  # fmt: skip
def test_rows_are_summed_one_after_the_other(rows, width, count):
    """Rows are added in PyTorch's order, so that float32 sums of embedding gradients, bags and segments match bit for bit."""
    random = np.random.default_rng(0)
    values, places = random.standard_normal((rows, width)).astype(np.float32), random.integers(0, count, rows)
    expected = np.zeros((count, width), np.float32)
    for row, place in zip(values, places, strict=True):
        expected[place] += row
    weight = torch.zeros(count, width, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor(places), weight).backward(torch.tensor(values))
    np.testing.assert_array_equal(weight.grad.numpy(), expected)
    places.sort()
    expected[...] = 0
    for row, place in zip(values, places, strict=True):
        expected[place] += row
    lengths = torch.tensor(np.bincount(places, minlength=count))
    np.testing.assert_array_equal(torch.segment_reduce(torch.tensor(values), "sum", lengths=lengths).numpy(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(("shape", "dim"), [((7,), None), ((4, 5), 0), ((4, 5), -1), ((2, 3, 4), 1), ((2, 3), None), ((0, 3), 0)])
def test_gradients_of_products(shape, dim, dtype):
    """The gradient of `prod` for an element is the product of the other elements, also with zeros, overflow and underflow."""
    tiny = {np.float32: 1e-25, np.float64: 1e-200, np.complex128: 1e-70}[dtype]
    for scale, zeros in (1, 0), (1, 1), (1, 2), (tiny, 0):
        array = (normal(*shape) * scale).astype(dtype)
        array.reshape(-1)[: zeros * 3 : 3] = 0
        x = torch.tensor(array).requires_grad_()
        output = x.prod() if dim is None else x.prod(dim, keepdim=True)
        (gradient,) = torch.autograd.grad(output.sum(), x, torch.ones((), dtype=output.dtype))
        lines = array.reshape(1, -1) if dim is None else np.moveaxis(array, dim, -1)
        places = range(lines.shape[-1])
        others = np.stack([np.prod(np.delete(lines, i, -1), -1) for i in places], -1) if lines.size else lines
        wanted = others.reshape(shape) if dim is None else np.moveaxis(others, -1, dim)
        np.testing.assert_allclose(gradient.numpy(), wanted.conj(), 1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("shape", [(65, 65), (40, 70), (100, 33), (3, 34, 34), (0, 0), (1, 1)])
def test_factors_of_many_columns(shape, monkeypatch):
    from flambeau_backends.numpy import kernels_linalg

    monkeypatch.setattr(kernels_linalg, "_lapack", lambda routine, like: None)
    a = normal(*shape)
    P, L, U = torch.linalg.lu(torch.tensor(a))
    np.testing.assert_allclose((P @ L @ U).numpy(), a, 1e-9, 1e-10)
    assert (L.abs() <= 1).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_squared_error(reduction):
    assert_kernel_agrees("mse_loss", [normal(5, 3), normal(5, 3, seed=1)], reduction)
    assert_kernel_agrees("mse_loss", [normal(5, 3), normal(3, seed=1)], reduction)


# --- gradients of large arrays, worked on in pieces ---------------------------------------------------------------


@pytest.mark.parametrize("function", [
    F.silu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), lambda x: F.softmax(x, -1), lambda x: F.log_softmax(x, 0),
    lambda x: F.layer_norm(x, (300,)), lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.instance_norm(x.unsqueeze(0)),
    lambda x: F.max_pool1d(x, 3, 2, 1), F.relu, F.leaky_relu, F.elu, F.mish, F.hardswish, F.softplus, F.logsigmoid, F.softshrink,
    lambda x: F.prelu(x, torch.full((300,), 0.1, dtype=torch.float64)), lambda x: x.prod(1), lambda x: (1 + x / 1e3).prod(),
    lambda x: F.pad(x.unsqueeze(0), (5, 7), "reflect"), lambda x: F.adaptive_max_pool1d(x.unsqueeze(0), 7),
])  # fmt: skip
def test_gradients_of_large_arrays(function):
    """Compare the gradients of kernels with those of differentiable operations, which `create_graph=True` uses."""
    x = torch.tensor(normal(400, 300)).requires_grad_()
    output = function(x)
    slopes = torch.tensor(normal(*output.shape, seed=1))
    fast = torch.autograd.grad(output, x, slopes, retain_graph=True)[0]
    formula = torch.autograd.grad(output, x, slopes, create_graph=True)[0]
    np.testing.assert_allclose(fast.numpy(), formula.detach().numpy(), 1e-8, 1e-9)


# --- recurrence ---


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("steps", "batch", "size"), [(3, 2, 5), (1, 1, 1), (4, 3, 32), (2, 5, 96), (2, 70, 128), (2, 0, 4)])
def test_lstm(steps, batch, size, reverse):
    """Check the LSTM kernels for several sizes: the forward, with and without storing values for the backward; the backward."""
    gates, weight = normal(steps, batch, 4 * size), normal(4 * size, size, seed=1) / 4
    h, c = normal(2, batch, size, seed=2)
    assert_kernel_agrees("lstm_layer", [gates, h, c, weight], reverse, None)
    leaves = [torch.tensor(array).requires_grad_() for array in (gates, h, c, weight)]
    output = lstm_layer(*leaves, reverse)
    for outputs in (output, output[:1]):
        slopes = [torch.tensor(normal(steps, batch, size, seed=3)) for _ in outputs]
        fast = torch.autograd.grad(outputs, leaves, slopes, retain_graph=True)
        formula = torch.autograd.grad(outputs, leaves, slopes, create_graph=True)
        for a, b in zip(fast, formula, strict=True):
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), 1e-8, 1e-9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(("steps", "batch", "size"), [(3, 2, 5), (1, 1, 1), (2, 70, 128), (2, 0, 4)])
def test_gru(steps, batch, size, with_bias, reverse):
    gates, weight = normal(steps, batch, 3 * size), normal(3 * size, size, seed=1) / 4
    h, bias = normal(batch, size, seed=2), normal(3 * size, seed=4) if with_bias else None
    assert_kernel_agrees("gru_layer", [gates, h, weight, bias], reverse, None)
    leaves = [torch.tensor(array).requires_grad_() for array in (gates, h, weight, bias) if array is not None]
    output = gru_layer(*leaves, reverse=reverse)
    slopes = torch.tensor(normal(steps, batch, size, seed=3))
    fast = torch.autograd.grad(output, leaves, slopes, retain_graph=True)
    formula = torch.autograd.grad(output, leaves, slopes, create_graph=True)
    for a, b in zip(fast, formula, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), 1e-8, 1e-9)
    output = output.detach().numpy()
    again = kernels.KERNELS["gru_backward"](
        slopes.numpy(), gates, h, weight, bias, output, reverse, {}
    )  # an empty workspace: the forward stored nothing
    for a, b in zip((g for g in again if g is not None), fast, strict=True):
        np.testing.assert_allclose(a, b.numpy(), 1e-12, 1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("steps", "batch", "size"), [(3, 2, 5), (1, 1, 1), (2, 0, 4)])
def test_elman(steps, batch, size, relu, reverse):
    gates, weight, h = normal(steps, batch, size), normal(size, size, seed=1) / 2, normal(batch, size, seed=2)
    assert_kernel_agrees("elman_layer", [gates, h, weight], relu, reverse)
    leaves = [torch.tensor(array).requires_grad_() for array in (gates, h, weight)]
    output = elman_layer(*leaves, relu, reverse)
    slopes = torch.tensor(normal(steps, batch, size, seed=3))
    fast = torch.autograd.grad(output, leaves, slopes, retain_graph=True)
    formula = torch.autograd.grad(output, leaves, slopes, create_graph=True)
    for a, b in zip(fast, formula, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), 1e-8, 1e-9)


def test_lstm_backward_after_a_forward_that_kept_nothing():
    gates, weight, (h, c) = normal(3, 2, 16), normal(16, 4, seed=1), normal(2, 2, 4, seed=2)
    workspace: dict = {}
    output = kernels.KERNELS["lstm_layer"](gates, h, c, weight, False, workspace)
    slopes = normal(2, 3, 2, 4, seed=3)
    wanted = kernels.KERNELS["lstm_backward"](*slopes, gates, h, c, weight, *output, False, workspace)
    for a, b in zip(kernels.KERNELS["lstm_backward"](*slopes, gates, h, c, weight, *output, False, {}), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


# --- additions ---


@pytest.mark.parametrize("size", [7, 1 << 19])
def test_additions_in_place(size):
    x, y = torch.arange(size * 1.0), torch.ones(size)
    y.add_(x, alpha=2).sub_(x, alpha=0.5)
    np.testing.assert_array_equal(y, 1 + 1.5 * np.arange(size))
    column = torch.stack([x, x], 1)[:, 0]  # overlap of tensors with gaps is not refused
    column[1:].add_(column[:-1], alpha=2)  # would be wrong if computed in blocks, because input and output overlap
    np.testing.assert_array_equal(column[1:], 3 * np.arange(1.0, size) - 2)
    x.sub_(x, alpha=1)
    assert not x.any()


@pytest.mark.parametrize("rows", [0, 1, 256, 257, 100_000])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_sums_of_columns(rows, columns):
    x = np.random.default_rng(0).random((rows, columns), np.float32)
    for array in (x, np.asfortranarray(x), x[::-1], x.repeat(2, 0)[::2]):
        np.testing.assert_allclose(kernels.KERNELS["sum"](array, (0,)), array.astype(np.float64).sum(0), 1e-6)


# --- linear layers ---


@pytest.mark.parametrize("lead", [(), (0,), (1,), (3,), (40,), (2, 3), (0, 2)])
@pytest.mark.parametrize("features", [0, 1, 5, 64])
@pytest.mark.parametrize("bias", [(), (1,), (7,)])
def test_linear(lead, features, bias):
    output = assert_kernel_agrees("linear", (normal(*bias), normal(*lead, features), normal(7, features)))
    assert output.flags.c_contiguous


# --- memory ---

PAGE_FAULTS = """
import resource, flambeau as torch

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

a = torch.ones(1000, 1000)
for _ in range(3):
    a * 2 + 1
before = faults()
for _ in range(20):
    a * 2 + 1
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to keep memory")
@pytest.mark.parametrize(("chosen", "kept"), [({}, True), ({"MALLOC_TRIM_THRESHOLD_": "131072"}, False)])
def test_freed_memory_is_kept_unless_the_user_chose_otherwise(chosen, kept):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_"))} | chosen
    faults = int(subprocess.check_output([sys.executable, "-c", PAGE_FAULTS], env=environment, text=True))
    assert (faults < 1000) == kept  # without memory reuse, each of the 40,000 result pages faults once


# --- rows added up ---


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 3), (5, 0)])
@pytest.mark.parametrize("places", [[0, 4, 0, -1], [[1, 1], [-5, 2]], []])
def test_rows_that_are_added_up(shape, places):
    """`accumulate=True` adds every row of a repeated index, in the forward and in the gradient of row indexing."""
    index = np.array(places, np.int64)
    terms, x = normal(*index.shape, *shape[1:], seed=1), normal(*shape)
    wanted = x.copy()
    np.add.at(wanted, index, terms)
    got = torch.tensor(x).index_put((torch.tensor(index),), torch.tensor(terms), accumulate=True)
    np.testing.assert_allclose(got.numpy(), wanted, 1e-12)
    leaf = torch.tensor(x).requires_grad_()
    leaf[torch.tensor(index)].backward(torch.tensor(terms))
    np.testing.assert_allclose(leaf.grad.numpy(), wanted - x, 1e-9, 1e-12)
    if x.size:
        with pytest.raises(IndexError, match="out of bounds"):
            torch.tensor(x).index_put((torch.tensor([5]),), torch.tensor(1.0, dtype=torch.float64), accumulate=True)


# --- few elements -------------------------------------------------------------------------------------------------


@few
@given(
    st.lists(st.integers(1, 7), min_size=0, max_size=2),
    st.integers(1, 33),
    st.sampled_from([0.0, 1.0, 30.0, 200.0]),
    st.integers(0, 9),
)
def test_rows_of_few_elements(leading, length, shift, seed):
    shape = (*leading, length)
    x = normal(*shape, seed=seed) + shift * normal(*shape[:-1], 1, seed=seed + 1)
    for name in ("softmax", "log_softmax"):
        assert_kernel_agrees(name, [x], -1, tolerance=1e-6)
    if len(shape) == 2:
        parts = kernels.KERNELS["log_sum_exp"](x, 1)
        np.testing.assert_allclose(parts.sum(1), np.logaddexp.reduce(x, 1), rtol=1e-9, atol=1e-9)
    singles = x.astype(np.float32)
    for dim, keepdim in ((-1, False), ((len(shape) - 1,), True), (None, False), (None, True), (0, False)):
        count = singles.size if dim is None else shape[dim if isinstance(dim, int) else dim[0]]
        for correction in {0, min(1, count - 1)}:
            got = kernels.KERNELS["var"](singles, dim, correction, keepdim)
            wanted = np.var(singles.astype(float), dim, ddof=correction, keepdims=keepdim)
            assert got.dtype == np.float32 and np.shape(got) == np.shape(wanted)
            np.testing.assert_allclose(got, wanted, rtol=2e-7, atol=1e-12)
    weight, bias = normal(length, seed=seed + 2), normal(length, seed=seed + 3)
    deviations = x - x.mean(-1, keepdims=True)
    normalized = deviations / np.sqrt(np.square(deviations).mean(-1, keepdims=True) + 1e-5)
    for scale, offset in ((weight, bias), (None, bias), (weight, None), (None, None)):
        got = kernels.KERNELS["layer_norm"](x, scale, offset, None, None, (-1,), 1e-5, None)
        wanted = normalized * (1 if scale is None else scale) + (0 if offset is None else offset)
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_rows_of_one_value():
    x = np.full((3, 5), 1000.1, np.float32)
    out = kernels.KERNELS["layer_norm"](x, None, None, None, None, (-1,), 1e-5, None)
    np.testing.assert_allclose(out, 0, atol=1e-6)
    np.testing.assert_allclose(kernels.KERNELS["var"](x, -1, 1, False), 0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, np.uint8, np.bool_])
def test_descending_order_is_stable(dtype):
    x = np.random.default_rng(0).integers(-3, 4, (6, 9)).astype(dtype)
    x[0, :2] = np.iinfo(dtype).min if np.dtype(dtype).kind in "iu" else x[0, :2]
    if np.dtype(dtype).kind == "f":
        x[1, 3], x[2, ::4], x[3, 5] = np.inf, np.nan, -np.inf
    for dim in (0, 1):
        values, indices = kernels.KERNELS["sort"](x, dim, True)
        wanted = np.flip(x.shape[dim] - 1 - np.flip(x, dim).argsort(dim, kind="stable"), dim)
        np.testing.assert_array_equal(indices, wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, dim))
        for largest in (True, False):
            values, indices = kernels.KERNELS["topk"](x, 2, dim, largest)
            order = wanted if largest else x.argsort(dim, kind="stable")
            np.testing.assert_array_equal(indices, order[:2] if dim == 0 else order[:, :2])
            assert indices.flags.c_contiguous


def test_the_gradient_of_relu_of_a_number() -> None:
    for value, expected in ((2.0, 1.0), (-2.0, 0.0)):
        x = torch.tensor(value, requires_grad=True)
        torch.relu(x).backward()
        assert x.grad is not None and x.grad.shape == () and x.grad.item() == expected


@pytest.mark.slow
def test_a_program_is_told_nothing_of_infinities():
    """Runs in a subprocess with Python's default warning filters, since pytest's filters would override flambeau's."""
    program = """if True:
        import flambeau as torch

        huge = torch.tensor([3e38, -3e38])
        results = huge * 10, huge.abs().sum(), huge.cumprod(0), (huge.double() * 1e270).cumprod(0), (huge.double() * 10).float()
        assert all(x.isinf().any() for x in results)
        assert torch.special.log_ndtr(torch.tensor(-3e38)).isinf() and torch.lgamma(torch.tensor(3e38)).isinf()
    """
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize("function", [
    lambda x: F.batch_norm(x, None, None, training=True), lambda x: F.softmax(x, -1), lambda x: x.reshape(-1, 32).clone(),
])  # fmt: skip
def test_gradients_that_nobody_else_holds_are_not_copied(function):
    """`x.grad` adopts a gradient's memory, also if it is a view of a whole array. Views of parts and shared memory are copied."""
    x = torch.from_numpy(normal(32, 32, 32, 32, dtype=np.float32)).requires_grad_()
    torch.ones(1, requires_grad=True).register_hook(lambda grad: None)  # hooks on other leaves must not prevent this optimization
    slopes = torch.ones(function(x).shape)

    def peak():
        output = function(x)
        x.grad = None
        tracemalloc.start()
        output.backward(slopes)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak()  # fill the caches first
    assert peak() < 1.6 * x.nbytes


def test_gradients_of_shared_memory_are_copied():
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            kept.append(grad * 2)
            return kept[-1].view(6) if len(kept) == 1 else kept[-1].view(6)[:6]

    kept, x = [], torch.zeros(6, requires_grad=True)
    for _ in range(2):
        x.grad = None
        Kept.apply(x).view(2, 3).sum().backward()
        x.grad.zero_()
        assert kept[-1].tolist() == [2.0] * 6
