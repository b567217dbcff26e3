"""The LSTM: a step at a time, in arrays made before, each gate of a step in one piece.

What does not depend on the step before is computed for several steps at once, but for few enough to stay in the cache.  The
products with the state are cut into some that OpenBLAS computes without packing their factors, or waking threads, first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import kernel
from .pieces import pieces, wide

_SMALL = 10**6  # multiplications up to which a product is of that kind
_WIDTHS = (64, 32)  # columns that suit the vector registers


def _width(batch: int, size: int) -> int:
    """How many columns of a gate to compute at a time."""
    return next((each for each in _WIDTHS if size % each == 0 and batch * size * each <= _SMALL), size)


def _by_gate(array: Any) -> Any:
    """``(steps, batch, 4 * size)`` as ``(steps, gate, batch, size)``; the same memory."""
    steps, batch, width = array.shape
    return array.reshape(steps, batch, 4, width // 4).swapaxes(1, 2)


def _cut(array: Any, width: int) -> Any:
    """``(..., n, m)`` as ``(..., m / width, n, width)``; the same memory."""
    return array.reshape(*array.shape[:-1], array.shape[-1] // width, width).swapaxes(-2, -3)


@kernel
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> tuple[Any, Any]:
    steps, (batch, size), dtype = len(gates), h.shape, gates.dtype
    output, cells = np.empty((steps, batch, size), dtype), np.empty((steps, batch, size), dtype)
    kept = np.empty((1 if workspace is None else steps, 4, batch, size), dtype)
    if workspace is not None:
        workspace["gates"] = kept
    width = _width(batch, size)
    weights = np.ascontiguousarray(_cut(weight.reshape(4, size, size).swapaxes(1, 2), width))
    products, given = _cut(kept, width), _by_gate(gates)
    pairs, (inputs, forgets, news, outputs) = kept[:, :2], kept.swapaxes(0, 1)
    half, other = np.asarray(0.5, dtype), np.empty((batch, size), dtype)
    for step in reversed(range(steps)) if reverse else range(steps):
        place = 0 if workspace is None else step
        active, cell = kept[place], cells[step]
        np.matmul(h, weights, products[place])
        np.add(active, given[step], active)
        i_and_f, o = pairs[place], outputs[place]
        for sigmoids in (i_and_f, o):  # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one tanh serves all four gates
            np.multiply(sigmoids, half, sigmoids)
        np.tanh(active, active)
        for sigmoids in (i_and_f, o):
            np.multiply(sigmoids, half, sigmoids)
            np.add(sigmoids, half, sigmoids)
        np.multiply(forgets[place], c, cell)
        np.multiply(inputs[place], news[place], other)
        np.add(cell, other, cell)
        np.tanh(cell, other)
        h, c = np.multiply(o, other, output[step]), cell
    return output, cells


@kernel
@wide
def lstm_backward(
    g_output: Any, g_cells: Any, gates: Any, h: Any, c: Any, weight: Any, output: Any, cells: Any, reverse: bool, workspace: Any
) -> tuple[Any, Any, Any, Any]:
    steps, batch, size = output.shape
    made = np.empty((steps, batch, 4 * size), output.dtype)
    order = slice(None, None, -1 if reverse else 1)
    if "gates" not in workspace:  # another kernel was the forward
        lstm_layer(gates, h, c, weight, reverse, workspace)
    kept = workspace["gates"]
    rows, active, g_output, output, cells = (each[order] for each in (made, kept, g_output, output, cells))
    seen = g_cells if any(g_cells.strides) else g_cells[:1, :1, :1]  # where no gradient came, it is one zero expanded
    g_cells = g_cells[order] if seen.any() else None
    d_gates, (d_h, d_c) = _by_gate(rows), np.zeros((2, batch, size), output.dtype)
    width = _width(batch, size)
    weights, products = np.ascontiguousarray(_cut(weight.reshape(4, size, size), width)), np.empty((4, batch, size), output.dtype)
    through, places = np.empty_like(d_h), _cut(products, width)
    for piece in reversed(list(pieces(steps, 4 * d_h.size))):
        part = active[piece]
        slopes, to_cell = _slopes(part, cells[piece.start - 1] if piece.start else c, cells[piece])
        for step in reversed(range(len(part))):
            now = piece.start + step
            np.add(d_h, g_output[now], d_h)
            if g_cells is not None:
                np.add(d_c, g_cells[now], d_c)
            np.add(d_c, np.multiply(d_h, to_cell[step], through), d_c)
            np.multiply(slopes[step, :3], d_c, d_gates[now, :3])
            np.multiply(slopes[step, 3], d_h, d_gates[now, 3])
            np.multiply(d_c, part[step, 1], d_c)
            np.matmul(d_gates[now, :, None], weights, places)
            np.add.reduce(products, 0, None, d_h)
    d_weight = rows[0].T @ h
    if steps > 1:
        d_weight += rows[1:].reshape(-1, 4 * size).T @ output[:-1].reshape(-1, size)
    return made, d_h, d_c, d_weight


def _slopes(active: Any, c: Any, cells: Any) -> tuple[Any, Any]:
    """By how much the cell grows with the first three gates and the output with the last; and the output with the cell."""
    i, _, g, o = active.swapaxes(0, 1)
    slopes = np.square(active)
    np.subtract(active, slopes, slopes)  # the slope of a sigmoid ...
    in_i, in_f, in_g, in_o = slopes.swapaxes(0, 1)
    np.multiply(g, g, in_g)
    np.subtract(1, in_g, in_g)  # ... and of a tanh
    np.multiply(in_i, g, in_i)
    np.multiply(in_g, i, in_g)
    np.multiply(in_f[0], c, in_f[0])
    np.multiply(in_f[1:], cells[:-1], in_f[1:])
    squashed = np.tanh(cells)
    np.multiply(in_o, squashed, in_o)
    np.multiply(squashed, squashed, squashed)
    np.subtract(1, squashed, squashed)
    np.multiply(squashed, o, squashed)
    return slopes, squashed
