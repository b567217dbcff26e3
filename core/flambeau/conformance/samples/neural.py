"""The neural network functions in the `torch` namespace, with its order of arguments; dropout without randomness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sample import FLOATS, NUMBERS, Sample, distinct, elementwise, find, fixed, index, positive, real, unit

__all__ = ["SAMPLES"]

_WIDE = ("float64", "float32")


def _elu(np: Any, x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _standard(np: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def _channels(x: Any) -> Any:
    """A parameter per channel, in a shape that broadcasts with images."""
    return x[:, None, None]


def _of(
    name: str, call: Callable[..., Any], reference: Callable[..., Any], *inputs: Any, dtypes: Any = _WIDE, **fields: Any
) -> Sample:
    return Sample(name, lambda torch, *x: call(find(torch, name), *x), inputs, reference, dtypes, method=False, **fields)


# --- recurrence ---------------------------------------------------------------------------------------------------


def _sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _gru(np: Any, x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    (r, z, n), (s, y, m) = np.split(x @ w.T + b, 3, -1), np.split(h @ u.T + c, 3, -1)
    z = _sigmoid(np, z + y)
    return (1 - z) * np.tanh(n + _sigmoid(np, r + s) * m) + z * h


def _lstm(np: Any, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, d: Any) -> tuple[Any, Any]:
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + d, 4, -1)
    c = _sigmoid(np, f) * c + _sigmoid(np, i) * np.tanh(g)
    return _sigmoid(np, o) * np.tanh(c), c


def _elman(np: Any, x: Any, h: Any, w: Any, u: Any, b: Any, c: Any) -> Any:
    return np.tanh(x @ w.T + b + h @ u.T + c)


def _over_time(step: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer from its step: returns all states and the last one."""

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
    """The weights for 3 features and a hidden state of size 2."""
    return [real(2 * gates, 3), real(2 * gates, 2), real(2 * gates), real(2 * gates)]


_LAYER = True, 1, 0.0, False, False, False  # biases, one layer, no dropout, not in training, one direction, time first


# --- windows, segments and vectors --------------------------------------------------------------------------------


def _halves(np: Any, x: Any) -> Any:
    """The maxima of each half of the 2 x 6 elements, and their positions."""
    halves = x.reshape(2, 3, 2, 3)
    return halves.max(-1), halves.argmax(-1) + np.array([0, 3])


def _segments(combine: Callable[..., Any], empty: float) -> Callable[..., Any]:
    return lambda np, x, n: np.stack([combine(np, x[0:2]), np.full(x.shape[1:], empty), combine(np, x[2:5])])


def _cosines(np: Any, x: Any, y: Any) -> Any:
    return (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))


_BAGS = [0, 0, 1, 1, 1]
_DROPOUTS = ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
_IMAGE = real(2, 4, 3, 2)

SAMPLES = [
    elementwise("selu", lambda np, x: 1.0507009873554805 * _elu(np, x, 1.6732632423543772), dtypes=FLOATS),
    elementwise("celu", lambda np, x: _elu(np, x, 1.0), dtypes=FLOATS),
    elementwise("rrelu", lambda np, x: np.where(x > 0, x, x * (1 / 8 + 1 / 3) / 2), dtypes=FLOATS),
    _of("threshold", lambda f, x: f(x, 0.5, -1.0), lambda np, x: np.where(x > 0.5, x, -1.0), real(3, 4), dtypes=FLOATS),
    _of("constant_pad_nd", lambda f, x: f(x, (1, 2, 0, -1), 7), lambda np, x: np.pad(x, ((0, 0), (1, 2)), constant_values=7)[:-1],
        real(3, 4), dtypes=NUMBERS),
    *(_of(name, lambda f, x: f(x, 0.0, True), lambda np, x: x, _IMAGE, dtypes=FLOATS) for name in _DROPOUTS),
    *(_of(name, lambda f, x: f(x, 0.7, False), lambda np, x: x, _IMAGE, dtypes=FLOATS) for name in _DROPOUTS),
    _of("batch_norm", lambda f, x, w, b, m, v: f(x, w, b, m.detach(), v.detach(), False, 0.1, 1e-5, False),
        lambda np, x, w, b, m, v: (x - _channels(m)) / np.sqrt(_channels(v) + 1e-5) * _channels(w) + _channels(b),
        _IMAGE, real(4), real(4), fixed([0.1, -0.2, 0.3, 0.4]), fixed([1.0, 2.0, 0.5, 1.5]), grad=False),
    _of("batch_norm", lambda f, x: f(x, None, None, None, None, True, 0.1, 1e-5, False),
        lambda np, x: _standard(np, x, (0, 2, 3)), _IMAGE),
    _of("instance_norm", lambda f, x, w, b: f(x, w, b, None, None, True, 0.1, 1e-5, False),
        lambda np, x, w, b: _standard(np, x, (2, 3)) * _channels(w) + _channels(b), _IMAGE, real(4), real(4)),
    _of("group_norm", lambda f, x, w, b: f(x, 2, w, b),
        lambda np, x, w, b: _standard(np, x.reshape(2, 2, 12), (2,)).reshape(x.shape) * _channels(w) + _channels(b),
        _IMAGE, real(4), real(4)),
    _of("layer_norm", lambda f, x, w, b: f(x, (4,), w, b), lambda np, x, w, b: _standard(np, x, (1,)) * w + b, real(3, 4),
        real(4), real(4)),
    _of("rms_norm", lambda f, x, w: f(x, (4,), w, 1e-3),
        lambda np, x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-3) * w, real(3, 4), real(4)),
    _of("embedding", lambda f, w, i: f(w, i), lambda np, w, i: w[i], real(5, 4), index(2, 3, high=5), dtypes=FLOATS),
    _of("embedding_renorm_", lambda f, w, i: f(w.clone(), i, 1.5, 2.0),
        lambda np, w, i: w * np.where(np.isin(np.arange(5), i), 1.5 / np.linalg.norm(w, axis=1), 1.0)[:, None],
        fixed([[2.0, 2, 2], [3, 1, 2], [2, -2, 1], [4, 0, 0], [1, 2, 3]]), fixed([0, 3, 3], "int64"), grad=False, vmap=False,
            atol=1e-5),
    _of("igamma", lambda f, a, x: f(a, x), lambda np, a, x: 1 - np.exp(-x), fixed([1.0, 1.0]), positive(2), grad=False),
    _of("igammac", lambda f, a, x: f(a, x), lambda np, a, x: np.exp(-x), fixed([1.0, 1.0]), positive(2), grad=False),
    _of("ctc_loss", lambda f, x, y: f(x.log_softmax(2), y, (1,), (1,)),
        lambda np, x, y: np.log(np.exp(x).sum(2))[0] - x[0, :, 1], real(1, 1, 3), fixed([[1]], "int64"), vmap=False, grad=False),
    _of("max_pool1d", lambda f, x: f(x, 2), lambda np, x: x.reshape(2, 3, 3, 2).max(-1), distinct(2, 3, 6), dtypes=FLOATS),
    _of("max_pool1d_with_indices", lambda f, x: f(x, (3,)), _halves, distinct(2, 3, 6), result=("same", "int64")),
    _of("max_pool2d", lambda f, x: f(x, 2, (1, 2)),
        lambda np, x: np.maximum(x[:, :, :-1], x[:, :, 1:]).reshape(2, 3, 3, 2, 2).max(-1), distinct(2, 3, 4, 4), dtypes=FLOATS),
    _of("max_pool3d", lambda f, x: f(x, 2), lambda np, x: x.max((2, 3, 4), keepdims=True), distinct(2, 3, 2, 2, 2)),
    _of("adaptive_max_pool1d", lambda f, x: f(x, 2), _halves, distinct(2, 3, 6), result=("same", "int64")),
    _of("convolution", lambda f, x, w, b: f(x, w, b, [1], [0], [1], False, [0], 1),
        lambda np, x, w, b: np.stack([(x[:, None, :, i : i + 2] * w).sum((2, 3)) + b for i in range(3)], -1), real(2, 3, 4),
        real(5, 3, 2), real(5)),
    _of("convolution", lambda f, x, w: f(x, w, None, [2], [0], [1], True, [0], 1),
        lambda np, x, w: np.einsum("nct,cok->notk", x, w).reshape(2, 5, 8), real(2, 3, 4), real(3, 5, 2)),
    _of("conv_tbc", lambda f, x, w, b: f(x, w, b, 0), lambda np, x, w, b: x[:-1] @ w[0] + x[1:] @ w[1] + b, real(4, 2, 3),
        real(2, 3, 5), real(5)),
    _of("binary_cross_entropy_with_logits", lambda f, x, y: f(x, y, None, None, 1),
        lambda np, x, y: -(y * np.log(_sigmoid(np, x)) + (1 - y) * np.log(1 - _sigmoid(np, x))).mean(), real(3, 4), unit(3, 4)),
    _of("embedding_bag", lambda f, w, i, o: f(w, i, o, False, 1), lambda np, w, i, o: (
        np.stack([w[i[:2]].mean(0), w[i[2:]].mean(0)]), np.array(_BAGS), np.array([2, 3]), np.array([2, 3])),
        real(5, 4), index(5, high=5), fixed([0, 2], "int64"), result=("same", "int64", "int64", "int64")),
    _of("embedding_bag", lambda f, w, i, o: f(w, i, o, False, 2), lambda np, w, i, o: (
        np.stack([w[i[:2]].max(0), w[i[2:]].max(0)]), np.array(_BAGS), np.array([2, 3]),
        np.stack([i[:2][w[i[:2]].argmax(0)], i[2:][w[i[2:]].argmax(0)]])),
        distinct(5, 4), fixed([0, 1, 2, 4, 3], "int64"), fixed([0, 2], "int64"), result=("same", "int64", "int64", "int64")),
    _of("norm_except_dim", lambda f, x: f(x, 2, 1), lambda np, x: np.sqrt((x * x).sum((0, 2), keepdims=True)), real(3, 4, 2)),
    _of("frobenius_norm", lambda f, x: f(x, (0, 2), True), lambda np, x: np.sqrt((x * x).sum((0, 2), keepdims=True)),
        real(3, 4, 2)),
    _of("nuclear_norm", lambda f, x: f(x), lambda np, x: np.linalg.norm(x, "nuc"), real(3, 4)),
    *(_of("segment_reduce", lambda f, x, n, how=how, start=start: f(x, how, lengths=n, initial=start),
          _segments(combine, start), distinct(5, 2), fixed([2, 0, 3], "int64")) for how, start, combine in (
        ("sum", 0.0, lambda np, x: x.sum(0)), ("prod", 1.0, lambda np, x: x.prod(0)), ("max", -9.0, lambda np, x: x.max(0)),
        ("min", 9.0, lambda np, x: x.min(0)), ("mean", 0.0, lambda np, x: x.mean(0)))),
    _of("kl_div", lambda f, x, y: f(x, y, 2), lambda np, x, y: (y * (np.log(y) - x)).sum(), real(3, 4), positive(3, 4)),
    _of("poisson_nll_loss", lambda f, x, y: f(x, y, True, False, 1e-8, 1), lambda np, x, y: (np.exp(x) - y * x).mean(),
        real(3, 4), positive(3, 4)),
    _of("hinge_embedding_loss", lambda f, x, y: f(x, y, 3.0), lambda np, x, y: np.where(y == 1, x, np.maximum(0, 3 - x)),
        real(4), fixed([1.0, -1, 1, -1])),
    _of("margin_ranking_loss", lambda f, x, y, z: f(x, y, z, 9.0, 1), lambda np, x, y, z: (9 - z * (x - y)).mean(),
        real(4), real(4), fixed([1.0, -1, 1, -1])),
    _of("cosine_embedding_loss", lambda f, x, y, z: f(x, y, z, -2.0),
        lambda np, x, y, z: np.where(z == 1, 1 - _cosines(np, x, y), 2 + _cosines(np, x, y)),
        real(4, 3), real(4, 3), fixed([1.0, -1, 1, -1])),
    _of("triplet_margin_loss", lambda f, a, p, n: f(a, p, n, 9.0), lambda np, a, p, n: (
        9 + np.sqrt(((a - p) ** 2).sum(1)) - np.sqrt(((a - n) ** 2).sum(1))), real(4, 3), real(4, 3), real(4, 3), atol=1e-4),
    _of("affine_grid_generator", lambda f, t: f(t, (1, 1, 2, 2), False), lambda np, t: np.array(
        [[[[-0.5, -0.5, 1], [0.5, -0.5, 1]], [[-0.5, 0.5, 1], [0.5, 0.5, 1]]]]) @ t[0].T, real(1, 2, 3)),
    *(_of(name, lambda f, x, g: f(x, g, 0, 0, True), lambda np, x, g: x.mean((2, 3), keepdims=True), real(1, 2, 2, 2),
          fixed([[[[0.0, 0.0]]]])) for name in ("grid_sampler", "grid_sampler_2d")),
    _of("grid_sampler_3d", lambda f, x, g: f(x, g, 0, 2, True), lambda np, x, g: x.mean((2, 3, 4), keepdims=True),
        real(1, 2, 2, 2, 2), fixed([[[[[0.0, 0.0, 0.0]]]]])),
    _of("gru_cell", lambda f, x, h, *w: f(x, h, *w), _gru, real(4, 3), real(4, 2), *_weights(3)),
    _of("rnn_tanh_cell", lambda f, x, h, *w: f(x, h, *w), _elman, real(4, 3), real(4, 2), *_weights(1)),
    _of("rnn_relu_cell", lambda f, x, h, *w: f(x, h, *w), lambda np, x, h, w, u, b, c: np.maximum(0, x @ w.T + b + h @ u.T + c),
        real(4, 3), real(4, 2), *_weights(1)),
    _of("lstm_cell", lambda f, x, h, c, *w: f(x, (h, c), *w), _lstm, real(4, 3), real(4, 2), real(4, 2), *_weights(4),
        result=("same", "same")),
    _of("gru", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(_gru), real(3, 4, 3), real(1, 4, 2), *_weights(3),
        result=("same", "same")),
    _of("rnn_tanh", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(_elman), real(3, 4, 3), real(1, 4, 2), *_weights(1),
        result=("same", "same")),
    _of("rnn_relu", lambda f, x, h, *w: f(x, h, w, *_LAYER), _over_time(
        lambda np, x, h, w, u, b, c: np.maximum(0, x @ w.T + b + h @ u.T + c)), real(3, 4, 3), real(1, 4, 2), *_weights(1),
        result=("same", "same")),
    _of("lstm", lambda f, x, h, c, *w: f(x, (h, c), w, *_LAYER), _lstm_over_time,
        real(3, 4, 3), real(1, 4, 2), real(1, 4, 2), *_weights(4), result=("same", "same", "same")),
    *(_of(f"nn.functional.{name}", lambda f, x: f(x, scale_factor=2), lambda np, x: x.repeat(2, 2).repeat(2, 3), _IMAGE)
      for name in ("upsample", "upsample_nearest")),
    _of("nn.functional.upsample_bilinear", lambda f, x: f(x, scale_factor=2), lambda np, x: _between(np, _between(np, x, 2), 3),
        real(2, 3, 2, 2)),
]  # fmt: skip


def _between(np: Any, x: Any, axis: int) -> Any:
    """Two values along an axis made four, evenly spaced from the one to the other."""
    first, last = np.split(x, 2, axis)
    return np.concatenate([first + (last - first) * k / 3 for k in range(4)], axis)
