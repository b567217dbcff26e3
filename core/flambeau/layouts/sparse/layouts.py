"""Conversion between layouts (`to_sparse` and similar), `coalesce`, and access to indices and values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import flambeau as torch

from ...engine.calls.node_names import with_grad_fn
from ...engine.devices.sparse_arrays import SparseArray
from ...engine.tensors.tensor import Tensor, wrap
from .batches import matrices, stacked
from .tensors import (
    BACKENDS,
    LAYOUTS,
    SparseTensor,
    apply_linear,
    batch_of,
    become,
    blocks_of,
    build,
    coordinates,
    detached,
    gather,
    implements,
    like,
    nnz_of,
    parts_of,
    to_dense,
    values_of,
)  # fmt: skip

__all__ = [
    "broadcast_to",
    "coalesce_entries",
    "coalesced",
    "convert",
    "empty",
    "empty_coo",
    "empty_like",
    "flat_indices",
    "indices_of",
    "sparse_dims",
    "sum_groups",
    "to_coo",
    "to_sparse",
]


# --- places as numbers --------------------------------------------------------------------------------------------


def indices_of(input: SparseTensor) -> Tensor:
    """Return the indices of a COO tensor, of shape `(sparse dimensions, nnz)`."""
    return parts_of(input._array)[0]


def sparse_dims(input: SparseTensor) -> int:
    """Return the number of sparse dimensions. They follow the batch dimensions and precede the dense dimensions."""
    return input._array.parts[0].shape[0] if input._array.layout == "sparse_coo" else 2


def flat_indices(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Convert indices of shape `(dims, nnz)` into an array of shape `sizes` to row-major flat indices of shape `(nnz,)`."""
    number = indices.new_zeros(indices.shape[1])
    for index, size in zip(indices.unbind(0), sizes, strict=True):
        number = number * size + index
    return number


def unflatten_indices(numbers: Tensor, sizes: Sequence[int]) -> Tensor:
    """Reverse `flat_indices`: convert flat indices to indices of shape `(dims, nnz)`."""
    rows = []
    for size in reversed(sizes):
        rows.append(numbers % max(size, 1))
        numbers = numbers // max(size, 1)
    return torch.stack(rows[::-1]) if rows else numbers.new_zeros((0, len(numbers)))


def sum_groups(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Return the sum of the values in each of `count` groups; `group` contains the group number of each value."""
    if values.dtype is torch.bool:
        return sum_groups(values.to(torch.uint8), group, count) != 0
    return values.new_zeros((count, *values.shape[1:])).index_add(0, group, values)


def coalesce_entries(indices: Tensor, values: Tensor, sizes: Sequence[int], shape: Sequence[int]) -> SparseTensor:
    """Create a coalesced COO tensor from entries in any order; entries with equal indices are added."""
    numbers, group = torch.unique(flat_indices(indices, sizes), return_inverse=True)
    if len(numbers) == len(group):
        order = torch.argsort(group)
        return build("sparse_coo", [indices[:, order]], values[order], shape)
    return build("sparse_coo", [unflatten_indices(numbers, sizes)], sum_groups(values, group, len(numbers)), shape)


def coalesced(input: SparseTensor) -> SparseTensor:
    """Return a COO tensor with sorted indices, and duplicate entries added; the tensor itself if it is coalesced already."""
    if input._array.coalesced:
        return input
    indices = indices_of(input)
    return coalesce_entries(indices, values_of(input), input.shape[: len(indices)], input.shape)


@implements()
def without_duplicates(input: SparseTensor) -> SparseTensor:
    """Return a COO tensor with one of the entries at each index; the tensor itself if its indices are unique."""
    indices, values = indices_of(input), values_of(input)
    numbers, group = torch.unique(flat_indices(indices, input.shape[: len(indices)]), return_inverse=True)
    if len(numbers) == len(group):
        return input
    kept = numbers.new_zeros(len(numbers)).scatter(0, group, torch.arange(len(group), device=group.device))
    return build("sparse_coo", [indices[:, kept]], values[kept], input.shape)


@implements()
def values_at(input: SparseTensor, indices: Tensor) -> Tensor:
    """Return the values of a COO tensor at indices of shape `(dims, n)`; zero where the tensor has no entry."""
    input = coalesced(input)
    sizes = input.shape[: len(indices)]
    known, wanted, values = flat_indices(indices_of(input), sizes), flat_indices(indices, sizes), values_of(input)
    if not len(known):
        return values.new_zeros((len(wanted), *values.shape[1:]))
    position = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
    found = (known[position] == wanted).reshape(-1, *[1] * (values.ndim - 1))
    found_values: Tensor = torch.where(found, values[position], values.new_zeros(()))
    return found_values


def broadcast_to(input: SparseTensor, shape: Sequence[int]) -> SparseTensor:
    """Broadcast a COO tensor: repeat its entries along new dimensions, which become sparse, and along dimensions of size 1."""
    sparse, added = sparse_dims(input), len(shape) - input.ndim
    indices, values = indices_of(input), values_of(input)
    indices = torch.cat([indices.new_zeros((added, indices.shape[1])), indices])
    sizes, wanted = (1,) * added + tuple(input.shape[:sparse]), tuple(shape[: added + sparse])
    repeated = [length if length != size else 1 for size, length in zip(sizes, wanted, strict=True)]
    offsets = unflatten_indices(torch.arange(prod(repeated), device=indices.device), repeated)
    spread = (indices.unsqueeze(1) + offsets.unsqueeze(2)).flatten(1)
    values = values.expand(-1, *shape[added + sparse :])
    values = values.unsqueeze(0).expand(offsets.shape[1], *values.shape).flatten(0, 1)
    return build("sparse_coo", [spread], values, shape, input._array.coalesced and prod(repeated) == 1)


# --- conversions --------------------------------------------------------------------------------------------------


def to_coo(input: SparseTensor) -> SparseTensor:
    """Convert a sparse tensor to COO; the result is coalesced if the tensor was CSR or BSR."""
    array = input._array
    if array.layout == "sparse_coo":
        return input
    if batch := batch_of(array):
        return _batch_to_coo(input, batch)
    values, (rows, columns) = values_of(input), coordinates(array)
    shape = input.shape
    if array.layout in ("sparse_bsr", "sparse_bsc"):
        rows, columns, values = _split_blocks(rows, columns, values)
    indices = torch.stack([rows, columns])
    if array.layout == "sparse_csr":
        return build("sparse_coo", [indices], values, shape)
    if array.layout in ("sparse_csc", "sparse_bsc"):  # sort the entries by column, as PyTorch does
        by_column = torch.argsort(flat_indices(torch.stack([columns // _width(array), rows]), shape[1::-1]), stable=True)
        return build("sparse_coo", [indices[:, by_column]], values[by_column], shape, coalesced=False)
    order = torch.argsort(flat_indices(indices, shape[:2]), stable=True)
    return build("sparse_coo", [indices[:, order]], values[order], shape)


def _batch_to_coo(input: SparseTensor, batch: tuple[int, ...]) -> SparseTensor:
    members = [to_coo(member) for member in matrices(input)]
    counts = torch.tensor([len(values_of(member)) for member in members])
    outer = unflatten_indices(torch.repeat_interleave(torch.arange(len(members)), counts).to(input.device), batch)
    indices = torch.cat([outer, torch.cat([indices_of(member) for member in members], 1)])
    values = torch.cat([values_of(member) for member in members])
    return build("sparse_coo", [indices], values, input.shape, all(member._array.coalesced for member in members))


def _width(array: SparseArray) -> int:
    """Return the width of a block; 1 for layouts without blocks."""
    return int(array.values.shape[2]) if array.layout == "sparse_bsc" else 1


def _split_blocks(rows: Tensor, columns: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split blocks into single elements with their rows and columns."""
    height, width = values.shape[1:3]
    down = torch.arange(height, device=rows.device).reshape(1, -1, 1)
    across = torch.arange(width, device=rows.device).reshape(1, 1, -1)
    rows = (rows.reshape(-1, 1, 1) * height + down).expand(-1, height, width)
    columns = (columns.reshape(-1, 1, 1) * width + across).expand(-1, height, width)
    return rows.reshape(-1), columns.reshape(-1), values.reshape(-1, *values.shape[3:])


def _compressed(numbers: Tensor, count: int) -> Tensor:
    """Return compressed indices of length `count + 1`: element `i` is the number of sorted `numbers` that are less than `i`."""
    return torch.searchsorted(numbers, torch.arange(count + 1, device=numbers.device))


def _to_compressed(input: SparseTensor, layout: str, blocks: tuple[int, int] | None) -> SparseTensor:
    """Convert a COO tensor with two sparse dimensions to a compressed layout."""
    input = coalesced(input)
    if sparse_dims(input) != 2:
        raise RuntimeError(
            f"conversion from Sparse to {BACKENDS[layout]} for input tensors with sparse_dim()!=2 is not supported"
        )
    (rows, columns), values, shape = indices_of(input).unbind(0), values_of(input), input.shape
    sizes: tuple[int, ...] = shape[:2]
    if blocks is not None:
        rows, columns, values = _gather_blocks(rows, columns, values, sizes, blocks)
        sizes = (sizes[0] // blocks[0], sizes[1] // blocks[1])
    if layout in ("sparse_csr", "sparse_bsr"):
        return build(layout, [_compressed(rows, sizes[0]), columns], values, shape)
    order = torch.argsort(columns * max(sizes[0], 1) + rows)
    return build(layout, [_compressed(columns[order], sizes[1]), rows[order]], values[order], shape)


def _gather_blocks(rows: Tensor, columns: Tensor, values: Tensor, sizes: Any, blocks: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Collect single elements into blocks; return only the blocks that contain an element."""
    height, width = blocks
    across = max(sizes[1] // width, 1)
    numbers, group = torch.unique(rows // height * across + columns // width, return_inverse=True)
    converted = values.new_zeros((len(numbers), height, width, *values.shape[1:]))
    converted = converted.index_put((group, rows % height, columns % width), values)
    return numbers // across, numbers % across, converted


def _check_blocks(layout: str, blocksize: Any, shape: Sequence[int]) -> tuple[int, int] | None:
    if layout not in ("sparse_bsr", "sparse_bsc"):
        if blocksize is not None:
            raise RuntimeError(f"to_sparse: conversion to {BACKENDS[layout]} with blocksize argument given is not supported")
        return None
    if blocksize is None or len(blocksize) != 2:
        raise RuntimeError(f"to_sparse: conversion to {BACKENDS[layout]} requires blocksize of two numbers, but got {blocksize}")
    height, width = blocksize
    if height < 1 or width < 1 or shape[0] % height or shape[1] % width:
        raise RuntimeError(f"tensor sparse size ({shape[0]},{shape[1]}) must be divisible by given blocksize ({height},{width})")
    return height, width


def convert(input: Tensor, layout: str, blocksize: Any = None, dense_dim: int | None = None) -> SparseTensor:
    """Convert a dense or sparse tensor to a sparse layout."""
    if layout == "sparse_coo":
        return to_coo(input) if isinstance(input, SparseTensor) else from_dense(input, input.ndim)
    if not isinstance(input, SparseTensor):
        batch = tuple(input.shape[: max(input.ndim - (dense_dim or 0) - 2, 0)])
        if batch:
            members = [convert(each, layout, blocksize, dense_dim) for each in input.flatten(0, len(batch) - 1).unbind(0)]
            return stacked(members, batch)
        if input.ndim - (dense_dim or 0) != 2:
            raise RuntimeError(
                f"to_sparse: conversion from Strided to {BACKENDS[layout]} expects 2 + dense_dim dimensions, but got a "
                f"tensor of {input.ndim} dimensions and dense_dim={dense_dim or 0}"
            )
        converted = from_dense(input, 2)
    else:
        if input._array.layout == layout and blocksize is None:
            return input
        if batch := batch_of(input._array):
            return stacked([convert(member, layout, blocksize) for member in matrices(input)], batch)
        converted = to_coo(input)
    return _to_compressed(converted, layout, _check_blocks(layout, blocksize, input.shape))


def from_dense(input: Tensor, dims: int) -> SparseTensor:
    """Convert a dense tensor to COO with `dims` sparse dimensions: its nonzero elements, or slices with a nonzero element."""
    if not 0 <= dims <= input.ndim or (dims == 0 and input.ndim):
        raise RuntimeError(f"sparse_dim() must be in range of [1, {input.ndim}], but got {dims}")
    nonzero = input.detach() != 0
    if dims < input.ndim:
        nonzero = nonzero.flatten(dims).any(-1)
    indices = nonzero.nonzero().T.contiguous() if dims else nonzero.new_zeros((0, int(nonzero)), dtype=torch.int64)
    places = SparseArray("sparse_coo", (indices._array,), None, tuple(input.shape), input._key, True)
    return like(places, gather(input._key.materialize(input), places))


_split_dims = with_grad_fn("ToSparseBackward0")(from_dense)


def _converted(input: Tensor, layout: str, blocksize: Any, dense_dim: int | None) -> Any:
    """Call `convert`; the gradient of a sparse tensor has its layout, and entries wherever the incoming gradient has some."""
    if not isinstance(input, SparseTensor) or (input._array.layout == layout and blocksize is None):
        return convert(input, layout, blocksize, dense_dim)
    back = partial(to_sparse, layout=input.layout, blocksize=blocks_of(input._array, input._array.values))
    return apply_linear(lambda given: convert(given, layout, blocksize), [back], input)


_in_layout = with_grad_fn("ToSparseBackward1")(_converted)


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Any:
    """Implement `Tensor.to_sparse`, which documents the arguments."""
    if sparse_dim is not None:
        if isinstance(self, SparseTensor):
            if sparse_dim != sparse_dims(self):
                raise RuntimeError(f"to_sparse: conversion from Sparse to Sparse with sparse_dim={sparse_dim} is not supported")
            return to_coo(self)
        return _split_dims(self, sparse_dim)
    name = "sparse_coo" if layout is None else str(layout).removeprefix("torch.")
    if name == "strided":
        return to_dense(self) if isinstance(self, SparseTensor) else self
    if name == "sparse_coo" and blocksize is not None:
        raise RuntimeError("dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is not supported")
    if name == "sparse_coo" and isinstance(self, SparseTensor) and self._array.layout == name:
        return self
    return _in_layout(self, name, blocksize, dense_dim)


def _to_layout(name: str, doc: str) -> None:
    blocked = name in ("bsr", "bsc")

    def plain(self: Tensor, dense_dim: int | None = None) -> Any:
        return _converted(self, f"sparse_{name}", None, dense_dim)

    def in_blocks(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Any:
        return _converted(self, f"sparse_{name}", tuple(blocksize), dense_dim)

    function = in_blocks if blocked else plain
    function.__name__, function.__doc__ = f"to_sparse_{name}", doc
    implements(function.__name__, grad_fn=f"ToSparse{name.capitalize()}Backward0")(function)


_to_layout("csr", "Convert the tensor to CSR: the start of each row, and a column for each value.")
_to_layout("csc", "Convert the tensor to CSC: the start of each column, and a row for each value.")
_to_layout("bsr", "Convert the tensor to BSR: like CSR, with blocks instead of elements.")
_to_layout("bsc", "Convert the tensor to BSC: like CSC, with blocks instead of elements.")
implements("to_sparse")(to_sparse)


@implements("to_sparse_coo")
def to_sparse_coo(self: Tensor) -> Any:
    """Convert the tensor to COO."""
    return to_sparse(self)


@implements("to_dense", grad_fn="ToDenseBackward0")
def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    result = to_dense(self, masked_grad is not False) if isinstance(self, SparseTensor) else self
    return result if dtype is None else result.to(dtype)


# --- parts --------------------------------------------------------------------------------------------------------


def _require(self: Any, name: str, wanted: str, *layouts: str) -> None:
    given = self._array.layout if isinstance(self, SparseTensor) else "strided"
    if given not in layouts:
        shown = BACKENDS.get(given, "Strided")
        raise RuntimeError(f"{name} expected sparse {wanted} tensor layout but got {shown}")


def _require_kernel(self: Any, name: str, *layouts: str) -> None:
    """Raise NotImplementedError unless the tensor has one of these layouts."""
    given = self._array.layout if isinstance(self, SparseTensor) else "strided"
    if given not in layouts:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{BACKENDS.get(given, '')}CPU' backend.")


@implements(grad_fn="CoalesceBackward0")
def coalesce(self: Any) -> Any:
    """Return a COO tensor with sorted indices, and duplicate entries added."""
    _require(self, "coalesce", "coordinate", "sparse_coo")
    return coalesced(self)


@implements()
def is_coalesced(self: Any) -> bool:
    """Whether the indices of a COO tensor are sorted and unique."""
    _require(self, "is_coalesced", "coordinate", "sparse_coo")
    return self._array.coalesced  # type: ignore[no-any-return]  # a bool


@implements()
def _coalesced_(self: Any, coalesced: bool) -> Any:
    """Mark a COO tensor as coalesced or not, without checking its indices."""
    self._array = self._array.with_values(self._array.values, self._key)
    self._array.coalesced = coalesced
    return self


def _require_coalesced(self: Any, name: str) -> None:
    if not self._array.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")


@implements()
def indices(self: Any) -> Tensor:
    """Return the indices of a coalesced COO tensor, of shape `(sparse dimensions, nnz)`."""
    _require(self, "indices", "coordinate", "sparse_coo")
    _require_coalesced(self, "indices")
    return indices_of(self)


@implements(grad_fn="ValuesBackward0")
def values(self: Any) -> Tensor:
    """Return the specified elements."""
    if not isinstance(self, SparseTensor):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if self._array.layout == "sparse_coo":
        _require_coalesced(self, "values")
    return values_of(self)


@implements()
def _indices(self: Any) -> Tensor:
    """Return the indices of a COO tensor, coalesced or not."""
    _require_kernel(self, "_indices", "sparse_coo")
    return indices_of(self)


@implements()
def _values(self: Any) -> Tensor:
    """Return the values of a COO tensor, coalesced or not, without history."""
    _require_kernel(self, "_values", "sparse_coo")
    return values_of(self.detach())


@implements()
def _nnz(self: Any) -> int:
    """Return the number of specified elements of a sparse tensor, or of blocks."""
    _require_kernel(self, "_nnz", *LAYOUTS)
    return nnz_of(self)


@implements()
def _dimI(self: Any) -> int:
    """Return the number of sparse dimensions of a COO tensor."""
    _require_kernel(self, "_dimI", "sparse_coo")
    return sparse_dims(self)


@implements()
def _dimV(self: Any) -> int:
    """Return the number of dense dimensions of a COO tensor."""
    _require_kernel(self, "_dimV", "sparse_coo")
    return dense_dim(self)


def _part(name: str, position: int, wanted: str, layouts: tuple[str, str]) -> None:
    def part(self: Any) -> Tensor:
        _require(self, name, wanted, *layouts)
        return parts_of(self._array)[position]

    part.__name__, part.__doc__ = name, f"Return the {name.replace('_', ' ')} of a {wanted} tensor."
    implements(name)(part)


_part("crow_indices", 0, "row compressed", ("sparse_csr", "sparse_bsr"))
_part("col_indices", 1, "row compressed", ("sparse_csr", "sparse_bsr"))
_part("ccol_indices", 0, "column compressed", ("sparse_csc", "sparse_bsc"))
_part("row_indices", 1, "column compressed", ("sparse_csc", "sparse_bsc"))


@implements()
def sparse_dim(self: Any) -> int:
    """Return the number of sparse dimensions; 0 for a dense tensor."""
    return sparse_dims(self) if isinstance(self, SparseTensor) else 0


@implements()
def dense_dim(self: Any) -> int:
    """Return the number of dense dimensions; for a strided tensor, all of its dimensions."""
    if not isinstance(self, SparseTensor):
        return self.ndim  # type: ignore[no-any-return]  # `self` is a tensor
    return self.ndim - sparse_dims(self) - len(batch_of(self._array))


@implements(grad_fn="SparseMaskBackward0")
def sparse_mask(self: Tensor, mask: Any) -> Any:
    """Return a sparse tensor with the layout and indices of `mask`, and the values of `self` at these indices.

    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not isinstance(mask, SparseTensor):
        raise NotImplementedError("sparse_mask() expects a sparse mask, but got one of layout torch.strided")
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    if isinstance(self, SparseTensor) and self._array.layout == mask._array.layout == "sparse_coo":
        mask = coalesced(detached(mask))
    return like(mask._array, gather(self, mask._array))


# --- shapes that are given ----------------------------------------------------------------------------------------


@implements()
def sparse_resize_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """Change the shape of a COO tensor in-place; all of its indices must be inside of the new shape."""
    _require(self, "sparse_resize_", "coordinate", "sparse_coo")
    array = self._array
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )
    nnz, old_dims = array.parts[0].shape[1], array.parts[0].shape[0]
    sizes, dense_sizes = tuple(size[:sparse_dim]), tuple(size[sparse_dim:])
    if not nnz:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    old_dense = tuple(array.values.shape[1:])
    for kind, old, new in (("sparse", array.shape[:old_dims], sizes), ("dense", old_dense, dense_sizes)):
        if len(old) != len(new):
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {len(old)} to {len(new)}) on a non-empty sparse tensor is not "
                "supported; clear it first with sparse_resize_and_clear_"
            )
        if any(after < before for before, after in zip(old, new, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {list(old)} to {list(new)}) on a non-empty sparse tensor is not "
                "supported; clear it first with sparse_resize_and_clear_"
            )
    values = array.values
    if dense_sizes != old_dense:
        values = wrap(values, array.key).clone().resize_(nnz, *dense_sizes)._array
    self._array = SparseArray(array.layout, array.parts, values, tuple(size), array.key, array.coalesced)
    return self


@implements()
def sparse_resize_and_clear_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """Change the shape of a COO tensor, and remove all elements, in-place."""
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )
    self._array = empty_coo(tuple(size), sparse_dim, self.dtype, self.device)._array
    return self


@implements()
def resize_as_sparse_(self: Any, other: Any) -> Any:
    """Change the shape of a COO tensor to that of `other`, in-place."""
    if tuple(self.shape) == tuple(other.shape) and sparse_dims(self) == sparse_dims(other):
        return self
    return sparse_resize_(self, tuple(other.shape), sparse_dims(other), other.ndim - sparse_dims(other))


@implements()
def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Change the shape to that of another tensor, in-place."""
    if self.shape == the_template.shape:
        return self
    if isinstance(self, SparseTensor) and self._array.layout != "sparse_coo":
        return resize_(self, *the_template.shape)
    return resize_as_sparse_(self, the_template)


@implements()
def resize_(self: Any, *size: Any, memory_format: Any = None) -> Any:
    """Change the shape of a CSR tensor in-place: rows are added or removed at the end, and columns are added.

    As in PyTorch, removing rows keeps as many elements as fit: the last row takes the elements that follow it.
    """
    _require(self, "resize_", "CSR", "sparse_csr")
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list, torch.Size)) else size
    if len(shape) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(shape)}")
    (compressed, plain), values, columns = parts_of(self._array), values_of(self.detach()), self.shape[-1]
    batch, rows = shape[:-2], shape[-2]
    if shape[-1] < columns:
        raise RuntimeError(
            "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of "
            f"columns is {columns} while the requested new number of columns is {shape[-1]}."
        )
    if prod(batch) > prod(batch_of(self._array)):
        raise RuntimeError(f"torch.resize_: cannot add matrices to a batch: from {list(self.shape)} to {list(shape)}")
    nnz = min(nnz_of(self), rows * shape[-1])
    flat = [part.reshape(-1, part.shape[-1])[: prod(batch)] for part in (compressed, plain, values)]
    starts = flat[0][:, : min(rows, flat[0].shape[1] - 1)]
    ends = starts.new_full((len(starts), rows + 1 - starts.shape[1]), nnz)
    parts = [torch.cat([starts, ends], 1), flat[1][:, :nnz]]
    resized = [part.reshape(*batch, part.shape[1]) for part in (*parts, flat[2][:, :nnz])]
    return become(self, build("sparse_csr", resized[:2], resized[2], shape))


def empty_coo(shape: Sequence[int], sparse: int, dtype: Any, device: Any) -> SparseTensor:
    """Create a COO tensor without elements."""
    values = torch.zeros((0, *shape[sparse:]), dtype=dtype, device=device)
    return build("sparse_coo", [torch.zeros((sparse, 0), dtype=torch.int64, device=device)], values, shape)


def empty_like(array: SparseArray, shape: Sequence[int], dtype: Any) -> SparseTensor:
    """Create a tensor without elements, in the layout of `array`."""
    place = array.key.device
    if array.layout == "sparse_coo":
        return empty_coo(shape, array.parts[0].shape[0], dtype, place)
    batch = tuple(shape[: len(batch_of(array))])
    first = len(batch)
    block = tuple(array.values.shape[first + 1 : first + 3]) if array.layout in ("sparse_bsr", "sparse_bsc") else ()
    count = shape[first] if array.layout in ("sparse_csr", "sparse_bsr") else shape[first + 1]
    if block:
        count //= block[0] if array.layout == "sparse_bsr" else block[1]
    parts = [torch.zeros((*batch, length), dtype=torch.int64, device=place) for length in (count + 1, 0)]
    values = torch.zeros((*batch, 0, *block, *shape[first + 2 :]), dtype=dtype, device=place)
    return build(array.layout, parts, values, shape)


def empty(shape: Sequence[int], layout: Any, key: Any) -> SparseTensor:
    """Create a tensor without elements, with the dtype and device of a dispatch key."""
    name = str(layout).removeprefix("torch.")
    if name == "sparse_coo":
        return empty_coo(tuple(shape), len(shape), key.dtype, key.device)
    if name not in ("sparse_csr", "sparse_csc"):
        raise RuntimeError(f"torch.empty: Only sparse compressed (non-block) layouts are supported, but got {layout}")
    if len(shape) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(shape)}"
        )
    *batch, rows, columns = shape
    count = rows if name == "sparse_csr" else columns
    parts = [torch.zeros((*batch, length), dtype=torch.int64, device=key.device) for length in (count + 1, 0)]
    return build(name, parts, torch.zeros((*batch, 0), dtype=key.dtype, device=key.device), tuple(shape))
