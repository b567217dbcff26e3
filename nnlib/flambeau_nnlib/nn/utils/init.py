"""Creating modules without initializing their parameters."""

from __future__ import annotations

import inspect
from typing import Any

import flambeau as torch

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Create a module without initial values: its parameters may hold anything, and the random state does not change.

    It is for modules whose parameters are set at once, from a checkpoint or by an initialization of your own.

    Args:
        module_cls: the class, whose constructor takes a `device`.
        *args, **kwargs: what its constructor is called with.

    Raises:
        RuntimeError: the class is no module, or its constructor takes no `device`.

    Example:
        >>> skip_init(torch.nn.Linear, 5, 1)
        Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with torch.random.fork_rng():
        return module_cls(*args, **kwargs)
