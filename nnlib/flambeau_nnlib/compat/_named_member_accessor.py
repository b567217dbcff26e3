"""Get and replace the tensors of a module by name."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ..nn.modules.module import Module

__all__ = ["set_tensor", "swap_tensor"]

_MISSING: Any = object()  # marks a name for which the module has no tensor


def set_tensor(module: Module, name: str, tensor: torch.Tensor | None) -> None:
    """Set a tensor of a module: the parameter or buffer of that name, or else an attribute."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Replace a tensor of a module and return the previous one.

    Raises:
        TypeError: `module` is not a Module, or the old or new value is not a tensor.
        KeyError: the name is empty or contains a dot.
        AttributeError: the module has no such attribute, and `allow_missing` is False.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    for members in (module._parameters, module._buffers):
        if name in members:
            previous = members[name]
            if tensor is _MISSING:
                del members[name]
            else:
                members[name] = tensor
            return previous
    if not hasattr(module, name) and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    previous = getattr(module, name, _MISSING)
    if previous is not _MISSING and previous is not None and not isinstance(previous, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {previous} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif previous is not _MISSING:
        delattr(module, name)
    return previous
