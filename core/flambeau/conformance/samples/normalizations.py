"""Normalization, distances, embedding, resampling."""

from __future__ import annotations

from typing import Any

from .sample import FLOATS, Bad, Sample, fixed, index, positive, real

__all__ = ["BAD", "SAMPLES"]


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


def _linear(np: Any, x: Any, size: int, align: bool) -> Any:
    """Linear interpolation along the last dimension."""
    length = x.shape[-1]
    centres = np.clip((np.arange(size) + 0.5) * length / size - 0.5, 0, length - 1)
    places = np.arange(size) * ((length - 1) / (size - 1)) if align else centres
    left = np.floor(places).astype(int)
    right = np.minimum(left + 1, length - 1)
    return x[..., left] * (1 - (places - left)) + x[..., right] * (places - left)


def _bilinear(np: Any, x: Any, height: int, width: int, align: bool) -> Any:
    return _linear(np, _linear(np, x, width, align).swapaxes(-1, -2), height, align).swapaxes(-1, -2)


def _local_response(np: Any, x: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    squares = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    mean = sum(squares[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (mean * alpha + k) ** beta


def _of(name: str, call: Any, reference: Any, *inputs: Any, **options: Any) -> Sample:
    options = {"dtypes": FLOATS, "atol": 2e-3 if "float16" in options.get("dtypes", FLOATS) else 0.0, **options}
    return Sample(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs, reference, **options)


_WIDE = ("float64", "float32")
_C3 = (real(3), real(3))

SAMPLES = [
    _of("batch_norm", lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), _batch, real(5, 3), *_C3),
    _of("batch_norm", lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), _batch, real(2, 3, 4, 2), *_C3),
    _of("batch_norm", lambda F, x: F.batch_norm(x, None, None, training=True), lambda np, x: _standard(np, x, (0, 2)),
        real(2, 3, 4)),
    _of("batch_norm", lambda F, x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b),
        lambda np, x, m, v, w, b: (x - _channels(m, 3)) / np.sqrt(_channels(v, 3) + 1e-5) * _channels(w, 3) + _channels(b, 3),
        real(2, 3, 4), real(3), positive(3), *_C3, grad=False),
    _of("instance_norm", lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda np, x, w, b: _standard(np, x, (2, 3)) * _channels(w, 4) + _channels(b, 4), real(2, 3, 4, 2), *_C3),
    _of("instance_norm", lambda F, x: F.instance_norm(x), lambda np, x: _standard(np, x, (2,)), real(2, 3, 5)),
    _of("layer_norm", lambda F, x, w, b: F.layer_norm(x, (4,), w, b), lambda np, x, w, b: _standard(np, x, (2,)) * w + b,
        real(2, 3, 4), real(4),
        real(4)),
    _of("layer_norm", lambda F, x, w: F.layer_norm(x, (3, 4), w, eps=0.1), lambda np, x, w: _standard(np, x, (1, 2), 0.1) * w,
        real(2, 3, 4),
        real(3, 4)),
    _of("layer_norm", lambda F, x: F.layer_norm(x, (4,)), lambda np, x: _standard(np, x, (1,)), real(0, 4)),
    _of("group_norm", lambda F, x, w, b: F.group_norm(x, 2, w, b), lambda np, x, w, b: _groups(np, x, 2, w, b), real(2, 4, 3, 2),
        real(4), real(4)),
    _of("group_norm", lambda F, x, w, b: F.group_norm(x, 1, w, b), lambda np, x, w, b: _groups(np, x, 1, w, b), real(3, 4),
        real(4), real(4)),
    _of("rms_norm", lambda F, x, w: F.rms_norm(x, (4,), w, eps=1e-3),
        lambda np, x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * w,
        real(2, 3, 4), real(4)),
    _of("local_response_norm", lambda F, x: F.local_response_norm(x, 3, 0.1, 0.5, 1.5),
        lambda np, x: _local_response(np, x, 3, 0.1, 0.5, 1.5),
        real(2, 5, 4), dtypes=_WIDE),
    _of("local_response_norm", lambda F, x: F.local_response_norm(x, 2, 0.1),
        lambda np, x: _local_response(np, x.reshape(2, 3, 4), 2, 0.1, 0.75, 1.0).reshape(x.shape), real(2, 3, 2, 2),
        dtypes=_WIDE),
    _of("normalize", lambda F, x: F.normalize(x), lambda np, x: x / np.sqrt((x * x).sum(1, keepdims=True)), real(3, 4)),
    _of("normalize", lambda F, x: F.normalize(x, 3.0, 0), lambda np, x: x / (x**3).sum(0, keepdims=True) ** (1 / 3),
        positive(3, 4), dtypes=_WIDE),
    _of("pairwise_distance", lambda F, x, y: F.pairwise_distance(x, y), lambda np, x, y: np.sqrt(((x - y + 1e-6) ** 2).sum(-1)),
        real(3, 4),
        real(3, 4)),
    _of("pairwise_distance", lambda F, x, y: F.pairwise_distance(x, y, 1.0, keepdim=True),
        lambda np, x, y: abs(x - y + 1e-6).sum(-1, keepdims=True),
        real(2, 3, 4), real(4)),
    _of("cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y),
        lambda np, x, y: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)), real(3, 4), real(1, 4)),
    _of("cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y, 0, 10.0), lambda np, x, y: (x * y).sum(0) / 100,
        real(3, 4), real(3, 4),
        grad=False),
    _of("pdist", lambda F, x: F.pdist(x), lambda np, x: np.sqrt(((x[:, None] - x) ** 2).sum(-1))[np.triu_indices(4, 1)],
        real(4, 3), dtypes=_WIDE),
    _of("pdist", lambda F, x: F.pdist(x, 1.0), lambda np, x: abs(x[:, None] - x).sum(-1)[np.triu_indices(4, 1)], real(4, 3),
        dtypes=_WIDE),
    _of("embedding", lambda F, i, w: F.embedding(i, w), lambda np, i, w: w[i], index(2, 3, high=5), real(5, 4)),
    _of("embedding", lambda F, i, w: F.embedding(i, w), lambda np, i, w: w[i], fixed([], "int64"), real(5, 4)),
    _of("embedding_bag", lambda F, i, w: F.embedding_bag(i, w), lambda np, i, w: w[i].mean(1), index(2, 3, high=5), real(5, 4)),
    _of("embedding_bag", lambda F, i, w: F.embedding_bag(i, w, mode="sum"), lambda np, i, w: w[i].sum(1), index(2, 3, high=5),
        real(5, 4)),
    _of("embedding_bag", lambda F, i, w, o: F.embedding_bag(i, w, o, mode="sum"),
        lambda np, i, w, o: np.stack([w[i[:2]].sum(0), w[:0].sum(0), w[i[2:]].sum(0)]), index(5, high=5), real(5, 4),
        fixed([0, 2, 2], "int64")),
    _of("embedding_bag", lambda F, i, w, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        lambda np, i, w, o, s: np.stack([s[:2] @ w[i[:2]], s[2:] @ w[i[2:]]]), index(5, high=5), real(5, 4),
        fixed([0, 2], "int64"), real(5)),
    _of("embedding_bag", lambda F, i, w, o: F.embedding_bag(i, w, o, mode="max"),
        lambda np, i, w, o: np.stack([w[i[:2]].max(0), w[i[2:]].max(0)]), fixed([0, 1, 2, 4, 3], "int64"), real(5, 4),
        fixed([0, 2], "int64")),
    _of("one_hot", lambda F, i: F.one_hot(i), lambda np, i: np.eye(4, dtype=int)[i], fixed([[0, 3], [1, 1]], "int64"),
        dtypes=("int64",), grad=False),
    _of("one_hot", lambda F, i: F.one_hot(i, 5), lambda np, i: np.eye(5, dtype=int)[i], fixed(2, "int64"), dtypes=("int64",),
        grad=False),
    _of("pixel_shuffle", lambda F, x: F.pixel_shuffle(x, 2),
        lambda np, x: x.reshape(2, 1, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 6, 4), real(2, 4, 3, 2)),
    _of("pixel_unshuffle", lambda F, x: F.pixel_unshuffle(x, 2),
        lambda np, x: x.reshape(2, 2, 2, 3, 2).transpose(0, 2, 4, 1, 3).reshape(8, 2, 3), real(2, 4, 6)),
    _of("channel_shuffle", lambda F, x: F.channel_shuffle(x, 2), lambda np, x: x[:, [0, 2, 1, 3]], real(2, 4, 3)),
    _of("interpolate", lambda F, x: F.interpolate(x, 5), lambda np, x: x[..., [0, 0, 1, 1, 2]], real(2, 2, 3)),
    _of("interpolate", lambda F, x: F.interpolate(x, scale_factor=2), lambda np, x: x.repeat(2, -1).repeat(2, -2),
        real(1, 2, 3, 2)),
    _of("interpolate", lambda F, x: F.interpolate(x, 2, mode="nearest-exact"), lambda np, x: x[..., [1, 4]], real(1, 2, 6)),
    _of("interpolate", lambda F, x: F.interpolate(x, 7, mode="linear"), lambda np, x: _linear(np, x, 7, False), real(1, 2, 4)),
    _of("interpolate", lambda F, x: F.interpolate(x, (5, 3), mode="bilinear"), lambda np, x: _bilinear(np, x, 5, 3, False),
        real(1, 2, 3, 4)),
    _of("interpolate", lambda F, x: F.interpolate(x, (5, 3), mode="bilinear", align_corners=True),
        lambda np, x: _bilinear(np, x, 5, 3, True),
        real(1, 2, 3, 4)),
    _of("interpolate", lambda F, x: F.interpolate(x, 2, mode="area"),
        lambda np, x: np.stack([x[..., :2].mean(-1), x[..., 1:].mean(-1)], -1),
        real(1, 2, 3)),
    _of("interpolate", lambda F, x: F.interpolate(x, (4, 4), mode="bicubic", align_corners=True), lambda np, x: x,
        real(1, 2, 4, 4)),
    _of("interpolate", lambda F, x: F.interpolate(x, (2, 2), mode="bilinear", antialias=True),
        lambda np, x: np.einsum("...hw,ih,jw->...ij", x, *[np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7] * 2), real(1, 2, 4, 4)),
    _of("interpolate", lambda F, x: F.interpolate(x, (3, 3, 3), mode="trilinear", align_corners=True),
        lambda np, x: _linear(np, _bilinear(np, x, 3, 3, True).swapaxes(2, 4), 3, True).swapaxes(2, 4), real(1, 1, 2, 2, 2)),
    _of("affine_grid", lambda F, t: F.affine_grid(t, (1, 1, 2, 2), align_corners=False),
        lambda np, t: np.array([[[[-0.5, -0.5, 1], [0.5, -0.5, 1]], [[-0.5, 0.5, 1], [0.5, 0.5, 1]]]]) @ t[0].T, real(1, 2, 3),
        dtypes=_WIDE),
    _of("grid_sample", lambda F, x, g: F.grid_sample(x, g, align_corners=True), lambda np, x, g: x.mean((2, 3), keepdims=True),
        real(1, 2, 2, 2),
        fixed([[[[0.0, 0.0]]]]), dtypes=_WIDE),
    _of("grid_sample", lambda F, x, g: F.grid_sample(x, g, mode="nearest", padding_mode="border", align_corners=True),
        lambda np, x, g: x[:, :, [[0, 1]], [[2, 0]]], real(1, 2, 2, 3), fixed([[[[3.0, -1.0], [-0.9, 0.8]]]]), dtypes=_WIDE,
        grad=False),
    _of("grid_sample", lambda F, x, g: F.grid_sample(x, g, padding_mode="zeros", align_corners=False), lambda np, x, g: x * 0,
        real(1, 2, 2, 3),
        fixed([[[[3.0, -1.0], [-2.5, 0.8], [2.5, 0]], [[9.0, 9.0], [-9.0, 9.0], [9.0, 0]]]]), dtypes=_WIDE, grad=False),
]  # fmt: skip


def _bad(name: str, call: Any, *inputs: Any, error: str = "RuntimeError", values: bool = False) -> Bad:
    made_from = inputs or [real(1, 3, 4)]
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), made_from, error, values=values)


BAD = [
    _bad("batch_norm", lambda F, x: F.batch_norm(x, None, None)),
    _bad("batch_norm", lambda F, x, w: F.batch_norm(x, None, None, w, training=True), real(2, 3, 4), real(4)),
    _bad("batch_norm", lambda F, x: F.batch_norm(x, None, None, training=True), real(1, 3), error="ValueError"),
    _bad("instance_norm", lambda F, x: F.instance_norm(x), real(2, 3, 1), error="ValueError"),
    _bad("layer_norm", lambda F, x: F.layer_norm(x, (5,))),
    _bad("layer_norm", lambda F, x, w: F.layer_norm(x, (4,), w), real(2, 4), real(3)),
    _bad("group_norm", lambda F, x: F.group_norm(x, 2)),
    _bad("rms_norm", lambda F, x: F.rms_norm(x, (3,))),
    _bad("local_response_norm", lambda F, x: F.local_response_norm(x, 2), real(3, 4), error="ValueError"),
    _bad("pdist", lambda F, x: F.pdist(x)),
    _bad("embedding", lambda F, i, w: F.embedding(i, w), fixed([5], "int64"), real(5, 2), error="IndexError", values=True),
    _bad("embedding", lambda F, i, w: F.embedding(i, w), fixed([-1], "int64"), real(5, 2), error="IndexError", values=True),
    _bad("embedding", lambda F, i, w: F.embedding(i, w), real(2), real(5, 2)),
    _bad("embedding", lambda F, i, w: F.embedding(i, w, padding_idx=7), fixed([1], "int64"), real(5, 2), error="AssertionError"),
    _bad("embedding_bag", lambda F, i, w: F.embedding_bag(i, w), fixed([1, 2], "int64"), real(5, 2), error="ValueError"),
    _bad("embedding_bag", lambda F, i, w: F.embedding_bag(i, w, mode="median"), fixed([[1, 2]], "int64"), real(5, 2),
         error="ValueError"),
    _bad("one_hot", lambda F, i: F.one_hot(i, 2), fixed([2], "int64")),
    _bad("one_hot", lambda F, i: F.one_hot(i), fixed([-1], "int64")),
    _bad("pixel_shuffle", lambda F, x: F.pixel_shuffle(x, 2), real(3, 2, 2)),
    _bad("channel_shuffle", lambda F, x: F.channel_shuffle(x, 2)),
    _bad("interpolate", lambda F, x: F.interpolate(x), error="ValueError"),
    _bad("interpolate", lambda F, x: F.interpolate(x, 2, mode="bilinear"), error="NotImplementedError"),
    _bad("interpolate", lambda F, x: F.interpolate(x, 2, mode="spline"), error="NotImplementedError"),
    _bad("interpolate", lambda F, x: F.interpolate(x, 2, align_corners=True), error="ValueError"),
    _bad("grid_sample", lambda F, x, g: F.grid_sample(x, g, mode="cubic"), real(1, 1, 2, 2), real(1, 1, 1, 2),
         error="ValueError"),
    _bad("grid_sample", lambda F, x, g: F.grid_sample(x, g, align_corners=False), real(1, 1, 2, 2), real(2, 1, 1, 2)),
    _bad("affine_grid", lambda F, t: F.affine_grid(t, (1, 1, 2, 2), align_corners=False), real(1, 3, 3), error="ValueError"),
]  # fmt: skip
