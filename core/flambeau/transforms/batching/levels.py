"""Levels: the running calls of `vmap`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from ...engine.devices.devices import DispatchKey, device, dispatch_key
from ...engine.tape.transforming import batches, transforming
from ...engine.tape.transforming import open_batches as active
from ...engine.values.dtypes import dtype

__all__ = ["BatchDevice", "Level", "active", "going_on", "levels_of", "no_levels"]


class Level:
    """One running call of `vmap`: the size of its batch, and its `randomness` option."""

    __slots__ = ("__weakref__", "_devices", "keys", "number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str = "error") -> None:
        self.number: int = number  # inner levels start later and have larger numbers
        self.size: int = size
        self.randomness: str = randomness
        # dispatch keys whose innermost level is this one; None after the level has been closed
        self.keys: weakref.WeakSet[Any] | None = weakref.WeakSet()
        self._devices: dict[Any, BatchDevice] = {}

    def close(self) -> None:
        """End the level, and clear the caches of its dispatch keys, which would keep the keys alive."""
        for key in self.keys or ():
            key.forget()
        self.keys = None

    def device_for(self, levels: tuple[Level, ...], place: device) -> BatchDevice:
        """Return the device object of tensors inside these levels (this level is the innermost of them)."""
        key = (*(level.number for level in levels), place)
        batch_device = self._devices.get(key)
        if batch_device is None:
            batch_device = self._devices[key] = BatchDevice(place.type, place.index)
            batch_device.numbers = tuple(level.number for level in levels)
        return batch_device


@contextmanager
def going_on(level: Level) -> Iterator[None]:
    """Make a level the innermost one in this context, and close it at the end."""
    token = batches.set((*active(), level))
    try:
        with transforming():
            yield
    finally:
        batches.reset(token)
        level.close()


@contextmanager
def no_levels() -> Iterator[None]:
    """Context outside of all levels, for calls on whole batches."""
    token = batches.set(())
    try:
        yield
    finally:
        batches.reset(token)


class BatchDevice(device):
    """The device of batched tensors.

    It equals the plain device, but tensors created on it are batched, so that batched values can be written to them.
    """

    __slots__ = ("numbers",)
    numbers: tuple[int, ...]
    batched: ClassVar[Callable[[DispatchKey, tuple[Level, ...]], DispatchKey]]  # set in `keys`: returns the key inside levels

    def dispatch_key(self, dtype: dtype) -> DispatchKey:
        """Return the dispatch key of a tensor of this dtype, inside those of the device's levels that are still running."""
        plain = dispatch_key(dtype, device(self.type, self.index))
        return BatchDevice.batched(plain, tuple(level for level in active() if level.number in self.numbers))


def levels_of(key: DispatchKey) -> tuple[Level, ...]:
    """Return the `vmap` levels of tensors with this dispatch key."""
    return key.levels
