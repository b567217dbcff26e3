"""Conversion of nested tensors to padded dense tensors, and back."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .tensors import NestedTensor, StridedNestedTensor, implements, lengths_of

__all__ = ["from_padded", "on_padded", "to_padded"]


@implements(NestedTensor, "to_padded_tensor")
@implements(StridedNestedTensor, "to_padded_tensor")
def to_padded(input: Any, padding: float, output_size: Any = None) -> Tensor:
    """Return a dense tensor of the items, each padded at its end."""
    if isinstance(input, StridedNestedTensor):
        return _strided_to_padded(input, padding, output_size)
    if not isinstance(input, NestedTensor):
        raise RuntimeError("to_padded_tensor() expects a nested tensor")
    ragged, lengths = input._ragged_idx, lengths_of(input)
    length = input._get_max_seqlen()
    if output_size is not None:
        if len(output_size) != input.dim():
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        length = output_size[ragged]
    values = input._values.movedim(ragged - 1, 0)
    within = torch.arange(length, device=values.device)
    holds = within < lengths.unsqueeze(1)
    places = torch.where(holds, input._offsets[:-1].unsqueeze(1) + within, 0)
    if values.shape[0] == 0:
        result = values.new_full((len(input), length, *values.shape[1:]), padding)
    else:
        chosen = values.index_select(0, places.reshape(-1)).unflatten(0, (len(input), length))
        result = torch.where(
            holds.reshape(*holds.shape, *([1] * (values.ndim - 1))), chosen, torch.as_tensor(padding, dtype=values.dtype)
        )
    return result.movedim(1, ragged)


def _strided_to_padded(input: StridedNestedTensor, padding: float, output_size: Any) -> Tensor:
    if not input._sizes:
        return input._values.new_empty(0)
    smallest = [len(input._sizes), *(max(sizes) for sizes in zip(*input._sizes, strict=True))]
    wanted = smallest if output_size is None else list(output_size)
    if len(wanted) != len(smallest):
        raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
    if any(a < b for a, b in zip(wanted, smallest, strict=True)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    rows = []
    for item in input.items():
        missing = [n for have, want in zip(reversed(item.shape), reversed(wanted[1:]), strict=True) for n in (0, want - have)]
        rows.append(torch.nn.functional.pad(item, missing, value=padding))
    empty = [torch.full(wanted[1:], padding, dtype=input.dtype, device=input.device)] * (wanted[0] - len(rows))
    return torch.stack(rows + empty)


def from_padded(padded: Tensor, like: NestedTensor, ragged_idx: int) -> NestedTensor:
    """Reverse `to_padded`: cut each row of `padded` to the length of the same item in `like`."""
    holds = torch.arange(padded.shape[ragged_idx], device=padded.device) < lengths_of(like).unsqueeze(1)
    rows = padded.movedim(ragged_idx, 1)
    values = rows.flatten(0, 1).index_select(0, holds.reshape(-1).nonzero().squeeze(1)).movedim(0, ragged_idx - 1)
    return like.like(values, ragged_idx)  # type: ignore[no-any-return]  # a nested tensor


def on_padded(function: Any, input: NestedTensor, padding: float) -> NestedTensor:
    """Apply a function to the padded form of a nested tensor, and remove the padding from the result."""
    return from_padded(function(to_padded(input, padding)), input, input._ragged_idx)
