"""Joining, splitting and reshaping arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..engine.tensors.tensor import Tensor
from .data_types import result_type

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat",
    "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip

Axes = int | tuple[int, ...]


def axes_of(x: Tensor, axis: Axes | None) -> tuple[int, ...]:
    """The axes (all, for None) as non-negative numbers.  IndexError if one does not exist, ValueError if one is repeated."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise IndexError(f"axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    normalized = tuple(a % x.ndim for a in axes)
    if len(set(normalized)) != len(normalized):
        raise ValueError(f"axis {axis} names a dimension twice")
    return normalized


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.  ValueError if they do not broadcast."""
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The arrays expanded to the shape that they broadcast to."""
    return tuple(torch.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array expanded to a shape."""
    return torch.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays concatenated along an axis; for None they are flattened first."""
    common = result_type(*arrays)
    parts = [array.to(common) if axis is not None else array.to(common).reshape(-1) for array in arrays]
    return torch.cat(parts, axis or 0)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays stacked along a new axis."""
    common = result_type(*arrays)
    return torch.stack([array.to(common) for array in arrays], axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of an array along an axis, without that axis."""
    return tuple(torch.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """The array with new axes of length one at these positions of the result."""
    count = x.ndim + (1 if isinstance(axis, int) else len(axis))
    for a in sorted(axes_of(torch.empty((1,) * count), axis)):
        x = x.unsqueeze(a)
    return x


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """The array without these axes.  ValueError if one of them is longer than one."""
    axes = axes_of(x, axis)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"cannot squeeze axis {axis} of an array of shape {tuple(x.shape)}: its length is not 1")
    return torch.squeeze(x, axes)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """The array reversed along these axes, along all for None."""
    return torch.flip(x, axes_of(x, axis))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """The array with these axes moved to other positions."""
    return torch.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The array with its axes in this order."""
    return torch.permute(x, axes)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape: a view for `copy=False`, a copy for True, and a view if possible for None."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
    return torch.reshape(x.clone() if copy else x, shape)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated along an axis (in the flattened array, for None), as often as `repeats` says."""
    count: Any = repeats.reshape(-1).to(torch.int64) if isinstance(repeats, Tensor) else repeats
    return torch.repeat_interleave(x, count, dim=axis)


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """The array rolled along these axes (flattened, for None)."""
    if axis is None:
        return torch.roll(x, shift)
    shifts = (shift,) if isinstance(shift, int) else tuple(shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return torch.roll(x, shifts * len(axes) if len(shifts) == 1 else shifts, axes)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array repeated along its axes."""
    return torch.tile(x, repetitions)
