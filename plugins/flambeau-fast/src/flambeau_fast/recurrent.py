"""LSTM layers: all time steps in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from .choice import FLOAT, fast, is_dense
from .kernels import alone, kernels

LEAST = 1 << 12


def _suits(gates: Any, h: Any, c: Any, weight: Any) -> bool:
    batch, size = h.shape
    fits = c.shape == h.shape and gates.shape[1:] == (batch, 4 * size) and weight.shape == (4 * size, size)
    return fits and h.size > 0 and is_dense(h, c, weight) and alone()


@fast(LEAST)
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> Any:
    if not (_suits(gates, h, c, weight) and is_dense(gates)):
        return None
    active = np.empty((1 if workspace is None else len(gates), *gates.shape[1:]), FLOAT)
    output, cells = np.empty((2, len(gates), *h.shape), FLOAT)
    kernels.lstm(active, cells, output, gates, h, c, weight, reverse)
    if workspace is not None:
        workspace["active gates"] = active
        workspace["gates"] = active.reshape(*gates.shape[:2], 4, -1).swapaxes(1, 2)  # NumPy's kernel reads this layout
    return output, cells


@fast(LEAST)
def lstm_backward(
    g_output: Any, g_cells: Any, gates: Any, h: Any, c: Any, weight: Any, output: Any, cells: Any, reverse: bool, workspace: Any
) -> Any:
    active = workspace.get("active gates")  # missing if another kernel computed the forward
    grads = [np.ascontiguousarray(array) for array in (g_output, g_cells)]
    if active is None or not (_suits(gates, h, c, weight) and is_dense(output, cells, *grads)):
        return None
    grad_gates, (d_h, d_c), d_weight = np.empty(gates.shape, FLOAT), np.zeros((2, *h.shape), FLOAT), np.empty(weight.shape, FLOAT)
    kernels.lstm_backward(grad_gates, d_h, d_c, d_weight, *grads, active, h, c, weight, output, cells, reverse)
    return grad_gates, d_h, d_c, d_weight
