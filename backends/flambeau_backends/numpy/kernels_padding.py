"""Padding: the interior is written once, then the edges, instead of enlarging the array dimension by dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .kernels import kernel
from .layout import keeps_channels_last

__all__: list[str] = []

Pads = Sequence[tuple[int, int]]


@kernel
@keeps_channels_last
def constant_pad(input: Any, pad: Pads, value: Any = 0) -> Any:
    shape, kept, part = [], [], []
    for (before, after), length in zip(pad, input.shape, strict=True):
        first, last = max(-before, 0), length + min(after, 0)
        kept.append(slice(first, last))
        part.append(slice(max(before, 0), max(before, 0) + max(last - first, 0)))
        shape.append(length + before + after)
    inside = input[tuple(kept)]
    if all(before <= 0 and after <= 0 for before, after in pad):
        return inside.copy()
    output = np.empty(shape, input.dtype)
    output[tuple(part)] = inside
    for dim, (before, after) in enumerate(pad):  # fill only the edges, as the interior is already written
        if before > 0:
            output[(*part[:dim], slice(0, before))] = value
        if after > 0:
            output[(*part[:dim], slice(-after, None))] = value
    return output


# --- padding with elements of the input ---------------------------------------------------------------------------


def _reflected(length: int, before: int, after: int) -> tuple[slice, slice]:
    stop = before + length - 2 - after
    return slice(2 * before, before, -1), slice(before + length - 2, stop if stop >= 0 else None, -1)


def _replicated(length: int, before: int, after: int) -> tuple[slice, slice]:
    return slice(before, before + 1), slice(before + length - 1, before + length)


def _wrapped(length: int, before: int, after: int) -> tuple[slice, slice]:
    return slice(length, length + before), slice(before, before + after)


_SOURCES: dict[str, Callable[[int, int, int], tuple[slice, slice]]] = {
    "reflect": _reflected, "replicate": _replicated, "circular": _wrapped,
}  # fmt: skip


def _edges(shape: Sequence[int], pad: Pads, mode: str) -> list[tuple[Any, Any, int]]:
    """Return (index of the edge, index of its source, dimension) for each edge, from the last dimension to the first.

    An edge excludes the edges along earlier dimensions.
    """
    inside = [slice(before, length - after) for length, (before, after) in zip(shape, pad, strict=True)]
    edges = []
    for dim in range(len(shape) - 1, -1, -1):
        before, after = pad[dim]
        first, last = _SOURCES[mode](shape[dim] - before - after, before, after)
        for amount, edge, source in (before, slice(0, before), first), (after, slice(shape[dim] - after, None), last):
            if amount:
                edges.append(((*inside[:dim], edge), (*inside[:dim], source), dim))
    return edges


@kernel
@keeps_channels_last
def edge_pad(input: Any, pad: Pads, mode: str) -> Any:
    output = np.empty([length + before + after for length, (before, after) in zip(input.shape, pad, strict=True)], input.dtype)
    output[tuple(slice(before, before + length) for length, (before, _) in zip(input.shape, pad, strict=True))] = input
    for edge, source, _ in _edges(output.shape, pad, mode):
        output[edge] = output[source]
    return output


@kernel
@keeps_channels_last
def edge_pad_backward(input: Any, pad: Pads, mode: str) -> Any:
    sums = input.copy()
    for edge, source, dim in reversed(_edges(input.shape, pad, mode)):
        sums[source] += np.add.reduce(sums[edge], dim, keepdims=True) if mode == "replicate" else sums[edge]
    inside = (slice(before, length - after) for length, (before, after) in zip(input.shape, pad, strict=True))
    return np.ascontiguousarray(sums[tuple(inside)])
