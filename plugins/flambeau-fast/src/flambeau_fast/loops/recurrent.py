"""A step of an LSTM, between the products of matrices: ``(sample, gate and unit)``."""

from __future__ import annotations

from numba import prange

from . import compiled
from .scalar import f32, sigmoid, tanh


@compiled
def lstm_step(active, cell, output, gates, now, c):
    """``active`` are the gates after their sigmoids and tanh; ``gates`` and ``now``, what input and state add to them.

    Several loops over few arrays each: of one over many, the compiler makes no vector instructions.
    """
    size = c.shape[1]
    for sample in prange(len(c)):
        add, more, kept, before = gates[sample], now[sample], active[sample], c[sample]
        new_cell, new_output = cell[sample], output[sample]
        for j in range(2 * size):
            kept[j] = sigmoid(add[j] + more[j])
        for j in range(2 * size, 3 * size):
            kept[j] = tanh(add[j] + more[j])
        for j in range(3 * size, 4 * size):
            kept[j] = sigmoid(add[j] + more[j])
        for j in range(size):
            new_cell[j] = kept[size + j] * before[j] + kept[j] * kept[2 * size + j]
        for j in range(size):
            new_output[j] = kept[3 * size + j] * tanh(new_cell[j])


@compiled
def lstm_step_back(slopes, d_c, d_h, g_output, g_cell, active, cell, c):
    """The gradient of the gates, and that of the cell before, which takes the place of ``d_c``."""
    size = c.shape[1]
    for sample in prange(len(c)):
        kept, made, cell_slope = active[sample], slopes[sample], d_c[sample]
        for j in range(size):
            i, f, g, o = kept[j], kept[size + j], kept[2 * size + j], kept[3 * size + j]
            squashed = tanh(cell[sample, j])
            to_output = d_h[sample, j] + g_output[sample, j]
            to_cell = cell_slope[j] + g_cell[sample, j] + to_output * o * (f32(1) - squashed * squashed)
            made[j] = to_cell * g * i * (f32(1) - i)
            made[size + j] = to_cell * c[sample, j] * f * (f32(1) - f)
            made[2 * size + j] = to_cell * i * (f32(1) - g * g)
            made[3 * size + j] = to_output * squashed * o * (f32(1) - o)
            cell_slope[j] = to_cell * f
