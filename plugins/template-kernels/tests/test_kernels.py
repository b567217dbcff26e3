"""The pack's kernel is used, and computes the same as the operation's forward."""

import flambeau_mykernels
import numpy
import pytest

import flambeau as torch


def test_the_kernel_serves():
    assert torch.backend.find("numpy").all_kernels["silu"] is flambeau_mykernels.silu


@pytest.mark.parametrize("shape", [(), (0,), (7,), (300, 200), (3, 5, 7)])
def test_values(shape):
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    expected = x.detach().numpy() / (1 + numpy.exp(-x.detach().numpy()))
    result = torch.nn.functional.silu(x)
    torch.testing.assert_close(result.detach(), torch.tensor(expected))


def test_gradients():
    assert torch.autograd.gradcheck(torch.nn.functional.silu, torch.randn(7, dtype=torch.float64, requires_grad=True))


def test_views_are_read_as_they_are():
    x = torch.randn(400, 300).t()[::2]
    torch.testing.assert_close(torch.nn.functional.silu(x), x * torch.sigmoid(x))
