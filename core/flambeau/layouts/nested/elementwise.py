"""Pointwise operations on nested tensors: the dense operation is applied to `_values`, the tensor of all elements."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.calls.facts import Kind, is_inplace
from ...engine.tensors.tensor import Tensor
from .tensors import Nested, NestedTensor, StridedNestedTensor, implements, lengths_of, like, with_moved_values

__all__ = ["aligned", "matches"]


def _on_values(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a pointwise function with the `_values` of nested tensors, and wrap each result as a nested tensor."""
    values = [value for value in (*args, *kwargs.values()) if isinstance(value, Nested)]
    first = values[0]
    for other in values[1:]:
        if not matches(first, other):
            shapes = [value._array.shape if isinstance(value, NestedTensor) else "(irregular)" for value in (first, other)]
            shapes = [tuple(shape) if isinstance(shape, tuple) else shape for shape in shapes]
            raise RuntimeError(
                f"cannot call binary pointwise function {func.__name__} with inputs of shapes {shapes[0]} and {shapes[1]}"
            )
    name = func.__name__
    if isinstance(first, NestedTensor) and first._lengths is not None and name in ("clone", "contiguous"):
        return _without_gaps(first)
    if name == "contiguous" and first.is_contiguous():
        return first
    result = func(*(_as_values(first, arg) for arg in args), **{key: _as_values(first, value) for key, value in kwargs.items()})
    if isinstance(result, tuple):
        return type(result)([_wrap_like(first, each) for each in result])
    return args[0] if is_inplace(name) and args[0] is first else _wrap_like(first, result)


def _wrap_like(first: Nested, result: Any) -> Any:
    """If `result` is a tensor, wrap it as a nested tensor with the item sizes of `first`; else return it unchanged."""
    if not isinstance(result, Tensor):
        return result
    if result is first._values:
        return first
    if isinstance(first, NestedTensor) and result.device != first._offsets.device:
        return with_moved_values(first, result)
    return like(first, result)


def matches(first: Nested, other: Nested) -> bool:
    """Whether two nested tensors have the same item sizes. In the jagged layout, compare only the ragged dimension."""
    if isinstance(first, NestedTensor) and isinstance(other, NestedTensor):
        return (
            first.dim() == other.dim()
            and first._ragged_idx == other._ragged_idx
            and first.shape[first._ragged_idx] == other.shape[first._ragged_idx]
        )
    return isinstance(first, StridedNestedTensor) and isinstance(other, StridedNestedTensor) and first._sizes == other._sizes


def _as_values(first: Nested, value: Any) -> Any:
    if isinstance(value, Nested):
        return value._values
    return aligned(first, value) if isinstance(value, Tensor) and value.ndim else value


def aligned(input: Nested, dense: Tensor) -> Tensor:
    """Return a dense operand rearranged so that it broadcasts with the values of a nested tensor.

    Raises:
        NotImplementedError: the dense tensor has more dimensions than the nested one.
        RuntimeError: their shapes do not broadcast.
    """
    if isinstance(input, StridedNestedTensor):
        return _expand_per_item(input, dense)
    assert isinstance(input, NestedTensor)
    if dense.ndim > input.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    squeezed = dense
    while squeezed.ndim and squeezed.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    ragged = input._ragged_idx
    if squeezed.ndim + ragged < input.dim():
        return squeezed
    if dense.ndim != input.dim() or dense.shape[0] != len(input):
        raise RuntimeError(
            f"cannot call binary pointwise function with inputs of shapes {tuple(input.shape)} and {tuple(dense.shape)}"
        )
    rows = _item_indices(input)
    if dense.shape[ragged] == 1:
        return dense.select(ragged, 0).index_select(0, rows).movedim(0, ragged - 1)
    within = torch.arange(len(rows), device=rows.device) - input._offsets[rows]
    return dense.movedim(ragged, 1)[rows, within].movedim(0, ragged - 1)


def _expand_per_item(input: StridedNestedTensor, dense: Tensor) -> Tensor:
    """Expand a dense tensor with one row per item so that it broadcasts with the values of `input`."""
    if dense.ndim == input.dim() and dense.shape[0] == len(input._sizes):
        parts = [row.expand(size).reshape(-1) for row, size in zip(dense.unbind(0), input._sizes, strict=True)]
        return torch.cat(parts)
    raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")


def _item_indices(input: NestedTensor) -> Tensor:
    """Return the item index of each position along the ragged dimension of the values."""
    return torch.repeat_interleave(torch.arange(len(input), device=input._offsets.device), lengths_of(input))


def _without_gaps(input: NestedTensor) -> NestedTensor:
    """Copy a nested tensor that has gaps between its items, and so `lengths`, to one without gaps."""
    lengths = lengths_of(input)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return NestedTensor(torch.cat(list(input.items()), input._ragged_idx - 1), offsets, _ragged_idx=input._ragged_idx)


Nested.kinds.update(dict.fromkeys((Kind.POINTWISE, Kind.LIKE, Kind.RANDOM, Kind.CONVERSION), _on_values))


@implements(NestedTensor)
@implements(StridedNestedTensor)
def _is_same_size(input: Any, other: Any) -> bool:
    if not (isinstance(input, Nested) and isinstance(other, Nested)):
        first, second = ("is nested" if isinstance(each, Nested) else "is not nested" for each in (input, other))
        raise RuntimeError(f"Expected both self and other to be nested tensors. Self {first}. While Other {second}.")
    return matches(input, other) and input._values.shape == other._values.shape


@implements(NestedTensor)
@implements(StridedNestedTensor)
def _equal(input: Any, other: Any) -> bool:
    return isinstance(other, Nested) and _is_same_size(input, other) and torch.equal(input._values, other._values)
