"""Helpers: hooks, DLPack, and (from packages outside the core) data loading, checkpointing, model downloads."""

from __future__ import annotations

from typing import Any

from . import dlpack, hooks

__all__ = ["dlpack", "hooks", "set_module"]


def set_module(obj: Any, mod: Any) -> None:
    """Say of which module a function or class is, unless it is None."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if not name.startswith("__") and find_spec(f"flambeau.utils.{name}") is not None:
        return import_module(f"flambeau.utils.{name}")
    raise AttributeError(f"module 'flambeau.utils' has no attribute '{name}'")
