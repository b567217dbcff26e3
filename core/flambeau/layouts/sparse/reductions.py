"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ...autograd.function import Function
from ...engine.calls.node_names import with_grad_fn
from ...engine.tensors.tensor import Tensor, wrap
from .layouts import coalesce_entries, coalesced, convert, flat_indices, indices_of, sparse_dims, sum_groups, to_coo
from .tensors import SparseTensor, build, implements, like, values_of

__all__ = ["log_softmax", "softmax", "sum"]


class _SumOfAll(Function):
    """Sum all elements of a sparse tensor.  The gradient of the tensor is dense."""

    @staticmethod
    def forward(ctx: Any, input: SparseTensor) -> Tensor:
        ctx.shape = input.shape
        return wrap(input._array.values, input._key).sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient.expand(ctx.shape)


def wrapped_dims(dim: Any, ndim: int) -> list[int]:
    dims = [dim] if isinstance(dim, int) else list(dim)
    for each in dims:
        if not -max(ndim, 1) <= each < max(ndim, 1):
            limit = max(ndim, 1)
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {each})")
    found = [each % max(ndim, 1) for each in dims]
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {max(found, key=found.count)} appears multiple times in the list of dims")
    return found


def sum(input: Any, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Any:
    """Return the sum of all elements, or along the dimensions `dim`; the result is sparse if sparse dimensions remain.

    The gradient is sparse, with the indices of the input.

    >>> s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> torch.sparse.sum(s), torch.sparse.sum(s, 0).to_dense()
    (tensor(12.), tensor([4., 0., 8.]))
    """
    if not isinstance(input, SparseTensor) or input._array.layout != "sparse_coo":
        raise NotImplementedError(f"torch.sparse.sum: expected a tensor in layout torch.sparse_coo, but got {input.layout}")
    if dtype is not None:
        input = input.to(dtype)
    if dim is None or dim == ():
        return values_of(input).sum()
    return _sum_along(input, wrapped_dims(dim, input.ndim))


@with_grad_fn("SparseSumBackward0")
def _sum_along(input: SparseTensor, dims: list[int]) -> Any:
    sparse = sparse_dims(input)
    kept = [each for each in range(sparse) if each not in dims]
    values = values_of(input)
    inner = [each - sparse + 1 for each in dims if each >= sparse]
    if inner:
        values = values.sum(inner, dtype=values.dtype)
    if not kept:
        return values.sum(0, dtype=values.dtype)
    sizes = [input.shape[each] for each in kept]
    shape = [*sizes, *(input.shape[each] for each in range(sparse, input.ndim) if each not in dims)]
    if len(kept) == sparse:
        return build("sparse_coo", [indices_of(input)], values, shape, input._array.coalesced)
    return coalesce_entries(indices_of(input)[kept], values, sizes, shape)


@implements("sum")
def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    wider = torch.int64 if input.dtype.is_signed and not (input.is_floating_point() or input.is_complex()) else None
    wider = torch.int64 if input.dtype in (torch.bool, torch.uint8) else wider
    dtype = dtype or wider
    source = input if dtype is None else input.to(dtype)
    if dim is None or dim == () or dim == []:
        return _sum_of_all(source)
    return _sum_of_dims(source, wrapped_dims(dim, input.ndim), keepdim)


@with_grad_fn("SumBackward0")
def _sum_of_all(input: SparseTensor) -> Tensor:
    return _SumOfAll.apply(input) if input.requires_grad else values_of(input).sum()


@with_grad_fn("SumBackward1")
def _sum_of_dims(source: SparseTensor, dims: list[int], keepdim: bool) -> Any:
    layout = source._array.layout
    if layout != "sparse_coo" and not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    result = _sum_along(to_coo(source), dims)
    if keepdim:
        result = _with_dims(result, dims, sparse_dims(to_coo(source)))
        if layout != "sparse_coo":
            result = convert(result.coalesce(), layout)
    return result


def _with_dims(result: Any, dims: list[int], sparse: int) -> Any:
    """Insert the summed dimensions with size 1, for `keepdim=True`."""
    if not isinstance(result, SparseTensor):
        for each in sorted(dims):
            result = result.unsqueeze(each)
        return result.to_sparse()
    indices, values, shape = indices_of(result), values_of(result), list(result.shape)
    for each in sorted(dims):
        shape.insert(each, 1)
        if each < sparse:
            indices = torch.cat([indices[:each], indices.new_zeros((1, indices.shape[1])), indices[each:]])
        else:
            values = values.unsqueeze(each - sparse + 1)
    return build("sparse_coo", [indices], values, shape, coalesced=False)


@implements("vector_norm", "linalg_vector_norm", "linalg_norm")
def _vector_norm(x: Any, ord: Any = 2.0, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return _norm(x, 2.0 if ord is None else ord, dim, keepdim, dtype)


@implements("norm", "native_norm")
def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is not None or keepdim:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must be empty and 'keepdim' False")
    source = coalesced(input) if input._array.layout == "sparse_coo" else input
    return values_of(source).norm(2.0 if p in ("fro", None) else p, dtype=dtype)


@implements("any")
def _any(input: Any) -> Any:
    return values_of(coalesced(to_coo(input))).any()


# --- softmax ------------------------------------------------------------------------------------------------------


def _normalized(name: str, input: Any, dim: int, dtype: Any) -> Any:
    if not isinstance(input, SparseTensor) or input._array.layout != "sparse_coo":
        raise NotImplementedError(f"torch.sparse.{name}: expected a tensor in layout torch.sparse_coo, but got {input.layout}")
    (dim,) = wrapped_dims(dim, input.ndim)
    if not (input.is_floating_point() or (dtype is not None and dtype.is_floating_point)):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype}'")
    given: Any = input if dtype is None else input.to(dtype)
    source = coalesced(given)
    sparse = sparse_dims(source)
    values = values_of(source)
    if dim >= sparse:
        values = getattr(torch, name)(values, dim - sparse + 1)
    elif len(values):
        values = _within_groups(values, _groups(source, dim), name == "log_softmax")
    return like(source._array, values)


def _groups(input: SparseTensor, dim: int) -> Tensor:
    """Return a group number for each entry; entries whose indices differ only in `dim` are in one group."""
    others = [each for each in range(sparse_dims(input)) if each != dim]
    numbers = flat_indices(indices_of(input)[others], [input.shape[each] for each in others])
    return torch.unique(numbers, return_inverse=True)[1]  # type: ignore[no-any-return]  # the inverse indices


def _within_groups(values: Tensor, group: Tensor, logarithm: bool) -> Tensor:
    count = int(group.max()) + 1
    index = group.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    lowest = values.new_full((count, *values.shape[1:]), float("-inf"))
    shifted = values - lowest.scatter_reduce(0, index, values.detach(), "amax")[group]
    exponentials = shifted.exp()
    sums = sum_groups(exponentials, group, count)[group]
    return shifted - sums.log() if logarithm else exponentials / sums


@with_grad_fn("SparseSoftmaxBackward0")
def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the softmax along a dimension of a COO tensor; unspecified elements count as minus infinity.

    >>> torch.sparse.softmax(torch.tensor([[1.0, 1.0], [0.0, 3.0]]).to_sparse(), 1).to_dense()
    tensor([[0.5000, 0.5000],
            [0.0000, 1.0000]])
    """
    return _normalized("softmax", input, dim, dtype)


@with_grad_fn("SparseLogSoftmaxBackward0")
def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the log-softmax along a dimension of a COO tensor; unspecified elements count as minus infinity."""
    return _normalized("log_softmax", input, dim, dtype)
