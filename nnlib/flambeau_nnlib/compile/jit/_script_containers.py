"""Lists and dictionaries that Python and scripted functions share: `torch.jit.script([1, 2])`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

import flambeau as torch

from ._types import NoType, type_of_value

__all__ = ["ScriptDict", "ScriptList", "unshared"]


def _kind_of(value: Any) -> str:
    """Return the TorchScript type of a value, or an empty string if it has none, as for an empty list."""
    try:
        return "Tensor" if isinstance(value, torch.Tensor) else type_of_value(value)
    except NoType:
        return ""


def _common_kind(values: Iterable[Any], what: str) -> str:
    kinds = {_kind_of(value) for value in values}
    if len(kinds) > 1:
        raise RuntimeError(f"torch.jit.script: the {what} have several types, {' and '.join(sorted(map(repr, kinds)))}")
    return kinds.pop() if kinds else ""


def _check(value: Any, kind: str, error: type[Exception] = TypeError) -> Any:
    """Return a value if it has a TorchScript type, and otherwise raise an error. An empty type accepts all values."""
    found = _kind_of(value)
    if kind and found and found != kind and (found, kind) not in (("int", "float"), ("bool", "int"), ("bool", "float")):
        raise error(f"expected a value of the type {kind}, but got {value!r} of the type {found}")
    return value


class ScriptList(list[Any]):
    """A copy of a list whose elements all have the type of the first ones.

    Scripted functions receive copies of other lists; they modify lists of this class in place.

    Args:
        values: the elements.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__(values)
        self._kind = _common_kind(self, "elements of the list")

    def __contains__(self, value: object) -> bool:
        return super().__contains__(_check(value, self._kind))

    def __setitem__(self, place: Any, value: Any) -> None:
        for element in value if isinstance(place, slice) else (value,):
            _check(element, self._kind)
        super().__setitem__(place, value)

    def append(self, value: Any, /) -> None:
        """Add an element. TypeError if it has another type than the others."""
        super().append(_check(value, self._kind))

    def insert(self, place: SupportsIndex, value: Any, /) -> None:
        """Insert an element before a place. TypeError if it has another type than the others."""
        super().insert(place, _check(value, self._kind))

    def extend(self, values: Iterable[Any], /) -> None:
        """Add elements. TypeError if one has another type than the others."""
        super().extend([_check(value, self._kind) for value in values])

    def count(self, value: Any, /) -> int:
        """Return how often a value occurs. TypeError if it has another type than the elements."""
        return super().count(_check(value, self._kind))

    def remove(self, value: Any, /) -> None:
        """Remove the first element that equals a value. TypeError if it has another type than the elements."""
        super().remove(_check(value, self._kind))


class ScriptDict(dict[Any, Any]):
    """A copy of a dictionary whose keys have one type, and its values as well.

    Scripted functions receive copies of other dictionaries; they modify dictionaries of this class in place.

    Args:
        values: the items.
    """

    def __init__(self, values: Any = ()) -> None:
        super().__init__(values)
        self._kinds = _common_kind(self, "keys of the dictionary"), _common_kind(self.values(), "values of the dictionary")

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_check(key, self._kinds[0], KeyError))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_check(key, self._kinds[0]), _check(value, self._kinds[1]))

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(_check(key, self._kinds[0]))


def unshared(value: Any) -> Any:
    """Return a value with copies of its lists and dictionaries, except `ScriptList` and `ScriptDict`.

    PyTorch copies them when Python calls scripted code, so that the code cannot modify those of the caller.
    """
    if type(value) is list:
        return [unshared(element) for element in value]
    if type(value) is dict:
        return {key: unshared(element) for key, element in value.items()}
    if type(value) is tuple:
        return tuple(map(unshared, value))
    return value
