"""Private names of `torch.optim.optimizer`, from which optimizers outside of PyTorch are written."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__: list[str] = []

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict = dict[str, Any]

_params_doc = """params: the parameters, or dicts that group them with options of their own."""
_foreach_doc = """foreach (bool, optional): whether all parameters are updated together."""
_fused_doc = """fused (bool, optional): whether a step is one operation."""
_capturable_doc = """capturable (bool, optional): whether a step can be captured in a graph."""
_differentiable_doc = """differentiable (bool, optional): whether a step is recorded for derivatives."""
_maximize_doc = """maximize (bool, optional): whether to maximize, rather than minimize."""


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of `step`: without recording, unless the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that changes nothing: calls are compiled as they are made."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    """The number in a tensor; in a call that is being compiled, the tensor."""
    if torch.compiler.is_compiling():
        return x
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The numbers; in a call that is being compiled, in one tensor."""
    return torch.stack(x) if torch.compiler.is_compiling() else x


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or of a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _to_scalar(x: Any) -> Any:
    """A tensor of one element with no dimensions; a number as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> torch.dtype:
    """The dtype of step counts."""
    wide = torch.get_default_dtype() == torch.float64 and not is_fused
    return torch.float64 if wide else torch.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Device types on which a step with `capturable` works."""
    return ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * supports_xla


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether a step is one operation, and whether on all parameters together, where neither is asked for."""
    if differentiable:
        return False, False
    on = {p.device.type for p in params if p is not None}
    floating = all(p is None or p.is_floating_point() for p in params)
    fused = use_fused and floating and on <= set(torch.utils._foreach_utils._get_fused_kernels_supported_devices())
    return fused, not fused and on <= set(torch.utils._foreach_utils._get_foreach_kernels_supported_devices())


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace, in the lists, complex parameters and what belongs to them by views as pairs of real numbers."""
    for i, p in enumerate(params):
        if torch.is_complex(p):
            params[i] = torch.view_as_real(params[i])
            for tensors in state_and_grads:
                tensors[i] = torch.view_as_real(tensors[i])
