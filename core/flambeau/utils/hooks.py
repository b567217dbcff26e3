"""The handle that all `register_..._hook` functions return."""

from __future__ import annotations

import warnings
from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values.handles import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook, so that saving a tensor which has this hook causes no warning.  Return the hook."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn for each hook of a tensor that is not marked by `unserializable_hook`: hooks are not saved."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
