"""Pooling and unpooling."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .sample import FLOATS, WIDE, Bad, distinct, fixed, functional, positive, real, torch_function

__all__ = ["BAD", "SAMPLES", "bad_pooling"]

Windows = Sequence[Sequence[tuple[int, int]]]  # for each dimension, the start and end of each window


def _windows(space: Sequence[int], size: int, stride: int, padding: int = 0, dilation: int = 1, ceil: bool = False) -> Windows:
    """Return the start and end of each window in each dimension; positions outside of the input are padding."""
    windows = []
    for length in space:
        reach = dilation * (size - 1) + 1
        count = -(-(length + 2 * padding - reach) // stride) + 1 if ceil else (length + 2 * padding - reach) // stride + 1
        starts = [i * stride - padding for i in range(count)]
        windows.append([(start, start + reach) for start in starts if not ceil or start < length])
    return windows


def _shares(space: Sequence[int], sizes: Sequence[int]) -> Windows:
    """Return the windows of adaptive pooling, which divide each dimension into `size` parts."""
    return [[(i * n // size, -(-(i + 1) * n // size)) for i in range(size)] for n, size in zip(space, sizes, strict=True)]


def _pool(np: Any, x: Any, windows: Windows, combine: Any, dilation: int = 1) -> Any:
    """Call `combine(elements, flat_positions, bounds)` for every window."""
    n = len(windows)
    space = x.shape[x.ndim - n :]
    flat = np.arange(np.prod(space, dtype=int)).reshape(space)
    result = np.zeros((*x.shape[: x.ndim - n], *map(len, windows)))
    for place in itertools.product(*(range(len(bounds)) for bounds in windows)):
        bounds = [spans[i] for spans, i in zip(windows, place, strict=True)]
        indices = [[j for j in range(a, b, dilation) if 0 <= j < length] for (a, b), length in zip(bounds, space, strict=True)]
        inside = np.ix_(*indices)
        result[(..., *place)] = combine(x[(..., *inside)].reshape(*x.shape[: x.ndim - n], -1), flat[inside].reshape(-1), bounds)
    return result


def _largest(np: Any, x: Any, windows: Windows, dilation: int = 1) -> Any:
    return _pool(np, x, windows, lambda inside, *_: inside.max(-1), dilation)


def _where_largest(np: Any, x: Any, windows: Windows, dilation: int = 1) -> tuple[Any, Any]:
    return _largest(np, x, windows, dilation), _pool(np, x, windows, lambda inside, flat, _: flat[inside.argmax(-1)], dilation)


def _mean(np: Any, x: Any, windows: Windows, count: Any = None) -> Any:
    return _pool(
        np, x, windows, lambda inside, _, bounds: inside.sum(-1) / (inside.shape[-1] if count is None else count(bounds))
    )


def _norm(np: Any, x: Any, windows: Windows, p: float) -> Any:
    return _pool(np, x, windows, lambda inside, *_: (inside**p).sum(-1) ** (1 / p))


def _unpooled(np: Any, x: Any, indices: Any, size: Sequence[int]) -> Any:
    result = np.zeros((*x.shape[:2], np.prod(size)))
    np.put_along_axis(result, indices.reshape(*x.shape[:2], -1), x.reshape(*x.shape[:2], -1), 2)
    return result.reshape(*x.shape[:2], *size)


_BOTH = ("same", "int64")
_NAN = float("nan")


def bad_pooling(name: str, call: Any, *inputs: Any, error: str = "RuntimeError", dtype: str = "float32") -> Bad:
    return Bad(
        f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs or [real(1, 2, 4, 4)], error, dtype
    )


def _halves(np: Any, x: Any) -> Any:
    """Return the maxima of both halves of each row of `x`, of shape `(2, 6)`, and their positions in the row."""
    halves = x.reshape(2, 3, 2, 3)
    return halves.max(-1), halves.argmax(-1) + np.array([0, 3])


SAMPLES = [
    functional("max_pool1d", lambda F, x: F.max_pool1d(x, 2), lambda np, x: _largest(np, x, _windows((7,), 2, 2)), distinct(2, 3,
        7)),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 2), lambda np, x: _largest(np, x, _windows((4, 6), 2, 2)),
        distinct(2, 3, 4, 6)),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 2), lambda np, x: _largest(np, x, _windows((5, 7), 2, 2)), distinct(3,
        5, 7),
        dtypes=WIDE),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 3, 2, 1), lambda np, x: _largest(np, x, _windows((6, 7), 3, 2, 1)),
        distinct(2, 2, 6, 7),
        dtypes=WIDE),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        lambda np, x: _largest(np, x, _windows((6, 5), 3, 2, 1, ceil=True)),
        distinct(1, 2, 6, 5), dtypes=WIDE),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 2, 1, dilation=2),
        lambda np, x: _largest(np, x, _windows((5, 4), 2, 1, 0, 2), 2),
        distinct(1, 2, 5, 4), dtypes=WIDE),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        lambda np, x: _where_largest(np, x, _windows((6, 7), 3, 2, 1)), distinct(2, 2, 6, 7), dtypes=WIDE, result=_BOTH),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 2, return_indices=True),
        lambda np, x: (np.array([[[1.0]]]), np.array([[[1]]])),
        fixed([[[0.0, 1.0], [1.0, 1.0]]]), result=_BOTH, grad=False),
    functional("max_pool2d", lambda F, x: F.max_pool2d(x, 2), lambda np, x: np.array([[[_NAN, 1.0]]]),
        fixed([[[0.0, 3.0, 1.0, 0.0], [_NAN, 1.0, 0.0, 0.0]]]), grad=False),
    functional("max_pool3d", lambda F, x: F.max_pool3d(x, 2), lambda np, x: _largest(np, x, _windows((4, 5, 2), 2, 2)),
        distinct(2, 2, 4, 5, 2),
        dtypes=WIDE),
    functional("max_pool1d_with_indices", lambda F, x: F.max_pool1d_with_indices(x, 2),
        lambda np, x: _where_largest(np, x, _windows((7,), 2, 2)), distinct(2, 3, 7), result=_BOTH),
    functional("max_pool2d_with_indices", lambda F, x: F.max_pool2d_with_indices(x, 2),
        lambda np, x: _where_largest(np, x, _windows((4, 6), 2, 2)), distinct(2, 3, 4, 6), result=_BOTH),
    functional("max_pool3d_with_indices", lambda F, x: F.max_pool3d_with_indices(x, 2),
        lambda np, x: _where_largest(np, x, _windows((4, 2, 2), 2, 2)), distinct(1, 2, 4, 2, 2), result=_BOTH),
    functional("avg_pool1d", lambda F, x: F.avg_pool1d(x, 3, 2), lambda np, x: _mean(np, x, _windows((7,), 3, 2)), real(2, 3, 7)),
    functional("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2), lambda np, x: _mean(np, x, _windows((4, 6), 2, 2)), real(2, 3, 4,
        6)),
    functional("avg_pool2d", lambda F, x: F.avg_pool2d(x, 3, 2, 1), lambda np, x: _mean(np, x, _windows((5, 6), 3, 2, 1),
        lambda _: 9),
        real(2, 2, 5, 6)),
    functional("avg_pool2d", lambda F, x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda np, x: _mean(np, x, _windows((5, 6), 3, 2, 1)),
        real(2, 2, 5, 6)),
    functional("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2, ceil_mode=True),
        lambda np, x: _mean(np, x, _windows((5, 5), 2, 2, ceil=True)),
        real(2, 5, 5)),
    functional("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2, divisor_override=3),
        lambda np, x: _mean(np, x, _windows((4, 4), 2, 2), lambda _: 3),
        real(1, 2, 4, 4)),
    functional("avg_pool3d", lambda F, x: F.avg_pool3d(x, 2), lambda np, x: _mean(np, x, _windows((4, 3, 2), 2, 2)),
        real(1, 2, 4, 3, 2)),
    functional("adaptive_avg_pool1d", lambda F, x: F.adaptive_avg_pool1d(x, 3), lambda np, x: _mean(np, x, _shares((7,), (3,))),
        real(2, 3, 7)),
    functional("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, (3, None)),
        lambda np, x: _mean(np, x, _shares((5, 4), (3, 4))),
        real(2, 2, 5, 4)),
    functional("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, 1), lambda np, x: x.mean((-2, -1), keepdims=True),
        real(2, 2, 5, 4)),
    functional("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, 2), lambda np, x: _mean(np, x, _shares((4, 6), (2,
        2))),
        real(2, 4, 6)),
    functional("adaptive_avg_pool3d", lambda F, x: F.adaptive_avg_pool3d(x, 2),
        lambda np, x: _mean(np, x, _shares((3, 4, 5), (2, 2, 2))),
        real(1, 2, 3, 4, 5)),
    functional("adaptive_max_pool1d", lambda F, x: F.adaptive_max_pool1d(x, 3), lambda np, x: _largest(np, x, _shares((7,),
        (3,))),
        distinct(2, 3, 7)),
    functional("adaptive_max_pool2d", lambda F, x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True),
        lambda np, x: _where_largest(np, x, _shares((5, 4), (3, 2))), distinct(1, 2, 5, 4), dtypes=WIDE, result=_BOTH),
    functional("adaptive_max_pool1d_with_indices", lambda F, x: F.adaptive_max_pool1d_with_indices(x, 3),
        lambda np, x: _where_largest(np, x, _shares((7,), (3,))), distinct(2, 3, 7), dtypes=WIDE, result=_BOTH),
    functional("adaptive_max_pool2d_with_indices", lambda F, x: F.adaptive_max_pool2d_with_indices(x, 2),
        lambda np, x: _where_largest(np, x, _shares((5, 4), (2, 2))), distinct(2, 5, 4), dtypes=WIDE, result=_BOTH),
    functional("adaptive_max_pool3d_with_indices", lambda F, x: F.adaptive_max_pool3d_with_indices(x, 2),
        lambda np, x: _where_largest(np, x, _shares((3, 2, 4), (2, 2, 2))), distinct(1, 3, 2, 4), dtypes=WIDE, result=_BOTH),
    functional("adaptive_max_pool3d", lambda F, x: F.adaptive_max_pool3d(x, 2),
        lambda np, x: _largest(np, x, _shares((3, 4, 5), (2, 2, 2))),
        distinct(1, 1, 3, 4, 5), dtypes=WIDE),
    functional("lp_pool1d", lambda F, x: F.lp_pool1d(x, 3.0, 2), lambda np, x: _norm(np, x, _windows((6,), 2, 2), 3), positive(2,
        3, 6)),
    functional("lp_pool2d", lambda F, x: F.lp_pool2d(x, 2.0, 2, 1), lambda np, x: _norm(np, x, _windows((4, 3), 2, 1), 2),
        positive(2, 3, 4, 3)),
    functional("lp_pool2d", lambda F, x: F.lp_pool2d(x, float("inf"), 2), lambda np, x: _largest(np, abs(x), _windows((4, 4), 2,
        2)),
        distinct(1, 2, 4, 4),
        dtypes=WIDE),
    functional("lp_pool3d", lambda F, x: F.lp_pool3d(x, 2.0, 2), lambda np, x: _norm(np, x, _windows((2, 4, 2), 2, 2), 2),
        positive(1, 2, 2, 4, 2)),
    functional("max_unpool1d", lambda F, x, i: F.max_unpool1d(x, i, 2), lambda np, x, i: _unpooled(np, x, i, (6,)), real(1, 2, 3),
        fixed([[[0, 3, 5], [1, 2, 4]]], "int64")),
    functional("max_unpool2d", lambda F, x, i: F.max_unpool2d(x, i, 2, output_size=(4, 5)), lambda np, x, i: _unpooled(np, x, i,
        (4, 5)),
        real(1, 1, 2, 2), fixed([[[[1, 8], [15, 17]]]], "int64")),
    functional("max_unpool3d", lambda F, x, i: F.max_unpool3d(x, i, 2), lambda np, x, i: _unpooled(np, x, i, (2, 2, 4)),
        real(1, 1, 1, 1, 2),
        fixed([[[[[1, 10]]]]], "int64")),
    torch_function("max_pool1d", lambda f, x: f(x, 2), lambda np, x: x.reshape(2, 3, 3, 2).max(-1), distinct(2, 3, 6),
        dtypes=FLOATS),
    torch_function("max_pool1d_with_indices", lambda f, x: f(x, (3,)), _halves, distinct(2, 3, 6), result=("same", "int64")),
    torch_function("max_pool2d", lambda f, x: f(x, 2, (1, 2)),
        lambda np, x: np.maximum(x[:, :, :-1], x[:, :, 1:]).reshape(2, 3, 3, 2, 2).max(-1), distinct(2, 3, 4, 4), dtypes=FLOATS),
    torch_function("max_pool3d", lambda f, x: f(x, 2), lambda np, x: x.max((2, 3, 4), keepdims=True), distinct(2, 3, 2, 2, 2)),
    torch_function("adaptive_max_pool1d", lambda f, x: f(x, 2), _halves, distinct(2, 3, 6), result=("same", "int64")),
]  # fmt: skip


BAD = [
    bad_pooling("max_pool2d", lambda F, x: F.max_pool2d(x, 5)),
    bad_pooling("max_pool2d", lambda F, x: F.max_pool2d(x, 2, padding=2)),
    bad_pooling("max_pool2d", lambda F, x: F.max_pool2d(x, 2, stride=0)),
    bad_pooling("max_pool2d", lambda F, x: F.max_pool2d(x, (1, 2, 3))),
    bad_pooling("max_pool2d", lambda F, x: F.max_pool2d(x[0, 0], 2)),
    bad_pooling("max_pool1d", lambda F, x: F.max_pool1d(x, 2)),
    bad_pooling("avg_pool2d", lambda F, x: F.avg_pool2d(x, 5)),
    bad_pooling("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2, divisor_override=0)),
    bad_pooling("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, -1)),
    bad_pooling("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, (1, 2, 3))),
    bad_pooling("adaptive_max_pool2d", lambda F, x: F.adaptive_max_pool2d(x[0, 0], 2)),
    bad_pooling("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, 2), dtype="int64", error="NotImplementedError"),
    bad_pooling("fractional_max_pool2d", lambda F, x: F.fractional_max_pool2d(x, 2), error="ValueError"),
    bad_pooling("max_unpool2d", lambda F, x, i: F.max_unpool2d(x, i, 2, output_size=(9, 9)), real(1, 1, 2, 2),
         fixed([[[[0, 1], [2, 3]]]], "int64"),
         error="ValueError"),
    bad_pooling("max_unpool2d", lambda F, x, i: F.max_unpool2d(x, i, 2), real(1, 1, 2, 2), fixed([[[[0, 1], [2, 99]]]], "int64")),
]  # fmt: skip
