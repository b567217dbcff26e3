"""Indexing with only the array API standard, for arrays that cannot be written to.

The standard supports integers, slices, None and one Ellipsis as an index, a single mask, and `take`.  These functions add
NumPy's other kinds of index, and writing to a copy.  Backends may replace them by kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan, prod
from typing import Any

__all__ = ["any_element", "extremes", "getitem", "has_data", "highest", "mapped", "nonzero", "overwrite", "put"]


def extremes(xp: Any, array: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest element of an array; if `vmap` batches the array, of the whole batch.

    For arrays without data (device `meta`) they are NaN, which passes every range check.
    """
    if hasattr(array, "raw"):
        xp, array = xp.inner, array.raw
    return (xp.min(array), xp.max(array)) if has_data(xp) else (nan, nan)


def highest(xp: Any, array: Any) -> int:
    """Return the largest element as an int, rounded towards zero; 0 for an array without elements or data."""
    return int(extremes(xp, array)[1]) if prod(array.shape) and has_data(xp) else 0


def any_element(xp: Any, condition: Any) -> bool:
    """Whether the condition is true for any element; False for arrays without data (device `meta`)."""
    return has_data(xp) and bool(xp.any(condition))


def has_data(xp: Any) -> bool:
    """Whether the arrays of this namespace have data; on the device `meta` they do not."""
    return getattr(xp, "has_data", True)


def mapped(xp: Any, array: Any, function: Callable[[float], float]) -> Any:
    """Apply a Python function to each element."""
    if hasattr(array, "raw"):
        return xp.made(mapped(xp.inner, array.raw, function))
    flat = xp.reshape(array, (-1,))
    values = [function(float(flat[place])) for place in range(flat.shape[0])]
    return xp.reshape(xp.asarray(values, dtype=array.dtype), array.shape)


def nonzero(xp: Any, array: Any) -> tuple[Any, ...]:
    """Return the coordinates of the nonzero elements for each dimension; works without data-dependent shapes."""
    if _has_data_dependent_shapes(xp):
        return tuple(xp.nonzero(array))
    flat = xp.reshape(array, (-1,)) != xp.zeros((), dtype=array.dtype)
    order = xp.argsort(xp.astype(flat, xp.int8), stable=True, descending=True)  # places of nonzero elements first
    places, coordinates = order[: int(xp.count_nonzero(flat))], []
    for length in reversed(array.shape):
        coordinates.append(places % length)
        places = places // length
    return tuple(reversed(coordinates))


def _has_data_dependent_shapes(xp: Any) -> bool:
    """Whether the library supports shapes that depend on the data, which the standard makes optional."""
    known = _KNOWN.get(id(xp))
    if known is None or known[0] is not xp:
        info = getattr(xp, "__array_namespace_info__", None)
        has = hasattr(xp, "nonzero") and (info is None or bool(info().capabilities()["data-dependent shapes"]))
        known = _KNOWN[id(xp)] = xp, has
    return known[1]


_KNOWN: dict[int, tuple[Any, bool]] = {}  # by id, as namespaces may be unhashable; the stored namespace keeps its id unique


def getitem(xp: Any, array: Any, index: Any) -> Any:
    """Return `array[index]` for any index that NumPy accepts."""
    array, index = _with_dimensions_for_scalar_masks(xp, array, index)
    items = _expand_index(xp, array.shape, index)
    if any(map(_is_array, items)):
        places = _flat_positions(xp, array.shape, items)
        return xp.reshape(xp.take(xp.reshape(array, (-1,)), xp.reshape(places, (-1,)), axis=0), places.shape)
    return array[tuple(items)]


def put(xp: Any, array: Any, index: Any, value: Any) -> Any:
    """Return a copy of `array` with `value` at `index`."""
    shape, (array, index) = array.shape, _with_dimensions_for_scalar_masks(xp, array, index)
    places = _flat_positions(xp, array.shape, _expand_index(xp, array.shape, index))
    values = xp.broadcast_to(value, places.shape)
    flat = overwrite(xp, xp.reshape(array, (-1,)), xp.reshape(places, (-1,)), xp.reshape(values, (-1,)))
    return xp.reshape(flat, shape)


def _with_dimensions_for_scalar_masks(xp: Any, array: Any, index: Any) -> tuple[Any, Any]:
    """Replace each 0-d mask by a new dimension of size 1 and a slice that keeps it (True) or removes it (False)."""
    items = list(index) if isinstance(index, tuple) else [index]
    axis = 0
    for n, item in enumerate(items):
        if _is_array(item) and not item.ndim and xp.isdtype(item.dtype, "bool"):
            array = xp.expand_dims(array, axis=axis)
            items[n] = slice(0, int(bool(item)), 1)
            axis += 1
        elif item is Ellipsis:
            axis = array.ndim - sum(0 if rest is None else _dims(xp, rest) for rest in items[n + 1 :])
        elif item is not None:
            axis += _dims(xp, item)
    return array, tuple(items)


def overwrite(xp: Any, flat: Any, places: Any, values: Any) -> Any:
    """Return a copy of `flat` with `values` at `places`; the last of several writes to the same place wins."""
    if not places.shape[0] or not flat.shape[0]:
        return xp.asarray(flat, copy=True)
    order = xp.argsort(places, stable=True)
    ordered, targets = xp.take(places, order, axis=0), xp.arange(flat.shape[0], dtype=places.dtype)
    last = xp.astype(xp.searchsorted(ordered, targets, side="right"), xp.int64) - 1  # some libraries return unsigned indices
    writer = xp.where(last < 0, xp.zeros_like(last), last)
    hit = xp.take(ordered, writer, axis=0) == targets
    return xp.where(hit, xp.take(values, xp.take(order, writer, axis=0), axis=0), flat)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype")


def _expand_index(xp: Any, shape: tuple[int, ...], index: Any) -> list[Any]:
    """Expand an index to one item per dimension: slices are clipped to bounds, masks become index arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(0 if item is None or item is Ellipsis else _dims(xp, item) for item in items)
    if not any(item is Ellipsis for item in items):
        items.append(...)
    expanded: list[Any] = []
    axis = 0
    for item in items:
        if item is Ellipsis:
            expanded += [slice(0, None, 1)] * (len(shape) - used)
            axis += len(shape) - used
        elif item is None:
            expanded.append(None)
        elif isinstance(item, slice):
            expanded.append(_clip_slice(item, shape[axis]))
            axis += 1
        elif _is_array(item) and xp.isdtype(item.dtype, "bool"):
            expanded += _where_true(xp, item, axis, shape)
            axis += item.ndim
        else:
            expanded.append(_wrap_indices(xp, item, axis, shape[axis]))
            axis += 1
    return expanded


def _where_true(xp: Any, mask: Any, axis: int, shape: tuple[int, ...]) -> list[Any]:
    """Convert a mask to one index array per dimension of the mask."""
    if tuple(mask.shape) != tuple(shape[axis : axis + mask.ndim]):
        raise IndexError(
            f"boolean index of shape {mask.shape} does not match the indexed dimensions {shape[axis : axis + mask.ndim]}"
        )
    return list(nonzero(xp, mask))


def _dims(xp: Any, item: Any) -> int:
    """Return the number of the array's dimensions that an item of an index applies to."""
    return item.ndim if _is_array(item) and xp.isdtype(item.dtype, "bool") else 1


def _clip_slice(item: slice, length: int) -> slice:
    start, stop, step = item.indices(length)
    return slice(start, None if stop >= length else max(start, stop), step)


def _wrap_indices(xp: Any, item: Any, axis: int, length: int) -> Any:
    """Convert negative indices to non-negative ones.  Raises IndexError if an index is out of bounds."""
    if not _is_array(item):
        if not -length <= item < length:
            raise IndexError(f"index {item} is out of bounds for axis {axis} with size {length}")
        return item % length
    item = xp.astype(item, xp.int64)
    smallest, largest = extremes(xp, item) if prod(item.shape) else (0, 0)
    if largest >= length or smallest < -length:
        bad = int(largest if largest >= length else smallest)
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
    return xp.where(item < 0, item + length, item)


def _flat_positions(xp: Any, shape: tuple[int, ...], items: list[Any]) -> Any:
    """Return the position in the flattened array of each element of `array[items]`."""
    arrays = any(map(_is_array, items))
    wide = [n for n, item in enumerate(items) if arrays and (_is_array(item) or isinstance(item, int))]
    block = _broadcast([items[n].shape for n in wide if _is_array(items[n])])
    adjacent = not wide or wide[-1] - wide[0] + 1 == len(wide)
    start = wide[0] if wide and adjacent else 0  # the first dimension of the result that comes from the index arrays
    count = sum(1 for n, item in enumerate(items) if n not in wide and not isinstance(item, int)) + len(block)
    total, sizes = xp.zeros((1,) * count, dtype=xp.int64), [1] * count
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    sizes[start : start + len(block)] = block
    axis = position = 0
    for n, item in enumerate(items):
        if n in wide:
            coordinate = item if _is_array(item) else xp.asarray(item)
            ahead = start + len(block) - coordinate.ndim
            coordinate = xp.reshape(coordinate, (1,) * ahead + coordinate.shape + (1,) * (count - ahead - coordinate.ndim))
        elif isinstance(item, int):
            coordinate = xp.asarray(item)
        else:
            at = position if position < start or not wide else position + len(block)
            length = 1 if item is None else len(range(*item.indices(shape[axis])))
            position, sizes[at] = position + 1, length
            if item is None:
                continue
            steps = xp.arange(length, dtype=xp.int64) * item.step + item.start
            coordinate = xp.reshape(steps, (1,) * at + (length,) + (1,) * (count - at - 1))
        total = total + coordinate * strides[axis]
        axis += 1
    return xp.broadcast_to(total, tuple(sizes))


def _broadcast(shapes: list[Any]) -> tuple[int, ...]:
    from ...engine.calls.dispatch import common_shape

    try:
        return tuple(common_shape(*shapes)) if shapes else ()
    except RuntimeError:
        raise IndexError("shape mismatch: indexing arrays could not be broadcast together") from None
