"""Questions about sizes that may be symbols in PyTorch: here sizes are integers while a program is traced."""

from __future__ import annotations

from typing import Any

from flambeau.utils._ordered_set import OrderedSet  # type: ignore[import-not-found]  # PyTorch's name

import flambeau as torch

__all__ = [
    "GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols", "guard_or_false", "guard_or_true",
    "guard_size_oblivious", "has_free_symbols", "is_concrete_bool", "is_concrete_int", "is_symbolic", "statically_known_false",
    "statically_known_true",
]  # fmt: skip


class GuardOnDataDependentSymNode(RuntimeError):
    """PyTorch's error when a program branches on a size that depends on data, for programs that catch it."""


def is_symbolic(val: Any) -> bool:
    """Whether a value is a symbol: a `SymInt`, `SymFloat` or `SymBool`."""
    return isinstance(val, (torch.SymInt, torch.SymFloat, torch.SymBool))


def is_concrete_int(a: Any) -> bool:
    """Whether a size is an integer."""
    return not is_symbolic(a)


def is_concrete_bool(a: Any) -> bool:
    """Whether a condition is a bool."""
    return not is_symbolic(a)


def free_symbols(val: Any) -> OrderedSet[Any]:
    """Return the symbols in a size, tensor or sequence of them: always an empty set."""
    return OrderedSet()


def free_unbacked_symbols(x: Any) -> OrderedSet[Any]:
    """Return the symbols whose values depend on data: always an empty set."""
    return OrderedSet()


def has_free_symbols(val: Any) -> bool:
    """Whether a size, tensor or sequence of them contains symbols."""
    return bool(free_symbols(val))


def guard_or_false(a: Any) -> bool:
    """Return a condition as a bool. In PyTorch, False if it depends on data."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """Return a condition as a bool. In PyTorch, True if it depends on data."""
    return bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """Return a condition as a bool."""
    return bool(expr)


def statically_known_true(x: Any) -> bool:
    """Whether a condition is true for all sizes that are allowed: here, whether it is true."""
    return bool(x)


def statically_known_false(x: Any) -> bool:
    """Whether a condition is false for all sizes that are allowed: here, whether it is false."""
    return not x


class ShapeEnv:
    """The symbolic sizes of a graph.  flambeau's sizes belong to the graph; the object exists to be passed on."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
