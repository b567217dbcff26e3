"""Modules made without initial values."""

from __future__ import annotations

import inspect
from typing import Any

import flambeau as torch

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """`module_cls(*args, **kwargs)`, whose parameters may hold anything and which draws no random numbers.

    Example:
        >>> import flambeau as torch
        >>> skip_init(torch.nn.Linear, 5, 1)
        Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with torch.random.fork_rng():
        return module_cls(*args, **kwargs)
