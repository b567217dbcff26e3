"""The `vmap` calls that are going on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from ...runtime.devices import Kind, device, kind_of
from ...tape.transforming import batches, transforming
from ...tape.transforming import open_batches as active
from ...values.dtypes import dtype

__all__ = ["BatchDevice", "Level", "active", "going_on", "levels_of"]


class Level:
    """One `vmap` that is going on: the size of its batch, and what it says of random numbers."""

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


@contextmanager
def going_on(level: Level) -> Iterator[None]:
    """Context in which a level is the innermost one."""
    token = batches.set((*active(), level))
    try:
        with transforming():
            yield
    finally:
        batches.reset(token)
        level.close()


class BatchDevice(device):
    """The device of batched tensors: equal to the plain one, but tensors that are made on it are batched too, so that what
    differs along the batch can be written into them.
    """

    __slots__ = ("numbers",)
    numbers: tuple[int, ...]
    batched: ClassVar[Callable[[Kind, tuple[Level, ...]], Kind]]  # a plain kind inside levels

    def kind_of(self, dtype: dtype) -> Kind:
        """The kind of a tensor of this dtype, inside those levels that are still going on."""
        plain = kind_of(dtype, device(self.type, self.index))
        return BatchDevice.batched(plain, tuple(each for each in active() if each.number in self.numbers))


def levels_of(kind: Kind) -> tuple[Level, ...]:
    """The levels that tensors of this kind are inside of."""
    return kind.levels
