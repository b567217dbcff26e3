"""The table of decompositions of PyTorch's compiler.  Libraries add to it; flambeau's compiler does not use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["decompositions", "register_decomposition"]

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that enters a function as the decomposition of an operator, or of each operator of a list."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        decompositions.update(dict.fromkeys(ops if isinstance(ops, Iterable) else (ops,), function))
        return function

    return register
