"""Functions of `torch._C._autograd`: the hooks on saved tensors as a stack, and whether a profiler is running."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...autograd.graph import saved_tensors_hooks
from ...engine.tape.saved import SAVE_HOOKS

__all__ = [
    "_pop_saved_tensors_default_hooks", "_profiler_enabled", "_push_saved_tensors_default_hooks",
    "_top_saved_tensors_default_hooks",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("DeviceType", "kineto_available"):  # imported late, because few programs use the profiler
        return getattr(import_module("flambeau.profiler"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _push_saved_tensors_default_hooks(pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
    """Save `pack_hook(tensor)` instead of each tensor, until `_pop_saved_tensors_default_hooks`."""
    saved_tensors_hooks(pack_hook, unpack_hook).__enter__()


def _pop_saved_tensors_default_hooks() -> None:
    """Remove the innermost hooks."""
    SAVE_HOOKS[-1].__exit__()


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[Any, Any] | None:
    """Return the innermost pair of hooks, or None."""
    return (SAVE_HOOKS[-1].pack_hook, SAVE_HOOKS[-1].unpack_hook) if SAVE_HOOKS else None


def _profiler_enabled() -> bool:
    """Whether a profiler is recording."""
    from ... import autograd

    return bool(autograd._profiler_enabled())
