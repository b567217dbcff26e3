"""Private functions of the modules in `torch.nn.modules`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import Tensor

from ..nn import functional as F
from ..nn.modules.hooks import GLOBAL

__all__: list[str] = []

_global_parameter_registration_hooks = GLOBAL.registration["parameter"]
_global_forward_pre_hooks, _global_forward_hooks = GLOBAL._forward_pre_hooks, GLOBAL._forward_hooks
_global_backward_pre_hooks, _global_backward_hooks = GLOBAL._backward_pre_hooks, GLOBAL._backward_hooks


def _addindent(s_: str, numSpaces: int) -> str:
    """Indent all lines of a text except the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """Return the activation function `relu` or `gelu`. Raise a RuntimeError for other names."""
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _list_with_default(out_size: Any, defaults: Any) -> Any:
    """Return `out_size` with each None replaced by the default of the same dimension, counted from the end of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    pairs = zip(out_size, defaults[-len(out_size) :], strict=True)
    return [default if size is None else size for size, default in pairs]
