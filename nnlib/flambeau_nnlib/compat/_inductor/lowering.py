"""`torch._inductor.lowering`: registrations for PyTorch's compiler back end, which flambeau's compiler ignores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["lowerings", "make_fallback", "register_lowering"]

lowerings: dict[Any, Callable[..., Any]] = {}


def register_lowering(aten_fn: Any, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: keep a function as the lowering of an operator, or of several."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        lowerings.update(dict.fromkeys(aten_fn if isinstance(aten_fn, (list, tuple)) else [aten_fn], function))
        return function

    return register


def make_fallback(op: Any, *args: Any, **kwargs: Any) -> None:
    """Do nothing: every operator runs as it is."""
