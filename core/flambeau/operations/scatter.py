"""Writing by index: `scatter`, `index_add`, `index_put`, `put`, and copies with a view replaced (`select_scatter`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.calls.arguments import Number
from ..engine.calls.dispatch import common_shape
from ..engine.calls.facts import Autocast, Kind, Narrow, Overlap
from ..engine.calls.inplace import in_place, write_elements
from ..engine.calls.op import composite, op
from ..engine.calls.operands import filler
from ..engine.calls.overriding import DISPATCHING
from ..engine.calls.record import Out
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.calls.wrappers import as_method
from ..engine.devices.state import state
from ..engine.devices.warning import warn_once
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from .indexing.gather import (
    check_gather,
    check_index_dtype,
    copy_depending_on,
    lined_up,
    out_of_range,
)
from .indexing.standard import getitem, overwrite
from .views.selecting import diagonal
from .views.views import tied, wrap_dim

# --- scatter ------------------------------------------------------------------------------------------------------


def flat_positions(xp: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """Return for each element of `index` its position in a flattened tensor of `shape`."""
    place = xp.zeros_like(index)
    for d, length in enumerate(shape):
        if d == dim:
            coordinate = index
        else:
            view = [1] * index.ndim
            view[d] = index.shape[d]
            coordinate = xp.reshape(xp.arange(index.shape[d], dtype=index.dtype), tuple(view))
        place = place * length + coordinate
    return place


def _scatter_forward(xp: Any, input: Any, src: Any, index: Any, /, dim: int) -> Any:
    """Write `src` to `index` along `dim`; of several writes to one position, the last one wins."""
    place = xp.reshape(flat_positions(xp, index, dim, input.shape), (-1,))
    source = xp.reshape(getitem(xp, src, tuple(slice(0, n) for n in index.shape)), (-1,))
    return xp.reshape(overwrite(xp, xp.reshape(input, (-1,)), place, source), input.shape)


op(
    "scatter_along", _scatter_forward,
    kind=Kind.SCATTER, keeps_dtype=("index",), promote="match", public=False, method=False,
    grad_fn="ScatterBackward0",
    input=lambda F, g, index, src_shape, dim: F.scatter_along(g, F.zeros_of(g, src_shape), index, dim),
    src=lambda F, g, index, src_shape, dim: F.pad_to(F.gather_along(g, index, dim), src_shape),
)  # fmt: skip


@composite(
    inplace=True,
    out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST,
    kind=Kind.SCATTER,
    single_operator=True,
    schema=(
        "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
        "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
        "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    ),
)
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """Return `input` with `src[i][j]` (or a number) at `[index[i][j]][j]` for `dim=0`, and likewise for other dimensions.

    `reduce` ("add" or "multiply") combines each written value with the element of `input` instead of replacing the element.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to write, with the dtype of `input`, or one number.
        value: another name of `src`, for a number.
        reduce: "add" or "multiply"; None to replace elements.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 1.0)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    src = value if src is None else src
    dim = wrap_dim(dim, input.ndim)
    check_index_dtype("scatter", index)
    of_number = not isinstance(src, Tensor)
    if of_number:
        src = filler(src, input._key).expand(index.shape)
    elif src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not input.ndim:
        return scatter(input.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce=reduce).reshape(())
    if not index.numel():
        return copy_depending_on(input, src)
    index, src = lined_up(input, index, src)
    check_scatter(input, dim, index, src)
    if reduce is None:
        return write_elements("scatter_along", input, src, index, dim)
    if not of_number:
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
            "release. Use torch.scatter_reduce instead for more reduction options."
        )
    if reduce == "add":
        return write_elements("scatter_add_along", input, src, index, dim)
    if reduce == "multiply":
        result: Tensor = PUBLIC["scatter_reduce"](input, dim, index, src, "prod")
        return result
    raise RuntimeError("reduce argument must be either add or multiply.")


def check_scatter(input: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    if index.ndim != input.ndim or src.ndim != index.ndim:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as self tensor"
            if index.ndim != input.ndim
            else "Index tensor must have the same number of dimensions as src tensor"
        )
    for d in range(input.ndim):
        if index.shape[d] > src.shape[d]:
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")
    check_gather("scatter", input, dim, index)


# --- index_... ----------------------------------------------------------------------------------------------------


def _along(dim: int, index: Any) -> tuple[Any, ...]:
    return (*((slice(None),) * dim), index)


def check_source(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{index.dtype.legacy_name} and size: {list(index.shape)}"
        )
    if name == "index_copy" and not source.ndim and index.numel() != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
    if name == "index_copy" and index.dtype is not dtypes.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.legacy_name}")
    check_index_dtype(name, index)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}(): self ({input.dtype.legacy_name}) and source ({source.dtype.legacy_name}) must have the same scalar type"
        )
    if source.ndim and (input.ndim or name == "index_copy") and source.shape[dim] != index.numel():
        error = IndexError if name == "index_copy" else RuntimeError
        raise error(
            f"{name}(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    _check_range(name, input, dim, index)
    return dim


def _check_range(name: str, input: Tensor, dim: int, index: Tensor) -> None:
    bad = out_of_range(input, dim, index)
    if bad is None:
        return
    problem = f"index {bad} is out of bounds for dimension {dim} with size {input.shape[dim] if input.ndim else 1}"
    if name == "index_copy":
        raise IndexError(f"index_copy_(): {problem}")
    if name == "index_add" and input.ndim > 1 and dim in (0, input.ndim - 1):  # PyTorch raises RuntimeError here
        raise RuntimeError(problem)
    raise IndexError("index out of range in self")


@composite(inplace=True, out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST, kind=Kind.SCATTER, grad_fn="IndexAddBackward0")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """Return `input` with the slices of `source`, times `alpha`, added at the positions `index` of `dim`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions; slices for repeated positions are summed.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        alpha: the factor of `source`.
        out: a tensor that the result is written to.

    Raises:
        IndexError, RuntimeError: a position is out of range.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    if index.ndim < 2 and source.ndim != input.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
            f"= {list(input.shape)} source.shape = {list(source.shape)}"
        )
    dim = check_source("index_add", input, dim, index, source)
    if not input.ndim:
        return input + (source.reshape(-1).sum() * alpha).to(input.dtype)  # type: ignore[no-any-return]  # `alpha` is Any
    scaled = source if alpha == 1 else (source * alpha).to(source.dtype)
    return _add_slices(input, dim, index.reshape(-1), scaled)


def _add_slices(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    from .indexing.subscripts import NeedsLevels, raw_index

    try:
        if source.shape == (*input.shape[:dim], index.shape[0], *input.shape[dim + 1 :]):  # no broadcasting is needed
            return write_elements("index_put_add", input, source, raw_index(input, _along(dim, index))[0])
    except NeedsLevels:
        pass
    added: Tensor = input.index_put(_along(dim, index), source, accumulate=True)
    return added


@composite(
    inplace=True,
    out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST,
    kind=Kind.SCATTER,
    autocast={"cpu": Autocast.WIDEST},
    grad_fn="IndexCopyBackward0",
)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return a copy of `input` with its slices at the positions `index` of `dim` replaced by those of `source`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an integer vector of positions, without repetitions.
        source: a tensor with the dtype of `input`, and its shape except in `dim`, where it has the length of `index`.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    dim = check_source("index_copy", input, dim, index, source)
    if not input.ndim:
        return tied(source.reshape(()).clone(), input)
    return input.index_put(_along(dim, index.reshape(-1)), source)


@composite(
    inplace=True,
    kind=Kind.SCATTER,
    overlap=Overlap.DEPRECATED,
    may_share=("value",),
    grad_fn="IndexFillBackward0",
    schema=(
        "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
        "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    ),
)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Return a copy of `input` with its slices at the positions `index` of `dim` filled with `value`.

    Args:
        input: a tensor of any shape.
        dim: the dimension of the slices.
        index: an int64 vector of positions.
        value: a number or a 0-d tensor.

    Raises:
        IndexError: a position is out of range, or `index` has another dtype.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 1)
    tensor([1., 0., 1.])
    """
    dim = wrap_dim(dim, input.ndim)
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, complex) and not input.is_complex():
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    value = value if isinstance(value, Tensor) else filler(value, input._key)
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if not input.ndim:
        return index_fill(input.reshape(1), 0, index, value).reshape(())
    if value.requires_grad:
        index = index.unique()  # in the gradient of `value`, an index that occurs several times counts once
    return input.index_put(_along(dim, index.reshape(-1)), value.to(input.dtype))


@composite(
    inplace=True,
    kind=Kind.SCATTER,
    overlap=Overlap.DEPRECATED,
    autocast={"cuda": Autocast.WIDEST},
    grad_fn="IndexPutBackward0",
)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy of `input` with `values` at `input[indices]`; with `accumulate`, they are added.

    Args:
        input: a tensor of any shape.
        indices: a tuple of integer or bool tensors, one for each of the first dimensions; None for a whole dimension.
        values: a tensor with the dtype of `input` that can be broadcast to the shape of `input[indices]`.
        accumulate: whether to add the values to the elements, also several times if indices are repeated.

    Raises:
        IndexError: an index is out of range.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    from .indexing.subscripts import NeedsLevels, raw_index

    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}")
    if isinstance(values, Tensor) and values.dtype is not input.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{input.dtype.legacy_name} for the destination and {values.dtype.legacy_name} for the "
            "source."
        )
    if state.dispatching and any(type(item) in DISPATCHING for item in indices):
        return hooks.call_aten_operator("index_put", (input, indices, values, accumulate), {})  # type: ignore[no-any-return]  # what a class returns
    try:
        raw, _, _ = raw_index(input, tuple(indices))
    except NeedsLevels as need:
        return index_put(need.lifted(input), indices, values, accumulate)
    from ..engine.calls.tables import OPS

    if accumulate:
        return write_elements("index_put_add", input, values.expand_as(OPS["index"].function(input.detach(), raw)), raw)
    return write_elements("setitem", input, values, raw)


def _index_put_add_forward(xp: Any, input: Any, values: Any, /, index: Any) -> Any:
    from .indexing.subscripts import index_backward_forward

    return input + index_backward_forward(xp, values, input.shape, index)


op(
    "index_put_add", _index_put_add_forward,
    kind=Kind.SCATTER, narrow=Narrow.COMPLEX32, promote="match", public=False, method=False, grad_fn="IndexPutBackward0",
    freed=("index",),
    input=lambda F, g: g,
    values=lambda F, g, index: F.index(g, index),
)  # fmt: skip


# --- indices into the flattened tensor ----------------------------------------------------------------------------


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, grad_fn="TakeBackward0", kind=Kind.INDEXING)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Return the elements at the positions `index` of the flattened tensor.

    Args:
        index: an int64 tensor, whose shape is that of the result.

    Raises:
        IndexError: an index is out of range.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.legacy_name}")
    try:
        return input.reshape(-1)[index.reshape(-1)].reshape(index.shape)
    except IndexError as error:
        bad = str(error).split()[1]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {input.numel()} elements.") from error


def _put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write `source` at the positions `index` of the flattened tensor, in place.

    Args:
        index: an int64 tensor.
        source: the elements to write; as many as `index` has, and of the dtype of `self`.
        accumulate: whether the elements are added, not replaced.
    """
    return _recorded_put(self, index, source, accumulate)


@composite(grad_fn="PutBackward0", kind=Kind.SCATTER)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Return a copy of `input` with `source` at the positions `index` of the flattened tensor.

    Args:
        index: an int64 tensor.
        source: the elements to write; as many as `index` has, and of the dtype of `input`.
        accumulate: whether the elements are added to those of `input`, not replaced.

    Raises:
        IndexError: the numbers of elements differ, or an index is out of range.

    >>> torch.put(torch.tensor([1, 2, 3]), torch.tensor([0]), torch.tensor([9]))
    tensor([9, 2, 3])
    """
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.legacy_name}")
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if not input.ndim:
        return put(input.reshape(1), index, source, accumulate).reshape(())
    if not index.numel():
        return copy_depending_on(input, source)
    for place in index._key.backend.extremes(index._array):
        if place < -input.numel() or place >= input.numel():
            raise IndexError(f"out of range: tried to access index {place} on a tensor of {input.numel()} elements.")
    return input.index_put(_coordinates(index.reshape(-1), input.shape), source.reshape(-1), accumulate)


def _coordinates(places: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Return an index for each dimension of `shape` from positions in the flattened tensor, which may be negative."""
    indices, rest = [], places
    for length in reversed(shape):
        indices.append(rest % length)
        rest = rest.div(length, rounding_mode="floor")
    return tuple(reversed(indices))


_recorded_put = in_place("put", put)
attach(put_=as_method(_put_))


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.INDEXING)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return the elements at `indices` along `dim`; the other dimensions broadcast.  If `dim` is None, the input is flattened.

    Args:
        indices: an int64 tensor.
        dim: the dimension to select from; None to flatten.

    >>> x = torch.tensor([[1, 3, 2]])
    >>> torch.take_along_dim(x, x.argmax(1, keepdim=True), 1)
    tensor([[3]])
    """
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy_name}")
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, input.ndim)
    shape = list(input.shape)
    shape[dim] = 1
    index_shape = list(indices.shape)
    index_shape[dim] = 1
    common = list(common_shape(shape, index_shape))
    wide, narrow = list(common), list(common)
    wide[dim], narrow[dim] = input.shape[dim], indices.shape[dim]
    indices = indices % input.shape[dim] if input.shape[dim] else indices
    return input.expand(wide).gather(dim, indices.expand(narrow))


@composite(inplace=True, grad_fn="MaskedScatterBackward0", kind=Kind.SCATTER, may_share=("source",))
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return `input` with its elements where `mask` is True replaced by those of `source`, in order.

    Args:
        mask: a bool tensor that can be broadcast with `input`.
        source: a tensor with the dtype of `input`, and at least as many elements as `mask` has True ones.

    Raises:
        RuntimeError: the dtypes do not match, or `source` has too few elements.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.legacy_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype.legacy_name} and "
            f"{source.dtype.legacy_name}"
        )
    shape = common_shape(input.shape, mask.shape)
    mask = mask.expand(shape)
    input = (input if input.shape == shape else input.expand(shape)).contiguous()
    is_counted = mask._key.backend.has_data and not (input._key.levels or mask._key.levels or source._key.levels)
    # without a count of elements: for each masked element, its position in `source`, from 1
    number = mask.sum() if is_counted else mask.reshape(-1).cumsum(0)
    count = number._key.backend.extremes(number._array)[1] if mask.numel() else 0
    if source.numel() < count:
        raise RuntimeError(f"Number of elements of source < number of ones in mask: {source.numel()} < {count}")
    if not source.numel():
        return copy_depending_on(input, source)
    source = source.reshape(-1)
    if is_counted:
        return input.index_put((mask,), source[: int(count)])
    return source.index_select(0, (number - 1).clamp_min(0)).reshape(mask.shape).where(mask, input)


# --- copies with a view replaced ----------------------------------------------------------------------------------


def _replace_view(input: Tensor, src: Tensor, part: Any, what: str) -> Tensor:
    if part(input).shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part(input).shape)}"
        )
    output = input.clone()
    part(output).copy_(src)
    if output._node is not None:
        output._node.saves = ()  # unlike an in-place write, PyTorch's functions can be differentiated a second time
    return output


@composite(grad_fn="SelectScatterBackward0", kind=Kind.MOVEMENT)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy of `input` with `src` in place of `input.select(dim, index)`.

    Args:
        src: the elements to write, in the shape of the slice.
        dim: the dimension of the slice.
        index: the position of the slice.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _replace_view(input, src, lambda t: t.select(dim, index), "select")


@composite(out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED, grad_fn="SliceScatterBackward0", kind=Kind.MOVEMENT)
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of `input` with `src` in place of `input[start:end:step]` along `dim`.

    Args:
        src: the elements to write, in the shape of the slice.
        dim: the dimension of the slice.
        start, end: the bounds of the slice; None for the first and the last element.
        step: the distance between elements of the slice, positive.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    index = _along(wrap_dim(dim, input.ndim), slice(start, end, step))
    return _replace_view(input, src, lambda t: t[index], "slice")


@composite(grad_fn="DiagonalScatterBackward0", kind=Kind.MOVEMENT)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a copy of `input` with `src` in place of its diagonal.

    Args:
        input: a tensor of at least two dimensions.
        src: a tensor with the shape of the diagonal.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the matrices.

    Raises:
        RuntimeError: `src` has another shape.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    return _replace_view(input, src, lambda t: diagonal(t, offset, dim1, dim2), "diagonal")


@composite(grad_fn="AsStridedScatterBackward0", kind=Kind.MOVEMENT)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """Return a copy of `input` with `src` in place of `input.as_strided(size, stride, storage_offset)`.

    Args:
        input: a tensor of any shape.
        src: a tensor of the shape `size`.
        size: the sizes of the view.
        stride: its strides, in elements.
        storage_offset: the index in the storage of its first element; None for that of `input`.

    Raises:
        RuntimeError: `src` has another shape, or the view exceeds the storage.

    >>> torch.as_strided_scatter(torch.zeros(2, 2), torch.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _replace_view(input, src, lambda t: t.as_strided(size, stride, storage_offset), "as_strided")
