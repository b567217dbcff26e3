"""The steps of recurrent layers: one layer in one direction, over sequences of one length or packed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import flambeau as torch
from flambeau import Tensor
from flambeau.ops.recurrent import elman_layer, gru_layer, lstm_layer

from .. import functional as F

State = tuple[Tensor, ...]
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def projected_lstm_step(gates: Tensor, state: State, weights: Sequence[Tensor | None]) -> State:
    """c = f * c + i * g and h = P (o * tanh(c))."""
    h, c = state
    i, f, g, o = torch.addmm(gates, h, weights[1].t()).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return (o.sigmoid() * c.tanh()) @ weights[4].t(), c


def input_gates(mode: str, input: Tensor, weights: Sequence[Tensor | None]) -> Tensor:
    """What the input adds to the gates, for all steps at once; both biases too, but the GRU's reset acts on one."""
    _, _, bias_ih, bias_hh, _ = weights
    if mode != "GRU" and bias_ih is not None:
        bias_ih = bias_ih + bias_hh
    return F.linear(input, weights[0], bias_ih)


def rnn_layer(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[Tensor | None],
    batch_sizes: Sequence[int] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, State]:
    """One layer in one direction: the output of every step, and the final state.

    `input` is `(T, B, features)`, or packed `(sum(batch_sizes), features)`; `state` holds `(B, size)` tensors;
    `weights` are weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, those that the layer lacks being None.
    """
    gates = input_gates(mode, input, weights)
    if batch_sizes is None:
        return rnn_run(mode, gates, state, weights, reverse)
    runs = split_runs(gates, batch_sizes)
    if reverse:
        runs.reverse()
    outputs, initial, finished = [], state, []
    state = tuple(part[: runs[0].size(1)] for part in initial)
    for gates in runs:
        before, batch = len(state[0]), gates.size(1)
        if batch < before:  # some sequences have ended
            finished.append(tuple(part[batch:] for part in state))
            state = tuple(part[:batch] for part in state)
        elif batch > before:  # backwards, some sequences begin
            new = tuple(part[before:batch] for part in initial)
            state = tuple(torch.cat(parts) for parts in zip(state, new, strict=True))
        output, state = rnn_run(mode, gates, state, weights, reverse)
        outputs.append(output.flatten(0, 1))
    if reverse:
        outputs.reverse()
    if finished:
        state = tuple(torch.cat(parts) for parts in zip(state, *reversed(finished), strict=True))
    return torch.cat(outputs), state


def split_runs(packed: Tensor, batch_sizes: Sequence[int]) -> list[Tensor]:
    """Packed steps as runs `(steps, batch, features)` of one batch size each."""
    runs = [(sum(1 for _ in equal), batch) for batch, equal in groupby(batch_sizes)]
    parts = packed.split([steps * batch for steps, batch in runs])
    return [part.unflatten(0, run) for part, run in zip(parts, runs, strict=True)]


def rnn_run(
    mode: str, gates: Tensor, state: State, weights: Sequence[Tensor | None], reverse: bool
) -> tuple[Tensor, State]:
    """Steps of one batch size: `gates` is `(T, B, features)`, `state` holds `(B, size)` tensors."""
    last = 0 if reverse else -1
    if mode == "LSTM" and weights[4] is not None:
        return projected_lstm_run(gates, state, weights, reverse)
    if mode == "LSTM":
        output, cells = lstm_layer(gates, *state, weights[1], reverse)
        return output, (output[last], cells[last])
    if mode == "GRU":
        output = gru_layer(gates, *state, weights[1], weights[3], reverse)
    else:
        output = elman_layer(gates, *state, weights[1], mode == "RNN_RELU", reverse)
    return output, (output[last],)


def projected_lstm_run(gates: Tensor, state: State, weights: Sequence[Tensor | None], reverse: bool) -> tuple[Tensor, State]:
    outputs = []
    for each in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
        state = projected_lstm_step(each, state, weights)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), state
