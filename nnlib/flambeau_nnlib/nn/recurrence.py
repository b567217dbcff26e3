"""The computation of recurrent layers and cells, and the functions of the namespace `torch` for both, such as `lstm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, as_float, as_int, declare, open_to_overrides, rename_node, require_flags
from flambeau.extension.functions import elman_layer, gru_layer, lstm_layer

from . import functional as F

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]

State = tuple[Tensor, ...]


class LayerWeights(NamedTuple):
    """The weights of one recurrent layer in one direction, with None for absent weights."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    weight_hr: Tensor | None  # the projection of an LSTM with `proj_size`


def in_mixed_precision(gates: Tensor, state: State) -> bool:
    """Whether CPU autocast computed `gates` in half precision, but the state has another dtype, usually float32."""
    return gates.dtype is not state[0].dtype and gates.device.type == "cpu"


def mixed_gru_step(gates: Tensor, h: Tensor, weights: LayerWeights) -> Tensor:
    """Compute one step of a GRU under autocast: matrix products in half precision, the state in float32."""
    reset_input, update_input, new_input = gates.chunk(3, -1)
    reset_state, update_state, new_state = F.linear(h, weights.weight_hh, weights.bias_hh).chunk(3, -1)
    update = (update_state + update_input).sigmoid()
    new = (new_input + new_state * (reset_state + reset_input).sigmoid()).tanh()
    return (h - new) * update + new


def mixed_gru_run(gates: Tensor, h: Tensor, weights: LayerWeights, reverse: bool) -> Tensor:
    """Compute all steps of a GRU under autocast (half-precision products) and return the output of every step."""
    outputs = []
    for step_gates in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
        h = mixed_gru_step(step_gates, h, weights)
        outputs.append(h)
    if reverse:
        outputs.reverse()
    return torch.stack(outputs)


def mixed_lstm_step(input: Tensor, state: State, weights: LayerWeights) -> State:
    """Compute one step of an LSTM cell under autocast: matrix products in half precision, the cell state in float32."""
    h, c = state
    gates = F.linear(input, weights.weight_ih, weights.bias_ih) + F.linear(h, weights.weight_hh, weights.bias_hh)
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def projected_lstm_step(gates: Tensor, state: State, weight_hh: Tensor, weight_hr: Tensor) -> State:
    """Compute one step of an LSTM with projection matrix P: c = f * c + i * g and h = P @ (o * tanh(c))."""
    h, c = state
    i, f, g, o = torch.addmm(gates, h, weight_hh.t()).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return (o.sigmoid() * c.tanh()) @ weight_hr.t(), c


GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def input_gates(mode: str, input: Tensor, weights: LayerWeights) -> Tensor:
    """Compute `W_ih @ input + b_ih` for all steps in one product; `b_hh` is also added, except for a GRU."""
    bias_ih, bias_hh = weights.bias_ih, weights.bias_hh
    if mode != "GRU" and bias_hh is not None:
        bias_ih = bias_hh if bias_ih is None else bias_ih + bias_hh
    return F.linear(input, weights.weight_ih, bias_ih)


def rnn_layer(
    mode: str,
    input: Tensor,
    state: State,
    weights: LayerWeights,
    batch_sizes: Sequence[int] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, State]:
    """Run one recurrent layer in one direction; return the output of every step and the final state.

    `input` is `(T, B, features)`, or packed `(sum(batch_sizes), features)`; `state` holds `(B, size)` tensors.
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
        if batch < before:  # sequences that have ended: keep their final state
            finished.append(tuple(part[batch:] for part in state))
            state = tuple(part[:batch] for part in state)
        elif batch > before:  # reverse direction: shorter sequences start here
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
    """Split packed steps into runs of equal batch size, each of shape `(steps, batch, features)`."""
    runs = [(sum(1 for _ in equal), batch) for batch, equal in groupby(batch_sizes)]
    parts = packed.split([steps * batch for steps, batch in runs])
    return [part.unflatten(0, run) for part, run in zip(parts, runs, strict=True)]


def rnn_run(mode: str, gates: Tensor, state: State, weights: LayerWeights, reverse: bool) -> tuple[Tensor, State]:
    """Run consecutive steps of the same batch size: `gates` is `(T, B, features)`, `state` holds `(B, size)` tensors."""
    last = 0 if reverse else -1
    if mode == "LSTM" and weights.weight_hr is not None:
        return projected_lstm_run(gates, state, weights.weight_hh, weights.weight_hr, reverse)
    if mode == "LSTM":
        h, c = state
        output, cells = lstm_layer(gates, h, c, weights.weight_hh, reverse)
        return output, (output[last], cells[last])
    (h,) = state
    if mode == "GRU" and in_mixed_precision(gates, state):
        output = mixed_gru_run(gates, h, weights, reverse)
    elif mode == "GRU":
        output = gru_layer(gates, h, weights.weight_hh, weights.bias_hh, reverse)
    else:
        output = elman_layer(gates, h, weights.weight_hh, mode == "RNN_RELU", reverse)
    return output, (output[last],)


def projected_lstm_run(gates: Tensor, state: State, weight_hh: Tensor, weight_hr: Tensor, reverse: bool) -> tuple[Tensor, State]:
    outputs = []
    for step_gates in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
        state = projected_lstm_step(step_gates, state, weight_hh, weight_hr)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return torch.stack(outputs), state


def rnn_layers(
    mode: str,
    input: Tensor,
    state: State,
    weights: Sequence[LayerWeights],
    directions: int,
    dropout: float,
    batch_sizes: Sequence[int] | None,
) -> tuple[Tensor, State]:
    """Run stacked recurrent layers; return the output of the last layer and the final states of all layers.

    `input` is `(T, B, features)` or packed, `state` holds `(layers * directions, B, size)`; `weights` has one item for
    each layer and direction.
    """
    finals: list[State] = []
    while len(finals) < len(weights):
        outputs = []
        for direction in range(directions):
            index = len(finals)
            initial = tuple(part[index] for part in state)
            output, final = rnn_layer(mode, input, initial, weights[index], batch_sizes, reverse=direction == 1)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
        if dropout and len(finals) < len(weights):
            input = F.dropout(input, dropout, True)
    return input, tuple(torch.stack(parts) for parts in zip(*finals, strict=True))


_NODES = {  # for each mode, the names that PyTorch gives to the autograd nodes of the next states
    "RNN_TANH": ("TanhBackward0",),
    "RNN_RELU": ("ReluBackward0",),
    "LSTM": ("MulBackward0", "AddBackward0"),
    "GRU": ("AddBackward0",),
}


def rnn_step(mode: str, input: Tensor, state: State, weights: LayerWeights) -> State:
    """Compute one step of a recurrent cell and return the next state."""
    gates = input_gates(mode, input, weights)
    if mode == "LSTM" and in_mixed_precision(gates, state):
        return mixed_lstm_step(input, state, weights)
    _, state = rnn_run(mode, gates.unsqueeze(0), state, weights, reverse=False)
    return tuple(rename_node(part, name) for part, name in zip(state, _NODES[mode], strict=True))


def check_step(input: Tensor, state: State, input_size: int, hidden_size: int) -> None:
    """Raise RuntimeError if the shape of `input` or `state` does not fit a cell of these sizes."""
    if input.size(1) != input_size:
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {input_size}")
    for number, part in enumerate(state):
        if part.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{number} batch size {part.size(0)}")
        if part.size(1) != hidden_size:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {part.size(1)}, expected {hidden_size}")


# --- layers, as functions of `torch` ------------------------------------------------------------------------------

_SETTINGS = ("hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
_PADDED, _PACKED = ("input", *_SETTINGS, "batch_first"), ("data", "batch_sizes", *_SETTINGS)


def _bind_arguments(name: str, args: Sequence[Any], kwargs: dict[str, Any], is_packed: bool) -> dict[str, Any]:
    """Return the arguments by name, according to the signature for padded or for packed input."""
    names = _PACKED if is_packed or kwargs.keys() & {"data", "batch_sizes"} else _PADDED
    arguments = dict(zip(names, args, strict=False)) | kwargs
    if arguments.keys() != set(names) or len(args) + len(kwargs) > len(names):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - it takes ({', '.join(_PADDED)}) or ({', '.join(_PACKED)})"
        )
    flags = ("has_biases", "train", "bidirectional", "batch_first")
    require_flags(name, **{flag: arguments[flag] for flag in flags if flag in arguments})
    arguments["num_layers"] = as_int(name, "num_layers", arguments["num_layers"])
    arguments["dropout"] = as_float(name, "dropout", arguments["dropout"])
    for key in ("params", "hx") if name == "lstm" else ("params",):
        if not isinstance(arguments[key], (tuple, list)):
            raise TypeError(f"{name}(): argument '{key}' must be tuple of Tensors, not {type(arguments[key]).__name__}")
    if name != "lstm" and not isinstance(arguments["hx"], Tensor):
        raise TypeError(f"{name}(): argument 'hx' must be Tensor, not {type(arguments['hx']).__name__}")
    if arguments["train"] and arguments["num_layers"] > 1 and not 0 <= arguments["dropout"] <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {arguments['dropout']}")
    return arguments


def _run(name: str, mode: str, arguments: dict[str, Any]) -> tuple[Tensor, ...]:
    state: State = tuple(arguments["hx"]) if mode == "LSTM" else (arguments["hx"],)
    if mode == "LSTM" and len(state) != 2:
        raise RuntimeError("lstm expects two hidden states")
    directions, batch_first = 1 + arguments["bidirectional"], arguments.get("batch_first", False)
    weights = _weights(mode, state, arguments["params"], arguments["has_biases"], arguments["num_layers"] * directions)
    dropout = arguments["dropout"] if arguments["train"] else 0.0
    if "data" in arguments:
        sizes = arguments["batch_sizes"].tolist()
        _check_state(name, state, len(weights), sizes[0])
        output, state = rnn_layers(mode, arguments["data"], state, weights, directions, dropout, sizes)
        return output, *state
    input = arguments["input"].transpose(0, 1) if batch_first else arguments["input"]
    if input.dim() != 3:
        raise RuntimeError(f"{name}(): input must have 3 dimensions, got {input.dim()}")
    if not input.size(0):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    _check_state(name, state, len(weights), input.size(1))
    output, state = rnn_layers(mode, input, state, weights, directions, dropout, None)
    return output.transpose(0, 1) if batch_first else output, *state


def _weights(mode: str, state: State, params: Sequence[Tensor], has_biases: bool, count: int) -> list[LayerWeights]:
    """Group a flat list of parameters into the weights of each layer and direction."""
    if count <= 0:
        raise RuntimeError("num_layers must be larger than 0")
    for param in params:
        if param.dim() not in (1, 2):
            raise RuntimeError(f"RNN parameters have 1 or 2 dimensions, but got one of shape {list(param.shape)}")
    is_projected = mode == "LSTM" and state[0].size(-1) != state[1].size(-1)
    per_layer = 2 + 2 * has_biases + is_projected
    if len(params) % per_layer or len(params) < per_layer * count:
        raise RuntimeError(f"got an incorrect number of RNN parameters: {len(params)} for {count} times {per_layer}")
    weights_by_layer = []
    for first in range(0, per_layer * count, per_layer):
        weights: list[Any] = list(params[first : first + per_layer])
        if not has_biases:
            weights[2:2] = [None, None]
        if not is_projected:
            weights.append(None)
        weights_by_layer.append(LayerWeights(*weights))
    return weights_by_layer


def _check_state(name: str, state: State, count: int, batch: int) -> None:
    for part in state:
        if part.dim() != 3 or part.size(0) < count or part.size(1) != batch:
            raise RuntimeError(f"{name}(): Expected hidden size ({count}, {batch}, *), got {list(part.size())}")


def _schemas(name: str, state: str, results: str) -> tuple[str, str]:
    """Return the operator schemas for padded and for packed sequences."""
    options = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
    return (
        f"{name}.input(Tensor input, {state} hx, {options}, bool batch_first) -> {results}",
        f"{name}.data(Tensor data, Tensor batch_sizes, {state} hx, {options}) -> {results}",
    )


@declare(kind=Kind.RECURRENT, random=True, schema=_schemas("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)"))
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Run stacked LSTM layers; return outputs, final hidden states and final cell states.

    Args:
        args, kwargs: `(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or for packed
            sequences `(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`. `hx` holds
            the initial hidden and cell states; `params` lists, for each layer and direction, the input weight, the hidden
            weight and their biases.
    """
    is_packed = len(args) > 1 and isinstance(args[1], Tensor)
    return _run("lstm", "LSTM", _bind_arguments("lstm", args, kwargs, is_packed))  # type: ignore[return-value]  # a tuple of three


def _make_single_state_function(name: str, mode: str, summary: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def function(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        is_packed = len(args) > 2 and isinstance(args[2], Tensor)
        return _run(name, mode, _bind_arguments(name, args, kwargs, is_packed))  # type: ignore[return-value]  # a tuple of two

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}: outputs and final hidden states.

    Args:
        args, kwargs: the arguments of `lstm`, except that `hx` is one tensor.
    """
    schemas = _schemas(name, "Tensor", "(Tensor, Tensor)")
    return declare(kind=Kind.RECURRENT, random=True, autocast={"cuda": Autocast.FAST}, schema=schemas)(function)


gru = _make_single_state_function("gru", "GRU", "Layers of gated recurrent units")
rnn_tanh = _make_single_state_function("rnn_tanh", "RNN_TANH", "Elman layers with tanh")
rnn_relu = _make_single_state_function("rnn_relu", "RNN_RELU", "Elman layers with ReLU")


# --- cells, as functions of `torch` -------------------------------------------------------------------------------


def _cell(mode: str, input: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> State:
    for bias in (b_ih, b_hh):
        if bias is not None and (bias.dim() > 1 or bias.dtype is not w_hh.dtype):
            raise RuntimeError(
                f"Expected biases of at most one dimension and of dtype {w_hh.dtype}, but got one of shape "
                f"{list(bias.shape)} and dtype {bias.dtype}"
            )
    check_step(input, state, w_ih.size(1), w_hh.size(1))
    bias_ih, bias_hh = (bias if bias is None or bias.dim() else bias.expand(w_hh.size(0)) for bias in (b_ih, b_hh))
    return rnn_step(mode, input, state, LayerWeights(w_ih, w_hh, bias_ih, bias_hh, None))


@declare(kind=Kind.RECURRENT, autocast={"cuda": Autocast.FAST})
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute one step of an LSTM: the next hidden and cell state from `hx`, the pair of current ones.

    Args:
        input: a tensor `(N, input_size)`.
        hx: the hidden state and the cell state, tensors `(N, size)`.
        w_ih, w_hh: the weights `(4 * size, input_size)` and `(4 * size, size)`, for the input, forget, cell and output gates in
            turn.
        b_ih, b_hh: the biases `(4 * size,)`; None for 0.

    >>> torch.lstm_cell(torch.ones(1, 2), (torch.ones(1, 1), torch.ones(1, 1)), torch.zeros(4, 2), torch.zeros(4, 1))[1]
    tensor([[0.5000]])
    """
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)  # type: ignore[return-value]  # a tuple of two


@declare(kind=Kind.RECURRENT, autocast={"cuda": Autocast.FAST})
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Compute one step of a gated recurrent unit: the next hidden state from the state `hx`.

    Args:
        input: a tensor `(N, input_size)`.
        hx: the hidden state, a tensor `(N, size)`.
        w_ih, w_hh: the weights `(3 * size, input_size)` and `(3 * size, size)`, for the reset, update and new gates in turn.
        b_ih, b_hh: the biases `(3 * size,)`; None for 0.

    >>> torch.gru_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(3, 2), torch.zeros(3, 1))
    tensor([[0.5000]])
    """
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@declare(kind=Kind.RECURRENT, autocast={"cuda": Autocast.FAST})
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Compute one step of an Elman network: `tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)` for each sample.

    Args:
        input: a tensor `(N, input_size)`.
        hx: the hidden state, a tensor `(N, size)`.
        w_ih, w_hh: the weights `(size, input_size)` and `(size, size)`.
        b_ih, b_hh: the biases `(size,)`; None for 0.

    >>> torch.rnn_tanh_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(1, 2), torch.zeros(1, 1))
    tensor([[0.]])
    """
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@declare(kind=Kind.RECURRENT, autocast={"cuda": Autocast.FAST})
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Compute one step of an Elman network with ReLU; see `rnn_tanh_cell`.

    Args:
        input: a tensor `(N, input_size)`.
        hx: the hidden state, a tensor `(N, size)`.
        w_ih, w_hh: the weights `(size, input_size)` and `(size, size)`.
        b_ih, b_hh: the biases `(size,)`; None for 0.

    >>> torch.rnn_relu_cell(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[3.]])
    """
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


open_to_overrides(globals(), __all__, native=__all__, module="flambeau")
