"""Read and add to elements by index along a dimension: `index_select`, `gather`, `scatter_add`."""

from __future__ import annotations

from typing import Any

from ...engine.calls.facts import Autocast, Kind, Narrow
from ...engine.calls.inplace import write_elements
from ...engine.calls.op import composite, op
from ...engine.calls.record import Out
from ...engine.calls.transform_hooks import hooks
from ...engine.tape.fast_path import FAST
from ...engine.tape.grad_mode import is_grad_enabled
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..views.views import tied, wrap_dim
from .standard import getitem, put
from .subscripts import indexed, sum_at


def check_index_dtype(name: str, index: Tensor) -> None:
    if index._key.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype.legacy_name}")


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, grad_fn="IndexSelectBackward0", kind=Kind.INDEXING, single_operator=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return a copy of the slices of `dim` at the positions in `index`, a vector.

    Args:
        input: a tensor of any shape.
        dim: the dimension to select from.
        index: a vector of dtype int64 or int32.
        out: a tensor that the result is written to.

    Raises:
        IndexError: a position is out of range, or `index` has more than one dimension.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    ndim, index_ndim = input._array.ndim, index._array.ndim
    dim = wrap_dim(dim, ndim)
    check_index_dtype("index_select", index)
    if index_ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    bad = out_of_range(input, dim, index)
    if bad is not None:
        if ndim > 1 and not input.shape[dim]:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        if dim == 1 or (ndim > 1 and not input.numel()):
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={bad} axis_dim={input.shape[dim]}")
        raise IndexError("index out of range in self")
    if not ndim:
        if index.numel() != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
        return input.clone()
    if index_ndim and type(input) in FAST and type(index) in FAST and index._key.device is input._key.device:
        selected = indexed(input, (slice(None),) * dim + (index._array,))  # the same as `input[..., index]`, without its checks
    else:
        selected = input[(slice(None),) * dim + (index if index_ndim else index.reshape(1),)]
    if dim or ndim < 4 or input._key.backend.is_contiguous(input._array):
        return selected
    return selected.contiguous()  # `input[index]` of channels-last images is channels-last


def out_of_range(input: Tensor, dim: int, index: Tensor) -> int | None:
    """Return an index that is negative or too large for the dimension; None if all are in range."""
    if 0 in index._array.shape:
        return None
    smallest, largest = index._key.backend.extremes(index._array)
    if smallest < 0:
        return int(smallest)
    shape = input._array.shape
    return int(largest) if largest >= (shape[dim] if shape else 1) else None


def _take_along(xp: Any, input: Any, index: Any, /, dim: int) -> Any:
    shape = [i if d == dim else max(i, 1) for d, i in enumerate(index.shape)]
    cropped = getitem(xp, input, tuple(slice(None) if d == dim else slice(0, length) for d, length in enumerate(shape)))
    return xp.take_along_axis(cropped, index, axis=dim)


def _full_index(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """Return one index array per dimension for the elements that `gather` along `dim` reads."""
    indices = []
    for d in range(index.ndim):
        if d == dim:
            indices.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = index.shape[d]
            indices.append(xp.broadcast_to(xp.reshape(xp.arange(index.shape[d]), tuple(shape)), index.shape))
    return tuple(indices)


_gather = op(
    "gather_along", _take_along,
    kind=Kind.INDEXING, narrow=Narrow.NONE, keeps_dtype=("index",), public=False, method=False, grad_fn="GatherBackward0",
    input=lambda F, g, index, input_shape, dim: F.scatter_add_along(F.zeros_of(g, input_shape), g, index, dim),
    dispatches=lambda input, index, dim: ("gather", input, dim, index),
)  # fmt: skip


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.INDEXING)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Gather elements along `dim`: `out[i][j] = input[index[i][j]][j]` for `dim=0`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which to index.
        index: an integer tensor with as many dimensions as `input`; the result has its shape.
        sparse_grad: whether the gradient of `input` is a sparse tensor.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: an index is out of bounds, or `index` is larger than `input` in a dimension other than `dim`.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    shape, index_shape = input._array.shape, index._array.shape
    dim = wrap_dim(dim, len(shape))
    if 0 in index_shape:
        return input.reshape(-1)[:0].reshape(index.shape)
    check_index_dtype("gather", index)
    if not (shape and index_shape) and len(shape) < 2 and len(index_shape) < 2:
        return gather(input.reshape(-1), 0, index.reshape(-1)).reshape(index.shape)
    check_gather("gather_along", input, dim, index)
    if sparse_grad is True and input._requires_grad and is_grad_enabled() and not input._key.levels:
        gathered: Tensor = hooks.sparse("gather")(input, index, dim)
        return gathered
    return _gather(input, index, dim)


def check_gather(name: str, input: Tensor, dim: int, index: Tensor) -> None:
    shape, index_shape = input._array.shape, index._array.shape
    if len(index_shape) != len(shape):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d, length in enumerate(shape):
        if d != dim and index_shape[d] > length:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                f"than self {list(input.shape)} apart from dimension {dim}"
            )
    bad = None if name in input._key.backend.checks_indices else out_of_range(input, dim, index)
    if bad is not None:
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {input.shape[dim]}")


def _scatter_add_forward(xp: Any, input: Any, src: Any, index: Any, /, dim: int) -> Any:
    where = _full_index(xp, index, dim)
    source = src[tuple(slice(0, n) for n in index.shape)]
    return input + _scattered(xp, source, where, input.shape)


def _scattered(xp: Any, values: Any, where: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    positions, size = xp.zeros_like(where[0]), 1
    for coordinate, length in zip(reversed(where), reversed(shape), strict=True):
        positions = positions + coordinate * size
        size *= length
    return xp.reshape(sum_at(xp, xp.reshape(values, (-1,)), xp.reshape(positions, (-1,)), size), shape)


op(
    "scatter_add_along", _scatter_add_forward,
    kind=Kind.SCATTER, keeps_dtype=("index",), promote="match", public=False, method=False,
    grad_fn="ScatterAddBackward0",
    input=lambda F, g: g,
    src=lambda F, g, index, src_shape, dim: F.pad_to(F.gather_along(g, index, dim), src_shape),
)  # fmt: skip


def pad_to_forward(xp: Any, input: Any, /, shape: Any) -> Any:
    if tuple(input.shape) == tuple(shape):
        return input
    return put(xp, xp.zeros(shape, dtype=input.dtype), tuple(slice(0, n) for n in input.shape), input)


op(
    "pad_to",
    pad_to_forward,
    kind=Kind.MOVEMENT,
    public=False,
    method=False,
    out=False,
    input=lambda F, g, input_shape: F.getitem_slice(g, tuple(slice(0, n) for n in input_shape)),
)


def lined_up(input: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Reshape 0-d tensors to vectors if `input` is a vector."""
    return tuple(tensor.reshape(1) if input.ndim == 1 and not tensor.ndim else tensor for tensor in others)


def copy_depending_on(input: Tensor, source: Tensor) -> Tensor:
    """Return a copy of `input`, the result of writing no elements of `source` to it; both get gradients."""
    return tied(input.clone(), source) if source._requires_grad else input.clone()


@composite(
    inplace=True,
    out=Out.OWN_DTYPE | Out.DISJOINT_BUT_FIRST,
    kind=Kind.SCATTER,
    autocast={"cuda": Autocast.WIDEST},
    single_operator=True,
)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return `input` with `src[i][j]` added at `[index[i][j]][j]` for `dim=0`, and likewise for other dimensions.

    Args:
        dim: the dimension along which `index` refers to elements.
        index: an integer tensor with the number of dimensions of `input`; no size is larger than that of `src`.
        src: the elements to add, with the dtype of `input`.

    Raises:
        RuntimeError: the shapes or dtypes do not match, or an index is out of range.

    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    dim = wrap_dim(dim, input.ndim)
    if input.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    check_index_dtype("scatter", index)
    if not input.ndim:
        return scatter_add(input.reshape(1), 0, index.reshape(-1), src.reshape(-1)).reshape(())
    if not index.numel():
        return copy_depending_on(input, src)
    index, src = lined_up(input, index, src)
    if src.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    check_gather("scatter_add", input, dim, index)
    return write_elements("scatter_add_along", input, src, index, dim)
