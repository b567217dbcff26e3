"""The LSTM: a product of matrices and one loop for each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import onednn
from .choice import FLOAT, fast, is_dense
from .lazy import Lazy

loops = Lazy("loops.recurrent")

LEAST = 1 << 12


@fast(LEAST)
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> Any:
    if not (is_dense(gates, h, c, weight) and h.size and onednn.available()):
        return None
    steps, batch, size = len(gates), *h.shape
    turned = np.ascontiguousarray(weight.T)
    active, now = np.empty(gates.shape, FLOAT), np.empty((batch, 4 * size), FLOAT)
    output, cells = np.empty((2, steps, batch, size), FLOAT)
    multiply = onednn.product(h, turned, now)
    for step in reversed(range(steps)) if reverse else range(steps):
        multiply(h, turned, now)
        loops.lstm_step(active[step], cells[step], output[step], gates[step], now, c)
        h, c = output[step], cells[step]
    if workspace is not None:
        workspace["gates"] = active
    return output, cells


@fast(LEAST)
def lstm_backward(
    g_output: Any, g_cells: Any, gates: Any, h: Any, c: Any, weight: Any, output: Any, cells: Any, reverse: bool, workspace: Any
) -> Any:
    arrays = [np.ascontiguousarray(each) for each in (g_output, g_cells)]
    if not (is_dense(gates, h, c, weight, output, cells, *arrays) and h.size and onednn.available()):
        return None
    order = slice(None, None, -1 if reverse else 1)
    active = workspace["gates"]
    made, (d_h, d_c) = np.empty(gates.shape, FLOAT), np.zeros((2, *h.shape), FLOAT)
    g_outputs, g_all_cells, results, states, actives, slopes = (each[order] for each in (*arrays, output, cells, active, made))
    multiply = onednn.product(made[0], weight, d_h)
    for step in reversed(range(len(made))):
        before = states[step - 1] if step else c
        loops.lstm_step_back(slopes[step], d_c, d_h, g_outputs[step], g_all_cells[step], actives[step], states[step], before)
        multiply(slopes[step], weight, d_h)
    h_before = np.concatenate((h[None], results[:-1]))
    rows = np.ascontiguousarray(slopes).reshape(-1, made.shape[2])
    d_weight = onednn.matmul(rows.T, h_before.reshape(-1, h.shape[1]), np.empty(weight.shape, FLOAT))
    return made, d_h, d_c, d_weight
