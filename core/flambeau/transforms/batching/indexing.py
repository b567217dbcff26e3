"""`x[index]` and `x[index] = value` for arrays with hidden dimensions."""

from __future__ import annotations

from typing import Any

from ...operations.standard_indexing import getitem, nonzero
from .arrays import BatchedArray

__all__ = ["get", "put"]

ALL = slice(None)


def get(array: BatchedArray, index: Any) -> BatchedArray:
    """`array[index]`: a view unless there are arrays in the index."""
    items = _items(array, index)
    if not _has_arrays(items):
        full = (ALL,) * array.depth + items
        return BatchedArray(array.raw[full], array.xp, array, lambda raw: raw[full])
    picked, place, count = _advanced(array, items, array.xp.hidden_shape([array, *items]))
    raw, xp, k = _taken(array, picked), array.xp, array.depth
    if place:  # NumPy puts what the index arrays select in front; it belongs where they stood
        order = (*range(k), *range(k + count, k + count + place), *range(k, k + count), *range(k + count + place, raw.ndim))
        raw = xp.inner.permute_dims(raw, order)
    return xp.made(raw)


def _taken(array: BatchedArray, picked: Any) -> Any:
    try:
        return array.raw[picked]
    except IndexError:  # out of bounds, or no index of the array API standard, which not every library goes beyond
        return getitem(array.xp.inner, array.raw, picked)


def put(array: BatchedArray, index: Any, value: Any) -> None:
    """`array[index] = value`."""
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
    """The index as a tuple without an ellipsis, and with integer arrays for masks."""
    given = index if isinstance(index, tuple) else (index,)
    used = sum(_dims_used(array, each) for each in given)
    items: list[Any] = []
    for each in given:
        if each is Ellipsis:
            items += [ALL] * (array.ndim - used)
        elif _is_mask(array, each):
            if type(each) is BatchedArray:
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
                    "batch over indexing with a boolean mask."
                )
            items += nonzero(array.xp.inner, each)
        else:
            items.append(array.xp.lifted(each) if type(each) is BatchedArray else each)
    return tuple(items)


def _dims_used(array: BatchedArray, item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(array, item) else 1


def _is_mask(array: BatchedArray, item: Any) -> bool:
    return hasattr(item, "ndim") and array.xp.isdtype(item.dtype, "bool")


def _has_arrays(items: tuple[Any, ...]) -> bool:
    return any(hasattr(each, "ndim") for each in items)


def _advanced(array: BatchedArray, items: tuple[Any, ...], hidden: tuple[int, ...]) -> tuple[tuple[Any, ...], int, int]:
    """The index with one more index array per hidden dimension, and where in the visible result the index arrays' own
    dimensions belong (after how many others), and how many they are.
    """
    xp, k = array.xp, array.depth
    count = max(each.ndim for each in items if hasattr(each, "ndim"))
    numbers = [position for position, each in enumerate(items) if not (each is None or isinstance(each, slice))]
    adjacent = numbers[-1] - numbers[0] == len(numbers) - 1
    place = numbers[0] if adjacent else 0
    picked: list[Any] = []
    for position, length in enumerate(hidden):
        own = array.raw.shape[position]
        steps = xp.inner.arange(length) if own == length else xp.inner.zeros(length, dtype=xp.inner.int64)
        picked.append(xp.inner.reshape(steps, tuple(-1 if each == position else 1 for each in range(k)) + (1,) * count))
    # Integers become arrays too, so that what NumPy counts as index arrays is what we do.
    for each in items:
        picked.append(xp._with_ndim(each, count) if type(each) is BatchedArray else each)
    return tuple(picked), place, count


BatchedArray.__getitem__ = get
BatchedArray.__setitem__ = put
