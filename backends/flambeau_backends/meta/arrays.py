"""Arrays without elements: a shape, a dtype and strides over memory that is never allocated.

Each `MetaArray` contains a NumPy array, `layout`, that points to unallocated memory.  NumPy uses it only to compute shapes and
strides: transposing, basic slicing, reshaping without a copy.  Its elements are never read or written, and a `MetaArray` does not
give access to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.backend import contiguous_strides

from ..numpy.memory import as_strided

__all__ = ["NO_DATA", "Memory", "MetaArray", "common_order", "described", "in_order", "like", "ordered"]

NO_DATA = "Cannot copy out of meta tensor; no data!"


class Memory:
    """The memory of `nbytes` bytes shared by the views of one array; only the first 16 bytes are allocated."""

    __slots__ = ("nbytes", "place")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.place = np.empty(16, np.uint8)  # gives this memory a unique address

    def flat(self, dtype: Any) -> np.ndarray:
        """View all of the memory as a one-dimensional array."""
        first = self.place[: dtype.itemsize].view(dtype)
        return as_strided(first, (self.nbytes // dtype.itemsize,), (dtype.itemsize,))


class MetaArray:
    """An array that follows the array API standard but has no elements.  Access to an element raises RuntimeError."""

    __slots__ = ("layout", "memory")
    __array_priority__ = 1000
    __array_ufunc__ = None  # makes NumPy scalars use the operators of this class

    def __init__(self, layout: np.ndarray, memory: Memory) -> None:
        self.layout = layout
        self.memory = memory

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def ndim(self) -> int:
        return self.layout.ndim

    @property
    def size(self) -> int:
        return self.layout.size

    @property
    def dtype(self) -> Any:
        return self.layout.dtype

    @property
    def itemsize(self) -> int:
        return self.layout.itemsize

    @property
    def nbytes(self) -> int:
        return self.layout.nbytes

    @property
    def device(self) -> str:
        return "meta"

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        itemsize = self.layout.itemsize
        return tuple([stride // itemsize for stride in self.layout.strides])

    @property
    def offset(self) -> int:
        """The offset of the first element in the memory, in elements."""
        return (_address(self.layout) - _address(self.memory.place)) // self.layout.itemsize

    @property
    def T(self) -> MetaArray:
        return self.view(self.layout.T)

    @property
    def mT(self) -> MetaArray:
        return self.view(self.layout.mT)

    def view(self, layout: np.ndarray) -> MetaArray:
        """Return another array over the same memory."""
        return MetaArray(layout, self.memory)

    def __len__(self) -> int:
        return len(self.layout)

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype}, strides={self.strides})"

    def __reduce__(self) -> tuple[Any, ...]:
        return described, (self.shape, self.dtype, self.strides)

    # --- views and indexing ---

    def __getitem__(self, index: Any) -> MetaArray:
        items = index if isinstance(index, tuple) else (index,)
        if not any(_is_advanced(item) for item in items):
            if not any(item is ... for item in items):
                items = (*items, ...)  # for integers alone NumPy returns a scalar, which reads memory
            return self.view(self.layout[items])
        return described(_advanced_shape(self, items), self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Check the index and the shape of the value; nothing is written."""
        items = index if isinstance(index, tuple) else (index,)
        if any(map(_is_mask, items)):
            return  # the number of selected elements is unknown
        target, given = self[index].shape, getattr(value, "shape", ())
        while len(given) > len(target) and given[0] == 1:
            given = given[1:]
        if np.broadcast_shapes(target, given) != target:
            raise ValueError(f"could not broadcast input array from shape {given} into shape {target}")

    # --- access to elements ---

    def _no_item(self, *_: Any) -> Any:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _no_item

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise NotImplementedError(NO_DATA)


def described(shape: Sequence[int], dtype: Any, strides: Sequence[int] | None = None) -> MetaArray:
    """Return a new MetaArray; row-major unless strides (in elements) are given."""
    shape, dtype = tuple(shape), np.dtype(dtype)
    strides = contiguous_strides(shape) if strides is None else strides
    extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True)) if 0 not in shape else 0
    memory = Memory(extent * dtype.itemsize)
    return MetaArray(as_strided(memory.flat(dtype), shape, [stride * dtype.itemsize for stride in strides]), memory)


def _address(layout: np.ndarray) -> int:
    return layout.__array_interface__["data"][0]


def like(array: MetaArray, dtype: Any = None) -> MetaArray:
    """Return a new MetaArray with the shape and memory order of `array`."""
    return ordered(array.shape, dtype or array.dtype, [array])


def in_order(shape: Sequence[int], dtype: Any, order: Sequence[int]) -> MetaArray:
    """Return a new MetaArray whose dimensions have the given order in memory, slowest first."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return described(shape, dtype, strides)


def ordered(shape: Sequence[int], dtype: Any, operands: Sequence[Any]) -> MetaArray:
    """Return a new MetaArray with the memory order that NumPy chooses for a ufunc's result, given its operands."""
    shape = tuple(shape)
    layouts = [operand.layout for operand in operands if isinstance(operand, MetaArray) and operand.ndim]
    alike = all(layout.shape == shape for layout in layouts)
    if alike and all(layout.flags.c_contiguous for layout in layouts):
        return described(shape, dtype)
    if alike and all(layout.flags.f_contiguous for layout in layouts):
        return in_order(shape, dtype, range(len(shape))[::-1])
    return in_order(shape, dtype, common_order(shape, [_aligned(layout, shape) for layout in layouts]))


def _aligned(layout: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an operand's strides along the dimensions of the result, with 0 where it is broadcast."""
    missing = len(shape) - layout.ndim
    strides = [0 if n == 1 else stride for n, stride in zip(layout.shape, layout.strides, strict=True)]
    return (0,) * missing + tuple(strides)


def common_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Sort dimensions from slowest to fastest in memory, as NumPy's iterator does for all operands (`order="K"`)."""
    order = list(range(len(shape)))
    for position in range(len(order) - 2, -1, -1):  # insertion sort; dimensions that cannot be compared keep their order
        dim, to = order[position], position
        for place in range(position + 1, len(order)):
            decided = _is_slower(dim, order[place], strides)
            if decided is None:
                continue
            if decided:
                break
            to = place
        order.insert(to, order.pop(position))
    return order


def _is_slower(dim: int, other: int, strides: Sequence[Sequence[int]]) -> bool | None:
    """Whether `dim` has larger strides than `other`; None if all operands are broadcast along one of them."""
    verdict = None
    for operand in strides:
        outer, inner = abs(operand[dim]), abs(operand[other])
        if outer and inner:
            if outer >= inner:
                return True  # one such operand is enough
            verdict = False
    return verdict


# --- indexing with arrays ---


def _is_advanced(item: Any) -> bool:
    return isinstance(item, (MetaArray, np.ndarray, list, bool))


def _is_mask(item: Any) -> bool:
    return isinstance(item, (MetaArray, np.ndarray)) and item.dtype.kind == "b"


def _advanced_shape(array: MetaArray, items: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of `array[items]` by NumPy's rules, if some items are integer arrays."""
    given = [np.asarray(item) if isinstance(item, (list, bool)) else item for item in items]
    if any(_is_mask(item) and isinstance(item, MetaArray) for item in given):
        raise NotImplementedError(
            "indexing with a mask is not supported: the number of selected elements depends on data, which meta "
            "tensors do not have"
        )
    items = [part for item in given for part in (np.nonzero(item) if _is_mask(item) else (item,))]
    used = sum(item is not None and item is not ... for item in items)
    if ... not in [item for item in items if item is ...]:
        items.append(...)
    place = next(position for position, item in enumerate(items) if item is ...)
    items[place : place + 1] = [slice(None)] * (array.ndim - used)
    chosen = [
        (position, item) for position, item in enumerate(items) if isinstance(item, (MetaArray, np.ndarray, int, np.integer))
    ]
    index_shape = np.broadcast_shapes(*[getattr(item, "shape", ()) for _, item in chosen])
    positions = [position for position, _ in chosen]
    together = positions[-1] - positions[0] + 1 == len(positions)
    front: list[int] = []
    behind: list[int] = []
    dim = 0
    for position, item in enumerate(items):
        part = behind if together and position > positions[0] else front
        if item is None:
            part.append(1)
            continue
        if isinstance(item, slice):
            part.append(len(range(*item.indices(array.shape[dim]))))
        dim += 1
    return (*front, *index_shape, *behind) if together else (*index_shape, *front, *behind)
