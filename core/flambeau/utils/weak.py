"""Weak references to tensors, and dictionaries with weakly referenced keys that compare by identity."""

from __future__ import annotations

import collections.abc
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]  # of anything
    """A weak reference that compares and hashes by the identity of its object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # the constructor of `ref` takes them

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return mine is theirs if mine is not None and theirs is not None else self is other


class WeakIdKeyDictionary(collections.abc.MutableMapping[Any, Any]):
    """A dictionary that compares keys by identity and refers to them weakly: an entry is removed when its key is freed."""

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:
        self.data: dict_type[Any, Any] = {}
        self.ref_type = ref_type
        self._remove = _entry_remover(self.data)
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """Return the weak references to the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Return a new dictionary with the same keys and values."""
        return WeakIdKeyDictionary(self, ref_type=self.ref_type)

    __copy__ = copy

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined


dict_type = dict


def _entry_remover(data: dict[Any, Any]) -> Any:
    return lambda reference: data.pop(reference, None)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    >>> x = torch.ones(1)
    >>> reference = torch.utils.weak.TensorWeakRef(x)
    >>> reference() is x
    True
    """

    ref: WeakIdRef

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()
