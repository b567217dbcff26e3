"""Recurrent layers computed step by step in preallocated arrays, with each gate of a step contiguous.

Computations that do not depend on the previous step cover several steps at a time, as many as fit in the cache.  Products with
the hidden state are split into small ones, which OpenBLAS computes without packing operands or waking threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .chunks import chunks
from .kernels import kernel
from .sums import column_sums
from .threads import SMALL_MATRICES

_WIDTHS = (64, 32)  # numbers of columns that suit vector registers


def _width(batch: int, size: int) -> int:
    """Return how many columns of a gate one matrix product computes."""
    return next((width for width in _WIDTHS if size % width == 0 and batch * size * width <= SMALL_MATRICES), size)


def _by_gate(array: Any, gates: int = 4) -> Any:
    """View `(steps, batch, gates * size)` as `(steps, gate, batch, size)`."""
    steps, batch, width = array.shape
    return array.reshape(steps, batch, gates, width // gates).swapaxes(1, 2)


def _cut(array: Any, width: int) -> Any:
    """View `(..., n, m)` as `(..., m / width, n, width)`."""
    return array.reshape(*array.shape[:-1], array.shape[-1] // width, width).swapaxes(-2, -3)


def _product_with_state(weight: Any, out: Any, size: int) -> Callable[[Any, int], Any]:
    """Return a function that writes the product of a state and the weight to `out[place]`, `(gate, batch, size)`."""
    gates, batch = out.shape[1:3]
    if batch == 1:  # one product of a matrix and a vector: the weight is not copied, and OpenBLAS uses its threads
        rows = out.reshape(len(out), len(weight))
        return lambda state, place: np.dot(weight, state[0], rows[place])
    width = _width(batch, size)
    weights, products = np.ascontiguousarray(_cut(weight.reshape(gates, size, size).swapaxes(1, 2), width)), _cut(out, width)
    return lambda state, place: np.matmul(state, weights, products[place])


@kernel
def lstm_layer(gates: Any, h: Any, c: Any, weight: Any, reverse: bool = False, workspace: Any = None) -> tuple[Any, Any]:
    steps, (batch, size), dtype = len(gates), h.shape, gates.dtype
    output, cells = np.empty((steps, batch, size), dtype), np.empty((steps, batch, size), dtype)
    activations = np.empty((1 if workspace is None else steps, 4, batch, size), dtype)
    if workspace is not None:
        workspace["gates"] = activations
    multiply, gate_inputs = _product_with_state(weight, activations, size), _by_gate(gates)
    inputs, forgets, news, outputs = activations.swapaxes(0, 1)
    # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one tanh serves all four gates
    scales, offsets = (np.array(values, dtype).reshape(4, 1, 1) for values in ((0.5, 0.5, 1, 0.5), (0.5, 0.5, 0, 0.5)))
    scratch = np.empty((batch, size), dtype)
    for step in reversed(range(steps)) if reverse else range(steps):
        place = 0 if workspace is None else step
        active, cell = activations[place], cells[step]
        multiply(h, place)
        np.add(active, gate_inputs[step], active)
        np.multiply(active, scales, active)
        np.tanh(active, active)
        np.multiply(active, scales, active)
        np.add(active, offsets, active)
        np.multiply(forgets[place], c, cell)
        np.multiply(inputs[place], news[place], scratch)
        np.add(cell, scratch, cell)
        np.tanh(cell, scratch)
        h, c = np.multiply(outputs[place], scratch, output[step]), cell
    return output, cells


@kernel
def lstm_backward(
    g_output: Any, g_cells: Any, gates: Any, h: Any, c: Any, weight: Any, output: Any, cells: Any, reverse: bool, workspace: Any
) -> tuple[Any, Any, Any, Any]:
    steps, batch, size = output.shape
    grad_gates = np.empty((steps, batch, 4 * size), output.dtype)
    order = slice(None, None, -1 if reverse else 1)
    if "gates" not in workspace:  # the forward was computed by another kernel
        lstm_layer(gates, h, c, weight, reverse, workspace)
    activations = workspace["gates"]
    rows, active, g_output, output, cells = (array[order] for array in (grad_gates, activations, g_output, output, cells))
    seen = g_cells if any(g_cells.strides) else g_cells[:1, :1, :1]  # an undefined gradient is passed as an expanded zero
    g_cells = g_cells[order] if seen.any() else None
    d_gates, (d_h, d_c) = _by_gate(rows), np.zeros((2, batch, size), output.dtype)
    width = _width(batch, size)
    weights, products = np.ascontiguousarray(_cut(weight.reshape(4, size, size), width)), np.empty((4, batch, size), output.dtype)
    scratch, places = np.empty_like(d_h), _cut(products, width)
    for chunk in reversed(list(chunks(steps, 4 * d_h.size))):
        part = active[chunk]
        derivatives, to_cell = _lstm_derivatives(part, cells[chunk.start - 1] if chunk.start else c, cells[chunk])
        for step in reversed(range(len(part))):
            now = chunk.start + step
            np.add(d_h, g_output[now], d_h)
            if g_cells is not None:
                np.add(d_c, g_cells[now], d_c)
            np.add(d_c, np.multiply(d_h, to_cell[step], scratch), d_c)
            np.multiply(derivatives[step, :3], d_c, d_gates[now, :3])
            np.multiply(derivatives[step, 3], d_h, d_gates[now, 3])
            np.multiply(d_c, part[step, 1], d_c)
            np.matmul(d_gates[now, :, None], weights, places)
            np.add.reduce(products, 0, None, d_h)
    d_weight = rows[0].T @ h
    if steps > 1:
        d_weight += rows[1:].reshape(-1, 4 * size).T @ output[:-1].reshape(-1, size)
    return grad_gates, d_h, d_c, d_weight


def _lstm_derivatives(active: Any, c: Any, cells: Any) -> tuple[Any, Any]:
    """Return derivatives by gates (of the cell state by i, f and g, of the output by o), and of the output by the cell state."""
    i, _, g, o = active.swapaxes(0, 1)
    derivatives = np.square(active)
    np.subtract(active, derivatives, derivatives)  # the derivative of sigmoid, for gates i, f and o
    in_i, in_f, in_g, in_o = derivatives.swapaxes(0, 1)
    np.multiply(g, g, in_g)
    np.subtract(1, in_g, in_g)  # the derivative of tanh, for gate g
    np.multiply(in_i, g, in_i)
    np.multiply(in_g, i, in_g)
    np.multiply(in_f[0], c, in_f[0])
    np.multiply(in_f[1:], cells[:-1], in_f[1:])
    squashed = np.tanh(cells)
    np.multiply(in_o, squashed, in_o)
    np.multiply(squashed, squashed, squashed)
    np.subtract(1, squashed, squashed)
    np.multiply(squashed, o, squashed)
    return derivatives, squashed


# --- gated recurrent units ----------------------------------------------------------------------------------------


@kernel
def gru_layer(gates: Any, h: Any, weight: Any, bias: Any = None, reverse: bool = False, workspace: Any = None) -> Any:
    steps, (batch, size), dtype = len(gates), h.shape, gates.dtype
    output, past = np.empty((steps, batch, size), dtype), np.empty((3, batch, size), dtype)
    activations = np.empty((1 if workspace is None else steps, 4, batch, size), dtype)  # gates r, z and n; the factor of r in n
    if workspace is not None:
        workspace["gates"] = activations
    half, gate_inputs, multiply = np.asarray(0.5, dtype), _by_gate(gates, 3), _product_with_state(weight, past[None], size)
    bias = None if bias is None else bias.reshape(3, 1, size)
    for step in reversed(range(steps)) if reverse else range(steps):
        active, now = activations[0 if workspace is None else step], gate_inputs[step]
        r_and_z, (r, z, n, acted_on) = active[:2], active
        multiply(h, 0)
        if bias is not None:
            np.add(past, bias, past)
        np.add(now[:2], past[:2], r_and_z)
        np.multiply(r_and_z, half, r_and_z)  # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2
        np.tanh(r_and_z, r_and_z)
        np.multiply(r_and_z, half, r_and_z)
        np.add(r_and_z, half, r_and_z)
        acted_on[...] = past[2]
        np.multiply(r, acted_on, n)
        np.add(n, now[2], n)
        np.tanh(n, n)
        state = np.subtract(h, n, output[step])
        np.multiply(state, z, state)
        h = np.add(state, n, state)
    return output


@kernel
def gru_backward(
    g: Any, gates: Any, h: Any, weight: Any, bias: Any, output: Any, reverse: bool, workspace: Any
) -> tuple[Any, Any, Any, Any]:
    steps, batch, size = output.shape
    if "gates" not in workspace:  # the forward was computed by another kernel
        gru_layer(gates, h, weight, bias, reverse, workspace)
    order = slice(None, None, -1 if reverse else 1)
    grad_gates, past = np.empty((2, steps, batch, 3 * size), output.dtype)
    g, activations, rows, d_gates, d_past = (
        array[order] for array in (g, workspace["gates"], past, _by_gate(grad_gates, 3), _by_gate(past, 3))
    )
    before = np.concatenate((h[None], output[order][:-1]))
    d_h, width = np.zeros((batch, size), output.dtype), _width(batch, size)
    weights, products = np.ascontiguousarray(_cut(weight.reshape(3, size, size), width)), np.empty((3, batch, size), output.dtype)
    places = _cut(products, width)
    for chunk in reversed(list(chunks(steps, 4 * d_h.size))):
        part = activations[chunk]
        derivatives = _gru_derivatives(part, before[chunk])
        for step in reversed(range(len(part))):
            now = chunk.start + step
            np.add(d_h, g[now], d_h)
            np.multiply(derivatives[step], d_h, d_gates[now])
            d_past[now, :2] = d_gates[now, :2]
            np.multiply(d_gates[now, 2], part[step, 0], d_past[now, 2])
            np.multiply(d_h, part[step, 1], d_h)
            np.matmul(d_past[now, :, None], weights, places)
            np.add(d_h, np.add.reduce(products), d_h)
    rows = rows.reshape(steps * batch, 3 * size)
    d_weight = rows.T @ before.reshape(steps * batch, size)
    return grad_gates, d_h, d_weight, None if bias is None else column_sums(rows)


def _gru_derivatives(active: Any, before: Any) -> Any:
    """Return the derivatives of the new state by the input of each gate, `(steps, gate, batch, size)`."""
    r, z, n, acted_on = active.swapaxes(0, 1)
    derivatives = np.empty((len(active), 3, *before.shape[1:]), active.dtype)
    to_r, to_z, to_n = derivatives.swapaxes(0, 1)
    np.multiply(1 - z, 1 - n * n, to_n)
    np.multiply(to_n * acted_on, r - r * r, to_r)
    np.multiply(before - n, z - z * z, to_z)
    return derivatives


# --- Elman RNN ----------------------------------------------------------------------------------------------------


@kernel
def elman_layer(gates: Any, h: Any, weight: Any, relu: bool = False, reverse: bool = False) -> Any:
    output, weight_t, zero = np.empty(gates.shape, gates.dtype), weight.T, np.zeros((), gates.dtype)
    for step in reversed(range(len(gates))) if reverse else range(len(gates)):
        h = np.matmul(h, weight_t, output[step])
        np.add(h, gates[step], h)
        if relu:
            np.maximum(h, zero, out=h)
        else:
            np.tanh(h, h)
    return output


@kernel
def elman_backward(g: Any, h: Any, weight: Any, output: Any, relu: bool, reverse: bool) -> tuple[Any, Any, Any]:
    steps, batch, size = output.shape
    grad_gates, order = np.empty((steps, batch, size), output.dtype), slice(None, None, -1 if reverse else 1)
    g, rows, output = g[order], grad_gates[order], output[order]
    derivatives = output > 0 if relu else 1 - np.square(output)
    d_h = np.zeros((batch, size), output.dtype)
    for step in reversed(range(steps)):
        np.add(d_h, g[step], d_h)
        np.matmul(np.multiply(d_h, derivatives[step], rows[step]), weight, d_h)
    before = np.concatenate((h[None], output[:-1])).reshape(-1, size)
    return grad_gates, d_h, rows.reshape(-1, size).T @ before
