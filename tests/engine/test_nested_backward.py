"""Backward passes that start other backward passes."""

from __future__ import annotations

import pytest

import flambeau as torch


def test_reentrant_backward():
    """A hook runs a backward that accumulates into the same leaf."""
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def hook(grad):
        with torch.enable_grad():
            (y * 5).sum().backward()

    z = x * 2
    z.register_hook(hook)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [5, 5]


@pytest.mark.parametrize("error", [None, KeyError])
def test_backward_passes_nested_deeper_than_the_stack_of_python(error):
    class Countdown(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.left = x.item()
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.left:
                with torch.enable_grad():
                    Countdown.apply(torch.tensor(ctx.left - 1, requires_grad=True)).backward()
            elif error:
                raise error("innermost")
            return grad

    x = torch.tensor(200.0, requires_grad=True)
    if error:
        with pytest.raises(error, match="innermost"):
            Countdown.apply(x).backward()
    else:
        Countdown.apply(x).backward()
        assert x.grad == 1
    assert torch.is_grad_enabled()
