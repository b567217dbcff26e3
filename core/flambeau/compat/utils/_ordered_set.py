"""A set that iterates in the order of insertion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, TypeVar

__all__ = ["OrderedSet"]

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set that iterates in the order of insertion.

    >>> OrderedSet([3, 1, 3]) | {2}
    OrderedSet([3, 1, 2])
    """

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def add(self, elem: T) -> None:
        """Append an element unless the set contains it."""
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        """Remove an element if the set contains it."""
        self._dict.pop(elem, None)

    def update(self, *others: Iterable[T]) -> None:
        """Add the elements of all other iterables."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return a new set with the elements of this set and all others."""
        joined = self.copy()
        joined.update(*others)
        return joined

    def copy(self) -> OrderedSet[T]:
        """Return a new set with the same elements."""
        return OrderedSet(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    def __getstate__(self) -> Any:
        return list(self)

    def __setstate__(self, state: Any) -> None:
        self._dict = dict.fromkeys(state)
