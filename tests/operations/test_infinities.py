"""An infinite or NaN element only affects the results that depend on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau as torch
import flambeau.nn.functional as F


def counts(tensor):
    """Return the numbers of NaN and of infinite elements."""
    return int(tensor.isnan().sum()), int(tensor.isinf().sum())


@pytest.mark.parametrize("channels", [4, 16, 32])
def test_convolution(channels):
    """An infinite pixel in the corner only affects the four results per channel next to it, whichever algorithm is used."""
    x, weight = torch.ones(2, channels, 33, 33), torch.ones(channels, channels, 3, 3, requires_grad=True)
    x[0, 0, 0, 0] = math.inf
    output = F.conv2d(x, weight, padding=1)
    assert counts(output) == (0, 4 * channels)
    output.sum().backward()
    assert counts(weight.grad) == (0, 4 * channels)


@pytest.mark.parametrize(("size", "kernel"), [(9, 3), (28, 5), (60, 3)])
def test_depthwise_convolution(size, kernel):
    x, weight = torch.ones(2, 20, size, size, requires_grad=True), torch.ones(20, 1, kernel, kernel, requires_grad=True)
    with torch.no_grad():
        x[0, 0, 0, 0] = math.inf
    output = F.conv2d(x, weight, padding=kernel // 2, groups=20)
    seen = (kernel // 2 + 1) ** 2
    assert counts(output) == (0, seen)
    grad = torch.ones_like(output)
    grad[1, 3, size // 2, size // 2] = math.inf
    output.backward(grad)
    assert counts(weight.grad) == (0, seen + kernel**2) and counts(x.grad) == (0, kernel**2)


def test_transposed_convolution():
    x = torch.ones(2, 32, 33, 33)
    x[0, 0, 5, 5] = math.inf
    assert counts(F.conv_transpose2d(x, torch.ones(32, 16, 3, 3), padding=1)) == (0, 9 * 16)


@pytest.mark.parametrize("size", [3, 4, (5, 7), 12])
def test_adaptive_mean(size):
    x = torch.ones(1, 1, 9, 8, requires_grad=True)
    with torch.no_grad():
        x[0, 0, 0, 0] = math.inf
    output = F.adaptive_avg_pool2d(x, size)
    windows = [n if isinstance(size, int) else size[i] for i, n in enumerate((size, size))]
    first = [len([i for i in range(n) if i * length // n == 0]) for n, length in zip(windows, (9, 8), strict=True)]
    assert counts(output) == (0, first[0] * first[1])
    output.sum().backward()
    assert torch.allclose(x.grad.sum(), torch.tensor(float(output.numel())))


def test_area_interpolation():
    x = torch.ones(1, 1, 9, 9)
    x[0, 0, 0, 0] = math.inf
    assert counts(F.interpolate(x, size=(5, 4), mode="area")) == (0, 1)


def test_layer_norm_of_rows_of_one_element():
    assert F.layer_norm(torch.tensor([[math.inf], [1.0]]), (1,)).isnan().tolist() == [[True], [False]]


@pytest.mark.parametrize("shape", [(4, 6), (40, 300), (3, 20000), (2, 3, 40), (2, 4, 600)])
@pytest.mark.parametrize(("dtype", "huge"), [(torch.float32, 1e25), (torch.float64, 1e200), (torch.bfloat16, 1e25)])
@pytest.mark.parametrize("affine", [True, False])
def test_rows_whose_variance_overflows(shape, dtype, huge, affine):
    """All elements of such a row and of its gradient are NaN, instead of zeros that would hide the overflow."""
    x = torch.tensor(np.random.default_rng(0).standard_normal(shape), dtype=dtype)
    x[1] *= huge
    x.requires_grad_()
    weight, bias = (torch.ones(shape[-1:], dtype=dtype), torch.ones(shape[-1:], dtype=dtype)) if affine else (None, None)
    normalized = [F.layer_norm(x, shape[-1:], weight, bias)]
    if len(shape) > 2:
        weight, bias = (torch.ones(shape[1], dtype=dtype), torch.ones(shape[1], dtype=dtype)) if affine else (None, None)
        normalized += [F.group_norm(x, 1, weight, bias), F.layer_norm(x, shape[1:])]
    for result in normalized:
        (gradient,) = torch.autograd.grad(result.sum(), x)
        for rows in (result, gradient):
            assert rows[1].isnan().all() and rows[0].isfinite().all() and rows[2:].isfinite().all()


def test_gradient_of_a_sampled_function():
    """A central difference uses an element's neighbours, but not the element itself."""
    (slope,) = torch.gradient(torch.tensor([2.0, -2.0, math.inf, math.inf, -math.inf, 3.0]))
    assert slope.tolist() == [-4, math.inf, math.inf, -math.inf, -math.inf, math.inf]


@pytest.mark.parametrize("shape", [(4, 4), (3, 300), (2, 20000)])
@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
@pytest.mark.parametrize("function", [torch.var, torch.std])
def test_variance(shape, infinity, function):
    x = torch.ones(shape)
    x[0, 1] = infinity
    assert counts(function(x, 1)) == (1, 0) and counts(function(x, 0)) == (1, 0)
    assert counts(function(x)) == (1, 0)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("coordinate", [math.nan, math.inf, -math.inf])
def test_grid_sample_outside_a_volume(mode, coordinate):
    """With zero padding, a point at infinity is outside the volume: its sample and its gradients are 0."""
    x, grid = torch.ones(1, 1, 3, 3, 3, requires_grad=True), torch.zeros(1, 1, 1, 2, 3)
    grid[..., 0, 1] = coordinate
    output = F.grid_sample(x, grid.requires_grad_(), mode=mode, align_corners=False)
    assert output.flatten().tolist() == [0, 1]
    output.sum().backward()
    assert float(x.grad.sum()) == 1 and not grid.grad.isnan().any()


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_clamp_of_special_values(size):
    special = np.resize(np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 0.5, 3.0], np.float32), size)
    for low, high in ((-1, 1), (None, 0.25), (0.25, None), (2, 1), (0, 0)):
        expected = special.copy()
        expected = expected if low is None else np.where(expected < low, np.float32(low), expected)
        expected = expected if high is None else np.where(expected > high, np.float32(high), expected)
        for dtype in (torch.float32, torch.float64, torch.float16):
            np.testing.assert_array_equal(torch.from_numpy(special).to(dtype).clamp(low, high).float().numpy(), expected)
