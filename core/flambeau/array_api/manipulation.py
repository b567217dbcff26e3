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


def normalize_axes(x: Tensor, axis: Axes | None) -> tuple[int, ...]:
    """Return axes (all, for None) as non-negative numbers; raise IndexError for a missing axis, ValueError for a repeated one."""
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
    """Return the shape that `shapes` broadcast to.  Raise ValueError if they do not broadcast."""
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Expand the arrays to the shape that they broadcast to."""
    return tuple(torch.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Expand the array to `shape`."""
    return torch.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Concatenate arrays along an axis; with `axis=None` they are flattened first."""
    common = result_type(*arrays)
    parts = [array.to(common) if axis is not None else array.to(common).reshape(-1) for array in arrays]
    return torch.cat(parts, axis or 0)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Stack arrays along a new axis."""
    common = result_type(*arrays)
    return torch.stack([array.to(common) for array in arrays], axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Split an array into its slices along an axis, which is removed."""
    return tuple(torch.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """Insert axes of length one; `axis` gives their positions in the result."""
    count = x.ndim + (1 if isinstance(axis, int) else len(axis))
    for a in sorted(normalize_axes(torch.empty((1,) * count), axis)):
        x = x.unsqueeze(a)
    return x


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Remove axes of length one.  Raise ValueError if one of `axis` is longer."""
    axes = normalize_axes(x, axis)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"cannot squeeze axis {axis} of an array of shape {tuple(x.shape)}: its length is not 1")
    return torch.squeeze(x, axes)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Reverse the order of the elements along the given axes (all, for None)."""
    return torch.flip(x, normalize_axes(x, axis))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Move the axes `source` to the positions `destination`."""
    return torch.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Permute the axes of the array to the order given by `axes`."""
    return torch.permute(x, axes)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Reshape the array: a view for `copy=False`, a copy for True, and a view if possible for None."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
    return torch.reshape(x.clone() if copy else x, shape)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element `repeats` times along an axis; with `axis=None` in the flattened array."""
    count: Any = repeats.reshape(-1).to(torch.int64) if isinstance(repeats, Tensor) else repeats
    return torch.repeat_interleave(x, count, dim=axis)


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Roll the elements along the given axes; with `axis=None` in the flattened array."""
    if axis is None:
        return torch.roll(x, shift)
    shifts = (shift,) if isinstance(shift, int) else tuple(shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return torch.roll(x, shifts * len(axes) if len(shifts) == 1 else shifts, axes)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Repeat the array along each axis, the number of times given by `repetitions`."""
    return torch.tile(x, repetitions)
