"""`SparseArray`: the indices and values of a sparse tensor, stored in its `_array`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .devices import DispatchKey

__all__ = ["SparseArray"]


class SparseArray:
    """The indices and values of a sparse tensor, as raw arrays of one backend.

    The engine runs derivative rules on raw arrays.  It handles sparse arrays like dense ones, and adds them to each other and to
    dense arrays.  Only `flambeau.sparse` creates sparse arrays; when imported, it sets the functions that this class declares.

    Args:
        layout: the name of the layout, such as `"sparse_coo"`.
        parts: the arrays of indices.  COO has one, of shape `(sparse dimensions, nnz)`; compressed layouts have two, the
            compressed indices and the plain indices.
        values: the specified elements, of shape `(nnz, ...)`.
        shape: the shape of the tensor.
        key: the dispatch key of the values.
        coalesced: whether the indices of a COO array are sorted and unique.
    """

    __slots__ = ("coalesced", "key", "layout", "parts", "shape", "values")
    layout: str
    parts: tuple[Any, ...]
    values: Any
    shape: tuple[int, ...]
    key: DispatchKey
    coalesced: bool
    __array_ufunc__ = None  # makes `numpy_array + sparse_array` call `__radd__`
    dtype = None  # differs from every array's dtype, so that the engine calls `fit`

    tensor_of: ClassVar[Callable[[SparseArray], Any]]
    dense: ClassVar[Callable[[SparseArray], Any]]
    sum_of: ClassVar[Callable[[Any, Any], Any]]
    copy_of: ClassVar[Callable[[SparseArray], SparseArray]]
    cast_to: ClassVar[Callable[[SparseArray, DispatchKey], SparseArray]]

    def __init__(
        self, layout: str, parts: tuple[Any, ...], values: Any, shape: tuple[int, ...], key: DispatchKey, coalesced: bool
    ) -> None:
        self.layout, self.parts, self.values, self.shape, self.key, self.coalesced = layout, parts, values, shape, key, coalesced

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def with_values(self, values: Any, key: DispatchKey) -> SparseArray:
        """Return a sparse array with the same indices and other values."""
        return SparseArray(self.layout, self.parts, values, self.shape, key, self.coalesced)

    def __add__(self, other: Any) -> Any:
        return SparseArray.sum_of(self, other)

    def __radd__(self, other: Any) -> Any:
        return SparseArray.sum_of(self, other)
