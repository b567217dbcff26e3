"""Recurrent layers (RNN, LSTM, GRU) for sequences, with stacked layers and both directions."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.overrides import has_torch_function

from .. import init, recurrence
from ..parameter import Parameter
from ..recurrence import GATES, LayerWeights, State, rnn_layers
from ..utils.rnn import PackedSequence
from .module import Module
from .rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


class RNNBase(Module):
    """The base of `RNN`, `LSTM` and `GRU`: handles layers, directions, packed sequences and the names of weights.

    Args:
        mode: the kind of step: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"; ValueError for others.
        input_size: the number of features of the input at each step.
        hidden_size: the number of features of the state h.
        num_layers: the number of stacked layers; each gets the output of the previous one.
        bias: whether to learn biases, `bias_ih` and `bias_hh`, for all gates.
        batch_first: whether the batch is dimension 0 of input and output; False for dimension 1. States do not
            depend on it.
        dropout: the probability that an element of each layer's output, except the last layer's, is zeroed in training.
        bidirectional: whether to also run a second set of weights from the last step to the first; the output
            concatenates the features of both directions.
        proj_size: the number of features that h is projected to at each step of an LSTM; 0 for no projection.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input, state and output: as in `RNN`, and for mode "LSTM" as in `LSTM`.

    Example:
        >>> layer = torch.nn.GRU(10, 20)
        >>> isinstance(layer, torch.nn.RNNBase), layer.mode
        (True, 'GRU')
    """

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
    def _weight_dtype(self) -> torch.dtype:
        return getattr(self, self._all_weights[0][0]).dtype  # type: ignore[no-any-return]  # a parameter's

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """Return a list of parameters for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor | None]:
        """Return a new list of the current weights, with None for deleted ones. Programs that apply dropout to weights use it."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor | None]) -> None:
        for name, current, weight in zip(self._flat_weights_names, self._flat_weights, weights, strict=True):
            if weight is not current:
                setattr(self, name, weight)

    def reset_parameters(self) -> None:
        """Draw new initial values from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        flat = {"_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}
        return super().__getstate__() | flat  # PyTorch needs these entries when it loads the module

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if not name.startswith("_flat_weight")})

    def flatten_parameters(self) -> None:
        """Do nothing. In PyTorch it copies the weights to one block of memory, which flambeau's kernels do not need."""

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
        steps, batch = (input.size(1), input.size(0)) if self.batch_first else (input.size(0), input.size(1))
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        state = self._initial_state(input, state, batch)
        if has_torch_function((input,)):  # one overridable call for the layer, as in PyTorch
            output, *final = self._call_function(input, state)
            state = tuple(final)
        else:
            sequence = input.transpose(0, 1) if self.batch_first else input
            output, state = self._run_layers(sequence, state, None)
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
        if has_torch_function((data,)):
            batch = torch.repeat_interleave(batch_sizes[:1]).size(0)  # unlike a value, a size is computed again in graphs
            output, *final = self._call_function(data, self._initial_state(data, state, batch), batch_sizes)
            state = tuple(final)
        else:
            sizes = batch_sizes.tolist()
            output, state = self._run_layers(data, self._initial_state(data, state, sizes[0]), sizes)
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, permute_batch(state, unsorted_indices)

    def _run_layers(self, input: Tensor, state: State, batch_sizes: list[int] | None) -> tuple[Tensor, State]:
        """Run all layers: `input` is `(T, B, features)` or packed, `state` holds `(layers * directions, B, size)`."""
        weights = [self._weights(index) for index in range(self.num_layers * self._num_directions)]
        dropout = self.dropout if self.training else 0.0
        return rnn_layers(self.mode, input, state, weights, self._num_directions, dropout, batch_sizes)

    def _call_function(self, input: Tensor, state: State, batch_sizes: Tensor | None = None) -> Any:
        """Run all layers by one call of `torch.rnn_tanh`, `torch.rnn_relu`, `torch.lstm` or `torch.gru`."""
        function = getattr(recurrence, self.mode.lower())
        weights = [weight for weight in self._flat_weights if weight is not None]
        first = state if self.mode == "LSTM" else state[0]
        settings = weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        if batch_sizes is not None:
            return function(input, batch_sizes, first, *settings)
        return function(input, first, *settings, self.batch_first)

    def _weights(self, index: int) -> LayerWeights:
        """Return the weights of a layer and direction."""
        weights = [getattr(self, name) for name in self._all_weights[index]]
        if not self.bias:
            weights[2:2] = [None, None]
        if not self.proj_size:
            weights.append(None)
        return LayerWeights(*weights)

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
        dtype = self._weight_dtype
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
    """An Elman network: at each step `h = tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)`, or relu, in one or more layers.

    All parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Elman, *Finding structure in time*, 1990.

    Args:
        input_size: the number of features of the input at each step.
        hidden_size: the number of features of the state h.
        num_layers: the number of stacked layers; each gets the output of the previous one.
        nonlinearity: "tanh" or "relu"; ValueError for others.
        bias: whether to learn biases, `bias_ih` and `bias_hh`, for all gates.
        batch_first: whether the batch is dimension 0 of input and output; False for dimension 1. States do not
            depend on it.
        dropout: the probability that an element of each layer's output, except the last layer's, is zeroed in training.
        bidirectional: whether to also run a second set of weights from the last step to the first; the output
            concatenates the features of both directions.
        device, dtype: device and dtype of the parameters: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0` for the
            first layer, and so on; names for the reverse direction end in `_reverse`.
        proj_size: only supported by `LSTM`; must be None, else ValueError.

    Shape:
        - Input: `(L, N, input_size)`, `(N, L, input_size)` with `batch_first`, `(L, input_size)`, or a `PackedSequence`
          of sequences of several lengths.
        - State h, before and after: `(D * num_layers, N, hidden_size)`, or without N, where D is 2 if `bidirectional`
          and else 1. Zeros by default.
        - Output: `(L, N, D * hidden_size)`, or as for the input: h of the last layer at each step. The call returns it
          and the state after the last step.

    Raises:
        ValueError: sizes, `num_layers` or `dropout` are out of range; in the call, the input is of another dtype or
            number of dimensions.
        RuntimeError: in the call, sizes of the input or the state do not fit.

    Example:
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
    """Long short-term memory: input, forget and output gates control a cell state c and the hidden state h.

    At each step, with `i, f, g, o` the four parts of `W_ih @ x + b_ih + W_hh @ h + b_hh`,
    `c = sigmoid(f) * c + sigmoid(i) * tanh(g)` and `h = sigmoid(o) * tanh(c)`. All parameters are initialized from
    U(-k, k) with k = 1 / sqrt(hidden_size).

    Hochreiter and Schmidhuber, *Long short-term memory*, 1997; with projections, Sak et al., *Long short-term memory
    based recurrent neural network architectures*, 2014.

    Args:
        input_size: the number of features of the input at each step.
        hidden_size: the number of features of the state h.
        num_layers: the number of stacked layers; each gets the output of the previous one.
        bias: whether to learn biases, `bias_ih` and `bias_hh`, for all gates.
        batch_first: whether the batch is dimension 0 of input and output; False for dimension 1. States do not
            depend on it.
        dropout: the probability that an element of each layer's output, except the last layer's, is zeroed in training.
        bidirectional: whether to also run a second set of weights from the last step to the first; the output
            concatenates the features of both directions.
        proj_size: the number of features that h is projected to at each step, below `hidden_size`; 0 for no projection.
        device, dtype: device and dtype of the parameters: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0` for the
            first layer, and so on; names for the reverse direction end in `_reverse`. `weight_hr_l0` is the projection.

    Shape:
        - Input: `(L, N, input_size)`, `(N, L, input_size)` with `batch_first`, `(L, input_size)`, or a `PackedSequence`
          of sequences of several lengths.
        - State h, before and after: `(D * num_layers, N, H)`, or without N, where D is 2 if `bidirectional` and else 1.
          Zeros by default. H is `proj_size`, or `hidden_size` if `proj_size` is 0.
        - Cell c, before and after: `(D * num_layers, N, hidden_size)`, or without N. States are given as a tuple
          `(h, c)`.
        - Output: `(L, N, D * H)`, or as for the input: h of the last layer at each step. The call returns it and the
          state after the last step, `output, (h, c)`.

    Raises:
        ValueError: sizes, `num_layers` or `dropout` are out of range, such as a `proj_size` not below `hidden_size`; in
            the call, the input is of another dtype or number of dimensions.
        RuntimeError: in the call, sizes of the input or the state do not fit.

    Example:
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

    def forward(  # type: ignore[override]  # the state is a pair of tensors
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        if hx is not None and len(hx) != 2:
            raise RuntimeError(f"lstm expects two hidden states, got {len(hx)}")
        output, (hidden, cell) = self._run(input, hx)
        return output, (hidden, cell)


class GRU(RNNBase):
    """Gated recurrent units: an update gate mixes the old h with a new value, computed from input and the gated old h.

    At each step, with `xr, xz, xn` the three parts of `W_ih @ x + b_ih` and `hr, hz, hn` the parts of `W_hh @ h + b_hh`,
    `r = sigmoid(xr + hr)`, `z = sigmoid(xz + hz)`, `n = tanh(xn + r * hn)` and `h = (1 - z) * n + z * h`. All
    parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Cho et al., *Learning phrase representations using RNN encoder-decoder for statistical machine translation*, 2014.

    Args:
        input_size: the number of features of the input at each step.
        hidden_size: the number of features of the state h.
        num_layers: the number of stacked layers; each gets the output of the previous one.
        bias: whether to learn biases, `bias_ih` and `bias_hh`, for all gates.
        batch_first: whether the batch is dimension 0 of input and output; False for dimension 1. States do not
            depend on it.
        dropout: the probability that an element of each layer's output, except the last layer's, is zeroed in training.
        bidirectional: whether to also run a second set of weights from the last step to the first; the output
            concatenates the features of both directions.
        device, dtype: device and dtype of the parameters: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0` for the
            first layer, and so on; names for the reverse direction end in `_reverse`.
        proj_size: only supported by `LSTM`; must be None, else ValueError.

    Shape:
        - Input: `(L, N, input_size)`, `(N, L, input_size)` with `batch_first`, `(L, input_size)`, or a `PackedSequence`
          of sequences of several lengths.
        - State h, before and after: `(D * num_layers, N, hidden_size)`, or without N, where D is 2 if `bidirectional`
          and else 1. Zeros by default.
        - Output: `(L, N, D * hidden_size)`, or as for the input: h of the last layer at each step. The call returns it
          and the state after the last step.

    Raises:
        ValueError: sizes, `num_layers` or `dropout` are out of range; in the call, the input is of another dtype or
            number of dimensions.
        RuntimeError: in the call, sizes of the input or the state do not fit.

    Example:
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


def permute_batch(state: State, permutation: Tensor | None) -> State:
    """Return the state with its batch dimension permuted."""
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
