"""Reentrant checkpointing: a backward pass inside the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import flambeau as torch

from .settings import Settings

__all__ = ["CheckpointFunction", "check_backward_validity", "detach_variable"]


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among `inputs` requires a gradient."""
    if not any(value.requires_grad for value in inputs if isinstance(value, torch.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tuple `inputs` with its tensors detached. They still require a gradient if they did before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value for value in inputs
    )


class CheckpointFunction(torch.autograd.Function):
    """Autograd function of `checkpoint` with `use_reentrant=True`."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.settings = Settings(preserve_rng_state, args)
        ctx.positions = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.args = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.save_for_backward(*[args[i] for i in ctx.positions])
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        args = list(ctx.args)
        for i, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            args[i] = tensor
        inputs = detach_variable(tuple(args))
        with ctx.settings.restored(), torch.enable_grad():
            outputs = ctx.run_function(*inputs)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        outputs, gradients = map(list, zip(*pairs, strict=True))
        torch.autograd.backward(outputs, gradients)
        return None, None, *(value.grad if isinstance(value, torch.Tensor) else None for value in inputs)
