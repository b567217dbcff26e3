"""Indices as programs take them: what decides the shapes apart from what may be another each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy
from jax import lax

__all__ = ["Block", "block_of", "check_bounds", "has_arrays", "is_mask", "places"]

_BOOL = numpy.dtype(bool)


def has_arrays(index: Any) -> bool:
    return any(hasattr(each, "dtype") for each in _items(index))


def is_mask(item: Any) -> bool:
    return getattr(item, "dtype", None) == _BOOL


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


# --- integers, slices, dots and None ------------------------------------------------------------------------------


class Block(NamedTuple):
    """The block of an array that an index spans.  Where it begins is no part of it: one program serves all of a size."""

    spans: tuple[int, ...]  # its length in each dimension
    steps: tuple[int, ...]  # of the block, the index is to every so many elements
    shape: tuple[int, ...]  # of what the index gives: without the dimensions of integers, and with new ones for None
    moves: tuple[bool, ...]  # in which dimensions it may begin elsewhere

    def look(self, array: Any, begins: Any) -> Any:
        return self._cut(array, begins)[self._inside()].reshape(self.shape)

    def put(self, array: Any, value: Any, begins: Any) -> Any:
        """A copy of the array with the value there."""
        counts = [-(-span // step) for span, step in zip(self.spans, self.steps, strict=True)]
        block = jnp.broadcast_to(value, self.shape).reshape(counts)
        if max(self.steps, default=1) > 1:
            block = self._cut(array, begins).at[self._inside()].set(block)
        return lax.dynamic_update_slice(array, block, self._starts(begins)) if any(self.moves) else block

    def _cut(self, array: Any, begins: Any) -> Any:
        return lax.dynamic_slice(array, self._starts(begins), self.spans) if any(self.moves) else array

    def _starts(self, begins: Any) -> list[Any]:
        given = iter(begins)
        return [next(given) if moves else numpy.int64(0) for moves in self.moves]

    def _inside(self) -> tuple[slice, ...]:
        return tuple([slice(None, None, step) for step in self.steps])


def block_of(shape: tuple[int, ...], index: Any) -> tuple[Block, Any]:
    """The block that an index spans in arrays of a shape, and where it begins in the dimensions in which it moves."""
    spans: list[int] = []
    steps: list[int] = []
    given: list[int] = []
    begins: list[int] = []
    for each in _for_each_dimension(shape, index):
        if each is None:
            given.append(1)
            continue
        axis, step = len(spans), 1
        if isinstance(each, slice):
            chosen = range(*each.indices(shape[axis]))
            given.append(len(chosen))
            begin, span = (chosen[0], chosen[-1] + 1 - chosen[0]) if chosen else (0, 0)
            step = chosen.step if len(chosen) > 1 else 1
        else:
            _check(each, axis, shape[axis])
            begin, span = each % shape[axis], 1
        spans.append(span)
        steps.append(step)
        if span < shape[axis]:
            begins.append(begin)
    moves = tuple([span < length for span, length in zip(spans, shape, strict=True)])
    return Block(tuple(spans), tuple(steps), tuple(given), moves), numpy.asarray(begins, dtype=numpy.int64)


def _for_each_dimension(shape: tuple[int, ...], index: Any) -> Iterator[Any]:
    """The items of an index with slices for the dots, and for the dimensions that it does not reach."""
    items = _items(index)
    rest = len(shape) - sum(_dims(each) for each in items)
    for each in items if Ellipsis in items else (*items, Ellipsis):
        if each is Ellipsis:
            yield from [slice(None)] * rest
        else:
            yield each


# --- arrays -------------------------------------------------------------------------------------------------------


def places(index: Any) -> tuple[Any, ...]:
    """An index with the places where masks hold in place of the masks: how many there are decides what is compiled."""
    found: list[Any] = []
    for each in _items(index):
        if isinstance(each, int):
            found.append(numpy.int64(each))
        elif not is_mask(each):
            found.append(each)
        elif each.ndim:
            found.extend(numpy.nonzero(numpy.asarray(each)))
        else:
            found.append(bool(each))
    return tuple(found)


def check_bounds(shape: tuple[int, ...], index: Any) -> None:
    """JAX clips where PyTorch raises."""
    items = _items(index)
    axis = 0
    for position, each in enumerate(items):
        if each is Ellipsis:
            axis = len(shape) - sum(_dims(later) for later in items[position + 1 :])
            continue
        if hasattr(each, "dtype") and not is_mask(each) and each.size:
            indices = numpy.asarray(each)
            _check(int(indices.min()), axis, shape[axis])
            _check(int(indices.max()), axis, shape[axis])
        elif isinstance(each, int):
            _check(each, axis, shape[axis])
        axis += _dims(each)


def _check(index: int, axis: int, length: int) -> None:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")


def _dims(item: Any) -> int:
    """How many dimensions an item of an index is for."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_mask(item) else 1
