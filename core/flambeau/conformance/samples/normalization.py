"""Batch, layer, group, instance and root-mean-square norms."""

from __future__ import annotations

from typing import Any

from .sample import FLOATS, WIDE, Bad, Sample, fixed, positive, real, torch_function

__all__ = ["BAD", "SAMPLES", "bad_normalization", "layer_function"]


def _standard(np: Any, x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _channels(parameter: Any, ndim: int) -> Any:
    return parameter.reshape(1, -1, *(1,) * (ndim - 2))


def _batch(np: Any, x: Any, w: Any, b: Any) -> Any:
    axes = (0, *range(2, x.ndim))
    return _standard(np, x, axes) * _channels(w, x.ndim) + _channels(b, x.ndim)


def _groups(np: Any, x: Any, groups: int, w: Any, b: Any) -> Any:
    grouped = x.reshape(len(x), groups, -1)
    return _standard(np, grouped, (2,)).reshape(x.shape) * _channels(w, x.ndim) + _channels(b, x.ndim)


def _local_response(np: Any, x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    squares = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    mean = sum(squares[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (mean * alpha + k) ** beta


def layer_function(name: str, call: Any, reference: Any, *inputs: Any, **options: Any) -> Sample:
    options = {"dtypes": FLOATS, "atol": 2e-3 if "float16" in options.get("dtypes", FLOATS) else 0.0, **options}
    return Sample(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs, reference, **options)


_C3 = (real(3), real(3))


def bad_normalization(name: str, call: Any, *inputs: Any, error: str = "RuntimeError", values: bool = False) -> Bad:
    made_from = inputs or [real(1, 3, 4)]
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), made_from, error, values=values)


_IMAGE = real(2, 4, 3, 2)


SAMPLES = [
    layer_function("batch_norm", lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), _batch, real(5, 3), *_C3),
    layer_function("batch_norm", lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), _batch, real(2, 3, 4, 2),
        *_C3),
    layer_function("batch_norm", lambda F, x: F.batch_norm(x, None, None, training=True), lambda np, x: _standard(np, x, (0, 2)),
        real(2, 3, 4)),
    layer_function("batch_norm", lambda F, x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b),
        lambda np, x, m, v, w, b: (x - _channels(m, 3)) / np.sqrt(_channels(v, 3) + 1e-5) * _channels(w, 3) + _channels(b, 3),
        real(2, 3, 4), real(3), positive(3), *_C3, grad=False),
    layer_function("instance_norm", lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda np, x, w, b: _standard(np, x, (2, 3)) * _channels(w, 4) + _channels(b, 4), real(2, 3, 4, 2), *_C3),
    layer_function("instance_norm", lambda F, x: F.instance_norm(x), lambda np, x: _standard(np, x, (2,)), real(2, 3, 5)),
    layer_function("layer_norm", lambda F, x, w, b: F.layer_norm(x, (4,), w, b), lambda np, x, w, b: _standard(np, x,
        (2,)) * w + b,
        real(2, 3, 4), real(4),
        real(4)),
    layer_function("layer_norm", lambda F, x, w: F.layer_norm(x, (3, 4), w, eps=0.1), lambda np, x, w: _standard(np, x, (1, 2),
        0.1) * w,
        real(2, 3, 4),
        real(3, 4)),
    layer_function("layer_norm", lambda F, x: F.layer_norm(x, (4,)), lambda np, x: _standard(np, x, (1,)), real(0, 4)),
    layer_function("group_norm", lambda F, x, w, b: F.group_norm(x, 2, w, b), lambda np, x, w, b: _groups(np, x, 2, w, b),
        real(2, 4, 3, 2),
        real(4), real(4)),
    layer_function("group_norm", lambda F, x, w, b: F.group_norm(x, 1, w, b), lambda np, x, w, b: _groups(np, x, 1, w, b),
        real(3, 4),
        real(4), real(4)),
    layer_function("rms_norm", lambda F, x, w: F.rms_norm(x, (4,), w, eps=1e-3),
        lambda np, x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * w,
        real(2, 3, 4), real(4)),
    layer_function("local_response_norm", lambda F, x: F.local_response_norm(x, 3, 0.1, 0.5, 1.5),
        lambda np, x: _local_response(np, x, 3, 0.1, 0.5, 1.5),
        real(2, 5, 4), dtypes=WIDE),
    layer_function("local_response_norm", lambda F, x: F.local_response_norm(x, 2, 0.1),
        lambda np, x: _local_response(np, x.reshape(2, 3, 4), 2, 0.1, 0.75, 1.0).reshape(x.shape), real(2, 3, 2, 2),
        dtypes=WIDE),
    layer_function("normalize", lambda F, x: F.normalize(x), lambda np, x: x / np.sqrt((x * x).sum(1, keepdims=True)), real(3,
        4)),
    layer_function("normalize", lambda F, x: F.normalize(x, 3.0, 0), lambda np, x: x / (x**3).sum(0, keepdims=True) ** (1 / 3),
        positive(3, 4), dtypes=WIDE),
    torch_function("batch_norm", lambda f, x, w, b, m, v: f(x, w, b, m.detach(), v.detach(), False, 0.1, 1e-5, False),
        lambda np, x, w, b, m, v: (x - _channels(m, 4)) / np.sqrt(_channels(v, 4) + 1e-5) * _channels(w, 4) + _channels(b, 4),
        _IMAGE, real(4), real(4), fixed([0.1, -0.2, 0.3, 0.4]), fixed([1.0, 2.0, 0.5, 1.5]), grad=False),
    torch_function("batch_norm", lambda f, x: f(x, None, None, None, None, True, 0.1, 1e-5, False),
        lambda np, x: _standard(np, x, (0, 2, 3)), _IMAGE),
    torch_function("instance_norm", lambda f, x, w, b: f(x, w, b, None, None, True, 0.1, 1e-5, False),
        lambda np, x, w, b: _standard(np, x, (2, 3)) * _channels(w, 4) + _channels(b, 4), _IMAGE, real(4), real(4)),
    torch_function("group_norm", lambda f, x, w, b: f(x, 2, w, b),
        lambda np, x, w, b: _standard(np, x.reshape(2, 2, 12), (2,)).reshape(x.shape) * _channels(w, 4) + _channels(b, 4),
        _IMAGE, real(4), real(4)),
    torch_function("layer_norm", lambda f, x, w, b: f(x, (4,), w, b), lambda np, x, w, b: _standard(np, x, (1,)) * w + b, real(3,
        4),
        real(4), real(4)),
    torch_function("rms_norm", lambda f, x, w: f(x, (4,), w, 1e-3),
        lambda np, x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-3) * w, real(3, 4), real(4)),
]  # fmt: skip


BAD = [
    bad_normalization("batch_norm", lambda F, x: F.batch_norm(x, None, None)),
    bad_normalization("batch_norm", lambda F, x, w: F.batch_norm(x, None, None, w, training=True), real(2, 3, 4), real(4)),
    bad_normalization("batch_norm", lambda F, x: F.batch_norm(x, None, None, training=True), real(1, 3), error="ValueError"),
    bad_normalization("instance_norm", lambda F, x: F.instance_norm(x), real(2, 3, 1), error="ValueError"),
    bad_normalization("layer_norm", lambda F, x: F.layer_norm(x, (5,))),
    bad_normalization("layer_norm", lambda F, x, w: F.layer_norm(x, (4,), w), real(2, 4), real(3)),
    bad_normalization("group_norm", lambda F, x: F.group_norm(x, 2)),
    bad_normalization("rms_norm", lambda F, x: F.rms_norm(x, (3,))),
    bad_normalization("local_response_norm", lambda F, x: F.local_response_norm(x, 2), real(3, 4), error="ValueError"),
]  # fmt: skip
