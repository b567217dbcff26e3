"""Reductions of consecutive segments of a dimension: `segment_reduce`."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.dispatch import require_dtype
from ..engine.calls.op import composite, op
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .comparison import where
from .creation import arange
from .embedding import _embedding, _sum_rows
from .joining import cat, repeated_positions
from .views import wrap_dim


def _largest_rows_forward(xp: Any, input: Any, segments: Any, /, count: int) -> Any:
    """The greatest elements of the rows of each segment; minus infinity where it has none."""
    members = xp.expand_dims(xp.arange(count), axis=1) == segments
    lowest = xp.asarray(-math.inf, dtype=input.dtype)
    return xp.max(xp.where(xp.expand_dims(members, axis=-1), xp.expand_dims(input, axis=0), lowest), axis=1)


def _among_largest(F: Any, g: Any, input: Any, out: Any, segments: Any, count: int) -> Any:
    """The gradient shared evenly among the elements that equal the greatest."""
    largest = F.embedding(out, segments, -1, False)
    equal = F.masked(F.ones_of(input), (input == largest) | ((input != input) & (largest != largest)))
    share = F.embedding(F.sum_rows(equal, segments, count), segments, -1, False)
    return equal * F.embedding(g, segments, -1, False) / share


_largest_rows = op(
    "largest_rows", _largest_rows_forward, keeps_dtype=("segments",), public=False, method=False, out=False,
    input=_among_largest,
)  # fmt: skip


def _product_of_rows(input: Tensor, segments: Tensor, sizes: Tensor) -> Tensor:
    """The products of the rows of each segment, by way of a table of rows that is padded with ones."""
    longest = int(_extremes(sizes)[1]) if sizes._key.backend.has_data else 1
    begins = sizes.cumsum(0) - sizes
    places = begins.unsqueeze(1) + arange(longest, device=sizes.device)
    places = where(arange(longest, device=sizes.device) < sizes.unsqueeze(1), places, input.shape[0])
    table: Tensor = _embedding(cat([input, input.new_ones(1, input.shape[1])]), places, -1, False)
    return table.prod(1)


@composite(method=False, grad_fn="SegmentReduceBackward0")
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """The "sum", "mean", "max", "min" or "prod" of each of the segments into which `lengths` or `offsets` divide a dimension.

    Args:
        data: a floating-point tensor.
        reduce: what is made of a segment; "amax" and "amin" are other names of "max" and "min".  Elements that equal the
            maximum or minimum share its gradient.
        lengths: how many elements each segment has, an integer tensor of shape `(*data.shape[:axis], segments)`.
        indices: not supported; as in PyTorch.
        offsets: in place of lengths, where each segment begins, and in the end where the last one ends.
        axis: the dimension, the last of `lengths`.
        unsafe: whether `lengths` may leave out the end of the dimension.
        initial: what each reduction begins with; otherwise, empty segments are 0, NaN, minus infinity, infinity and 1.

    Shape:
        - Output: `(*data.shape[:axis], segments, *data.shape[axis + 1:])`.

    Raises:
        RuntimeError: there are neither lengths nor offsets, or they do not fit the data.
        NotImplementedError: the data are not floating-point.

    Example:
        >>> import flambeau as torch
        >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1]))
        tensor([3., 4.])
    """
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = wrap_dim(axis, data.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    sizes = _sizes(data, lengths, offsets, axis, unsafe)
    require_dtype("_segment_reduce_cpu", data, "floating")
    flat = data.reshape(math.prod(data.shape[: axis + 1]), math.prod(data.shape[axis + 1 :]))
    every = sizes.reshape(-1)
    segments = repeated_positions(every, flat.shape[0])
    values = _reduced(flat.float() if data.dtype in dtypes.HALF else flat, segments, every, reduce, initial)
    values = values.reshape(*sizes.shape, flat.shape[1]).narrow(axis, 1, sizes.shape[-1] - 2)
    return values.reshape(*data.shape[:axis], sizes.shape[-1] - 2, *data.shape[axis + 1 :]).to(data.dtype).contiguous()


def _sizes(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> Tensor:
    """The lengths of all segments, with what is left out before and after them: `(*data.shape[:axis], 1 + segments + 1)`."""
    name, given = ("offsets", offsets) if lengths is None else ("lengths", lengths)
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(f"\"_segment_reduce_{name}_cpu_kernel1\" not implemented for '{given.dtype.legacy_name}'")
    if data.ndim < given.ndim:
        raise RuntimeError(f"segment_reduce(): {name} have {given.ndim} dimensions, but data only {data.ndim}")
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if given.shape[:-1] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): Expected {name} of shape {[*data.shape[:axis], 'segments']} but got {list(given.shape)}"
        )
    length = data.shape[axis]
    if lengths is None:
        before, inside, end = given[..., :1], given.diff(dim=-1), given[..., -1:]
    else:
        before, inside, end = given.new_zeros(*given.shape[:-1], 1), given, given.sum(-1, keepdim=True)
    if _extremes(inside)[0] < 0:
        raise RuntimeError(
            "lengths contains negative value!" if name == "lengths" else "segment_reduce(): Expected offsets in ascending order."
        )
    shortest, longest = _extremes(end)
    if lengths is not None and not unsafe and end.numel() and (shortest < length or longest > length):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    sizes = cat([before, inside, length - end], -1).long()
    if _extremes(sizes)[0] < 0:
        raise RuntimeError(f"segment_reduce(): {name} describe segments outside of a dimension of {length} elements")
    return sizes


def _extremes(numbers: Tensor) -> tuple[Any, Any]:
    """The smallest and the greatest, of all members of a batch; 0 if there are none."""
    return numbers._key.backend.extremes(numbers._array) if numbers.numel() else (0, 0)


def _reduced(rows: Tensor, segments: Tensor, sizes: Tensor, reduce: str, initial: Any) -> Tensor:
    """The reduction of the rows of each segment."""
    count = sizes.shape[0]
    if reduce == "max":
        largest: Tensor = _largest_rows(rows, segments, count)
        return largest if initial is None else largest.clamp_min(initial)
    if reduce == "min":
        smallest: Tensor = -_largest_rows(-rows, segments, count)
        return smallest if initial is None else smallest.clamp_max(initial)
    if reduce == "prod":
        product = _product_of_rows(rows, segments, sizes)
        return product if initial is None else product * initial
    total: Tensor = _sum_rows(rows, segments, count)
    total = total if initial is None else total + initial
    if reduce == "sum":
        return total
    sizes = sizes.unsqueeze(1)
    mean: Tensor = where(sizes > 0, total / sizes.clamp_min(1), math.nan if initial is None else initial)
    return mean
