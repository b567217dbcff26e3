"""Clip gradients by their total norm or by value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import private_names

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

__getattr__ = private_names(__name__)


@torch.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Compute the norm of all tensors concatenated to one vector.

    Args:
        tensors: a tensor, or any number of them; usually gradients.
        norm_type: the order of the norm: 2 for the Euclidean one, `inf` for the largest absolute value.
        error_if_nonfinite: raise RuntimeError for a norm that is infinite or nan.
        foreach: accepted for compatibility; it has no effect on the result.

    Returns:
        a tensor without dimensions, on the first tensor's device; 0 for no tensors.

    Example:
        >>> get_total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])
        tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return torch.tensor(0.0)
    norm_type, device = float(norm_type), tensors[0].device
    norms = [torch.linalg.vector_norm(tensor, norm_type).to(device) for tensor in tensors]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients by `max_norm / total_norm`, in place, if this factor is below 1.

    With `get_total_norm`, it is equivalent to `clip_grad_norm_`.

    Args:
        parameters: a tensor, or any number of them, whose `grad` is scaled; parameters without a `grad` are skipped.
        max_norm: the largest norm allowed.
        total_norm: the current norm of all gradients, a 0-d tensor.
        foreach: accepted for compatibility; it has no effect on the result.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(2))
        >>> (weight * torch.tensor([3.0, 4.0])).sum().backward()
        >>> clip_grads_with_norm_([weight], max_norm=1.0, total_norm=torch.tensor(10.0)); weight.grad
        tensor([0.3000, 0.4000])
    """
    scale = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in gradients(parameters):
        grad.mul_(scale.to(grad.device))


@torch.no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their total norm is at most `max_norm`.

    Call it between `backward` and the optimizer's step. Gradients of a smaller norm stay as they are.

    Args:
        parameters: a tensor, or any number of them, whose `grad` is scaled; parameters without a `grad` are skipped.
        max_norm: the largest norm allowed.
        norm_type: the order of the norm: 2 for the Euclidean one, `inf` for the largest absolute value.
        error_if_nonfinite: raise RuntimeError for a norm that is infinite or nan, instead of scaling with it.
        foreach: accepted for compatibility; it has no effect on the result.

    Returns:
        the total norm before clipping, a 0-d tensor.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(2))
        >>> (weight * torch.tensor([3.0, 4.0])).sum().backward()
        >>> clip_grad_norm_([weight], max_norm=1.0), weight.grad
        (tensor(5.), tensor([0.6000, 0.8000]))
    """
    is_generator = isinstance(parameters, GeneratorType)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if is_generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The deprecated name of `clip_grad_norm_`, which gives a FutureWarning.

    Args:
        parameters, max_norm, norm_type, error_if_nonfinite, foreach: those of `clip_grad_norm_`.

    Example:
        >>> import warnings
        >>> weight = torch.nn.Parameter(torch.ones(1))
        >>> weight.sum().backward()
        >>> with warnings.catch_warnings(action="ignore"):
        ...     clip_grad_norm([weight], max_norm=2.0)
        tensor(1.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of all gradients to the range from `-clip_value` to `clip_value`, in place.

    Args:
        parameters: a tensor, or any number of them, whose `grad` is limited; parameters without a `grad` are skipped.
        clip_value: the largest absolute value allowed.
        foreach: accepted for compatibility; it has no effect on the result.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(2))
        >>> (weight * torch.tensor([3.0, -4.0])).sum().backward()
        >>> clip_grad_value_([weight], 3.5); weight.grad
        tensor([ 3.0000, -3.5000])
    """
    clip_value = float(clip_value)
    for grad in gradients(parameters):
        grad.clamp_(min=-clip_value, max=clip_value)


def gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
