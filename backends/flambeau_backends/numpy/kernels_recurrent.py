"""The LSTM: a step at a time, in arrays made before, each gate of a step in one piece.

What does not depend on the step before is computed for several steps at once, but for few enough to stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import kernel
from .pieces import pieces, wide


def _by_gate(array: Any) -> Any:
    """``(steps, batch, 4 * size)`` as ``(steps, gate, batch, size)``; the same memory."""
    steps, batch, width = array.shape
    return array.reshape(steps, batch, 4, width // 4).swapaxes(1, 2)


@kernel
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> tuple[Any, Any]:
    steps, (batch, size), dtype = len(gates), h.shape, gates.dtype
    weights = np.ascontiguousarray(weight.reshape(4, size, size).swapaxes(1, 2))  # many products with it: this order is faster
    output, cells = np.empty((steps, batch, size), dtype), np.empty((steps, batch, size), dtype)
    kept = np.empty((1 if workspace is None else steps, 4, batch, size), dtype)
    if workspace is not None:
        workspace["gates"] = kept
    half, other = np.asarray(0.5, dtype), np.empty((batch, size), dtype)
    given = _by_gate(gates)
    for step in reversed(range(steps)) if reverse else range(steps):
        active, cell = kept[0 if workspace is None else step], cells[step]
        np.matmul(h, weights, active)
        np.add(active, given[step], active)
        i, f, g, o = active
        for sigmoids in (active[:2], o):  # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one tanh serves all four gates
            np.multiply(sigmoids, half, sigmoids)
        np.tanh(active, active)
        for sigmoids in (active[:2], o):
            np.multiply(sigmoids, half, sigmoids)
            np.add(sigmoids, half, sigmoids)
        np.multiply(f, c, cell)
        np.multiply(i, g, other)
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
    rows, active, output, cells = made[order], workspace["gates"][order], output[order], cells[order]
    g_output, g_cells = (each[order] if each.any() else None for each in (g_output, g_cells))
    d_h, d_c = np.zeros((2, batch, size), output.dtype)
    through, d_gates = np.empty_like(d_h), _by_gate(rows)
    for piece in reversed(list(pieces(steps, 4 * d_h.size))):
        part = active[piece]
        slopes, to_cell = _slopes(part, [c if piece.start == 0 else cells[piece.start - 1], *cells[piece]])
        for step in reversed(range(len(part))):
            now = piece.start + step
            if g_output is not None:
                np.add(d_h, g_output[now], d_h)
            if g_cells is not None:
                np.add(d_c, g_cells[now], d_c)
            np.add(d_c, np.multiply(d_h, to_cell[step], through), d_c)
            np.multiply(slopes[step, :3], d_c, d_gates[now, :3])
            np.multiply(slopes[step, 3], d_h, d_gates[now, 3])
            np.multiply(d_c, part[step, 1], d_c)
            np.matmul(rows[now], weight, d_h)
    d_weight = rows[0].T @ h
    if steps > 1:
        d_weight += rows[1:].reshape(-1, 4 * size).T @ output[:-1].reshape(-1, size)
    return made, d_h, d_c, d_weight


def _slopes(active: Any, cells: list[Any]) -> tuple[Any, Any]:
    """By how much the cell grows with the first three gates and the output with the last; and the output with the cell.

    ``cells`` are those before each step, and the one after the last.
    """
    i, _, g, o = active.swapaxes(0, 1)
    slopes = np.square(active)
    np.subtract(active, slopes, slopes)  # the slope of a sigmoid ...
    in_i, in_f, in_g, in_o = slopes.swapaxes(0, 1)
    np.multiply(g, g, in_g)
    np.subtract(1, in_g, in_g)  # ... and of a tanh
    np.multiply(in_i, g, in_i)
    np.multiply(in_g, i, in_g)
    for slope, cell in zip(in_f, cells, strict=False):
        np.multiply(slope, cell, slope)
    squashed = np.tanh(cells[1:])
    np.multiply(in_o, squashed, in_o)
    np.multiply(squashed, squashed, squashed)
    np.subtract(1, squashed, squashed)
    np.multiply(squashed, o, squashed)
    return slopes, squashed
