"""Creating modules without initializing their parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Create a module with uninitialized parameters, without changing the state of the random number generator.

    Use it for modules whose parameters are set right afterwards, from a checkpoint or by a custom initialization.

    Args:
        module_cls: the class, whose constructor takes a `device`.
        *args, **kwargs: the arguments of the constructor.

    Raises:
        RuntimeError: the class is not a subclass of `Module`, or its constructor has no argument `device`.

    Example:
        >>> skip_init(torch.nn.Linear, 5, 1)
        Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
