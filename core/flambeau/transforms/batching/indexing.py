"""`x[index]` and `x[index] = value` for arrays with hidden dimensions."""

from __future__ import annotations

from typing import Any

from ...operations.indexing.standard import getitem, nonzero
from .arrays import BatchedArray

__all__ = ["get", "put"]

ALL = slice(None)


def get(array: BatchedArray, index: Any) -> BatchedArray:
    """Return `array[index]`, which is a view unless the index contains arrays."""
    items = _items(array, index)
    if not _has_arrays(items):
        full = (ALL,) * array.depth + items
        return BatchedArray(array.raw[full], array.xp, array, lambda raw: raw[full])
    picked, place, count = _advanced(array, items, array.xp.hidden_shape([array, *items]))
    raw, xp, k = _take(array, picked), array.xp, array.depth
    # The batch dimensions are indexed with arrays, so that NumPy puts the indexed dimensions first: move them back.
    if place:
        order = (*range(k), *range(k + count, k + count + place), *range(k, k + count), *range(k + count + place, raw.ndim))
        raw = xp.inner.permute_dims(raw, order)
    return xp.made(raw)


def _take(array: BatchedArray, picked: Any) -> Any:
    try:
        return array.raw[picked]
    except IndexError:  # the index is out of bounds, or of a kind that the library does not support
        return getitem(array.xp.inner, array.raw, picked)


def put(array: BatchedArray, index: Any, value: Any) -> None:
    """Assign `array[index] = value`."""
    xp, k, items = array.xp, array.depth, _items(array, index)
    hidden = xp.hidden_shape([array, value, *items])
    array.give_memory(hidden)
    if not _has_arrays(items):
        full = (ALL,) * k + items
        array.raw[full] = xp.aligned([value], array.raw[full].ndim - k)[0]
        return
    picked, place, count = _advanced(array, items, hidden)
    if place and getattr(value, "ndim", 0):
        ndim = array.raw[picked].ndim - k
        raw = xp.aligned([xp.lifted(value)], ndim)[0]
        order = (*range(k), *range(k + place, k + place + count), *range(k, k + place), *range(k + place + count, raw.ndim))
        array.raw[picked] = xp.inner.permute_dims(raw, order)
    else:
        array.raw[picked] = xp.aligned([value], array.raw[picked].ndim - k)[0]


def _items(array: BatchedArray, index: Any) -> tuple[Any, ...]:
    """Return the index as a tuple with an expanded ellipsis and masks replaced by integer arrays."""
    raw_items = index if isinstance(index, tuple) else (index,)
    used = sum(_dims_used(array, item) for item in raw_items)
    items: list[Any] = []
    for item in raw_items:
        if item is Ellipsis:
            items += [ALL] * (array.ndim - used)
        elif _is_mask(array, item):
            if type(item) is BatchedArray:
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
                    "batch over indexing with a boolean mask."
                )
            items += nonzero(array.xp.inner, item)
        else:
            items.append(array.xp.lifted(item) if type(item) is BatchedArray else item)
    return tuple(items)


def _dims_used(array: BatchedArray, item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(array, item) else 1


def _is_mask(array: BatchedArray, item: Any) -> bool:
    return hasattr(item, "ndim") and array.xp.isdtype(item.dtype, "bool")


def _has_arrays(items: tuple[Any, ...]) -> bool:
    return any(hasattr(item, "ndim") for item in items)


def _advanced(array: BatchedArray, items: tuple[Any, ...], hidden: tuple[int, ...]) -> tuple[tuple[Any, ...], int, int]:
    """Prepend an index array for each hidden dimension to the index.

    Return the new index, the position of the index arrays' dimensions in the visible result, and the number of these
    dimensions.
    """
    xp, k = array.xp, array.depth
    count = max(item.ndim for item in items if hasattr(item, "ndim"))
    numbers = [position for position, item in enumerate(items) if not (item is None or isinstance(item, slice))]
    adjacent = numbers[-1] - numbers[0] == len(numbers) - 1
    place = numbers[0] if adjacent else 0
    picked: list[Any] = []
    for position, length in enumerate(hidden):
        own = array.raw.shape[position]
        positions = xp.inner.arange(length) if own == length else xp.inner.zeros(length, dtype=xp.inner.int64)
        picked.append(xp.inner.reshape(positions, tuple(-1 if dim == position else 1 for dim in range(k)) + (1,) * count))
    # NumPy treats integers next to index arrays as index arrays, and so does this function.
    for item in items:
        picked.append(xp._with_ndim(item, count) if type(item) is BatchedArray else item)
    return tuple(picked), place, count


BatchedArray.__getitem__ = get
BatchedArray.__setitem__ = put
