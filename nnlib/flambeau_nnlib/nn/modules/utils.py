"""Arguments given once for all dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    """A function that repeats a number n times, and makes a tuple of anything iterable."""

    def parse(value: Any) -> tuple:
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: tuple, n: int) -> tuple:
    """`values` from last to first, each n times: the order in which `F.pad` takes the padding of each side."""
    return tuple(value for value in reversed(values) for _ in range(n))
