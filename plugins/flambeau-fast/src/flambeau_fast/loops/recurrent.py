"""An LSTM over all time steps: `(step, sample, gate and unit)`.

A thread takes a strip of the samples through the whole sequence, so that threads need not wait for each other at every step.
A step consists of several loops over few arrays each, because the compiler does not vectorize one loop over many arrays.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from . import compiled, inlined
from .matrix import multiply
from .scalar import f32, tanh

_NARROW = 8  # least samples for a thread


def strips(batch: int) -> int:
    """The number of threads that share the samples."""
    return max(1, min(get_num_threads(), batch // _NARROW))


@inlined
def _quarters(row):
    """The parts of a row for input, forget, cell and output gate: loops that index with `size + j` are not vectorized."""
    size = len(row) // 4
    return row[:size], row[size : 2 * size], row[2 * size : 3 * size], row[3 * size :]


@inlined
def _sigmoid(x):
    """Accurate to one ulp of 1: one tanh is faster than an exponential and a division."""
    return f32(0.5) * tanh(f32(0.5) * x) + f32(0.5)


@inlined
def _cells(active, cell, output, gates, c):
    """Compute the activated gates, in place in `active`, and write the new cell and output.

    `active` holds the products with the state on entry, `gates` those with the input.
    """
    for sample in range(len(c)):
        row, gate_inputs, before, new_cell, new_output = active[sample], gates[sample], c[sample], cell[sample], output[sample]
        i, f, g, o = _quarters(row)
        size = len(before)
        for j in range(len(row)):
            row[j] += gate_inputs[j]
        for j in range(size):
            i[j] = _sigmoid(i[j])
        for j in range(size):
            f[j] = _sigmoid(f[j])
        for j in range(size):
            g[j] = tanh(g[j])
        for j in range(size):
            o[j] = _sigmoid(o[j])
        for j in range(size):
            new_cell[j] = f[j] * before[j] + i[j] * g[j]
        for j in range(size):
            new_output[j] = o[j] * tanh(new_cell[j])


@inlined
def _gate_gradients(grad_gates, d_c, d_h, g_output, g_cell, active, cell, c):
    """Write the gradient of the gates before activation, and replace `d_c` by the gradient of the previous cell."""
    for sample in range(len(c)):
        i, f, g, o = _quarters(active[sample])
        to_i, to_f, to_g, to_o = _quarters(grad_gates[sample])
        to_cell, to_output, now, before = d_c[sample], d_h[sample], cell[sample], c[sample]
        grad_out, grad_cell, size = g_output[sample], g_cell[sample], len(c[sample])
        for j in range(size):
            to_output[j] += grad_out[j]
        for j in range(size):
            to_cell[j] += grad_cell[j]
        for j in range(size):
            squashed = tanh(now[j])
            to_cell[j] += to_output[j] * o[j] * (f32(1) - squashed * squashed)
            to_o[j] = to_output[j] * squashed * o[j] * (f32(1) - o[j])
        for j in range(size):
            to_i[j] = to_cell[j] * g[j] * i[j] * (f32(1) - i[j])
            to_g[j] = to_cell[j] * i[j] * (f32(1) - g[j] * g[j])
        for j in range(size):
            to_f[j] = to_cell[j] * before[j] * f[j] * (f32(1) - f[j])
            to_cell[j] *= f[j]


@compiled
def lstm(gemm, active, cells, output, gates, h, c, weight_t, reverse, strips):
    """`weight_t` is the transpose of the weight.

    `active` gets the activated gates of each step, or of the last one if it has room for only one.
    """
    steps, batch = len(gates), len(h)
    for strip in prange(strips):
        first, last = strip * batch // strips, (strip + 1) * batch // strips
        state, cell = h[first:last], c[first:last]
        for number in range(steps):
            step = steps - 1 - number if reverse else number
            now, next_cell, next_state = active[step % len(active), first:last], cells[step, first:last], output[step, first:last]
            multiply(gemm, now, state, False, weight_t, False, f32(0))
            _cells(now, next_cell, next_state, gates[step, first:last], cell)
            state, cell = next_state, next_cell


@compiled
def lstm_backward(gemm, grad_gates, d_h, d_c, d_weight, g_output, g_cells, active, h, c, weight, output, cells, reverse, strips):
    """`d_h` and `d_c` must be zeros."""
    steps, batch = len(grad_gates), len(h)
    for strip in prange(strips):
        first, last = strip * batch // strips, (strip + 1) * batch // strips
        to_state, to_cell = d_h[first:last], d_c[first:last]
        for number in range(steps - 1, -1, -1):
            step = steps - 1 - number if reverse else number
            before = c[first:last] if number == 0 else cells[step + 1 if reverse else step - 1, first:last]
            grad_step = grad_gates[step, first:last]
            _gate_gradients(
                grad_step,
                to_cell,
                to_state,
                g_output[step, first:last],
                g_cells[step, first:last],
                active[step, first:last],
                cells[step, first:last],
                before,
            )
            multiply(gemm, to_state, grad_step, False, weight, False, f32(0))
    start, later, states = (steps - 1, grad_gates[:-1], output[1:]) if reverse else (0, grad_gates[1:], output[:-1])
    multiply(gemm, d_weight, grad_gates[start], True, h, False, f32(0))
    if steps > 1:
        rows = np.int64(steps - 1) * batch
        multiply(gemm, d_weight, later.reshape(rows, grad_gates.shape[2]), True, states.reshape(rows, h.shape[1]), False, f32(1))
