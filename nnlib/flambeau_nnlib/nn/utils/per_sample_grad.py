"""Per-sample gradients: a separate gradient of the parameters for each sample of a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from flambeau import Tensor, func
from flambeau.utils import pytree

from ..modules.module import Module

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """Return the module's forward, with a backward that stores per-sample gradients in `grad_sample` instead of `grad`.

    Args:
        module: the module.
        batch_size: the number of samples; by default the batch size of the tensors among the arguments.
        loss_reduction: how the loss combines the samples' losses: `"sum"` or `"mean"`.
        batch_first: whether the batch is dimension 0 of tensors; False for dimension 1.

    >>> from flambeau.nn.utils.per_sample_grad import call_for_per_sample_grads
    >>> linear = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(linear)(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> linear.weight.grad_sample, linear.weight.grad
    (tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]]), None)
    """
    _check(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    @wraps(module.forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        samples = _batch_size(args, kwargs, dim) if batch_size is None else batch_size
        factor = samples if loss_reduction == "mean" else 1
        weights = {
            name: _expand_parameter(parameter, samples, factor)
            for name, parameter in module.named_parameters()
            if parameter.requires_grad
        }
        leaves, spec = pytree.tree_flatten((args, kwargs))
        split = [dim if isinstance(leaf, Tensor) and leaf.dim() > dim and leaf.shape[dim] == samples else None for leaf in leaves]

        def call_with_sample(weights: dict[str, Tensor], leaves: list[Any]) -> Any:
            alone = [leaf if place is None else leaf.unsqueeze(dim) for leaf, place in zip(leaves, split, strict=True)]
            call_args, call_kwargs = pytree.tree_unflatten(alone, spec)
            return pytree.tree_map(
                lambda output: output.squeeze(dim), func.functional_call(module, weights, call_args, call_kwargs)
            )

        return func.vmap(call_with_sample, (0, split), dim, randomness="different")(weights, leaves)

    return forward


def _check(module: Any, batch_size: Any, loss_reduction: str) -> None:
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without clearing "
                f"gradients. Please clear out the grad_sample parameter of {weight}"
            )


def _batch_size(args: tuple[Any, ...], kwargs: dict[str, Any], dim: int) -> int:
    """Return the batch size of the tensors among the arguments."""
    sizes: list[int] = [leaf.shape[dim] for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights cannot "
            "compute the batch size from the inputs. Please specify it explicitly"
        )
    for size in sizes:
        if size != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} and one with batch size {size}. "
                "Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
    return sizes[0]


def _expand_parameter(parameter: Tensor, samples: int, factor: int) -> Tensor:
    """Return the parameter expanded over samples; its `grad_sample` gets the gradient of each sample."""
    repeated = parameter.detach().expand(samples, *parameter.shape).requires_grad_()

    def keep(gradient: Tensor) -> None:
        before = getattr(parameter, "grad_sample", None)
        gradient = gradient * factor
        parameter.grad_sample = gradient if before is None else before + gradient  # type: ignore[attr-defined]

    repeated.register_hook(keep)
    return repeated
