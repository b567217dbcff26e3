"""The handle that all `register_..._hook` functions return."""

from __future__ import annotations

import warnings
from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values.handles import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """A decorator of hooks that are not to be saved; saving a tensor that has others warns."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn that the hooks of a tensor are not saved with it."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
