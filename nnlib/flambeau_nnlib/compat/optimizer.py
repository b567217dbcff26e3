"""Private names of `torch.optim.optimizer` that third-party optimizers use."""

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
    """Decorate the method `step` of an optimizer to run without recording gradients, unless `differentiable` is set."""

    @functools.wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that returns the function unchanged."""
    return lambda func: func


def _get_value(x: Any) -> Any:
    """Return the value of a one-element tensor as a number. During compilation, return the tensor itself."""
    if torch.compiler.is_compiling():
        return x
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """Stack the numbers into a tensor during compilation; otherwise return them unchanged."""
    return torch.stack(x) if torch.compiler.is_compiling() else x


def _dispatch_sqrt(x: Any) -> Any:
    """Return the square root of a number or tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _to_scalar(x: Any) -> Any:
    """Convert a one-element tensor to a 0-d tensor; return numbers unchanged."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> torch.dtype:
    """Return the dtype of step counters."""
    wide = torch.get_default_dtype() == torch.float64 and not is_fused
    return torch.float64 if wide else torch.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the device types that support `capturable=True`."""
    return ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * supports_xla


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Return the default values of `fused` and `foreach` for the given parameters."""
    if differentiable:
        return False, False
    on = {p.device.type for p in params if p is not None}
    floating = all(p is None or p.is_floating_point() for p in params)
    fused = use_fused and floating and on <= set(torch.utils._foreach_utils._get_fused_kernels_supported_devices())
    return fused, not fused and on <= set(torch.utils._foreach_utils._get_foreach_kernels_supported_devices())


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace complex parameters, and the corresponding state and gradients, by real views. The lists are changed in place."""
    for i, p in enumerate(params):
        if torch.is_complex(p):
            params[i] = torch.view_as_real(params[i])
            for tensors in state_and_grads:
                tensors[i] = torch.view_as_real(tensors[i])


DeviceDict = dict[torch.device | None, Tensor]


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError if a fused step does not support a parameter's dtype."""
    if not torch.is_floating_point(p):
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices")
