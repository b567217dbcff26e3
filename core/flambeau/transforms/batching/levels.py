"""The `vmap` calls that are going on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from ...runtime.devices import DispatchKey, device, dispatch_key
from ...tape.transforming import batches, transforming
from ...tape.transforming import open_batches as active
from ...values.dtypes import dtype

__all__ = ["BatchDevice", "Level", "active", "going_on", "levels_of"]


class Level:
    """One `vmap` that is going on: the size of its batch, and what it says of random numbers."""

    __slots__ = ("__weakref__", "_devices", "keys", "number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str = "error") -> None:
        self.number = number  # later ones, which are further inside, have larger numbers
        self.size = size
        self.randomness = randomness
        self.keys: weakref.WeakSet[Any] | None = weakref.WeakSet()  # while it goes on: those of which it is the innermost
        self._devices: dict[Any, BatchDevice] = {}

    def close(self) -> None:
        """The level has ended: let go what its dispatch keys remember, which would keep them alive."""
        for key in self.keys or ():
            key.forget()
        self.keys = None

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
    batched: ClassVar[Callable[[DispatchKey, tuple[Level, ...]], DispatchKey]]  # a plain dispatch key inside levels

    def dispatch_key(self, dtype: dtype) -> DispatchKey:
        """The dispatch key of a tensor of this dtype, inside those levels that are still going on."""
        plain = dispatch_key(dtype, device(self.type, self.index))
        return BatchDevice.batched(plain, tuple(each for each in active() if each.number in self.numbers))


def levels_of(key: DispatchKey) -> tuple[Level, ...]:
    """The levels that tensors of this dispatch key are inside of."""
    return key.levels
