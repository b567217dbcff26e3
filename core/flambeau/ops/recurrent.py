"""Recurrence over a sequence: all steps of an LSTM layer as one operation."""

from __future__ import annotations

from typing import Any

from .. import overrides
from .._tensor import Tensor
from ..autograd.grad_mode import _grad
from ..op import op
from .formula import formula

__all__ = ["lstm_layer"]


def _sigmoid(xp: Any, x: Any) -> Any:
    return 0.5 * xp.tanh(0.5 * x) + 0.5


def _lstm_forward(
    xp: Any, gates: Any, h: Any, c: Any, weight: Any, /, reverse: bool = False, workspace: Any = None
) -> tuple[Any, Any]:
    size = h.shape[-1]
    outputs, cells = [], []
    for step in range(gates.shape[0]):
        now = gates[-1 - step if reverse else step, ...] + xp.matmul(h, xp.matrix_transpose(weight))
        i, f, o = (_sigmoid(xp, now[:, k * size : (k + 1) * size]) for k in (0, 1, 3))
        c = f * c + i * xp.tanh(now[:, 2 * size : 3 * size])
        h = o * xp.tanh(c)
        outputs.append(h)
        cells.append(c)
    if reverse:
        outputs.reverse()
        cells.reverse()
    return xp.stack(outputs), xp.stack(cells)


@formula
def lstm_backward(
    F: Any,
    g_output: Any,
    g_cells: Any,
    gates: Any,
    h: Any,
    c: Any,
    weight: Any,
    output: Any,
    cells: Any,
    reverse: bool,
    workspace: Any,
) -> tuple[Any, Any, Any, Any]:
    """Gradients of gates, h, c and weight, backwards through time.

    ``workspace``, where a backend's forward leaves what its backward can use, serves kernels only.
    """
    if reverse:
        g_output, g_cells, gates, output, cells = (F.flip(each, (0,)) for each in (g_output, g_cells, gates, output, cells))
    steps, batch, size = output.shape

    def before(first: Any, states: Any) -> Any:
        """The state that each step starts from."""
        return F.cat([F.reshape(first, (1, batch, size)), F.getitem_slice(states, (slice(0, steps - 1),))], 0)

    def rows(each: Any) -> Any:
        return F.reshape(each, (steps * batch, each.shape[-1]))

    h_before, c_before = before(h, output), before(c, cells)
    now = gates + F.reshape(F.mm(rows(h_before), F.mH_(weight)), gates.shape)
    i, f, g, o = (F.getitem_slice(now, (..., slice(k * size, (k + 1) * size))) for k in range(4))
    i, f, g, o, t = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o), F.tanh(cells)
    to_cell = o * (1 - t * t)
    slopes = g * i * (1 - i), c_before * f * (1 - f), i * (1 - g * g), t * o * (1 - o)
    d_h, d_c, d_gates = F.zeros_of(h, (batch, size)), F.zeros_of(c, (batch, size)), []
    for step in reversed(range(steps)):
        d_h = d_h + F.getitem_select(g_output, (step,))
        d_c = d_c + F.getitem_select(g_cells, (step,)) + d_h * F.getitem_select(to_cell, (step,))
        at_i, at_f, at_g, at_o = (F.getitem_select(each, (step,)) for each in slopes)
        d_gates.append(F.cat([d_c * at_i, d_c * at_f, d_c * at_g, d_h * at_o], 1))
        d_h, d_c = F.mm(d_gates[-1], weight), d_c * F.getitem_select(f, (step,))
    made = F.stack(d_gates if reverse else d_gates[::-1], 0)
    in_order = F.flip(made, (0,)) if reverse else made
    return made, d_h, d_c, F.mm(F.mH_(rows(in_order)), rows(h_before))


_lstm = op(
    "lstm_layer", _lstm_forward, promote="accumulate", results=("output", "cells"), public=False, method=False, out=False,
    joint=lambda F, g, gates, h, c, weight, output, cells, reverse, workspace: lstm_backward(
        F, g[0], g[1], gates, h, c, weight, output, cells, reverse, workspace),
)  # fmt: skip


def lstm_layer(gates: Tensor, h: Tensor, c: Tensor, weight: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor]:
    """The hidden states and the cells of an LSTM after each step, from the last step to the first if ``reverse``.

    Shapes: gates ``(T, B, 4 * size)``, what the input adds to input, forget, cell and output gates; h and c ``(B, size)``; weight
    ``(4 * size, size)``.  Returns two tensors ``(T, B, size)``.
    """
    for name, each in (("hidden", h), ("cell", c), ("weight", weight)):
        if each.dtype is not gates.dtype and not overrides.wanted((gates, each)):  # a mode may be about to cast them
            raise RuntimeError(f"Input and {name} tensors are not the same dtype, found input tensor with {gates.dtype} and "
                               f"{name} tensor with {each.dtype}")  # fmt: skip
    learns = _grad.get() and any(each._requires_grad for each in (gates, h, c, weight))
    return _lstm(gates, h, c, weight, reverse, {} if learns else None)  # type: ignore[no-any-return]  # has several results
