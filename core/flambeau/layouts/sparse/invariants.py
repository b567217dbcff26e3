"""Checks of the indices of sparse tensors, and the setting that enables them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor

__all__ = ["check_compressed", "check_coo", "check_parts", "check_sparse_tensor_invariants", "should_check"]

_enabled = False


def should_check(asked: bool | None) -> bool:
    """Whether to check the indices of a new tensor: `asked`, or the global setting if `asked` is None."""
    return _enabled if asked is None else asked


class check_sparse_tensor_invariants:
    """Enable or disable checks that the indices of new sparse tensors are sorted and inside of the shape.

    A context manager and a decorator; `enable()` and `disable()` change the global setting.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    >>> torch.sparse.check_sparse_tensor_invariants.is_enabled()
    False
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether the indices of new tensors are checked."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Enable the checks."""
        global _enabled
        _enabled = True

    @staticmethod
    def disable() -> None:
        """Disable the checks, except in calls with `check_invariants=True`."""
        global _enabled
        _enabled = False

    def __enter__(self) -> None:
        global _enabled
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance.")
        self.saved_state, _enabled = _enabled, self.state

    def __exit__(self, *exception: object) -> None:
        global _enabled
        assert self.saved_state is not None
        _enabled, self.saved_state = self.saved_state, None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def check_coo(indices: Tensor, values: Tensor, size: Sequence[int], coalesced: bool) -> None:
    """Raise RuntimeError if indices are outside of the shape, or not sorted and unique although `coalesced` is True."""
    if not indices.numel():
        return
    least, most = indices.amin(1).tolist(), indices.amax(1).tolist()
    for dim, (low, high, length) in enumerate(zip(least, most, size, strict=False)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= length:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {high}")
    if coalesced:
        number = indices.new_zeros(indices.shape[1])
        for index, length in zip(indices.unbind(0), size, strict=False):
            number = number * length + index
        if not bool((number.diff() > 0).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def check_parts(layout: str, compressed: Tensor, plain: Tensor, values: Tensor) -> None:
    """Raise RuntimeError if the shapes or dtypes of a compressed tensor's indices and values are inconsistent."""
    row_wise = layout in ("sparse_csr", "sparse_bsr")
    first, second = ("crow_indices", "col_indices") if row_wise else ("ccol_indices", "row_indices")
    blocks = 2 if layout in ("sparse_bsr", "sparse_bsc") else 0
    if compressed.ndim < 1 or plain.ndim != compressed.ndim:
        raise RuntimeError(
            f"dimensionalities of {first} and {second} must be equal and at least 1, but got {compressed.ndim} and {plain.ndim}"
        )
    if values.ndim < plain.ndim + blocks:
        raise RuntimeError(f"values must have dimensionality of at least {plain.ndim + blocks}, but got {values.ndim}")
    if values.numel() and tuple(plain.shape) != tuple(values.shape[: plain.ndim]):
        raise RuntimeError(
            f"number of {second} must be equal to the number of values, but got {list(plain.shape)} and "
            f"{list(values.shape[: plain.ndim])}"
        )
    if compressed.shape[-1] < 1:
        raise RuntimeError(f"{first} must have at least one element, but got none")
    if compressed.dtype is not plain.dtype:
        raise RuntimeError(f"{first} and {second} must have the same dtype, but got {compressed.dtype} and {plain.dtype}")


def check_compressed(layout: str, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> None:
    """Raise RuntimeError if the indices of a compressed tensor are not sorted, not unique, or outside of the shape."""
    row_wise = layout in ("sparse_csr", "sparse_bsr")
    first, second = ("crow_indices", "col_indices") if row_wise else ("ccol_indices", "row_indices")
    batch = compressed.ndim - 1
    block = values.shape[batch + 1 : batch + 3] if layout in ("sparse_bsr", "sparse_bsc") else (1, 1)
    sizes = (size[batch] // block[0], size[batch + 1] // block[1])
    along, across = sizes if row_wise else sizes[::-1]
    if compressed.shape[-1] != along + 1:
        raise RuntimeError(f"{first}.shape[-1] must be {along + 1} for size {tuple(size)}, but got {compressed.shape[-1]}")
    flat, flat_plain = compressed.reshape(-1, compressed.shape[-1]), plain.reshape(-1, plain.shape[-1])
    for starts, places in zip(flat, flat_plain, strict=True):
        _check_one(first, second, starts, places, across)


def _check_one(first: str, second: str, starts: Tensor, places: Tensor, across: int) -> None:
    lengths = starts.diff()
    if int(starts[0]) != 0:
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if int(starts[-1]) != len(places):
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    if len(lengths) and (int(lengths.min()) < 0 or int(lengths.max()) > across):
        raise RuntimeError(
            f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {'ncols' if first[1] == 'r' else 'nrows'}` is not satisfied."
        )
    if len(places) and (int(places.min()) < 0 or int(places.max()) >= across):
        raise RuntimeError(f"`0 <= {second} < {'ncols' if first[1] == 'r' else 'nrows'}` is not satisfied.")
    owner = torch.repeat_interleave(torch.arange(len(lengths), device=places.device), lengths.to(torch.int64))
    if len(places) > 1 and not bool(((owner.diff() > 0) | (places.diff() > 0)).all()):
        raise RuntimeError(
            f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i are sorted and distinct along the last dimension "
            "values` is not satisfied."
        )
