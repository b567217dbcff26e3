"""Resampling: enlarge or reduce images.

Each method resamples one dimension after the other.  Each output element is a weighted sum of a few input elements, whose
positions and weights are stored in `Taps`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.calls.facts import Kind, Order, declare
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import op
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.scalars import single
from .creation.from_shape import require_memory

__all__ = [
    "METHODS", "Taps", "resample", "resample_forward", "taps_of", "unit_for_bytes", "weighted_pixels",
    "weighted_pixels_forward",
]  # fmt: skip


Elements = tuple[list[list[int]], list[list[float]] | None]  # indices of input elements, and their weights


class Taps:
    """The input elements that each output element is interpolated from, and their weights; computed when they are first needed.

    A method that copies one input element to each output element has no `weights` (None).
    """

    method: str
    length: int
    size: int
    scale: float | None
    align_corners: bool
    fixed_point: bool

    def __init__(
        self, method: str, length: int, size: int, scale: float | None, align_corners: bool, fixed_point: bool = False
    ) -> None:
        self.method, self.length, self.size, self.scale = method, length, size, scale
        self.align_corners, self.fixed_point = align_corners, fixed_point

    @functools.cached_property
    def _elements(self) -> Elements:
        indices, weights = METHODS[self.method](self.length, self.size, self.scale, self.align_corners)
        return indices, _in_fixed_point(self.length, indices, weights) if self.fixed_point and weights else weights

    @property
    def indices(self) -> list[list[int]]:
        return self._elements[0]

    @property
    def weights(self) -> list[list[float]] | None:
        return self._elements[1]

    def matrix(self) -> list[list[float]]:
        """Return the weights as a matrix `(output length, input length)`."""
        return _matrix(self.length, self.indices, self.weights)


def _matrix(length: int, indices: list[list[int]], weights: list[list[float]] | None) -> list[list[float]]:
    rows = [[0.0] * length for _ in indices]
    for position, (row, places) in enumerate(zip(rows, indices, strict=True)):
        for tap, place in enumerate(places):
            row[place] += 1.0 if weights is None else weights[position][tap]
    return rows


# --- operation records --------------------------------------------------------------------------------------------


def resample_forward(xp: Any, input: Any, /, dim: int, taps: Taps) -> Any:
    indices = xp.asarray(taps.indices, dtype=xp.int64)
    if taps.weights is None:
        return xp.take(input, indices[:, 0], axis=dim)
    weights = xp.asarray(taps.weights, dtype=input.dtype)
    shape = tuple(-1 if d == dim else 1 for d in range(input.ndim))
    parts = (xp.take(input, indices[:, tap], axis=dim) * xp.reshape(weights[:, tap], shape) for tap in range(indices.shape[1]))
    return functools.reduce(lambda total, part: total + part, parts)


def _resample_backward_forward(xp: Any, input: Any, /, dim: int, taps: Taps) -> Any:
    matrix = xp.asarray(taps.matrix(), dtype=input.dtype)
    return xp.moveaxis(xp.matmul(xp.moveaxis(input, dim, -1), matrix), -1, dim)


def _record(name: str, promote: str, order: Order) -> Callable[..., Tensor]:
    return op(
        name,
        resample_forward,
        kind=Kind.RESAMPLING,
        order=order,
        promote=promote,
        dtypes="real numbers",
        public=False,
        method=False,
        out=False,
        input=lambda F, g, dim, taps: F.resample_backward(g, dim, taps),
    )


_resample, _copy_nearest = _record("resample", "accumulate", Order.IMAGE), _record("resample_nearest", "same", Order.IMAGE)
op(
    "resample_backward", _resample_backward_forward,
    kind=Kind.RESAMPLING, order=Order.ROW_MAJOR, promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, dim, taps: F.resample(g, dim, taps),
)  # fmt: skip


def _resample_bytes_forward(
    xp: Any, input: Any, /, sizes: Sequence[int], scales: Sequence[float | None], align_corners: bool, filter: str
) -> Any:
    output = xp.astype(input, xp.float64)
    for dim, size, scale in zip(range(input.ndim - 1, 0, -1), reversed(sizes), reversed(scales), strict=False):
        taps = taps_of(filter, input.shape[dim], size, scale, align_corners, fixed_point=True)
        output = xp.clip(xp.floor(resample_forward(xp, output, dim, taps) + 0.5), 0, 255)  # round to bytes after each dimension
    return xp.astype(output, xp.uint8)


_resample_bytes = op(
    "resample_bytes", _resample_bytes_forward,
    kind=Kind.RESAMPLING, promote="same", public=False, method=False, out=False,
)  # fmt: skip


# --- sampling at points -------------------------------------------------------------------------------------------


def weighted_pixels_forward(xp: Any, input: Any, weights: Any, index: Any, /) -> Any:
    shape, total = (*input.shape[:2], index.shape[2]), None
    for k in range(index.shape[1]):
        places = index[:, k : k + 1, :]
        inside = places >= 0
        places = xp.broadcast_to(xp.where(inside, places, xp.zeros_like(places)), shape)
        pixels = xp.take_along_axis(input, places, axis=2)
        part = xp.where(inside, pixels, xp.zeros_like(pixels)) * weights[:, k : k + 1, :]
        total = part if total is None else total + part
    return total


def _neighbour(F: Any, array: Any, k: int) -> Any:
    return F.getitem_slice(array, (slice(None), slice(k, k + 1)))


def _pixel_gradient(F: Any, g: Any, weights: Any, index: Any, input_shape: Any) -> Any:
    """Return the gradient of each pixel.  An extra entry, dropped at the end, collects samples outside the image."""
    batch, channels, count = input_shape
    total = F.zeros_of(g, (batch, channels, count + 1))
    for k in range(index.shape[1]):
        places = _neighbour(F, index, k)
        places = F.masked(places - count, places >= 0) + count
        total = F.scatter_add_along(total, g * _neighbour(F, weights, k), F.expand(places, tuple(g.shape)), 2)
    return F.getitem_slice(total, (slice(None), slice(None), slice(0, count)))


def _weight_gradient(F: Any, g: Any, input: Any, index: Any) -> Any:
    parts = []
    for k in range(index.shape[1]):
        places = _neighbour(F, index, k)
        inside = places >= 0
        pixels = F.gather_along(input, F.expand(F.masked(places, inside), tuple(g.shape)), 2)
        parts.append(F.masked(F.sum(g * pixels, (1,), True), inside))
    return F.cat(parts, 1)


# For images `(N, C, pixels)`, `weighted_pixels` sums `weights * pixels[index]` over the neighbours of each point.  `index` and
# `weights` have the shape `(N, neighbours, points)`.  A negative index is outside the image, where pixels are 0.
weighted_pixels = op(
    "weighted_pixels", weighted_pixels_forward,
    kind=Kind.RESAMPLING, promote="accumulate", keeps_dtype=("index",), public=False, method=False,
    out=False,
    input=_pixel_gradient,
    weights=_weight_gradient,
)  # fmt: skip


# --- methods: functions that return the indices and weights of `Taps` -----------------------------------------------


def _nearest(length: int, size: int, scale: float | None, align_corners: bool) -> Elements:
    ratio = single(1.0 / scale) if scale else single(single(length) / size)
    return [[min(int(single(i * ratio)), length - 1)] for i in range(size)], None


def _nearest_exact(length: int, size: int, scale: float | None, align_corners: bool) -> Elements:
    ratio = single(1.0 / scale) if scale else single(single(length) / size)
    places = [max(single(ratio * (i + 0.5) - 0.5), 0.0) for i in range(size)]
    return [[min(int(single(place + 0.5)), length - 1)] for place in places], None


def _ratio(length: int, size: int, scale: float | None, align_corners: bool) -> float:
    """Return the distance between neighbouring elements of the result, in units of input elements."""
    if align_corners:
        return (length - 1) / (size - 1) if size > 1 else 0.0
    return 1.0 / scale if scale else length / size


def _source(i: int, ratio: float, align_corners: bool) -> float:
    return i * ratio if align_corners else (i + 0.5) * ratio - 0.5


def _linear(length: int, size: int, scale: float | None, align_corners: bool) -> Elements:
    ratio = _ratio(length, size, scale, align_corners)
    indices, weights = [], []
    for i in range(size):
        place = max(_source(i, ratio, align_corners), 0.0)
        left = min(int(place), length - 1)
        share = min(place - left, 1.0)
        indices.append([left, min(left + 1, length - 1)])
        weights.append([1 - share, share])
    return indices, weights


def cubic_filter(x: float, a: float) -> float:
    """Return the cubic convolution filter at `x` (Keys 1981, "Cubic convolution interpolation for digital image processing")."""
    x = abs(x)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _cubic(length: int, size: int, scale: float | None, align_corners: bool) -> Elements:
    ratio = _ratio(length, size, scale, align_corners)
    indices, weights = [], []
    for i in range(size):
        place = _source(i, ratio, align_corners)
        left = math.floor(place)
        indices.append([min(max(left + k, 0), length - 1) for k in (-1, 0, 1, 2)])
        weights.append([cubic_filter(place - left - k, -0.75) for k in (-1, 0, 1, 2)])
    return indices, weights


def _triangle(x: float) -> float:
    return max(1 - abs(x), 0.0)


def _lanczos(x: float) -> float:
    def sinc(y: float) -> float:
        return math.sin(math.pi * y) / (math.pi * y) if y else 1.0

    return sinc(x) * sinc(x / 3) if -3 <= x < 3 else 0.0


def _antialiased(filter: Callable[[float], float], reach: float) -> Callable[..., Elements]:
    """Return a function for `METHODS` that widens `filter` when it reduces the size, so that every input element contributes."""

    def elements(length: int, size: int, scale: float | None, align_corners: bool) -> Elements:
        ratio = _ratio(length, size, scale, align_corners)
        stretch = max(ratio, 1.0)
        rows = []
        for i in range(size):
            center = ratio * (i + 0.5)
            first = max(int(center - reach * stretch + 0.5), 0)
            last = min(int(center + reach * stretch + 0.5), length)
            weights = [filter((j - center + 0.5) / stretch) for j in range(first, last)]
            total = sum(weights) or 1.0
            rows.append((first, [weight / total for weight in weights]))
        longest = max((len(weights) for _, weights in rows), default=1)
        indices = [[min(first + k, length - 1) for k in range(longest)] for first, _ in rows]
        return indices, [weights + [0.0] * (longest - len(weights)) for _, weights in rows]

    return elements


METHODS: dict[str, Callable[..., Elements]] = {
    "nearest": _nearest, "nearest-exact": _nearest_exact, "linear": _linear, "cubic": _cubic,
    "linear antialias": _antialiased(_triangle, 1), "cubic antialias": _antialiased(lambda x: cubic_filter(x, -0.5), 2),
    "lanczos antialias": _antialiased(_lanczos, 3),
}  # fmt: skip


taps_of = functools.lru_cache(256)(Taps)


def unit_for_bytes(largest: float) -> int:
    """Return the largest power of 2, at most `2**22`, whose product with the largest weight fits in a signed 16-bit integer."""
    return 1 << next((digits for digits in range(22) if int(largest * 2 ** (digits + 1) + 0.5) >= 2**15), 22)


def _in_fixed_point(length: int, indices: list[list[int]], weights: list[list[float]]) -> list[list[float]]:
    """Round the weights to multiples of `1 / unit_for_bytes`, as PyTorch does for images of bytes."""
    rows = _matrix(length, indices, weights)
    unit = unit_for_bytes(max(map(max, rows), default=0.0))
    return [
        [
            math.copysign(int(abs(row[place]) * unit + 0.5) / unit, row[place]) * (place not in places[:tap])
            for tap, place in enumerate(places)
        ]
        for row, places in zip(rows, indices, strict=True)
    ]


@declare(kind=Kind.RESAMPLING, order=Order.IMAGE)
def resample(input: Tensor, sizes: Sequence[int], scales: Sequence[float | None], method: str, align_corners: bool) -> Tensor:
    """Resample the dimensions after the first two to `sizes` by one of `METHODS`."""
    require_memory(input, (*input.shape[:2], *sizes))
    exact = method.startswith("nearest")
    if not exact and input.dtype is dtypes.uint8:
        return _resample_bytes(input, sizes, scales, align_corners, method)
    resized = input
    for offset, (size, scale) in enumerate(zip(reversed(sizes), reversed(scales), strict=True), 1):
        dim = input.ndim - offset
        taps = taps_of(method, input.shape[dim], size, scale, align_corners)
        resized = (_copy_nearest if exact else _resample)(resized, dim, taps)
    name = _NAMES[method.split()[0]][len(sizes)] + ("Aa" if method.endswith("antialias") else "")
    return merge_nodes(resized, f"Upsample{name}Backward0", (input,))


_NAMES = {  # method: {number of spatial dimensions: its name in PyTorch's autograd nodes}
    "nearest": {n: f"Nearest{n}D" for n in (1, 2, 3)}, "nearest-exact": {n: f"NearestExact{n}D" for n in (1, 2, 3)},
    "linear": {1: "Linear1D", 2: "Bilinear2D", 3: "Trilinear3D"}, "cubic": {2: "Bicubic2D"}, "lanczos": {2: "Lanczos2D"},
}  # fmt: skip
