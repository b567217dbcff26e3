"""Transposing, indexing and joining of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .layouts import coalesced, indices_of, sparse_dims, to_coo
from .reductions import wrapped_dims
from .tensors import SparseTensor, apply_linear, batch_of, blocks_of, build, implements, parts_of, to_dense, values_of

__all__: list[str] = []

_TRANSPOSED_LAYOUTS = {
    "sparse_csr": "sparse_csc",
    "sparse_csc": "sparse_csr",
    "sparse_bsr": "sparse_bsc",
    "sparse_bsc": "sparse_bsr",
}


# --- order of dimensions ------------------------------------------------------------------------------------------


@implements("swapaxes", grad_fn="TransposeBackward0")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    first, second = (wrapped_dims(each, input.ndim)[0] for each in (dim0, dim1))
    order = list(range(input.ndim))
    order[first], order[second] = order[second], order[first]
    return _permuted(input, order)


@implements(grad_fn="TBackward0")
def t(input: Any) -> Any:
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.ndim} dimensions")
    return input if input.ndim < 2 else _permuted(input, [1, 0])


@implements("T", grad_fn="PermuteBackward0")
def _reverse_dims(self: Any) -> Any:
    return _permuted(self, list(range(self.ndim))[::-1])


@implements("mT")
def _matrix_transpose(self: Any, name: str = "mT") -> Any:
    if self.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1) if self.ndim else self


@implements("H")
def _transposed_conjugate(self: Any) -> Any:
    if self.ndim not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{more}")
    return _matrix_transpose(self, "H").conj()


@implements("mH")
def _conjugate_of_matrices(self: Any) -> Any:
    return _matrix_transpose(self, "mH").conj()


@implements()
def adjoint(input: Any) -> Any:
    return _matrix_transpose(input, "adjoint()").conj()


@implements(grad_fn="PermuteBackward0")
def permute(input: Any, *dims: Any) -> Any:
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    return _permuted(input, wrapped_dims(order, input.ndim))


def _permuted(input: SparseTensor, order: list[int]) -> Any:
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return apply_linear(lambda given: _reordered(given, order), [lambda gradient: gradient.permute(inverse)], input)


def _reordered(input: SparseTensor, order: list[int]) -> SparseTensor:
    array = input._array
    shape = [array.shape[each] for each in order]
    if order == sorted(order):
        return build(array.layout, parts_of(array), values_of(input), shape, array.coalesced)
    if array.layout != "sparse_coo":
        first = len(batch_of(array))
        if order != [*range(first), first + 1, first, *range(first + 2, len(order))]:
            raise RuntimeError(
                f"transpose(): only the two sparse dimensions of a tensor in layout {input.layout} can be exchanged"
            )
        values = values_of(input)
        values = values.transpose(first + 1, first + 2) if array.layout in ("sparse_bsr", "sparse_bsc") else values
        return build(_TRANSPOSED_LAYOUTS[array.layout], parts_of(array), values, shape)
    sparse = sparse_dims(input)
    if any((new < sparse) != (old < sparse) for new, old in enumerate(order)):
        raise RuntimeError(f"transpose: cannot exchange a sparse and a dense dimension; the first {sparse} are sparse")
    values, indices = values_of(input), indices_of(input)
    inner = [each - sparse + 1 for each in order[sparse:]]
    if inner != sorted(inner):
        values = values.permute(0, *inner)
    moved = order[:sparse] != sorted(order[:sparse])
    still_coalesced = array.coalesced and not (moved and len(values))
    return build("sparse_coo", [indices[order[:sparse]] if moved else indices], values, shape, still_coalesced)


@implements("transpose_", "t_")
def _transpose_(self: Any, dim0: int = 0, dim1: int = 1) -> Any:
    from .tensors import become

    return become(self, transpose(self, dim0, dim1))


@implements(grad_fn="UnsqueezeBackward0")
def unsqueeze(input: Any, dim: int) -> Any:
    input = _require_coo("unsqueeze", input)
    (dim,) = wrapped_dims(dim, input.ndim + 1)
    return apply_linear(lambda given: _with_dim(given, dim), [lambda gradient: gradient.select(dim, 0)], input)


def _with_dim(input: SparseTensor, dim: int) -> SparseTensor:
    """Insert a dimension of size 1."""
    sparse, indices, values = sparse_dims(input), indices_of(input), values_of(input)
    shape = [*input.shape[:dim], 1, *input.shape[dim:]]
    if dim > sparse:
        return build("sparse_coo", [indices], values.unsqueeze(dim - sparse + 1), shape, input._array.coalesced)
    zeros = indices.new_zeros((1, indices.shape[1]))
    return build("sparse_coo", [torch.cat([indices[:dim], zeros, indices[dim:]])], values, shape, input._array.coalesced)


def _require_coo(name: str, input: Any) -> Any:
    if not isinstance(input, SparseTensor) or input._array.layout != "sparse_coo":
        raise NotImplementedError(f"{name}(): not implemented for tensors in layout {input.layout}; to_sparse() gives a COO one")
    return input


def _refuse(name: str, message: str, error: type[Exception] = RuntimeError) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise error(message)

    refuse.__name__ = name
    implements(name)(refuse)


for _name in ("reshape", "flatten", "reshape_as", "unflatten", "ravel"):
    _refuse(_name, "reshape is not implemented for sparse tensors")
_refuse("expand", "expand is unsupported for Sparse tensors")
_refuse("__setitem__", "Cannot assign to a sparse tensor", TypeError)
_refuse("contiguous", "unsupported memory format option Contiguous")


# --- parts --------------------------------------------------------------------------------------------------------


@implements(grad_fn="SelectBackward0")
def select(input: Any, dim: int, index: int) -> Any:
    (dim,) = wrapped_dims(dim, input.ndim)
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}")
    batch = len(batch_of(input._array))
    if dim < batch:
        return _select_matrix(input, dim, index % size)
    if batch:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    back = _back_from_positions(input, dim, torch.tensor([index % size], device=input.device))
    compute = partial(_select_entries, dim=dim, index=index % size)
    return apply_linear(lambda given: compute(coalesced(to_coo(given))), [lambda gradient: back(gradient, True)], input)


def _back_from_positions(input: SparseTensor, dim: int, positions: Tensor) -> Callable[..., Any]:
    """Return the adjoint of taking `positions` along a dimension of `input`; with `selected`, the dimension was removed."""
    shape, is_sparse_dim = input.shape, dim < sparse_dims(input)

    def adjoint(gradient: Any, selected: bool = False) -> Any:
        if not isinstance(gradient, SparseTensor) or sparse_dims(gradient) != sparse_dims(input) - (selected and is_sparse_dim):
            gradient = to_dense(gradient) if isinstance(gradient, SparseTensor) else gradient
            gradient = gradient.unsqueeze(dim) if selected else gradient
            return gradient.new_zeros(shape).index_add(dim, positions, gradient)
        gradient = to_coo(gradient)
        indices, values, inner = indices_of(gradient), values_of(gradient), dim - sparse_dims(input) + 1
        if is_sparse_dim:
            taken = positions.expand(indices.shape[1]) if selected else positions[indices[dim]]
            indices = torch.cat([indices[:dim], taken.unsqueeze(0), indices[dim + (not selected) :]])
        else:
            values = values.unsqueeze(inner) if selected else values
            sizes = (len(values), *shape[sparse_dims(input) :])
            values = values.new_zeros(sizes).index_add(inner, positions, values)
        result = build("sparse_coo", [indices], values, shape, coalesced=False)
        return coalesced(result).to_sparse(layout=input.layout, blocksize=blocks_of(input._array, input._array.values))

    return adjoint


def _select_matrix(input: SparseTensor, dim: int, index: int) -> Any:
    parts = [part.select(dim, index) for part in parts_of(input._array)]
    shape = [*input.shape[:dim], *input.shape[dim + 1 :]]
    return build(input._array.layout, parts, values_of(input).select(dim, index), shape)


def _select_entries(input: SparseTensor, dim: int, index: int) -> Any:
    sparse, indices, values = sparse_dims(input), indices_of(input), values_of(input)
    shape = [*input.shape[:dim], *input.shape[dim + 1 :]]
    if dim >= sparse:
        return build("sparse_coo", [indices], values.select(dim - sparse + 1, index), shape)
    chosen = (indices[dim] == index).nonzero().squeeze(1)
    if sparse == 1:
        return values[chosen].sum(0, dtype=values.dtype)
    others = [each for each in range(sparse) if each != dim]
    return build("sparse_coo", [indices[others][:, chosen]], values[chosen], shape)


@implements("__getitem__")
def _getitem(self: Any, index: Any) -> Any:
    index = index if isinstance(index, tuple) else (index,)
    result, dim = self, 0
    if Ellipsis in [each for each in index if not isinstance(each, Tensor)]:
        raise NotImplementedError("indexing of sparse tensors takes numbers, full slices and index tensors, but got an ellipsis")
    for each in index:
        if isinstance(each, slice) and each == slice(None):
            dim += 1
        elif isinstance(each, slice):
            result, dim = _sliced(result, dim, each), dim + 1
        elif isinstance(each, int) or (isinstance(each, Tensor) and each.ndim == 0):
            result = result.select(dim, int(each))
        elif isinstance(each, (list, Tensor)):
            chosen = torch.as_tensor(each, device=self.device)
            chosen = chosen.nonzero().squeeze(1) if chosen.dtype is torch.bool else chosen
            result, dim = result.index_select(dim, chosen), dim + 1
        else:
            raise IndexError(f"indexing of sparse tensors takes numbers, slices and index tensors, but got {type(each).__name__}")
    return result


def _sliced(input: Any, dim: int, chosen: slice) -> Any:
    start, stop, step = chosen.indices(input.shape[dim])
    if step != 1 or not isinstance(input, SparseTensor):
        return input.index_select(dim, torch.arange(start, max(start, stop), step, device=input.device))
    return narrow_copy(input, dim, start, max(stop - start, 0))


@implements()
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    return narrow_copy(input, wrapped_dims(dim, input.ndim)[0], start, length)


@implements()
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    input = _require_coo("narrow_copy", input)
    if not 0 <= dim < input.ndim:
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {input.ndim}.")
    if length < 0 or start < 0 or start + length > input.shape[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) = range({start}, {start + length}) must be a subset of "
            f"range(0, {input.shape[dim]})."
        )
    back = _back_from_positions(input, dim, torch.arange(start, start + length, device=input.device))
    return apply_linear(lambda given: _narrowed(given, dim, start, length), [back], input)


def _narrowed(input: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    sparse, indices, values = sparse_dims(input), indices_of(input), values_of(input)
    shape = [*input.shape[:dim], length, *input.shape[dim + 1 :]]
    if dim >= sparse:
        return build("sparse_coo", [indices], values.narrow(dim - sparse + 1, start, length), shape, input._array.coalesced)
    inside = ((indices[dim] >= start) & (indices[dim] < start + length)).nonzero().squeeze(1)
    kept = indices[:, inside]
    moved = torch.cat([kept[:dim], kept[dim : dim + 1] - start, kept[dim + 1 :]])
    return build("sparse_coo", [moved], values[inside], shape, coalesced=False)


@implements(grad_fn="IndexSelectBackward0")
def index_select(input: Any, dim: int, index: Tensor) -> Any:
    if not isinstance(input, SparseTensor):
        raise RuntimeError("index_select(): the index must be dense")
    input = to_coo(input)
    (dim,) = wrapped_dims(dim, input.ndim)
    size = input.shape[dim]
    index = torch.where(index < 0, index + size, index)
    if index.numel() and (int(index.min()) < 0 or int(index.max()) >= size):
        raise IndexError(f"index_select(): index contains values out of range for dimension {dim} of size {size}")
    return apply_linear(lambda given: _index_selected(given, dim, index), [_back_from_positions(input, dim, index)], input)


def _index_selected(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    sparse, indices, values = sparse_dims(input), indices_of(input), values_of(input)
    shape = [*input.shape[:dim], len(index), *input.shape[dim + 1 :]]
    if dim >= sparse:
        return build("sparse_coo", [indices], values.index_select(dim - sparse + 1, index), shape, input._array.coalesced)
    order = torch.argsort(index, stable=True)
    ordered, wanted = index[order], indices[dim]
    starts = torch.searchsorted(ordered, wanted)
    counts = torch.searchsorted(ordered, wanted, right=True) - starts
    entry = torch.repeat_interleave(torch.arange(len(counts), device=index.device), counts)
    within = torch.arange(len(entry), device=index.device) - (counts.cumsum(0) - counts)[entry]
    kept = indices[:, entry]
    places = order[starts[entry] + within]
    moved, by_place = torch.cat([kept[:dim], places.unsqueeze(0), kept[dim + 1 :]]), torch.argsort(places, stable=True)
    return build("sparse_coo", [moved[:, by_place]], values[entry[by_place]], shape, coalesced=False)


@implements()
def unbind(input: Any, dim: int = 0) -> Any:
    return tuple(select(input, dim, each) for each in range(input.shape[dim]))


@implements("__iter__")
def _iter(self: Any) -> Any:
    return iter(unbind(self))


# --- several ------------------------------------------------------------------------------------------------------


@implements(grad_fn="CatBackward0")
def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    if any(getattr(each, "layout", None) is not torch.sparse_coo for each in tensors):
        raise RuntimeError("cat(): expected all tensors in layout torch.sparse_coo")
    parts = list(tensors)
    first = parts[0]
    (dim,) = wrapped_dims(dim, first.ndim)
    sparse = sparse_dims(first)
    for each in parts:
        if sparse_dims(each) != sparse or [*each.shape[:dim], *each.shape[dim + 1 :]] != [
            *first.shape[:dim],
            *first.shape[dim + 1 :],
        ]:
            raise RuntimeError(
                f"cat(): tensors must have the same shape except in dimension {dim}, and the same number of sparse dimensions, "
                f"but got {list(first.shape)} and {list(each.shape)}"
            )
    ends = list(accumulate(each.shape[dim] for each in parts))
    adjoints = [partial(torch.narrow, dim=dim, start=end - each.shape[dim], length=each.shape[dim]) for each, end in zip(
        parts, ends, strict=True)]  # fmt: skip
    return apply_linear(lambda *given: _concatenated(given, dim), adjoints, *parts)


def _concatenated(parts: Sequence[SparseTensor], dim: int) -> SparseTensor:
    first, sparse = parts[0], sparse_dims(parts[0])
    length = sum(each.shape[dim] for each in parts)
    shape = [*first.shape[:dim], length, *first.shape[dim + 1 :]]
    indices, values, start = [], [], 0
    for each in parts:
        own, held = indices_of(each), values_of(each)
        if dim < sparse:
            own = torch.cat([own[:dim], own[dim : dim + 1] + start, own[dim + 1 :]])
        else:
            inner = dim - sparse + 1
            before, after = (held.new_zeros((*held.shape[:inner], n, *held.shape[inner + 1 :])) for n in (
                start, length - start - each.shape[dim]))  # fmt: skip
            held = torch.cat([before, held, after], inner)
        indices.append(own)
        values.append(held)
        start += each.shape[dim]
    return build("sparse_coo", [torch.cat(indices, 1)], torch.cat(values), shape, coalesced=False)


@implements()
def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    return cat([unsqueeze(each, dim) for each in tensors], dim)
