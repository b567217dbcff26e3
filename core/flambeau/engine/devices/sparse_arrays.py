"""`SparseArray`: the parts of a sparse tensor, where a dense one has its array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .devices import DispatchKey

__all__ = ["SparseArray"]


class SparseArray:
    """The indices and values of a sparse tensor, as raw arrays of one backend.

    The engine, which runs derivatives on raw arrays, passes these along like any other; they can be added to each other and to
    arrays.  What they are made of is known to `flambeau.sparse`, which fills in how when it is loaded: it makes all of them.

    Args:
        layout: its name, such as `"sparse_coo"`.
        parts: the indices of a COO array, of shape `(sparse dimensions, nnz)`; of a compressed one the compressed and the
            plain indices.
        values: the elements, the first dimension counting those that are specified.
        shape: of the whole.
        key: the dispatch key of the values.
        coalesced: whether the indices of a COO array are sorted, and none occurs twice.
    """

    __slots__ = ("coalesced", "key", "layout", "parts", "shape", "values")
    layout: str
    parts: tuple[Any, ...]
    values: Any
    shape: tuple[int, ...]
    key: DispatchKey
    coalesced: bool
    __array_ufunc__ = None  # NumPy's operators give way
    dtype = None  # so that it is not mistaken for a dense array of the right shape

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

    def holding(self, values: Any, key: DispatchKey) -> SparseArray:
        """The array with the same places and other values."""
        return SparseArray(self.layout, self.parts, values, self.shape, key, self.coalesced)

    def __add__(self, other: Any) -> Any:
        return SparseArray.sum_of(self, other)

    def __radd__(self, other: Any) -> Any:
        return SparseArray.sum_of(self, other)
