"""The ``vmap`` calls that are going on."""

from __future__ import annotations

from typing import Any

from ..devices import Kind, device, kind_of
from ..dtypes import dtype

__all__ = ["VMAP_WRITES_TO_ALL", "BatchDevice", "Level", "active", "levels_of"]

VMAP_WRITES_TO_ALL = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
    "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
    "Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside the "
    "PyTorch framework, please file a bug report instead."
)


class Level:
    """One ``vmap`` that is going on: the size of its batch, and what it says of random numbers."""

    __slots__ = ("__weakref__", "_devices", "number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str = "error") -> None:
        self.number = number  # later ones, which are further inside, have larger numbers
        self.size = size
        self.randomness = randomness
        self._devices: dict[Any, BatchDevice] = {}

    def device_for(self, levels: tuple[Level, ...], place: device) -> BatchDevice:
        """The one device of tensors inside these levels, of which this is the last."""
        key = (*(each.number for each in levels), place)
        found = self._devices.get(key)
        if found is None:
            found = self._devices[key] = BatchDevice(place.type, place.index)
            found.numbers = tuple(each.number for each in levels)
        return found


active: list[Level] = []  # outermost first


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
        return with_levels(plain, tuple(each for each in active if each.number in self.numbers))


def levels_of(kind: Kind) -> tuple[Level, ...]:
    """The levels that tensors of this kind are inside of."""
    return getattr(kind, "levels", ())
