"""Recurrent layers with int8 weights, which quantize their inputs and states when they are called."""

from __future__ import annotations

from typing import Any, Self

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from ....nn.modules import rnn, rnn_cells
from ....nn.modules.container import ModuleList
from ....nn.modules.module import Module
from ....nn.recurrence import State
from .linear import Linear

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


class _Products(Module):
    """The quantized products of one layer in one direction: `ih` of inputs and `hh` of states."""

    def __init__(self, ih: Linear, hh: Linear) -> None:
        super().__init__()
        self.ih, self.hh = ih, hh

    @classmethod
    def of(cls, mod: Any, suffix: str = "") -> _Products:
        """Quantize the weights of a layer that end with `suffix`."""
        parts = []
        for name in ("ih", "hh"):
            weight = getattr(mod, f"weight_{name}{suffix}")
            bias = getattr(mod, f"bias_{name}{suffix}") if mod.bias else None
            parts.append(Linear.from_parameters(weight, bias, getattr(mod, "qconfig", None)))
        return cls(*parts)

    def step(self, mode: str, gates: Tensor, state: State) -> State:
        """Return the next state, given the product of the input."""
        h, through = state[0], self.hh(state[0])
        if mode == "LSTM":
            i, f, g, o = (gates + through).chunk(4, -1)
            cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            return o.sigmoid() * cell.tanh(), cell
        if mode == "GRU":
            (reset_in, update_in, new_in), (reset, update, new) = gates.chunk(3, -1), through.chunk(3, -1)
            new = (new_in + new * (reset + reset_in).sigmoid()).tanh()
            return ((h - new) * (update + update_in).sigmoid() + new,)
        total = gates + through
        return (total.relu() if mode == "RNN_RELU" else total.tanh(),)

    def run(self, mode: str, input: Tensor, state: State, sizes: list[int], reverse: bool) -> tuple[Tensor, State]:
        """Run all steps of packed sequences `(sum(sizes), features)`; return the outputs of all steps and the final state."""
        gates, outputs = self.ih(input).split(sizes), []
        for step in reversed(gates) if reverse else gates:
            count = len(step)  # the others have ended, or if reversed, not begun
            new = self.step(mode, step, tuple(part[:count] for part in state))
            outputs.append(new[0])
            state = tuple(torch.cat([part, old[count:]]) for part, old in zip(new, state, strict=True))
        return torch.cat(outputs[::-1] if reverse else outputs), state


def _take(layer: Module, mod: Any) -> None:
    """Give a layer the settings of a module, without its parameters."""
    Module.__init__(layer)
    settings = {name: value for name, value in vars(mod).items() if not name.startswith("_") and name != "qconfig"}
    vars(layer).update(settings)


class _Layers(rnn.RNNBase):
    """The base of `LSTM` and `GRU`."""

    _float_class: type[rnn.RNNBase]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._quantize(self._float_class(*args, **kwargs))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the quantized layers of a module, whose attribute `qconfig` may contain another observer of weights."""
        layer = cls.__new__(cls)
        layer._quantize(mod)
        return layer

    def _quantize(self, mod: Any) -> None:
        if mod.proj_size:
            raise NotImplementedError("quantized LSTM layers have no projections (proj_size)")
        _take(self, mod)
        self._all_weights = []
        suffixes = ("", "_reverse")[: self._num_directions]
        products = [_Products.of(mod, f"_l{layer}{suffix}") for layer in range(self.num_layers) for suffix in suffixes]
        self._all_weight_values = ModuleList(products)

    @property
    def _weight_dtype(self) -> torch.dtype:
        return torch.float32

    def _run_layers(self, input: Tensor, state: State, batch_sizes: list[int] | None) -> tuple[Tensor, State]:
        sizes = [input.size(1)] * input.size(0) if batch_sizes is None else batch_sizes
        data = input if batch_sizes is not None else input.flatten(0, 1)
        finals: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.training:
                data = F.dropout(data, self.dropout)
            outputs = []
            for direction in range(self._num_directions):
                initial = tuple(part[len(finals)] for part in state)
                output, final = self._all_weight_values[len(finals)].run(self.mode, data, initial, sizes, direction == 1)
                outputs.append(output)
                finals.append(final)
            data = torch.cat(outputs, -1)
        output = data if batch_sizes is not None else data.reshape(*input.shape[:2], -1)
        return output, tuple(torch.stack(parts) for parts in zip(*finals, strict=True))

    def __repr__(self) -> str:
        return f"DynamicQuantized{type(self).__name__}({self.extra_repr()})"


class LSTM(_Layers, rnn.LSTM):
    """`torch.nn.LSTM` with weights of int8; made by `torch.ao.quantization.quantize_dynamic`.

    The inputs of a layer are quantized together, with one scale for all steps, and the state at each step, as in PyTorch. The
    sums of products are exact; gates, cells and results are float32.

    Args:
        args, kwargs: the arguments of `torch.nn.LSTM`, except `proj_size`.
    """

    _float_class = rnn.LSTM


class GRU(_Layers, rnn.GRU):
    """`torch.nn.GRU` with weights of int8, quantized as in `LSTM`.

    Args:
        args, kwargs: the arguments of `torch.nn.GRU`.
    """

    _float_class = rnn.GRU


class _Cell(rnn_cells.RNNCellBase):
    """The base of cells."""

    _float_class: type[rnn_cells.RNNCellBase]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._quantize(self._float_class(*args, **kwargs))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the quantized cell of a module, whose attribute `qconfig` may contain another observer of weights."""
        layer = cls.__new__(cls)
        layer._quantize(mod)
        return layer

    def _quantize(self, mod: Any) -> None:
        bias = mod.bias_ih is not None
        _take(self, mod)
        self.bias = bias
        self._weights = _Products.of(mod)

    def _next_state(self, mode: str, input: Tensor, state: State) -> State:
        return self._weights.step(mode, self._weights.ih(input), state)

    def __repr__(self) -> str:
        return f"DynamicQuantized{type(self).__name__}({self.extra_repr()})"


class LSTMCell(_Cell, rnn_cells.LSTMCell):
    """`torch.nn.LSTMCell` with weights of int8.

    Args:
        args, kwargs: the arguments of `torch.nn.LSTMCell`.
    """

    _float_class = rnn_cells.LSTMCell


class GRUCell(_Cell, rnn_cells.GRUCell):
    """`torch.nn.GRUCell` with weights of int8.

    Args:
        args, kwargs: the arguments of `torch.nn.GRUCell`.
    """

    _float_class = rnn_cells.GRUCell


class RNNCell(_Cell, rnn_cells.RNNCell):
    """`torch.nn.RNNCell` with weights of int8.

    Args:
        args, kwargs: the arguments of `torch.nn.RNNCell`.
    """

    _float_class = rnn_cells.RNNCell
