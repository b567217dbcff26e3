"""Recurrent layers (LSTM, GRU, Elman): all time steps of a layer as one operation."""

from __future__ import annotations

from typing import Any

from ..engine.calls import overriding
from ..engine.calls.facts import Autocast, Kind
from ..engine.calls.op import formula, op
from ..engine.tape.grad_mode import grad_flag
from ..engine.tensors.tensor import Tensor

__all__ = ["elman_layer", "gru_layer", "lstm_layer"]


def _sigmoid(xp: Any, x: Any) -> Any:
    return 0.5 * xp.tanh(0.5 * x) + 0.5


def _rows(F: Any, steps: Any) -> Any:
    """Reshape `(steps, batch, size)` to a matrix `(steps * batch, size)`."""
    return F.reshape(steps, (steps.shape[0] * steps.shape[1], steps.shape[2]))


def _states_before(F: Any, first: Any, states: Any) -> Any:
    """Return the state before each step: `first`, then all states but the last."""
    return F.cat([F.reshape(first, (1, *states.shape[1:])), F.getitem_slice(states, (slice(0, states.shape[0] - 1),))], 0)


# --- long short-term memory ---------------------------------------------------------------------------------------


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


@formula(kind=Kind.OTHER, rounds_once=True)
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
    """Return the gradients of gates, h, c and weight by backpropagation through time.

    Only kernels use `workspace`, in which a kernel's forward stores values for its backward.
    """
    if reverse:
        g_output, g_cells, gates, output, cells = (F.flip(array, (0,)) for array in (g_output, g_cells, gates, output, cells))
    steps, batch, size = output.shape
    h_before, c_before = _states_before(F, h, output), _states_before(F, c, cells)
    now = gates + F.reshape(F.mm(_rows(F, h_before), F.mH_(weight)), gates.shape)
    i, f, g, o = (F.getitem_slice(now, (..., slice(k * size, (k + 1) * size))) for k in range(4))
    i, f, g, o, t = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o), F.tanh(cells)
    to_cell = o * (1 - t * t)
    slopes = g * i * (1 - i), c_before * f * (1 - f), i * (1 - g * g), t * o * (1 - o)
    d_h, d_c, d_gates = F.zeros_of(h, (batch, size)), F.zeros_of(c, (batch, size)), []
    for step in reversed(range(steps)):
        d_h = d_h + F.getitem_select(g_output, (step,))
        d_c = d_c + F.getitem_select(g_cells, (step,)) + d_h * F.getitem_select(to_cell, (step,))
        at_i, at_f, at_g, at_o = (F.getitem_select(slope, (step,)) for slope in slopes)
        d_gates.append(F.cat([d_c * at_i, d_c * at_f, d_c * at_g, d_h * at_o], 1))
        d_h, d_c = F.mm(d_gates[-1], weight), d_c * F.getitem_select(f, (step,))
    grad_gates = F.stack(d_gates if reverse else d_gates[::-1], 0)
    in_order = F.flip(grad_gates, (0,)) if reverse else grad_gates
    return grad_gates, d_h, d_c, F.mm(F.mH_(_rows(F, in_order)), _rows(F, h_before))


def _workspace_or_empty(workspace: Any) -> Any:
    """Return the forward's workspace, or an empty one if the forward was called without a workspace."""
    return {} if workspace is None else workspace


_lstm = op(
    "lstm_layer", _lstm_forward,
    kind=Kind.RECURRENT, autocast=Autocast.FAST,
    promote="accumulate", results=("output", "cells"), public=False, method=False, out=False,
    vjp=lambda F, g, gates, h, c, weight, output, cells, reverse, workspace: lstm_backward(
        F, g[0], g[1], gates, h, c, weight, output, cells, reverse, _workspace_or_empty(workspace)),
)  # fmt: skip


def lstm_layer(gates: Tensor, h: Tensor, c: Tensor, weight: Tensor, reverse: bool = False) -> tuple[Tensor, Tensor]:
    """Return the hidden states and the cell states of an LSTM after each step; with `reverse`, run from the last step to the
    first.

    Shapes: gates `(T, B, 4 * size)`, the input's contributions to input, forget, cell and output gates; h and c `(B, size)`;
    weight `(4 * size, size)`.  Returns two tensors `(T, B, size)`.
    """
    _check_dtypes(gates, hidden=h, cell=c, weight=weight)
    return _lstm(gates, h, c, weight, reverse, _workspace(gates, h, c, weight))  # type: ignore[no-any-return]  # has several results


def _check_dtypes(gates: Tensor, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        # an override such as autocast may cast the tensors to one dtype
        if tensor.dtype is not gates.dtype and not overriding.should_offer((gates, tensor)):
            raise RuntimeError(
                f"Input and {name} tensors are not the same dtype, found input tensor with {gates.dtype} and "
                f"{name} tensor with {tensor.dtype}"
            )


def _workspace(*tensors: Tensor | None) -> Any:
    """Return an empty workspace, in which a kernel's forward stores values for its backward.

    Return None if autograd does not record the call.
    """
    return {} if grad_flag.get() and any(tensor is not None and tensor._requires_grad for tensor in tensors) else None


# --- gated recurrent units ----------------------------------------------------------------------------------------


def _gru_forward(
    xp: Any, gates: Any, h: Any, weight: Any, bias: Any = None, /, reverse: bool = False, workspace: Any = None
) -> Any:
    size, outputs = h.shape[-1], []
    for step in range(gates.shape[0]):
        now, past = gates[-1 - step if reverse else step, ...], xp.matmul(h, xp.matrix_transpose(weight))
        past = past if bias is None else past + bias
        r, z = (_sigmoid(xp, now[:, k * size : (k + 1) * size] + past[:, k * size : (k + 1) * size]) for k in (0, 1))
        n = xp.tanh(now[:, 2 * size :] + r * past[:, 2 * size :])
        h = (h - n) * z + n
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return xp.stack(outputs)


@formula(kind=Kind.OTHER, rounds_once=True)
def gru_backward(
    F: Any, g: Any, gates: Any, h: Any, weight: Any, bias: Any, output: Any, reverse: bool, workspace: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the gradients of gates, h, weight and bias by backpropagation through time.

    Only kernels use `workspace`, in which a kernel's forward stores values for its backward.
    """
    if reverse:
        g, gates, output = (F.flip(array, (0,)) for array in (g, gates, output))
    steps, batch, size = output.shape
    before = _states_before(F, h, output)
    past = F.reshape(F.mm(_rows(F, before), F.mH_(weight)), gates.shape)
    past = past if bias is None else past + bias
    (now_r, now_z, now_n), (past_r, past_z, past_n) = (
        [F.getitem_slice(array, (..., slice(k * size, (k + 1) * size))) for k in range(3)] for array in (gates, past)
    )
    r, z = F.sigmoid(now_r + past_r), F.sigmoid(now_z + past_z)
    n = F.tanh(now_n + r * past_n)
    to_n = (1 - z) * (1 - n * n)
    slopes = to_n * past_n * r * (1 - r), (before - n) * z * (1 - z), to_n
    d_h, d_gates, d_past = F.zeros_of(h, (batch, size)), [], []
    for step in reversed(range(steps)):
        d_h = d_h + F.getitem_select(g, (step,))
        d_r, d_z, d_n = (d_h * F.getitem_select(slope, (step,)) for slope in slopes)
        d_gates.append(F.cat([d_r, d_z, d_n], 1))
        d_past.append(F.cat([d_r, d_z, d_n * F.getitem_select(r, (step,))], 1))
        d_h = d_h * F.getitem_select(z, (step,)) + F.mm(d_past[-1], weight)
    rows = _rows(F, F.stack(d_past[::-1], 0))
    return (
        F.stack(d_gates if reverse else d_gates[::-1], 0),
        d_h,
        F.mm(F.mH_(rows), _rows(F, before)),
        None if bias is None else F.sum(rows, (0,)),
    )


_gru = op(
    "gru_layer", _gru_forward,
    kind=Kind.RECURRENT, autocast={"cuda": Autocast.FAST}, promote="accumulate", public=False, method=False, out=False,
    vjp=lambda F, g, gates, h, weight, bias, out, reverse, workspace: gru_backward(
        F, g, gates, h, weight, bias, out, reverse, _workspace_or_empty(workspace)),
)  # fmt: skip


def gru_layer(gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None = None, reverse: bool = False) -> Tensor:
    """Return the hidden states of a GRU layer after each step; with `reverse`, run from the last step to the first.

    Shapes: gates `(T, B, 3 * size)`, the input's contributions to reset gate, update gate and new state; h `(B, size)`;
    weight `(3 * size, size)` and bias `(3 * size,)`, both hidden-to-hidden.  Returns a tensor `(T, B, size)`.
    """
    _check_dtypes(gates, hidden=h, weight=weight)
    return _gru(gates, h, weight, bias, reverse, _workspace(gates, h, weight, bias))


# --- units without gates ------------------------------------------------------------------------------------------


def _elman_forward(xp: Any, gates: Any, h: Any, weight: Any, /, relu: bool = False, reverse: bool = False) -> Any:
    outputs = []
    for step in range(gates.shape[0]):
        h = gates[-1 - step if reverse else step, ...] + xp.matmul(h, xp.matrix_transpose(weight))
        h = xp.where(h < 0, xp.zeros_like(h), h) if relu else xp.tanh(h)
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return xp.stack(outputs)


@formula(kind=Kind.OTHER, rounds_once=True)
def elman_backward(F: Any, g: Any, h: Any, weight: Any, output: Any, relu: bool, reverse: bool) -> tuple[Any, Any, Any]:
    """Return the gradients of gates, h and weight by backpropagation through time."""
    if reverse:
        g, output = F.flip(g, (0,)), F.flip(output, (0,))
    before, d_h, d_gates = _states_before(F, h, output), F.zeros_of(h, h.shape), []
    for step in reversed(range(output.shape[0])):
        d_h, now = d_h + F.getitem_select(g, (step,)), F.getitem_select(output, (step,))
        d_gates.append(F.masked(d_h, now > 0) if relu else d_h * (1 - now * now))
        d_h = F.mm(d_gates[-1], weight)
    in_order = F.stack(d_gates[::-1], 0)
    d_weight = F.mm(F.mH_(_rows(F, in_order)), _rows(F, before))
    return F.flip(in_order, (0,)) if reverse else in_order, d_h, d_weight


_elman = op(
    "elman_layer", _elman_forward,
    kind=Kind.RECURRENT, autocast=Autocast.FAST, promote="accumulate", public=False, method=False, out=False,
    vjp=lambda F, g, h, weight, out, relu, reverse: elman_backward(F, g, h, weight, out, relu, reverse),
)  # fmt: skip


def elman_layer(gates: Tensor, h: Tensor, weight: Tensor, relu: bool = False, reverse: bool = False) -> Tensor:
    """Return the hidden states of an Elman network after each step: `tanh(gates + h @ weight.T)`, or ReLU with `relu`.

    Shapes: gates `(T, B, size)`, the input's contributions; h `(B, size)`; weight `(size, size)`.  Returns a tensor
    `(T, B, size)`.
    """
    _check_dtypes(gates, hidden=h, weight=weight)
    return _elman(gates, h, weight, relu, reverse)
