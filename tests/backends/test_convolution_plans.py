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
