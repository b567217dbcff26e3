"""Recurrent cells, which compute one step of a recurrent layer."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from .. import init
from ..parameter import Parameter
from ..recurrence import LayerWeights, State, check_step, rnn_step
from .module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of all recurrent cells, with weights and biases for `num_chunks` gates.

    All parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether to learn biases, `bias_ih` and `bias_hh`.
        num_chunks: the number of gates; the first dimension of each parameter is `num_chunks * hidden_size`.
        device, dtype: device and dtype of the parameters.

    Example:
        >>> cell = torch.nn.GRUCell(10, 20)
        >>> isinstance(cell, torch.nn.RNNCellBase), cell.weight_ih.shape
        (True, torch.Size([60, 10]))
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")

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
            self.register_parameter(name, Parameter(torch.empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")

    def _step(self, mode: str, input: Tensor, state: State | None, state_names: tuple[str, ...]) -> State:
        """Compute the next state, from `input` and `state` with or without a batch dimension."""
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
        state = self._next_state(mode, input, state)
        return state if is_batched else tuple(part.squeeze(0) for part in state)

    def _next_state(self, mode: str, input: Tensor, state: State) -> State:
        return rnn_step(mode, input, state, LayerWeights(self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None))

    def _check_sizes(self, input: Tensor, state: State) -> None:
        check_step(input, state, self.input_size, self.hidden_size)


class RNNCell(RNNCellBase):
    """One step of an `RNN` of one layer: `h = tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)`, or relu.

    All parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether to learn biases, `bias_ih` and `bias_hh`.
        nonlinearity: "tanh" or "relu"; RuntimeError in the call for others.
        device, dtype: device and dtype of the parameters; `weight_ih` is `(hidden_size, input_size)`, `weight_hh`
            `(hidden_size, hidden_size)` and each bias `(hidden_size,)`.

    Shape:
        - Input: `(N, input_size)` or `(input_size,)`; ValueError for other numbers of dimensions.
        - State h, before and after: `(N, hidden_size)` or `(hidden_size,)`; zeros by default.

    Example:
        >>> cell, h = torch.nn.RNNCell(10, 20), None
        >>> for x in torch.randn(5, 3, 10):
        ...     h = cell(x, h)
        >>> h.shape
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
    """One step of an `LSTM` of one layer: from input and state `(h, c)` to the next state `(h, c)`.

    All parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether to learn biases, `bias_ih` and `bias_hh`.
        device, dtype: device and dtype of the parameters; `weight_ih` is `(4 * hidden_size, input_size)`, `weight_hh`
            `(4 * hidden_size, hidden_size)` and each bias `(4 * hidden_size,)`.

    Shape:
        - Input: `(N, input_size)` or `(input_size,)`; ValueError for other numbers of dimensions.
        - State h and c, before and after: a tuple of two `(N, hidden_size)` or `(hidden_size,)`; zeros by
          default.

    Example:
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
        h, c = self._step("LSTM", input, hx, ("hx[0]", "hx[1]"))
        return h, c

    def _check_sizes(self, input: Tensor, state: State) -> None:
        if isinstance(state, Tensor):
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        if len(state) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        super()._check_sizes(input, state)


class GRUCell(RNNCellBase):
    """One step of a `GRU` of one layer: from input and state h to the next h.

    All parameters are initialized from U(-k, k) with k = 1 / sqrt(hidden_size).

    Args:
        input_size: the number of features of the input.
        hidden_size: the number of features of the state.
        bias: whether to learn biases, `bias_ih` and `bias_hh`.
        device, dtype: device and dtype of the parameters; `weight_ih` is `(3 * hidden_size, input_size)`, `weight_hh`
            `(3 * hidden_size, hidden_size)` and each bias `(3 * hidden_size,)`.

    Shape:
        - Input: `(N, input_size)` or `(input_size,)`; ValueError for other numbers of dimensions.
        - State h, before and after: `(N, hidden_size)` or `(hidden_size,)`; zeros by default.

    Example:
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
