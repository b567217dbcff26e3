"""Recurrent layers, and the cells that make one step of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import groupby
from numbers import Number
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd.node import shown_as
from flambeau.ops.recurrent import elman_layer, gru_layer, lstm_layer

from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

State = tuple[Tensor, ...]


def projected_lstm_step(gates: Tensor, state: State, weights: Sequence[Tensor | None]) -> State:
    """c = f * c + i * g and h = P (o * tanh(c))."""
    h, c = state
    i, f, g, o = torch.addmm(gates, h, weights[1].t()).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return (o.sigmoid() * c.tanh()) @ weights[4].t(), c


GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


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


class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` share; `mode` is "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"."""

    __constants__ = (
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    )

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_settings(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size

        gates = GATES[mode] * hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else self._output_size * self._num_directions
            shapes = {
                "weight_ih": (gates, inputs),
                "weight_hh": (gates, self._output_size),
                "bias_ih": (gates,) if bias else None,
                "bias_hh": (gates,) if bias else None,
                "weight_hr": (proj_size, hidden_size) if proj_size else None,
            }
            for suffix in ("", "_reverse")[: self._num_directions]:
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items() if shape is not None}
                for name, shape in names.items():
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self.reset_parameters()

    @property
    def _num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor | None]:
        """What the weights are now, in a new list; None for one that was deleted.  Programs that drop out weights ask for it."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor | None]) -> None:
        for name, before, weight in zip(self._flat_weights_names, self._flat_weights, weights, strict=True):
            if weight is not before:
                setattr(self, name, weight)

    def reset_parameters(self) -> None:
        """Draw new initial values from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        flat = {"_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}
        return super().__getstate__() | flat  # for PyTorch to read

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if not name.startswith("_flat_weight")})

    def flatten_parameters(self) -> None:
        """For programs that call it: weights need no particular layout in memory here."""

    def extra_repr(self) -> str:
        settings = [
            f"{self.input_size}, {self.hidden_size}",
            f"proj_size={self.proj_size}" if self.proj_size != 0 else "",
            f"num_layers={self.num_layers}" if self.num_layers != 1 else "",
            f"bias={self.bias}" if self.bias is not True else "",
            f"batch_first={self.batch_first}" if self.batch_first is not False else "",
            f"dropout={self.dropout}" if self.dropout != 0 else "",
            f"bidirectional={self.bidirectional}" if self.bidirectional is not False else "",
        ]
        return ", ".join(filter(None, settings))

    def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (hidden,) = self._run(input, None if hx is None else (hx,))
        return output, hidden

    def _run(self, input: Tensor | PackedSequence, state: State | None) -> tuple[Any, State]:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, state)
        name = type(self).__name__
        if input.dim() not in (2, 3):
            tensor = " tensor" if name == "RNN" else ""
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead")
        is_batched = input.dim() == 3
        if state is not None:
            self._check_state_dims(state, is_batched)
        if not is_batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            state = None if state is None else tuple(part.unsqueeze(1) for part in state)
        self._check_input(input, 3)
        steps = input.transpose(0, 1) if self.batch_first else input
        if not steps.size(0):
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, state = self._run_layers(steps, self._initial_state(steps, state, steps.size(1)), None)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not is_batched:
            output = output.squeeze(0 if self.batch_first else 1)
            state = tuple(part.squeeze(1) for part in state)
        return output, state

    def _run_packed(self, input: PackedSequence, state: State | None) -> tuple[PackedSequence, State]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self._check_input(data, 2)
        state = None if state is None else permute_batch(state, sorted_indices)
        sizes = batch_sizes.tolist()
        output, state = self._run_layers(data, self._initial_state(data, state, sizes[0]), sizes)
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, permute_batch(state, unsorted_indices)

    def _run_layers(self, input: Tensor, state: State, batch_sizes: list[int] | None) -> tuple[Tensor, State]:
        """All layers: `input` is `(T, B, features)` or packed, `state` holds `(layers * directions, B, size)`."""
        finals = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._num_directions):
                index = len(finals)
                initial = tuple(part[index] for part in state)
                weights = self._weights(index)
                output, final = rnn_layer(self.mode, input, initial, weights, batch_sizes, reverse=direction == 1)
                outputs.append(output)
                finals.append(final)
            input = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                input = F.dropout(input, self.dropout, self.training)
        return input, tuple(torch.stack(parts) for parts in zip(*finals, strict=True))

    def _weights(self, index: int) -> list[Tensor | None]:
        """weight_ih, weight_hh, bias_ih, bias_hh and weight_hr of a layer and direction, or None where it has none."""
        weights = [getattr(self, name) for name in self._all_weights[index]]
        if not self.bias:
            weights[2:2] = [None, None]
        return weights if self.proj_size else [*weights, None]

    def _initial_state(self, input: Tensor, state: State | None, batch: int) -> State:
        sizes = (self._output_size, self.hidden_size) if self.mode == "LSTM" else (self.hidden_size,)
        shapes = [(self.num_layers * self._num_directions, batch, size) for size in sizes]
        if state is None:
            return tuple(torch.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes)
        for number, (part, shape) in enumerate(zip(state, shapes, strict=True)):
            if part.size() != shape:
                which = f"hidden[{number}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(part.size())}")
        return state

    def _check_input(self, input: Tensor, dims: int) -> None:
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _check_state_dims(self, state: State, is_batched: bool) -> None:
        dims = 3 if is_batched else 2
        if all(part.dim() == dims for part in state):
            return
        kind = "batched" if is_batched else "unbatched"
        if len(state) == 2:
            got = f"({state[0].dim()}-D, {state[1].dim()}-D) tensors"
            raise RuntimeError(f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got {got}")
        got = f"{state[0].dim()}-D tensor"
        raise RuntimeError(f"For {kind} {dims}-D input, hx should also be {dims}-D but got {got}")


class RNN(RNNBase):
    """`h = tanh(W_ih x + b_ih + W_hh h + b_hh)` at each step, or relu, in one or more layers.

    Shape: input `(L, N, input_size)`, `(N, L, input_size)` with `batch_first`, `(L, input_size)`, or a
    `PackedSequence`; hx `(D * num_layers, N, hidden_size)`, zeros by default, D being 2 if `bidirectional`. Returns
    the output `(L, N, D * hidden_size)` of the last layer, and the final h of all. `dropout` acts between layers.

    >>> import flambeau as torch
    >>> output, h = torch.nn.RNN(10, 20, num_layers=2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: the state is h and a cell c, which input, forget and output gates change.

    Shape: input and output as in `RNN`; state `(h, c)` of `(D * num_layers, N, hidden_size)` each. With `proj_size`,
    h is projected to that size at each step. Returns the output, and the final `(h, c)`.

    Hochreiter and Schmidhuber, *Long short-term memory*, 1997.

    >>> import flambeau as torch
    >>> output, (h, c) = torch.nn.LSTM(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        if hx is not None and len(hx) != 2:
            raise RuntimeError(f"lstm expects two hidden states, got {len(hx)}")
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units: an update gate mixes h with a new value, in which a reset gate weighs the old h.

    Shape: input, state and output as in `RNN`. Cho et al., *Learning phrase representations using RNN
    encoder-decoder for statistical machine translation*, 2014.

    >>> import flambeau as torch
    >>> output, h = torch.nn.GRU(10, 20, batch_first=True)(torch.randn(3, 5, 10))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        proj_size: int | None = None,
    ) -> None:
        refuse_projection(proj_size)
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )


_NODES = {  # what PyTorch shows to have made the states of a cell
    "RNN_TANH": ("TanhBackward0",),
    "RNN_RELU": ("ReluBackward0",),
    "LSTM": ("MulBackward0", "AddBackward0"),
    "GRU": ("AddBackward0",),
}


class RNNCellBase(Module):
    """What the cells share: weights and biases for `num_chunks` gates."""

    __constants__ = ("input_size", "hidden_size", "bias")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            values = torch.empty(gates, device=device, dtype=dtype) if bias else None
            self.register_parameter(name, Parameter(values) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")

    def _step(self, mode: str, input: Tensor, state: State | None, state_names: tuple[str, ...]) -> State:
        """The next state; `input` and the state may lack the batch dimension."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for part, part_name in zip(() if state is None else state, state_names, strict=False):
            if part.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {part_name} to be 1D or 2D, got {part.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
            state = None if state is None else tuple(part.unsqueeze(0) for part in state)
        if state is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = (zeros,) * len(state_names)
        self._check_sizes(input, state)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None)
        gates = input_gates(mode, input, weights)
        _, state = rnn_run(mode, gates.unsqueeze(0), state, weights, reverse=False)
        state = tuple(shown_as(part, name) for part, name in zip(state, _NODES[mode], strict=True))
        return state if is_batched else tuple(part.squeeze(0) for part in state)

    def _check_sizes(self, input: Tensor, state: State) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for number, part in enumerate(state):
            if part.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{number} batch size {part.size(0)}")
            if part.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{number} has inconsistent hidden_size: got {part.size(1)}, expected {self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """One step of `RNN`.

    Shape: input `(N, input_size)` or `(input_size,)`, hx and the new h `(N, hidden_size)` or `(hidden_size,)`.

    >>> import flambeau as torch
    >>> torch.nn.RNNCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        state = None if hx is None else (hx,)
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, state, ("hidden",))[0]

    def extra_repr(self) -> str:
        shown = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + shown


class LSTMCell(RNNCellBase):
    """One step of `LSTM`.

    Shape: input `(N, input_size)` or `(input_size,)`, state and new state `(h, c)` of `(N, hidden_size)` or
    `(hidden_size,)` each.

    >>> import flambeau as torch
    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step("LSTM", input, hx, ("hx[0]", "hx[1]"))

    def _check_sizes(self, input: Tensor, state: State) -> None:
        if isinstance(state, Tensor):
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        if len(state) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        super()._check_sizes(input, state)


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    Shape: input `(N, input_size)` or `(input_size,)`, hx and the new h `(N, hidden_size)` or `(hidden_size,)`.

    >>> import flambeau as torch
    >>> torch.nn.GRUCell(10, 20)(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else (hx,), ("hidden",))[0]


def permute_batch(state: State, permutation: Tensor | None) -> State:
    """The state with its sequences in another order."""
    return state if permutation is None else tuple(part.index_select(1, permutation) for part in state)


def refuse_projection(proj_size: int | None) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def check_settings(
    mode: str,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    dropout: float,
    proj_size: int,
) -> None:
    if not isinstance(dropout, Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")
