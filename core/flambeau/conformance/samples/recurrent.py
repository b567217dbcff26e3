"""Recurrent layers and cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .activation import sigmoid
from .sample import real, torch_function

__all__ = ["SAMPLES"]


def _gru(np: Any, x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    (r, z, n), (s, y, m) = np.split(x @ w.T + b, 3, -1), np.split(h @ u.T + c, 3, -1)
    z = sigmoid(np, z + y)
    return (1 - z) * np.tanh(n + sigmoid(np, r + s) * m) + z * h


def _lstm(np: Any, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, d: Any) -> tuple[Any, Any]:
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + d, 4, -1)
    c = sigmoid(np, f) * c + sigmoid(np, i) * np.tanh(g)
    return sigmoid(np, o) * np.tanh(c), c


def _elman(np: Any, x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    return np.tanh(x @ w.T + b + h @ u.T + c)


def _over_time(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a recurrent layer, given its step; the layer returns all states and the last state."""

    def run(np: Any, x: Any, h: Any, *weights: Any) -> Any:
        states = [h[0]]
        for x_t in x:
            states.append(step(np, x_t, states[-1], *weights))
        return np.stack(states[1:]), np.stack(states[-1:])

    return run


def _lstm_over_time(np: Any, x: Any, h: Any, c: Any, *weights: Any) -> Any:
    outputs, state = [], (h[0], c[0])
    for x_t in x:
        state = _lstm(np, x_t, *state, *weights)
        outputs.append(state[0])
    return np.stack(outputs), state[0][None], state[1][None]


def _weights(gates: int) -> list[Any]:
    """Return inputs for the weights of 3 features and a hidden state of size 2."""
    return [real(2 * gates, 3), real(2 * gates, 2), real(2 * gates), real(2 * gates)]


_LAYER = True, 1, 0.0, False, False, False  # has_biases, num_layers, dropout, train, bidirectional, batch_first


SAMPLES = [
    torch_function("gru_cell", lambda f, x, h, *w: f(x, h, *w), _gru, real(4, 3), real(4, 2), *_weights(3)),
    torch_function("rnn_tanh_cell", lambda f, x, h, *w: f(x, h, *w), _elman, real(4, 3), real(4, 2), *_weights(1)),
    torch_function("rnn_relu_cell", lambda f, x, h, *w: f(x, h, *w), lambda np, x, h, w, u, b, c: np.maximum(0,
        x @ w.T + b + h @ u.T + c),
        real(4, 3), real(4, 2), *_weights(1)),
    torch_function("lstm_cell", lambda f, x, h, c, *w: f(x, (h, c), *w), _lstm, real(4, 3), real(4, 2), real(4, 2), *_weights(4),
        result=("same", "same")),
    torch_function("gru", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(_gru), real(3, 4, 3), real(1, 4, 2), *_weights(3),
        result=("same", "same")),
    torch_function("rnn_tanh", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(_elman), real(3, 4, 3), real(1, 4, 2),
        *_weights(1),
        result=("same", "same")),
    torch_function("rnn_relu", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(
        lambda np, x, h, w, u, b, c: np.maximum(0, x @ w.T + b + h @ u.T + c)), real(3, 4, 3), real(1, 4, 2), *_weights(1),
        result=("same", "same")),
    torch_function("lstm", lambda f, x, h, c, *w: f(x, (h, c), w, *_LAYER), _lstm_over_time,
        real(3, 4, 3), real(1, 4, 2), real(1, 4, 2), *_weights(4), result=("same", "same", "same")),
]  # fmt: skip
