"""The ``vmap`` calls that are going on."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..devices import Kind, device, kind_of
from ..dtypes import dtype

__all__ = ["VMAP_WRITES_TO_ALL", "BatchDevice", "Level", "active", "going_on", "in_transform", "levels_of", "transforming"]

VMAP_WRITES_TO_ALL = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
    "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
    "Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside the "
    "PyTorch framework, please file a bug report instead."
)


class Level:
    """One ``vmap`` that is going on: the size of its batch, and what it says of random numbers."""

    __slots__ = ("__weakref__", "_devices", "kinds", "number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str = "error") -> None:
        self.number = number  # later ones, which are further inside, have larger numbers
        self.size = size
        self.randomness = randomness
        self.kinds: weakref.WeakSet[Any] | None = weakref.WeakSet()  # while it goes on: those of which it is the innermost
        self._devices: dict[Any, BatchDevice] = {}

    def close(self) -> None:
        """The level has ended: let go what its kinds remember, which would keep them alive."""
        for kind in self.kinds or ():
            kind.forget()
        self.kinds = None

    def device_for(self, levels: tuple[Level, ...], place: device) -> BatchDevice:
        """The one device of tensors inside these levels, of which this is the last."""
        key = (*(each.number for each in levels), place)
        found = self._devices.get(key)
        if found is None:
            found = self._devices[key] = BatchDevice(place.type, place.index)
            found.numbers = tuple(each.number for each in levels)
        return found


_active: ContextVar[tuple[Level, ...]] = ContextVar("active_levels", default=())
active = _active.get  # those that are going on in this thread, outermost first


_in_transform: ContextVar[bool] = ContextVar("in_transform", default=False)
in_transform = _in_transform.get  # whether a function is being called for a transform of ``torch.func``


@contextmanager
def transforming() -> Iterator[None]:
    """Context in which a function is called for a transform."""
    token = _in_transform.set(True)
    try:
        yield
    finally:
        _in_transform.reset(token)


@contextmanager
def going_on(level: Level) -> Iterator[None]:
    """Context in which a level is the innermost one."""
    token = _active.set((*active(), level))
    try:
        with transforming():
            yield
    finally:
        _active.reset(token)
        level.close()


class BatchDevice(device):
    """The device of batched tensors: equal to the plain one, but tensors that are made on it are batched too, so that what
    differs along the batch can be written into them.
    """

    __slots__ = ("numbers",)
    numbers: tuple[int, ...]

    def kind_of(self, dtype: dtype) -> Kind:
        """The kind of a tensor of this dtype, inside those levels that are still going on."""
        from .kinds import with_levels

        plain = kind_of(dtype, device(self.type, self.index))
        return with_levels(plain, tuple(each for each in active() if each.number in self.numbers))


def levels_of(kind: Kind) -> tuple[Level, ...]:
    """The levels that tensors of this kind are inside of."""
    return getattr(kind, "levels", ())
