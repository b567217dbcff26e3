"""Sample calls that each kernel supports, for tests and for `python -m flambeau_fast`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from flambeau_backends.numpy.packs import Generator
from flambeau_backends.numpy.packs import kernels as numpy_kernels

from .choice import FLOAT, KERNELS

__all__ = ["Call", "calls"]


class Call(NamedTuple):
    """A call of a kernel: its name and arguments. `in_place` is True if the kernel computes an in-place operation."""

    name: str
    args: tuple[Any, ...]
    in_place: bool = False
    options: dict[str, Any] = {}


class _Draw:
    """A generator of random arrays and shapes."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def normal(self, *shape: int) -> Any:
        return self.random.standard_normal(shape, FLOAT)

    def shape(self, least: int, ndim: int = 3) -> tuple[int, ...]:
        """Return a random shape whose number of elements is `least` or slightly greater."""
        other_sizes = [int(n) for n in self.random.integers(1, 20, ndim - 1)]
        return -(-least // prod(other_sizes)), *other_sizes


def calls(seed: int = 0) -> Iterator[Call]:
    """Yield calls of every kernel with random shapes."""
    draw = _Draw(seed)
    for family in (
        _elementwise,
        _in_place,
        _sums,
        _rows,
        _picking,
        _channels,
        _pooling,
        _matrices,
        _quantized,
        _embedding,
        _attention,
        _derivatives_of_samples,
        _recurrent,
        _convolutions,
    ):
        yield from family(draw)
    yield Call("fused_dropout", (draw.normal(*draw.shape(1 << 13)), 0.9, Generator(seed)))
    yield Call(
        "adam_step",
        tuple(np.abs(draw.normal(150, 150)) for _ in range(4)),
        options={"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "step": 3},
    )


def _elementwise(draw: _Draw) -> Iterator[Call]:
    shape = draw.shape(1 << 16)
    a, b = draw.normal(*shape), draw.normal(*shape)
    positive = np.abs(b) + FLOAT.type(0.5)
    for name in ("add", "sub", "mul", "relu_backward", "silu_backward", "gelu_backward", "gelu_tanh_backward"):
        yield Call(name, (a, b))
    for name in ("exp", "tanh", "sigmoid", "relu", "silu", "gelu", "gelu_tanh", "hardswish", "hardsigmoid"):
        yield Call(name, (4 * a,))
    yield Call("div", (a, positive))
    yield Call("sqrt", (positive,))
    yield Call("masked", (a, b > 0))
    yield Call("leaky_relu", (a, 0.1))
    yield Call("mse_loss", (a, b, "mean"))
    yield Call("mse_loss_backward", (draw.normal(), a, b, "mean"))
    rows = draw.normal(700, 5, 20)
    for name in ("add", "mul"):
        yield Call(name, (rows, draw.normal(20)))
        yield Call(name, (rows, draw.normal(5, 20)))


def _in_place(draw: _Draw) -> Iterator[Call]:
    shape = draw.shape(1 << 16)
    a, b, c = (draw.normal(*shape) for _ in range(3))
    scale = np.asarray(0.3, FLOAT)
    for args in ((a, b), (a, b, scale)):
        yield Call("add", args, in_place=True)
    yield Call("mul", (a, scale), in_place=True)
    yield Call("lerp", (a, b, scale), in_place=True)
    yield Call("addcmul", (a, b, c, scale), in_place=True)
    yield Call("addcdiv", (a, b, np.abs(c) + FLOAT.type(0.5), scale), in_place=True)


def _sums(draw: _Draw) -> Iterator[Call]:
    x = draw.normal(*draw.shape(1 << 16, 4)) + FLOAT.type(0.1)
    for dim in (None, (0, 2, 3), (-1,), (1, 2, 3), (0, 1, 2, 3), (0, 3), 3):
        for keepdim in (False, True):
            yield Call("sum", (x, dim, keepdim))


def _rows(draw: _Draw) -> Iterator[Call]:
    length = int(draw.random.integers(2, 300))
    rows, g_rows = (draw.normal(-(-(1 << 14) // length), length) for _ in range(2))
    cube = rows[None]
    for name in ("softmax", "log_softmax"):
        output = numpy_kernels.KERNELS[name](cube, 2)
        yield Call(name, (5 * cube, 2))
        yield Call(f"{name}_backward", (g_rows[None], output, -1))
    yield Call("log_sum_exp", (cube, -1))
    target = draw.random.integers(0, length, len(rows))
    sums = numpy_kernels.KERNELS["log_sum_exp"](rows, 1)
    for reduction, ignored in (("mean", -100), ("sum", 1), ("mean", 1), ("none", 0), ("none", -100)):
        g = draw.normal(*target.shape[: reduction == "none"])
        yield Call("cross_entropy", (rows, sums, target, None, reduction, ignored))
        yield Call("cross_entropy_backward", (g, rows, sums, target, None, reduction, ignored))
    weight, bias = draw.normal(length), draw.normal(length)
    yield Call("rms_norm_rows", (cube, weight, 1, 1e-5))
    yield Call("rms_norm_rows", (cube, None, 2, 1e-5))
    for parameters in ((weight, bias), (None, None), (weight, None), (None, bias)):
        workspace: dict[str, Any] = {}
        _forward("layer_norm", workspace, cube, *parameters, None, None, (2,), 1e-5)
        yield Call("layer_norm", (cube, *parameters, None, None, (2,), 1e-5, {}))
        yield Call("norm_backward", (g_rows[None], cube, *parameters, None, None, (2,), 1e-5, workspace))


def _picking(draw: _Draw) -> Iterator[Call]:
    x = draw.normal(*(int(n) for n in draw.random.integers((2, 3, 20), (9, 9, 90))))
    x.reshape(-1)[:: int(draw.random.integers(2, 9))] = 0.5  # equal elements: their order must be the same as in NumPy's kernels
    for largest in (True, False):
        for k in (1, 3, 20):
            yield Call("topk", (x, k, 2, largest))
    for dim, length in enumerate(x.shape):
        shape = [5 if d == dim else n for d, n in enumerate(x.shape)]
        yield Call("gather_along", (x, draw.random.integers(0, length, shape), dim))
    for dim, length in enumerate(x[0].shape):
        yield Call("gather_along", (x[0], draw.random.integers(0, length, (2, 2)), dim))
    for name in ("var", "std"):
        for dim, keepdim, correction in ((2, False, 1), ((-1,), True, 0), (None, False, 1.5), (None, True, 0)):
            yield Call(name, (x, dim, correction, keepdim))


def _forward(name: str, workspace: dict[str, Any], *args: Any) -> Any:
    """Run this pack's and NumPy's forward kernel, so that both save values for the backward in `workspace`."""
    output = KERNELS[name](*args, workspace)
    numpy_kernels.KERNELS[name](*args, workspace)
    return output


def _channels(draw: _Draw) -> Iterator[Call]:
    channels = int(draw.random.integers(1, 40))
    x, g = (draw.normal(-(-(1 << 14) // (channels * 35)), channels, 5, 7) for _ in range(2))
    weight, bias, mean, variance = (draw.normal(1, channels, 1, 1) for _ in range(4))
    variance = np.square(variance) + FLOAT.type(0.1)
    yield Call("moments", (x, (0, 2, 3)))
    for keepdim in (False, True):
        yield Call("mean", (x, (-1, 2), keepdim))
    for parameters in ((weight, bias), (None, None)):
        yield Call("batch_norm", (x, *parameters, mean, variance, (0, 2, 3), 1e-5, None))
        yield Call("fixed_norm", (x, *parameters, mean, variance, (), 1e-5, None))
        yield Call("norm_backward", (g, x, *parameters, mean, variance, (0, 2, 3), 1e-5, None))
        yield Call("fixed_norm_backward", (g, x, *parameters, mean, variance, 1e-5))
    for shape, weights in (((7, 3, 4, 13, 17), (3, 4, 1, 1)), ((7, 12, 13, 17), (12, 1, 1)), ((9, 5, 6, 70), (5, 6, 1))):
        x, g, weight, bias = (draw.normal(*sizes) for sizes in (shape, shape, weights, weights))
        dims = tuple(range(2 - len(shape), 0))
        for parameters in ((weight, bias), (None, None), (weight, None), (None, bias)):
            workspace: dict[str, Any] = {}
            _forward("group_norm", workspace, x, *parameters, None, None, dims, 1e-5)
            yield Call("group_norm", (x, *parameters, None, None, dims, 1e-5, {}))
            yield Call("norm_backward", (g, x, *parameters, None, None, dims, 1e-5, workspace))


def _pooling(draw: _Draw) -> Iterator[Call]:
    for window, stride, padding, odd in (
        ((2, 2), (2, 2), (0, 0), 0),
        ((2, 2), (2, 2), (0, 0), 1),
        ((3, 3), (2, 2), (1, 1), 0),
        ((3, 2), (1, 3), (1, 0), 1),
        ((5, 5), (3, 1), (2, 2), 0),
        ((1, 3), (1, 4), (0, 1), 1),
        ((2, 8), (1, 4), (1, 4), 1),
    ):
        height, width = (2 * int(n) + odd for n in draw.random.integers(5, 15, 2))
        x = draw.normal(-(-(1 << 15) // (4 * height * width)), 4, height, width)
        size = tuple((n + 2 * p - k) // s + 1 for n, k, s, p in zip((height, width), window, stride, padding, strict=True))
        geometry = (window, stride, padding, (1, 1), size)
        yield Call("max_pool2d", (x, *geometry))
        yield Call("max_pool_backward", (draw.normal(*x.shape[:2], *size), x, *geometry))
        for count_padding, divisor in ((True, None), (False, None), (True, 3)):
            options = (window, stride, padding, size, count_padding, divisor)
            yield Call("avg_pool2d_windows", (x, *options))
            yield Call("avg_pool_backward", (draw.normal(*x.shape[:2], *size), (height, width), *options))


def _matrices(draw: _Draw) -> Iterator[Call]:
    n, m, p, batch = (int(n) for n in draw.random.integers(48, 90, 4))
    for a in (draw.normal(n, m), draw.normal(m, n).T):
        for b in (draw.normal(m, p), draw.normal(p, m).T):
            yield Call("mm", (a, b))
    yield Call("bmm", (draw.normal(batch, n, m), draw.normal(batch, p, m).swapaxes(1, 2)))
    yield Call("linear", (draw.normal(p), draw.normal(3, n, m), draw.normal(p, m)))
    yield Call("linear", (draw.normal(2 * p), draw.normal(32, 8 * m), draw.normal(2 * p, 8 * m)))  # a wide weight: columns > rows
    yield Call("mm", (draw.normal(n, 1024), draw.normal(1024, p)))  # each row starts at a multiple of 4096 bytes
    yield Call("linear", (draw.normal(131), draw.normal(3, 16, 1024), draw.normal(131, 1024)))
    yield Call("addmm", (draw.normal(p), draw.normal(n, m), draw.normal(m, p)))
    for rows in (1, 3, 8):  # few rows: the weight is read in place
        yield Call("linear", (draw.normal(6 * p), draw.normal(rows, 16 * m + 3), draw.normal(6 * p, 16 * m + 3)))
        yield Call("mm", (draw.normal(16 * m, rows).T, draw.normal(6 * p + 1, 16 * m).T))
        yield Call("addmm", (draw.normal(2051), draw.normal(rows, 514), draw.normal(514, 2051)))


def _quantized(draw: _Draw) -> Iterator[Call]:
    rows, depth, outputs = (int(n) for n in draw.random.integers((1, 3, 64), (40, 9, 90)))
    a, weight = draw.normal(rows, 32 * depth), draw.random.integers(-128, 128, (outputs, 32 * depth), np.int8)
    yield Call("int8_linear", (a, weight, draw.normal(outputs)))
    packed = draw.random.integers(0, 256, (128, 16 * depth), np.uint8)
    yield Call("int4_linear", (a, packed, draw.normal(depth, 128, 2), 32))
    yield Call("int8_product", (weight[:rows], weight.T))


def _embedding(draw: _Draw) -> Iterator[Call]:
    length, width = (int(n) for n in draw.random.integers((60, 70), (90, 100)))
    yield Call("sum_rows", (draw.normal(3, length, width), draw.random.integers(0, 50, (3, length)), 50))


def _attention(draw: _Draw) -> Iterator[Call]:
    batch, heads, length, key_length, size = (int(n) for n in draw.random.integers((2, 4, 20, 9, 30), (5, 9, 40, 40, 70)))
    query, key = draw.normal(batch, heads, length, size), draw.normal(batch, heads, key_length, size)
    value, packed = draw.normal(batch, heads, key_length, 11), draw.normal(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
    seen = draw.normal(length, key_length) > 0
    for mask in (None, seen, np.where(seen, draw.normal(batch, 1, length, key_length), FLOAT.type(-np.inf))):
        for causal in (False, True):
            arrays = (query, key, value, mask, causal, 0.2)
            yield Call("attention", arrays)
            yield Call("attention_gradients", _gradients_of_attention(draw, *arrays))
    yield Call("attention", (*packed, None, False, 3.0))
    yield Call("attention_gradients", _gradients_of_attention(draw, *packed, None, True, 0.5))


def _gradients_of_attention(draw: _Draw, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    """Return the arguments of a call of `attention_gradients`."""
    workspace: dict[str, Any] = {}
    out = _forward("attention", workspace, query, key, value, mask, causal, scale)
    return draw.normal(*out.shape), query, key, value, mask, out, causal, scale, workspace


def _derivatives_of_samples(draw: _Draw) -> Iterator[Call]:
    for dtype in (FLOAT, np.dtype(np.float64)):
        shape = draw.shape(1 << 10)
        a, b = (np.exp(draw.random.uniform(-5, 8, shape)) for _ in range(2))
        x = np.maximum(draw.random.gamma(a), 1e-30)
        yield Call("standard_gamma_grad", (a.astype(dtype), x.astype(dtype)))
        yield Call("standard_gamma_grad", (a[0, 0].astype(dtype), np.exp(2 * draw.normal(*shape)).astype(dtype)))
        share = np.clip(draw.random.beta(a, b).astype(dtype), 1e-30, 1 - 2.0**-24)
        yield Call("dirichlet_grad", (share, a.astype(dtype), a.astype(dtype) + b.astype(dtype)))


def _recurrent(draw: _Draw) -> Iterator[Call]:
    some, few = (int(n) for n in draw.random.integers(16, 40, 2)), (int(draw.random.integers(1, 4)), 224)
    for batch, size in (tuple(some), few):
        gates, weight = draw.normal(20, batch, 4 * size), draw.normal(4 * size, size) / FLOAT.type(10)
        h, c = draw.normal(batch, size), draw.normal(batch, size)
        for reverse in (False, True):
            workspace: dict[str, Any] = {}
            outputs = _forward("lstm_layer", workspace, gates, h, c, weight, reverse)
            grads = [draw.normal(20, batch, size) for _ in range(2)]
            yield Call("lstm_layer", (gates, h, c, weight, reverse, {}))
            yield Call("lstm_layer", (gates, h, c, weight, reverse, None))
            yield Call("lstm_backward", (*grads, gates, h, c, weight, *outputs, reverse, workspace))


def _convolutions(draw: _Draw) -> Iterator[Call]:
    some, few, many = ((2, 16, 16), (5, 80, 80)), ((16, 8, 1), (70, 16, 40)), ((4, 128, 128), (6, 140, 140))
    middling = (3, 33, 33), (7, 90, 90)
    for kernel, stride, padding, space, sizes in (
        (3, 1, 1, (17, 22), some),
        (3, 1, 0, (19, 18), some),
        (3, 2, 1, (9, 12), some),
        (3, 2, 0, (26, 19), middling),
        (3, 2, 1, (16, 23), middling),
        (3, 2, 2, (17, 18), middling),
        (1, 1, 0, (8, 7), some),
        (1, 2, 0, (9, 9), some),
        (5, 1, 2, (9, 8), some),
        (5, 1, 0, (12, 9), few),
        (3, 1, 1, (7, 8), few),
        (3, 1, 1, (7, 5), many),
        (3, 1, 0, (8, 9), many),
    ):
        batch, inputs, outputs = (int(n) for n in draw.random.integers(*sizes))
        x, weight = draw.normal(batch, inputs, *space), draw.normal(outputs, inputs, kernel, kernel)
        size = tuple((n + 2 * padding - kernel) // stride + 1 for n in space)
        g, bias = draw.normal(batch, outputs, *size), draw.normal(outputs)
        geometry = ((stride, stride), (padding, padding), (1, 1), 1)
        yield Call("convolution", (x, weight, bias, *geometry, None))
        yield Call("convolution", (x, weight, None, *geometry, {}))
        yield Call("convolution_weight", (g, x, weight.shape, *geometry, None))
        yield Call("convolution_transposed", (g, weight, None, space, *geometry))
    for kernel, stride, padding, dilation, outputs in (
        ((3, 3), (1, 1), (1, 1), (1, 1), 6),
        ((5, 5), (2, 2), (2, 2), (1, 1), 6),
        ((3, 5), (2, 3), (0, 4), (2, 3), 18),  # several outputs for each channel
        ((1, 1), (1, 1), (3, 0), (1, 1), 6),
        ((2, 3), (3, 2), (1, 0), (1, 2), 6),
        ((7, 7), (2, 1), (3, 3), (1, 1), 6),
        ((7, 7), (1, 1), (3, 3), (1, 1), 6),
        ((3, 3), (2, 2), (20, 38), (1, 1), 12),
        ((5, 5), (1, 1), (0, 1), (1, 1), 12),
    ):  # depthwise
        space = tuple(int(n) for n in draw.random.integers(9, 40, 2) + np.multiply(dilation, kernel))
        weight = draw.normal(outputs, 1, *kernel)
        x, steps = draw.normal(2, 6, *space), (stride, padding, dilation)
        g = draw.normal(*numpy_kernels.KERNELS["convolution"](x, weight, None, *steps, 6, None).shape)
        yield Call("convolution", (x, weight, draw.normal(outputs), *steps, 6, None))
        yield Call("convolution_weight", (g, x, weight.shape, *steps, 6, None))
        if outputs == 6 and max(kernel) > 1:
            yield Call("convolution_transposed", (g, weight, draw.normal(6), space, *steps, 6))
    pixels, weight = draw.normal(5, 300, 1, 1), draw.normal(90, 300, 1, 1)
    yield Call("convolution", (pixels, weight, draw.normal(90), (1, 1), (0, 0), (1, 1), 1, None))
    g, weight, bias = draw.normal(3, 7, 6, 5), draw.normal(7, inputs % 20 + 1, 4, 3), draw.normal(inputs % 20 + 1)
    for padding in (0, 1):  # few channels, dilated windows
        space = 6 - 1 + 3 * 2 + 1 - 2 * padding, 5 - 1 + 2 * 2 + 1 - 2 * padding
        yield Call("convolution_transposed", (g, weight, bias, space, (1, 1), (padding, padding), (2, 2), 1))
