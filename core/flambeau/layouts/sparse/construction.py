"""Creation of sparse tensors from indices and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import flambeau as torch

from ...engine.calls.node_names import with_grad_fn
from ...engine.tensors.tensor import Tensor
from ..subclasses.tensor_types import checked_device
from . import invariants
from .layouts import empty_coo
from .tensors import LAYOUTS, build

__all__ = [
    "new_coo", "rebuild", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor",
    "sparse_csc_tensor", "sparse_csr_tensor",
]  # fmt: skip


def _values(values: Any, dtype: Any, device: Any) -> Tensor:
    """Return the values as a tensor with the given dtype and device; the same tensor if it has them already."""
    if not isinstance(values, Tensor):
        return torch.tensor(values, dtype=dtype, device=device)
    return values if dtype is None and device is None else values.to(device=device or values.device, dtype=dtype or values.dtype)


def _indices(given: Any, device: Any, keep_int32: bool = False) -> Tensor:
    indices = given.detach() if isinstance(given, Tensor) else torch.tensor(given, device=device)
    if keep_int32 and indices.dtype is torch.int32:
        return indices.to(device)
    return indices.to(device=device, dtype=torch.int64)


def _finished(result: Any, requires_grad: bool) -> Any:
    if not requires_grad:
        return result
    return result.detach().requires_grad_() if result._node is not None else result.requires_grad_()


@with_grad_fn("SparseCooTensorWithDimsAndTensorsBackward0")
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    layout: Any = None,
) -> Any:
    """Create a COO tensor with values at indices, zero elsewhere; values at the same index are added.

    Args:
        indices: the indices, of shape `(sparse dimensions, nnz)`.  If `values` is None, the shape of a tensor without elements.
        values: the values, of shape `(nnz, *dense dimensions)`; the result shares their memory, and gradients flow to them.
        size: the shape; by default, the smallest that holds the indices.
        dtype, device, requires_grad: attributes of the result; by default, the values' dtype and device, and False.
        pin_memory: accepted without effect.
        check_invariants: whether to check that the indices are inside of `size`; by default, the setting of
            `check_sparse_tensor_invariants`.
        is_coalesced: whether the indices are sorted and distinct.
        layout: accepted without effect.

    Raises:
        RuntimeError: the shapes of indices, values and size are inconsistent.

    >>> s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> s.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if values is None:
        shape = tuple(size if indices is None and size is not None else indices)
        result = empty_coo(shape, len(shape), dtype or torch.get_default_dtype(), device or torch.get_default_device())
        return result.requires_grad_(requires_grad)
    values = _values(values, dtype, device)
    values = values.unsqueeze(0) if values.ndim == 0 else values
    indices = _indices(indices, values.device)
    if indices.numel() == 0 and indices.ndim == 1:
        indices = indices.reshape(0, 0) if size is None else indices.reshape(len(size) - values.ndim + 1, 0)
    _check_coo(indices, values)
    if size is None:
        _check_not_negative(indices)
        found = (indices.amax(1) + 1).tolist() if indices.shape[1] else [0] * len(indices)
        size = (*found, *values.shape[1:])
    elif len(size) != len(indices) + values.ndim - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({len(indices)}) + dense_dim ({values.ndim - 1}), but got {len(size)}"
        )
    size = tuple(size)
    if prod(size) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    if tuple(size[len(indices) :]) != tuple(values.shape[1:]):
        raise RuntimeError(
            f"values has incorrect size, expected {[indices.shape[1], *size[len(indices) :]]}, got {list(values.shape)}"
        )
    if invariants.should_check(check_invariants):
        invariants.check_coo(indices, values, size, is_coalesced is True)
    result = build("sparse_coo", [indices], values, size, coalesced=bool(is_coalesced) or indices.shape[1] < 2)
    return _finished(result, requires_grad)


def new_coo(name: str, args: tuple[Any, ...], dtype: Any, device: Any, own: Any) -> Any:
    """Create a COO tensor from the arguments of a legacy constructor: `(indices, values, size)`, or a size as ints or a tuple.

    `own` is the device of the constructor; `device` may be another one of the same type, or None.
    """
    device = checked_device(device, own, ())
    if args and isinstance(args[0], Tensor) and len(args) > 1:
        indices, values, *shape = args
        return sparse_coo_tensor(indices, values, *shape, device=device)
    size = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args or (0,)
    if not all(isinstance(length, int) for length in size):
        raise TypeError(f"{name}() takes tensors of indices and values and a size, or a size, but got {args}")
    return sparse_coo_tensor(tuple(size), dtype=dtype, device=device)


def _check_coo(indices: Tensor, values: Tensor) -> None:
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, "
            f"nnz from values: {values.shape[0]}"
        )


def _check_not_negative(indices: Tensor) -> None:
    if indices.shape[1] and len(indices):
        for dim, least in enumerate(indices.amin(1).tolist()):
            if least < 0:
                raise RuntimeError(f"found negative index {least} for dim {dim}")


@with_grad_fn("SparseCompressedTensorBackward0")
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Create a tensor in a compressed layout: CSR, CSC, BSR or BSC.

    Args:
        compressed_indices: the position in `values` where each row (column, for CSC and BSC) begins, followed by `nnz`.
        plain_indices: the column of each value or block (row, for CSC and BSC).
        values: the elements, or blocks, of shape `(nnz, *block, *dense dimensions)`.
        size: the shape; by default, the smallest that holds the indices.
        layout: the layout of the result.
        dtype, device, requires_grad: attributes of the result; by default, the values' dtype and device, and False.
        pin_memory: accepted without effect.
        check_invariants: whether to check that the indices are sorted, distinct and inside of `size`.

    Raises:
        RuntimeError: the layout is not a compressed one, or the shapes or dtypes of the arguments are inconsistent.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], layout=torch.sparse_csr).to_dense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    name = "none" if layout is None else str(layout).removeprefix("torch.")
    if name not in LAYOUTS or name == "sparse_coo":
        shown = {"sparse_coo": "Sparse", "strided": "Strided"}.get(name, name)
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {shown}")
    values = _values(values, dtype, device)
    compressed = _indices(compressed_indices, values.device, keep_int32=True)
    plain = _indices(plain_indices, values.device, keep_int32=True)
    invariants.check_parts(name, compressed, plain, values)
    if size is None:
        size = _least_size(name, compressed, plain, values)
    size = tuple(size)
    if invariants.should_check(check_invariants):
        invariants.check_compressed(name, compressed, plain, values, size)
    result = build(name, [compressed, plain], values, size)
    return _finished(result, requires_grad)


def _least_size(name: str, compressed: Tensor, plain: Tensor, values: Tensor) -> tuple[int, ...]:
    batch = tuple(compressed.shape[:-1])
    start = len(batch) + 1
    block = tuple(values.shape[start : start + 2]) if name in ("sparse_bsr", "sparse_bsc") else (1, 1)
    along, across = compressed.shape[-1] - 1, int(plain.max()) + 1 if plain.numel() else 0
    rows, columns = (along, across) if name in ("sparse_csr", "sparse_bsr") else (across, along)
    dense = values.shape[start + (2 if name in ("sparse_bsr", "sparse_bsc") else 0) :]
    return (*batch, rows * block[0], columns * block[1], *dense)


def _named(layout: str, compressed: str, plain: str) -> Callable[..., Any]:
    what = layout.removeprefix("sparse_").upper()

    def construct(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
        return sparse_compressed_tensor(compressed_indices, plain_indices, values, size, **{**options, "layout": LAYOUTS[layout]})

    def public(*args: Any, **kwargs: Any) -> Any:
        renamed = {compressed: "compressed_indices", plain: "plain_indices"}
        given = {renamed.get(name, name): value for name, value in kwargs.items()}
        if given.get("layout") not in (None, LAYOUTS[layout]):
            raise RuntimeError(f"{layout}_tensor expected layout torch.{layout}, but got {given['layout']}")
        return construct(*args, **given)

    public.__name__ = public.__qualname__ = f"{layout}_tensor"
    public.__doc__ = (
        f"Create a {what} tensor from `({compressed}, {plain}, values, size=None)`.  "
        "The other options are those of `sparse_compressed_tensor`."
    )
    return public


sparse_csr_tensor: Callable[..., Any] = _named("sparse_csr", "crow_indices", "col_indices")
sparse_csc_tensor: Callable[..., Any] = _named("sparse_csc", "ccol_indices", "row_indices")
sparse_bsr_tensor: Callable[..., Any] = _named("sparse_bsr", "crow_indices", "col_indices")
sparse_bsc_tensor: Callable[..., Any] = _named("sparse_bsc", "ccol_indices", "row_indices")


def rebuild(layout: Any, data: Any) -> Any:
    """Rebuild a tensor from its pickled data, and check the indices."""
    if layout is torch.sparse_coo:
        indices, values, size, *rest = data
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=rest[0] if rest else None)
    return sparse_compressed_tensor(*data, layout=layout, check_invariants=True)
