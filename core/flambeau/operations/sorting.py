"""Sorting, ranking, searching, and unique elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.dispatch import require_data, require_dtype, require_operands, require_tensors, result_dtype
from ..engine.calls.facts import Kind, Narrow
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.calls.results import result_type
from ..engine.calls.tables import OPS
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .cumulative import cummax
from .padding import constant_pad
from .reductions import one_of, select_backward
from .views.views import wrap_dim


def _sort_forward(xp: Any, input: Any, /, dim: int, descending: bool) -> Any:
    where = xp.argsort(input, axis=dim, descending=descending, stable=True)
    return xp.take_along_axis(input, where, axis=dim), xp.astype(where, xp.int64)


_RESULTS: dict[str, Any] = {
    "results": ("values", "indices"),
    "result_promotions": ("same", "index"),
    "public": False,
    "method": False,
}
_sort: Callable[..., Any] = op(
    "sort", _sort_forward,
    kind=Kind.SORTING, out=Out.OWN_DTYPE, **_RESULTS,
    vjp=lambda F, g, indices, input_shape, dim: (select_backward(F, g[0], indices, input_shape, dim, True),),
    schema=(
        "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    ),
)  # fmt: skip


def _named(name: str, values: Tensor, indices: Tensor) -> Any:
    return result_type(OPS[name])((values, indices))


@composite(out=Out.OWN_DTYPE)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False) -> Any:
    """Sort the elements along `dim`; return them and their original indices.

    Args:
        dim: the dimension to sort along.
        descending: whether the largest element comes first.
        stable: whether equal elements keep their order; they always do.

    >>> torch.tensor([3, 1, 2]).sort().indices
    tensor([1, 2, 0])
    """
    if input._key.dtype.category == dtypes.COMPLEX:
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    ndim = input._array.ndim
    dim = wrap_dim(dim, ndim)
    if not ndim:
        return _named("sort", input.clone(), input.new_zeros((), dtype=dtypes.int64))
    return _sort(input, dim, descending)


@composite(
    out=Out.OWN_DTYPE | Out.UNTRACKED,
    kind=Kind.SORTING,
    schema=(
        "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    ),
)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort the elements along `dim`.

    Args:
        input: a tensor of a real dtype.
        dim: the dimension to sort.
        descending: whether the largest elements come first.
        stable: whether equal elements keep their order; they always do.
        out: a tensor that the result is written to.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    where: Tensor = sort(input.detach(), dim, descending)[1]
    return where


@composite(out=Out.OWN_DTYPE, kind=Kind.SORTING)
def msort(input: Tensor) -> Tensor:
    """Sort the elements along the first dimension."""
    values: Tensor = sort(input, 0)[0]
    return values


def _topk_forward(xp: Any, input: Any, /, k: int, dim: int, largest: bool) -> Any:
    where = xp.argsort(input, axis=dim, descending=largest, stable=True)
    first = (slice(None),) * dim + (slice(0, k),)
    where = where[(*first, ...)]
    return xp.take_along_axis(input, where, axis=dim), xp.astype(where, xp.int64)


_topk: Callable[..., Any] = op(
    "topk", _topk_forward,
    kind=Kind.SORTING, out=Out.OWN_DTYPE, **_RESULTS,
    vjp=lambda F, g, indices, input_shape, dim: (select_backward(F, g[0], indices, input_shape, dim, True),),
)  # fmt: skip


@composite(out=Out.OWN_DTYPE)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the `k` largest (or smallest) elements along `dim`, in order, and their indices.

    Args:
        k: the number of elements.
        dim: the dimension to search.
        largest: whether to return the largest elements; otherwise the smallest.
        sorted: whether the elements are returned in order; they always are.

    Raises:
        RuntimeError: `k` is negative or larger than the dimension.

    >>> torch.tensor([1, 4, 2]).topk(2).values
    tensor([4, 2])
    """
    if input._key.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise RuntimeError(f"topk does not support {'complex' if input.is_complex() else 'bool'} dtypes on CPU")
    shape = input._array.shape
    dim = wrap_dim(dim, len(shape))
    if not 0 <= k <= (shape[dim] if shape else 1):
        raise RuntimeError("selected index k out of range")
    if not shape:
        return _named("topk", rename_node(input.clone(), "TopkBackward0"), input.new_zeros((), dtype=dtypes.int64))
    return _topk(input, k, dim, largest)


# --- elements at a rank: kthvalue, median, mode -------------------------------------------------------------------


def _at_rank(xp: Any, input: Any, order: Any, rank: Any, dim: int, keepdim: bool) -> Any:
    """Return the element at `rank` of each slice along `dim`, and its index, given the indices `order` that sort the slices."""
    where = xp.take_along_axis(order, rank, axis=dim)
    values, where = xp.take_along_axis(input, where, axis=dim), xp.astype(where, xp.int64)
    return (values, where) if keepdim else (xp.squeeze(values, axis=dim), xp.squeeze(where, axis=dim))


def _kthvalue_forward(xp: Any, input: Any, /, rank: int, dim: int, keepdim: bool = False) -> Any:
    order = xp.argsort(input, axis=dim, stable=True)
    ranks = xp.full_like(order[(*(slice(None),) * dim, slice(0, 1), ...)], rank)
    return _at_rank(xp, input, order, ranks, dim, keepdim)


def _median_forward(xp: Any, input: Any, dim: int, keepdim: bool, skip_nan: bool) -> Any:
    order, length = xp.argsort(input, axis=dim, stable=True), input.shape[dim]
    missing = xp.sum(xp.astype(input != input, order.dtype), axis=dim, keepdims=True)
    if skip_nan:
        ranks = xp.where(missing < length, length - missing - 1, 0) // 2
    else:
        ranks = xp.where(missing > 0, length - missing, (length - 1) // 2)
    return _at_rank(xp, input, order, xp.astype(ranks, order.dtype), dim, keepdim)


def _ranked(name: str, forward: Callable[..., Any], grad_fn: str = "", **facts: Any) -> Callable[..., Any]:
    return op(
        name, forward, kind=Kind.REDUCTION, out=Out.OWN_DTYPE, grad_fn=grad_fn, **_RESULTS, **facts,
        vjp=lambda F, g, indices, input_shape, dim, keepdim: (select_backward(F, g[0], indices, input_shape, dim, keepdim),),
    )  # fmt: skip


_kthvalue = _ranked(
    "kthvalue",
    _kthvalue_forward,
    dispatches=lambda input, rank, dim, keepdim: ("kthvalue", input, rank + 1, dim, keepdim),  # PyTorch counts from 1
)
_medians = {
    "median": _ranked(
        "median",
        lambda xp, input, /, dim, keepdim=False: _median_forward(xp, input, dim, keepdim, False),
        "MedianBackward1",
    ),
    "nanmedian": _ranked(
        "nanmedian",
        lambda xp, input, /, dim, keepdim=False: _median_forward(xp, input, dim, keepdim, True),
        "NanmedianBackward1",
    ),
}
op("mode", _sort_forward, kind=Kind.REDUCTION, **_RESULTS)  # this record defines the named tuple that `mode` returns


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.REDUCTION)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the `k`-th smallest element (counted from 1) along `dim`, and its index.

    Args:
        input: a tensor of an integer or floating-point dtype.
        k: the position in ascending order, from 1 to the size of `dim`.
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with size 1.
        out: tensors that the results are written to.

    Raises:
        RuntimeError: `k` is out of range.

    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2)
    torch.return_types.kthvalue(
    values=tensor(2),
    indices=tensor(2))
    """
    require_dtype("kthvalue_cpu", input, "real numbers")
    dim = wrap_dim(dim, input.ndim)
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    if not input.ndim:
        return _named("kthvalue", input.clone(), input.new_zeros((), dtype=dtypes.int64))
    return _kthvalue(input, k - 1, dim, keepdim)


@composite(
    out=Out.OWN_DTYPE,
    kind=Kind.REDUCTION,
    schema=(
        "median(Tensor self) -> Tensor",
        "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    ),
)
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of all elements, or of each slice over `dim` with its index.

    For an even number of elements, it is the lower of the two middle ones.  NaN is larger than any number.

    Args:
        dim: the dimension to reduce; None for all elements, without an index.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([3.0, 1.0, 2.0, 4.0]).median()
    tensor(2.)
    """
    return _median("median", input, dim, keepdim)


@composite(
    out=Out.OWN_DTYPE,
    kind=Kind.REDUCTION,
    schema=(
        "nanmedian(Tensor self) -> Tensor",
        "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    ),
)
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median of the elements that are not NaN.

    Args:
        dim: the dimension to reduce; None for all elements, without an index.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([3.0, torch.nan, 1.0]).nanmedian()
    tensor(1.)
    """
    return _median("nanmedian", input, dim, keepdim)


def _median(name: str, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    require_dtype("median_cpu", input, "real numbers")
    shown = f"{name.capitalize()}Backward"
    if dim is None:
        if not input.numel():
            return input.new_full((), float("nan"))
        return rename_node(one_of(input, _median(name, input.detach().reshape(-1), 0, False)[0]), f"{shown}0")
    if not input.ndim:
        wrap_dim(dim, 0)
        return _named(name, rename_node(input.clone(), f"{shown}1"), input.new_zeros((), dtype=dtypes.int64))
    dim = wrap_dim(dim, input.ndim)
    if not input.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return _medians[name](input, dim, keepdim)


@composite(out=Out.OWN_DTYPE, grad_fn="ModeBackward0")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent element along `dim` (of several, the smallest) and its last index.  NaN equals no other NaN.

    Args:
        dim: the dimension to reduce.
        keepdim: whether the reduced dimension is kept with length 1.

    >>> torch.tensor([2, 1, 2]).mode().values
    tensor(2)
    """
    if not input.ndim:
        wrap_dim(dim, 0)
        return _named("mode", input.clone(), input.new_zeros((), dtype=dtypes.int64))
    require_dtype("mode_cpu", input, "real")
    dim = wrap_dim(dim, input.ndim)
    if not input.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    ordered, places = sort(input.detach().movedim(dim, -1))
    counting = _arange_like(ordered.shape[-1], input)
    starts = constant_pad((ordered[..., 1:] != ordered[..., :-1]) * counting[1:], [1, 0])
    repeats = counting - cummax(starts, -1)[0]
    indices = places.gather(-1, repeats.argmax(-1, keepdim=True)).movedim(-1, dim)
    values = input.gather(dim, indices)
    return _named("mode", *((values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))))


def _arange_like(length: int, like: Tensor) -> Tensor:
    from .creation.ranges import arange

    return arange(length, device=like.device)


# --- searching ----------------------------------------------------------------------------------------------------


@composite(
    method=False,
    out=Out.OWN_DTYPE,
    kind=Kind.SORTING,
    single_operator=True,
    schema=(
        "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
        "side=None, Tensor? sorter=None) -> Tensor",
        "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
        "side=None, Tensor? sorter=None) -> Tensor",
    ),
)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return, for each element of `input`, the index at which to insert it into a sorted row of `sorted_sequence`.

    It is the index before equal elements or, with `right`, the index after them.

    Args:
        sorted_sequence: rows `(*, n)` in ascending order; a vector is used for all of `input`.
        input: a number, or a tensor whose dimensions except the last are those of `sorted_sequence`.
        out_int32: whether the result is int32; otherwise int64.
        right: whether to return the index after equal elements.
        side: "left" or "right", another form of `right`.
        sorter: the indices that sort `sorted_sequence`, if it is not sorted.

    Raises:
        RuntimeError: the shapes do not match, or `side` contradicts `right`.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    from .creation.from_data import tensor

    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    require_tensors("searchsorted", sorted_sequence=sorted_sequence)
    require_operands("searchsorted", input=input)
    values = input if isinstance(input, Tensor) else tensor(input, device=sorted_sequence.device)
    if not sorted_sequence.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if sorted_sequence.ndim > 1 and tuple(sorted_sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(sorted_sequence.shape)} and input value tensor {list(values.shape)}"
        )
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    after = right or side == "right"
    positions = _search(sorted_sequence, values, "right" if after else "left")
    return positions.to(dtypes.int32 if out_int32 else dtypes.int64)


def search_forward(xp: Any, input: Any, values: Any, /, side: str) -> Any:
    if input.ndim > 1:
        return search_rows(xp, input, values, side)
    positions = xp.astype(xp.searchsorted(input, xp.reshape(values, (-1,)), side=side), xp.int64, copy=False)
    positions = xp.reshape(positions, values.shape)
    return positions if xp.isdtype(values.dtype, "integral") else xp.where(values == values, positions, input.shape[0])


def search_rows(xp: Any, rows: Any, values: Any, side: str) -> Any:
    """Return the index at which to insert each value into its sorted row; bisects all rows in parallel."""
    length = rows.shape[-1]
    first = xp.zeros_like(values, dtype=xp.int64)
    last = xp.full_like(first, length)
    for _ in range(length.bit_length()):
        middle = (first + last) // 2
        pivot = xp.take_along_axis(rows, xp.clip(middle, 0, length - 1), axis=-1)
        beyond = ~(pivot >= values if side == "left" else pivot > values) & (first < last)
        first, last = xp.where(beyond, middle + 1, first), xp.where(beyond, last, middle)
    return first


_search = op(
    "search", search_forward, kind=Kind.SORTING, promote="position", dtypes="real numbers", public=False, method=False, out=False
)


@composite(
    method=False,
    out=Out.OWN_DTYPE,
    kind=Kind.SORTING,
    single_operator=True,
    schema=(
        "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
        "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    ),
)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """Return for each element the index `i` such that `boundaries[i - 1] < element <= boundaries[i]`.

    Args:
        input: a tensor, or a number.
        boundaries: a vector in ascending order.
        out_int32: whether the result is int32 instead of int64.
        right: whether buckets contain their left boundary instead of the right one: `boundaries[i - 1] <= element <
            boundaries[i]`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `boundaries` is not a vector.

    >>> torch.bucketize(torch.tensor([1, 3, 6]), torch.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    require_operands("bucketize", input=input)
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# --- unique elements ----------------------------------------------------------------------------------------------


@composite(kind=Kind.SORTING, dynamic_shape=True, home="torch.functional")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the sorted unique elements (or slices of `dim`) and, if requested, each element's index among them and the counts.

    Args:
        sorted: whether the result is sorted; it always is.
        return_inverse: whether to return each element's index in the result.
        return_counts: whether to return the number of occurrences of each element.
        dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

    >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    require_data("_unique2" if dim is None else "unique_dim", input)
    require_dtype("unique", input, "real")
    rows = input.reshape(-1, 1) if dim is None else _slices(input, dim)
    order = _lexicographic_order(rows)
    values, inverse, counts = _group_rows(rows[order], return_inverse, return_counts)
    if inverse is not None:
        inverse = inverse.new_empty(len(order)).index_put((order,), inverse)
    return _unique_result(input, values, inverse, counts, dim)


@composite(kind=Kind.SORTING, dynamic_shape=True, home="torch.functional")
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Return the elements (or slices of `dim`) without consecutive repetitions.

    Args:
        return_inverse: whether to return each element's index in the result.
        return_counts: whether to return the length of each run of equal elements.
        dim: the dimension whose slices are compared; None to compare elements of the flattened tensor.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    require_data("unique_consecutive", input)
    require_dtype("unique", input, "real")
    rows = input.reshape(-1, 1) if dim is None else _slices(input, dim)
    return _unique_result(input, *_group_rows(rows, return_inverse, return_counts), dim)


def _slices(input: Tensor, dim: int) -> Tensor:
    """Return a matrix whose rows are the flattened slices of `dim`."""
    count = input.shape[dim]
    return input.movedim(dim, 0).reshape(count, input.numel() // max(count, 1))


def _lexicographic_order(rows: Tensor) -> Tensor:
    """Return the indices that sort rows lexicographically."""
    if not rows.shape[1]:
        return _arange_like(rows.shape[0], rows)
    order: Tensor = argsort(rows[:, -1], stable=True)
    for column in reversed(range(rows.shape[1] - 1)):
        order = order[argsort(rows[order, column], stable=True)]
    return order


def _group_starts(rows: Tensor) -> Tensor:
    """Return a mask of rows: True for the first row and for each row that differs from the row before it."""
    from .joining import cat

    first = rows.new_ones(min(len(rows), 1), dtype=dtypes.bool_)
    return cat([first, (rows[1:] != rows[:-1]).any(1)])


def _group_rows(rows: Tensor, with_inverse: bool, with_counts: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return one row of each group of equal adjacent rows and, if requested, each row's group index and the group sizes."""
    from .joining import cat

    starts = _group_starts(rows)
    places, inverse, counts = starts.nonzero().reshape(-1), None, None
    if with_inverse:
        inverse = starts.cumsum(0) - 1
    if with_counts:
        counts = cat([places[1:], places.new_full((1,), len(rows))]) - places if len(places) else places
    return rows[places], inverse, counts


def _unique_result(input: Tensor, values: Tensor, inverse: Tensor | None, counts: Tensor | None, dim: int | None) -> Any:
    if dim is None:
        values, inverse = values.reshape(-1), None if inverse is None else inverse.reshape(input.shape)
    else:
        slice_shape = [n for d, n in enumerate(input.shape) if d != wrap_dim(dim, input.ndim)]
        values = values.reshape(len(values), *slice_shape).movedim(0, dim)
    result = (values, *(tensor for tensor in (inverse, counts) if tensor is not None))
    return result if len(result) > 1 else values


_isin = op(
    "among", lambda xp, input, other: xp.any(input == other, axis=-1),
    kind=Kind.INDEXING, narrow=Narrow.NONE, promote="compare", public=False, method=False, out=False,
    doc="Whether each element of `input[..., 0]` is in the vector `other`.",
)  # fmt: skip


@composite(
    method=False,
    out=Out.OWN_DTYPE,
    kind=Kind.SORTING,
    single_operator=True,
    schema=(
        "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
        "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
        "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    ),
)
def isin(
    elements: Any = None,
    test_elements: Any = None,
    *,
    element: Any = None,
    test_element: Any = None,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Return a mask: for each element, whether it is in `test_elements`.

    Args:
        elements: a tensor or a number.
        test_elements: a tensor or a number; one of both is a tensor.
        element, test_element: keywords for numbers, instead of `elements` and `test_elements`.
        assume_unique: whether both tensors have no repeated elements; it has no effect.
        invert: whether to return the inverse mask.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtype is bool or complex.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 4]))
    tensor([False,  True, False])
    """
    from .creation.from_data import as_tensor

    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    for name, value in (("elements", elements), ("test_elements", test_elements)):
        if value is None:
            raise TypeError(f'isin() missing 1 required positional arguments: "{name}"')
        require_operands("isin", **{name: value})
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): one of 'elements' and 'test_elements' must be Tensor, not both of them numbers")
    common = result_dtype((elements, test_elements))  # so that Python numbers are not rounded to the default dtype
    elements, test_elements = (
        as_tensor(x, dtype=common) if type(x) in (int, float) and common.is_floating_point else as_tensor(x)
        for x in (elements, test_elements)
    )
    for tensor in (elements, test_elements):
        if tensor.dtype is dtypes.bool_ or tensor.is_complex():
            raise RuntimeError(f"Unsupported input type encountered for isin(): {tensor.dtype.legacy_name}")
    mask: Tensor = _isin(elements.unsqueeze(-1), test_elements.reshape(-1))
    return ~mask if invert else mask
