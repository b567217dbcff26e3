"""The NumPy backend selects the algorithms of a convolution and its gradients once per signature."""

from __future__ import annotations

import pytest

import flambeau as torch
import flambeau.nn.functional as F
from flambeau_backends.numpy import kernels_conv, winograd


@pytest.mark.parametrize("convolve", [F.conv2d, F.conv_transpose2d])
def test_a_convolution_and_its_gradients_share_a_plan(convolve):
    x, weight = torch.ones(2, 3, 7, 5, requires_grad=True), torch.ones(3, 3, 3, 3, requires_grad=True)
    kernels_conv.plan.cache_clear()
    for _ in range(2):
        convolve(x, weight, padding=1).sum().backward()
    assert kernels_conv.plan.cache_info().misses == 1


def test_the_number_of_plans_is_bounded():
    weight = torch.ones(1, 1, 1)
    for length in range(1, 400):
        F.conv1d(torch.ones(1, 1, length), weight)
    assert kernels_conv.plan.cache_info().currsize <= 256


@pytest.mark.parametrize("dtype, uses_winograd", [(torch.float32, True), (torch.float64, False)])
def test_the_dtype_is_part_of_the_signature(monkeypatch, dtype, uses_winograd):
    calls, convolve = [], winograd.convolve
    monkeypatch.setattr(winograd, "convolve", lambda *args: calls.append(args) or convolve(*args))
    F.conv2d(torch.ones(4, 16, 16, 16, dtype=dtype), torch.ones(16, 16, 3, 3, dtype=dtype), padding=1)
    assert bool(calls) is uses_winograd


@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 0, 1), (1, 2, 2), (2, 1, 2)])
@pytest.mark.parametrize("space", [(9,), (6, 5), (3, 5, 4)])
def test_depthwise_convolutions_of_many_channels_equal_those_of_few_bitwise(space, stride, padding, dilation):
    torch.manual_seed(0)
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(space)]
    kernel = [min(2 if dilation == 2 else 3, n) for n in space]
    x, weight, bias = torch.randn(2, 64, *space), torch.randn(64, 1, *kernel), torch.randn(64)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    few = [
        convolve(x[:, part], weight[part], bias[part], groups=8, **options)
        for part in map(slice, range(0, 64, 8), range(8, 72, 8))
    ]
    assert torch.equal(convolve(x, weight, bias, groups=64, **options), torch.cat(few, 1))
