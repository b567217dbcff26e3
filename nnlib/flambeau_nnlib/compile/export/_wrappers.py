"""Calls with wrapper subclasses in exported programs: the class computes them, by operators on its inner tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flambeau as torch
from flambeau.library.dispatch_modes import is_traceable_wrapper_subclass
from flambeau.utils import pytree

if TYPE_CHECKING:
    from ._tracing import Recording

__all__ = ["compute_by_class", "has_wrapper"]


def has_wrapper(args: Any, kwargs: Any) -> bool:
    """Whether a wrapper subclass is among the arguments of a call."""
    return any(map(is_traceable_wrapper_subclass, pytree.tree_leaves((args, kwargs))))


def compute_by_class(recording: Recording, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Let the class of the first wrapper compute a call, and record the operators on its inner tensors.

    If its `__torch_function__` calls `func` again, its `__torch_dispatch__` computes the operators of `func`.
    """
    if recording.computed_by_class is func:
        recording.computed_by_class = None
        with recording:
            return torch.overrides.redispatch_function(func, types, args, kwargs)
    wrapper = next(filter(is_traceable_wrapper_subclass, pytree.tree_leaves((args, kwargs))))
    recording.computed_by_class = func
    try:
        with recording:
            return type(wrapper).__torch_function__(func, types, args, kwargs)
    finally:
        recording.computed_by_class = None
