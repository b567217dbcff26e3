"""Order: sorting, ranking, searching, and what is found once or several times."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .._tensor import Tensor, wrap
from ..devices import kind_of
from ..op import OPS, composite, op, result_type
from .reductions import select_backward
from .views import wrap_dim


def _sort_forward(xp: Any, input: Any, /, dim: int, descending: bool) -> Any:
    where = xp.argsort(input, axis=dim, descending=descending, stable=True)
    return xp.take_along_axis(input, where, axis=dim), xp.astype(where, xp.int64)


_RESULTS: dict[str, Any] = {"results": ("values", "indices"), "result_promotions": ("same", "index"), "public": False, "method": False}
_sort = op(
    "sort", _sort_forward, **_RESULTS,
    joint=lambda F, g, out, input_shape, dim: (select_backward(F, g[0], out[1], input_shape, dim, True),),
)  # fmt: skip


def _named(name: str, values: Tensor, indices: Tensor) -> Any:
    return result_type(OPS[name])((values, indices))


@composite(out=True)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along ``dim``, and where they were.

    >>> import flambeau as torch
    >>> torch.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """
    if not input.ndim:
        wrap_dim(dim, 0)
        return _named("sort", input.clone(), input.new_zeros((), dtype=dtypes.int64))  # type: ignore[attr-defined]
    return _sort(input, wrap_dim(dim, input.ndim), descending)


@composite
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements in order along ``dim`` were."""
    return sort(input.detach(), dim, descending)[1]  # type: ignore[no-any-return]


@composite(out=True)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]  # type: ignore[no-any-return]


def _topk_forward(xp: Any, input: Any, /, k: int, dim: int, largest: bool) -> Any:
    where = xp.argsort(input, axis=dim, descending=largest, stable=True)
    first = (slice(None),) * dim + (slice(0, k),)
    where = where[(*first, ...)]
    return xp.take_along_axis(input, where, axis=dim), xp.astype(where, xp.int64)


_topk = op(
    "topk", _topk_forward, **_RESULTS,
    joint=lambda F, g, out, input_shape, dim: (select_backward(F, g[0], out[1], input_shape, dim, True),),
)  # fmt: skip


@composite(out=True)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` largest (or smallest) elements along ``dim``, in order, and where they are.

    Raises:
        RuntimeError: ``k`` is negative or larger than the dimension.
    """
    dim = wrap_dim(dim, input.ndim)
    length = input.shape[dim] if input.ndim else 1
    if not 0 <= k <= length:
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return _named("topk", input.clone(), input.new_zeros((), dtype=dtypes.int64))  # type: ignore[attr-defined]
    return _topk(input, k, dim, largest)


def _at_rank(name: str, input: Tensor, rank: int, dim: int, keepdim: bool) -> Any:
    """The element of one rank along ``dim``."""
    values, indices = sort(input, dim)
    values, indices = values.narrow(dim, rank, 1), indices.narrow(dim, rank, 1)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return _named(name, values, indices)


for _name in ("kthvalue", "median", "mode", "nanmedian", "cummax", "cummin"):
    op(_name, _sort_forward, **_RESULTS)  # gives the results their named tuple


@composite(out=True)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest element (from 1) along ``dim``, and where it is."""
    dim = wrap_dim(dim, input.ndim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    if not input.ndim:
        return _named("kthvalue", input.clone(), input.new_zeros((), dtype=dtypes.int64))  # type: ignore[attr-defined]
    return _at_rank("kthvalue", input, k - 1, dim, keepdim)
