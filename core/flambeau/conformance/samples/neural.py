"""The functions of neural networks that ``torch`` itself has, with its order of arguments; dropout where nothing is random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .sample import FLOATS, NUMBERS, Sample, elementwise, find, given, index, positive, real

__all__ = ["SAMPLES"]

_WIDE = ("float64", "float32")


def _elu(np: Any, x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _standard(np: Any, x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def _channels(x: Any) -> Any:
    """Parameters of channels in the shape in which they broadcast."""
    return x[:, None, None]


def _of(
    name: str, call: Callable[..., Any], reference: Callable[..., Any], *inputs: Any, dtypes: Any = _WIDE, **fields: Any
) -> Sample:
    return Sample(name, lambda torch, *x: call(find(torch, name), *x), inputs, reference, dtypes, method=False, **fields)


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
        _IMAGE, real(4), real(4), given([0.1, -0.2, 0.3, 0.4]), given([1.0, 2.0, 0.5, 1.5]), grad=False),
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
        given([[2.0, 2, 2], [3, 1, 2], [2, -2, 1], [4, 0, 0], [1, 2, 3]]), given([0, 3, 3], "int64"), grad=False, vmap=False,
            atol=1e-5),
    _of("igamma", lambda f, a, x: f(a, x), lambda np, a, x: 1 - np.exp(-x), given([1.0, 1.0]), positive(2), grad=False),
    _of("igammac", lambda f, a, x: f(a, x), lambda np, a, x: np.exp(-x), given([1.0, 1.0]), positive(2), grad=False),
    _of("ctc_loss", lambda f, x, y: f(x.log_softmax(2), y, (1,), (1,)),
        lambda np, x, y: np.log(np.exp(x).sum(2))[0] - x[0, :, 1], real(1, 1, 3), given([[1]], "int64"), vmap=False, grad=False),
    *(_of(f"nn.functional.{name}", lambda f, x: f(x, scale_factor=2), lambda np, x: x.repeat(2, 2).repeat(2, 3), _IMAGE)
      for name in ("upsample", "upsample_nearest")),
    _of("nn.functional.upsample_bilinear", lambda f, x: f(x, scale_factor=2), lambda np, x: _between(np, _between(np, x, 2), 3),
        real(2, 3, 2, 2)),
]  # fmt: skip


def _between(np: Any, x: Any, axis: int) -> Any:
    """Two values along an axis made four, evenly spaced from the one to the other."""
    first, last = np.split(x, 2, axis)
    return np.concatenate([first + (last - first) * k / 3 for k in range(4)], axis)
