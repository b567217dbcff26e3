"""The LSTM: what can be computed for all steps at once is, and the steps themselves write into arrays made before."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import kernel

# sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: so one tanh serves all four gates, of which the third is a tanh itself
_SCALE = (0.5, 0.5, 1.0, 0.5)
_SHIFT = (0.5, 0.5, 0.0, 0.5)


def _per_gate(values: tuple[float, ...], size: int, dtype: Any) -> Any:
    return np.repeat(np.asarray(values, dtype), size)


@kernel
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> tuple[Any, Any]:
    steps, batch, size = len(gates), *h.shape
    scale, shift = (_per_gate(each, size, gates.dtype) for each in (_SCALE, _SHIFT))
    active = np.multiply(gates, scale, order="C")
    scaled = np.multiply(weight.T, scale, order="C")  # many products with it: this order is the faster one
    output, cells = np.empty((2, steps, batch, size), gates.dtype)
    now, other = np.empty((batch, 4 * size), gates.dtype), np.empty((batch, size), gates.dtype)
    order = slice(None, None, -1 if reverse else 1)
    quarters = active.reshape(steps, batch, 4, size).swapaxes(1, 2)
    for gate, (i, f, g, o), cell, out in zip(active[order], quarters[order], cells[order], output[order], strict=True):
        np.matmul(h, scaled, now)
        gate += now
        np.tanh(gate, gate)
        gate *= scale
        gate += shift
        np.multiply(f, c, cell)
        np.multiply(i, g, other)
        cell += other
        np.tanh(cell, other)
        h, c = np.multiply(o, other, out), cell
    if workspace is not None:
        workspace["gates"] = active
    return output, cells


@kernel
def lstm_backward(
    g_output: Any, g_cells: Any, gates: Any, h: Any, c: Any, weight: Any, output: Any, cells: Any, reverse: bool, workspace: Any
) -> tuple[Any, Any, Any, Any]:
    steps, batch, size = output.shape
    order = slice(None, None, -1 if reverse else 1)
    g_output, g_cells, output, cells = g_output[order], g_cells[order], output[order], cells[order]
    active = workspace["gates"][order].reshape(steps, batch, 4, size)
    made = np.empty((steps, batch, 4 * size), output.dtype)
    slopes = made[order].reshape(steps, batch, 4, size)
    to_cell = _slopes(active, c, cells, slopes)
    wanted = [each if each.any() else None for each in (g_output, g_cells)]
    d_h, d_c = np.zeros((2, batch, size), output.dtype)
    rows, first, last, forget = made[order], slopes[:, :, :3], slopes[:, :, 3], active[:, :, 1]
    through = np.empty_like(d_h)
    for step in reversed(range(steps)):
        for gradient, given in zip((d_h, d_c), wanted, strict=True):
            if given is not None:
                gradient += given[step]
        d_c += np.multiply(d_h, to_cell[step], through)
        first[step] *= d_c[:, None]
        last[step] *= d_h
        d_c *= forget[step]
        np.matmul(rows[step], weight, d_h)
    d_weight = rows[0].T @ h
    if steps > 1:
        d_weight += rows[1:].reshape(-1, 4 * size).T @ output[:-1].reshape(-1, size)
    return made, d_h, d_c, d_weight


def _slopes(active: Any, c: Any, cells: Any, out: Any) -> Any:
    """Into ``out``, by how much the cell grows with the first three gates and the output with the last.

    Returns by how much the output grows with the cell.
    """
    i, _, g, o = np.moveaxis(active, 2, 0)
    in_i, in_f, in_g, in_o = np.moveaxis(out, 2, 0)
    squashed = np.tanh(cells)
    np.multiply(active, active, out)
    np.subtract(active, out, out)  # the slope of a sigmoid ...
    np.multiply(g, g, in_g)
    np.subtract(1, in_g, in_g)  # ... and of a tanh
    in_i *= g
    in_f[0] *= c
    in_f[1:] *= cells[:-1]
    in_g *= i
    in_o *= squashed
    np.multiply(squashed, squashed, squashed)
    np.subtract(1, squashed, squashed)
    squashed *= o
    return squashed
