"""Indices for compiled programs. A program is compiled for the parts that determine shapes; positions are its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy
from jax import lax

__all__ = ["Block", "block_of", "check_bounds", "has_arrays", "is_mask", "places"]

_BOOL = numpy.dtype(bool)


def has_arrays(index: Any) -> bool:
    return any(hasattr(item, "dtype") for item in _items(index))


def is_mask(item: Any) -> bool:
    return getattr(item, "dtype", None) == _BOOL


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


# --- integers, slices, ellipsis and None --------------------------------------------------------------------------


class Block(NamedTuple):
    """The size of the block that an index selects. It excludes the position, so that blocks of equal size share a program."""

    spans: tuple[int, ...]  # extent in each dimension
    steps: tuple[int, ...]  # step of the slice in each dimension
    shape: tuple[int, ...]  # shape of the result, without dimensions indexed by integers and with a dimension for each None
    moves: tuple[bool, ...]  # for each dimension, whether the block is shorter than the array, so that its start can vary

    def look(self, array: Any, begins: Any) -> Any:
        return self._cut(array, begins)[self._inside()].reshape(self.shape)

    def put(self, array: Any, value: Any, begins: Any) -> Any:
        """Return a copy of the array with `value` assigned to the block."""
        counts = [-(-span // step) for span, step in zip(self.spans, self.steps, strict=True)]
        block = jnp.broadcast_to(value, self.shape).reshape(counts)
        if max(self.steps, default=1) > 1:
            block = self._cut(array, begins).at[self._inside()].set(block)
        return lax.dynamic_update_slice(array, block, self._starts(begins)) if any(self.moves) else block

    def _cut(self, array: Any, begins: Any) -> Any:
        return lax.dynamic_slice(array, self._starts(begins), self.spans) if any(self.moves) else array

    def _starts(self, begins: Any) -> list[Any]:
        remaining = iter(begins)
        return [next(remaining) if moves else numpy.int64(0) for moves in self.moves]

    def _inside(self) -> tuple[slice, ...]:
        return tuple([slice(None, None, step) for step in self.steps])


def block_of(shape: tuple[int, ...], index: Any) -> tuple[Block, Any]:
    """Return the block that an index selects in an array of this shape, and its start in each dimension where it can vary."""
    spans: list[int] = []
    steps: list[int] = []
    result_shape: list[int] = []
    begins: list[int] = []
    for item in _for_each_dimension(shape, index):
        if item is None:
            result_shape.append(1)
            continue
        axis, step = len(spans), 1
        if isinstance(item, slice):
            chosen = range(*item.indices(shape[axis]))
            result_shape.append(len(chosen))
            begin, span = (chosen[0], chosen[-1] + 1 - chosen[0]) if chosen else (0, 0)
            step = chosen.step if len(chosen) > 1 else 1
        else:
            _check(item, axis, shape[axis])
            begin, span = item % shape[axis], 1
        spans.append(span)
        steps.append(step)
        if span < shape[axis]:
            begins.append(begin)
    moves = tuple([span < length for span, length in zip(spans, shape, strict=True)])
    return Block(tuple(spans), tuple(steps), tuple(result_shape), moves), numpy.asarray(begins, dtype=numpy.int64)


def _for_each_dimension(shape: tuple[int, ...], index: Any) -> Iterator[Any]:
    """Yield one index item per dimension, replacing the ellipsis and missing dimensions by full slices."""
    items = _items(index)
    missing = len(shape) - sum(_dims(item) for item in items)
    for item in items if Ellipsis in items else (*items, Ellipsis):
        if item is Ellipsis:
            yield from [slice(None)] * missing
        else:
            yield item


# --- arrays -------------------------------------------------------------------------------------------------------


def places(index: Any) -> tuple[Any, ...]:
    """Replace boolean masks by the indices of their true elements, because the number of true elements determines the shape."""
    result: list[Any] = []
    for item in _items(index):
        if isinstance(item, int):
            result.append(numpy.int64(item))
        elif not is_mask(item):
            result.append(item)
        elif item.ndim:
            result.extend(numpy.nonzero(numpy.asarray(item)))
        else:
            result.append(bool(item))
    return tuple(result)


def check_bounds(shape: tuple[int, ...], index: Any) -> None:
    """Raise IndexError for indices out of bounds, as PyTorch does; JAX would clip them."""
    items = _items(index)
    axis = 0
    for position, item in enumerate(items):
        if item is Ellipsis:
            axis = len(shape) - sum(_dims(later) for later in items[position + 1 :])
            continue
        if hasattr(item, "dtype") and not is_mask(item) and item.size:
            indices = numpy.asarray(item)
            _check(int(indices.min()), axis, shape[axis])
            _check(int(indices.max()), axis, shape[axis])
        elif isinstance(item, int):
            _check(item, axis, shape[axis])
        axis += _dims(item)


def _check(index: int, axis: int, length: int) -> None:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")


def _dims(item: Any) -> int:
    """Return the number of dimensions that an index item consumes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_mask(item) else 1
