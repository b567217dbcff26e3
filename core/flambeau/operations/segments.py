"""Reductions of consecutive segments: `segment_reduce`."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.dispatch import require_dtype
from ..engine.calls.facts import Kind
from ..engine.calls.op import composite, op
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .comparison import where
from .creation.ranges import arange
from .embedding import sum_rows, unchecked_embedding
from .joining import cat, repeated_positions
from .views.views import wrap_dim

__all__: list[str] = []


def _largest_rows_forward(xp: Any, input: Any, segments: Any, /, count: int) -> Any:
    """Return, for each segment, the maximum of each column over its rows; -inf for an empty segment."""
    members = xp.expand_dims(xp.arange(count), axis=1) == segments
    lowest = xp.asarray(-math.inf, dtype=input.dtype)
    return xp.max(xp.where(xp.expand_dims(members, axis=-1), xp.expand_dims(input, axis=0), lowest), axis=1)


def _among_largest(F: Any, g: Any, input: Any, out: Any, segments: Any, count: int) -> Any:
    """Split the gradient evenly among the elements that equal the maximum."""
    largest = F.embedding(out, segments, -1, False)
    equal = F.masked(F.ones_of(input), (input == largest) | ((input != input) & (largest != largest)))
    share = F.embedding(F.sum_rows(equal, segments, count), segments, -1, False)
    return equal * F.embedding(g, segments, -1, False) / share


_largest_rows = op(
    "largest_rows", _largest_rows_forward,
    kind=Kind.REDUCTION, keeps_dtype=("segments",), public=False, method=False, out=False,
    input=_among_largest,
)  # fmt: skip


def _product_of_rows(input: Tensor, segments: Tensor, sizes: Tensor) -> Tensor:
    """Return the product of the rows of each segment, computed from a table of rows padded with ones.

    Rows are multiplied in pairs: unlike `product / element`, the gradient is then exact for elements that are zero or NaN.
    """
    longest = max(int(_extremes(sizes)[1]), 1) if sizes._key.backend.has_data else 1
    begins = sizes.cumsum(0) - sizes
    places = begins.unsqueeze(1) + arange(longest, device=sizes.device)
    places = where(arange(longest, device=sizes.device) < sizes.unsqueeze(1), places, input.shape[0])
    ones = input.new_ones(1, input.shape[1])
    table: Tensor = unchecked_embedding(cat([input, ones]), places, -1, False)
    while table.shape[1] > 1:
        if table.shape[1] % 2:
            table = cat([table, ones.expand(table.shape[0], 1, -1)], 1)
        table = table[:, ::2] * table[:, 1::2]
    return table.squeeze(1)


@composite(method=False, grad_fn="SegmentReduceBackward0", kind=Kind.REDUCTION)
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
    """Reduce each segment of a dimension by "sum", "mean", "max", "min" or "prod"; `lengths` or `offsets` give the segments.

    Args:
        data: a floating-point tensor.
        reduce: the reduction; "amax" and "amin" are other names of "max" and "min".  Elements that equal the
            maximum or minimum share its gradient.
        lengths: the number of elements of each segment, an integer tensor of shape `(*data.shape[:axis], segments)`.
        indices: not supported, as in PyTorch.
        offsets: instead of lengths, the start of each segment, followed by the end of the last segment.
        axis: the dimension to segment, which is the last dimension of `lengths`.
        unsafe: whether `lengths` may cover only a part of the dimension.
        initial: the initial value of each reduction; by default, empty segments give 0 (sum), NaN (mean), -inf (max), inf (min)
            and 1 (prod).

    Shape:
        - Output: `(*data.shape[:axis], segments, *data.shape[axis + 1:])`.

    Raises:
        RuntimeError: neither lengths nor offsets are given, or they do not fit the data.
        NotImplementedError: the data are not floating-point.

    Example:
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
    values = _reduce_segments(flat.float() if data.dtype in dtypes.HALF else flat, segments, every, reduce, initial)
    values = values.reshape(*sizes.shape, flat.shape[1]).narrow(axis, 1, sizes.shape[-1] - 2)
    return values.reshape(*data.shape[:axis], sizes.shape[-1] - 2, *data.shape[axis + 1 :]).to(data.dtype).contiguous()


def _sizes(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> Tensor:
    """Return the sizes of the gap before the segments, of each segment, and of the gap after them.

    Shape: The result is `(*data.shape[:axis], segments + 2)`.
    """
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
    """Return the minimum and maximum of all elements, over the whole `vmap` batch; `(0, 0)` without elements."""
    return numbers._key.backend.extremes(numbers._array) if numbers.numel() else (0, 0)


def _reduce_segments(rows: Tensor, segments: Tensor, sizes: Tensor, reduce: str, initial: Any) -> Tensor:
    """Return one row for each segment: the reduction of its rows.  `segments` is the segment number of each row."""
    count = sizes.shape[0]
    if reduce == "max":
        largest: Tensor = _largest_rows(rows, segments, count)
        return largest if initial is None else where(~(largest >= initial) & (largest == largest), initial, largest)
    if reduce == "min":
        smallest: Tensor = -_largest_rows(-rows, segments, count)
        return smallest if initial is None else where(~(smallest <= initial) & (smallest == smallest), initial, smallest)
    if reduce == "prod":
        product = _product_of_rows(rows, segments, sizes)
        return product if initial is None else product * initial
    total: Tensor = sum_rows(rows, segments, count)
    total = total if initial is None else total + initial
    if reduce == "sum":
        return total
    sizes = sizes.unsqueeze(1)
    mean: Tensor = where(sizes > 0, total / sizes.clamp_min(1), math.nan if initial is None else initial)
    return mean
