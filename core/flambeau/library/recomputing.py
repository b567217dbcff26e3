"""Gradients of results that the class of a wrapper subclass has computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..autograd.function import Function
from ..utils import pytree

__all__ = ["record_composite", "record_index"]


def record_composite(compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Return the result of a composite function with a history: backward computes the function again, by its operations.

    Args:
        compute: the function.
        args, kwargs: its arguments.
        result: its result without history.
    """
    leaves, structure = pytree.tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*tensors: torch.Tensor) -> Any:
        for place, tensor in zip(places, tensors, strict=True):
            leaves[place] = tensor
        given, options = pytree.tree_unflatten(leaves, structure)
        return compute(*given, **options)

    results = tuple(result) if isinstance(result, (tuple, list)) else result
    return _Composite.apply(call, lambda: results, *(leaves[place] for place in places))


def record_index(input: torch.Tensor, indices: list[Any], result: torch.Tensor) -> torch.Tensor:
    """Return the result of `aten.index`, where some indices are wrappers, with a history."""
    recorded: torch.Tensor = _Index.apply(lambda: result, indices, input)
    return recorded


class _Index(Function):
    @staticmethod
    def forward(ctx: Any, known: Callable[[], Any], indices: list[Any], input: torch.Tensor) -> Any:
        ctx.indices, ctx.shape = indices, input.shape
        return known()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return None, None, gradient.new_zeros(ctx.shape).index_put_(ctx.indices, gradient, accumulate=True)


class _Composite(Function):
    @staticmethod
    def forward(ctx: Any, call: Callable[..., Any], known: Callable[[], Any], *tensors: torch.Tensor) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return known()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        needed = ctx.needs_input_grad[2:]
        tensors, create_graph = ctx.saved_tensors, torch.is_grad_enabled()
        if not create_graph:
            tensors = [tensor.detach().requires_grad_(each) for tensor, each in zip(tensors, needed, strict=True)]
        with torch.enable_grad():
            result = ctx.call(*tensors)
        results = result if isinstance(result, (tuple, list)) else [result]
        pairs = [(each, g) for each, g in zip(results, gradients, strict=True) if g is not None and each.requires_grad]
        found = iter(
            torch.autograd.grad(
                [each for each, _ in pairs],
                [tensor for tensor, each in zip(tensors, needed, strict=True) if each],
                [g for _, g in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        )
        return None, None, *(next(found) if each else None for each in needed)
