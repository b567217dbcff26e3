"""Activations, and the gates made of them."""

from __future__ import annotations

import math
from typing import Any

from .pointwise import float_elementwise
from .sample import FLOATS, REALS, Bad, Sample, elementwise, fixed, functional, positive, real, torch_function

__all__ = ["BAD", "SAMPLES", "bad_activation", "sigmoid"]


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(np: Any, x: Any, beta: float = 1.0) -> Any:
    return np.log1p(np.exp(beta * x)) / beta


def _elu(np: Any, x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _gelu(np: Any, x: Any) -> Any:
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), otypes=[float])(x)


def _gelu_tanh(np: Any, x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _of(name: str, reference: Any, **options: Any) -> Sample:
    return elementwise(f"nn.functional.{name}", reference, **options)


def bad_activation(name: str, call: Any, error: str, *inputs: Any, dtype: str = "float32") -> Bad:
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs or [real(3, 4)], error, dtype)


SAMPLES = [
    _of("relu", lambda np, x: np.maximum(x, 0), dtypes=REALS),
    _of("relu6", lambda np, x: np.clip(x, 0, 6)),
    _of("elu", lambda np, x: _elu(np, x)),
    _of("selu", lambda np, x: 1.0507009873554805 * _elu(np, x, 1.6732632423543772)),
    _of("celu", lambda np, x: _elu(np, x)),
    _of("leaky_relu", lambda np, x: np.where(x > 0, x, 0.01 * x)),
    _of("hardtanh", lambda np, x: np.clip(x, -1, 1)),
    _of("hardsigmoid", lambda np, x: np.clip(x / 6 + 0.5, 0, 1)),
    _of("hardswish", lambda np, x: x * np.clip(x + 3, 0, 6) / 6),
    _of("hardshrink", lambda np, x: np.where(np.abs(x) > 0.5, x, 0)),
    _of("softshrink", lambda np, x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    _of("silu", lambda np, x: x * sigmoid(np, x)),
    _of("mish", lambda np, x: x * np.tanh(_softplus(np, x))),
    _of("softplus", lambda np, x: _softplus(np, x)),
    _of("logsigmoid", lambda np, x: np.log(sigmoid(np, x))),
    _of("softsign", lambda np, x: x / (1 + np.abs(x)), dtypes=FLOATS),
    _of("tanhshrink", lambda np, x: x - np.tanh(x), atol=1e-3),
    _of("sigmoid", lambda np, x: sigmoid(np, x)),
    _of("tanh", lambda np, x: np.tanh(x)),
    _of("gelu", lambda np, x: _gelu(np, x)),
    functional("gelu", lambda F, x: F.gelu(x, approximate="tanh"), lambda np, x: _gelu_tanh(np, x)),
    functional("gelu", lambda F, x: F.gelu(x), lambda np, x: _gelu(np, x), fixed([-30.0, -4.0, 0.0, 3.9, 4.1, 30.0]), grad=False),
    functional("elu", lambda F, x: F.elu(x, 0.5), lambda np, x: _elu(np, x, 0.5)),
    functional("celu", lambda F, x: F.celu(x, 0.5), lambda np, x: np.where(x > 0, x, 0.5 * (np.exp(x / 0.5) - 1))),
    functional("leaky_relu", lambda F, x: F.leaky_relu(x, 0.3), lambda np, x: np.where(x > 0, x, 0.3 * x)),
    functional("leaky_relu", lambda F, x: F.leaky_relu(x, 1.5), lambda np, x: np.where(x > 0, x, 1.5 * x)),
    functional("hardtanh", lambda F, x: F.hardtanh(x, -0.5, 1.5), lambda np, x: np.clip(x, -0.5, 1.5)),
    functional("softplus", lambda F, x: F.softplus(x, beta=2.0, threshold=3.0),
          lambda np, x: np.where(2 * x > 3, x, _softplus(np, x, 2.0))),
    functional("threshold", lambda F, x: F.threshold(x, 0.1, 7.0), lambda np, x: np.where(x > 0.1, x, 7.0)),
    functional("hardshrink", lambda F, x: F.hardshrink(x, 1.0), lambda np, x: np.where(np.abs(x) > 1, x, 0)),
    functional("softshrink", lambda F, x: F.softshrink(x, 1.0), lambda np, x: np.sign(x) * np.maximum(np.abs(x) - 1, 0)),
    functional("prelu", lambda F, x, w: F.prelu(x, w), lambda np, x, w: np.where(x > 0, x, w * x), real(3, 4), positive(1)),
    functional("prelu", lambda F, x, w: F.prelu(x, w), lambda np, x, w: np.where(x > 0, x, w[:, None] * x), real(2, 3, 4),
        real(3)),
    functional("rrelu", lambda F, x: F.rrelu(x, 0.1, 0.3), lambda np, x: np.where(x > 0, x, 0.2 * x)),
    functional("relu_", lambda F, x: F.relu_(x * 1), lambda np, x: np.maximum(x, 0)),
    functional("elu_", lambda F, x: F.elu_(x * 1), lambda np, x: _elu(np, x)),
    functional("silu", lambda F, x: F.silu(x * 1, inplace=True), lambda np, x: x * sigmoid(np, x)),
    functional("hardtanh_", lambda F, x: F.hardtanh_(x * 1), lambda np, x: np.clip(x, -1, 1)),
    functional("glu", lambda F, x: F.glu(x), lambda np, x: x[:, :2] * sigmoid(np, x[:, 2:])),
    functional("glu", lambda F, x: F.glu(x, 0), lambda np, x: x[:1] * sigmoid(np, x[1:]), real(2, 3)),
    elementwise("selu", lambda np, x: 1.0507009873554805 * _elu(np, x, 1.6732632423543772), dtypes=FLOATS),
    elementwise("celu", lambda np, x: _elu(np, x, 1.0), dtypes=FLOATS),
    elementwise("rrelu", lambda np, x: np.where(x > 0, x, x * (1 / 8 + 1 / 3) / 2), dtypes=FLOATS),
    torch_function("threshold", lambda f, x: f(x, 0.5, -1.0), lambda np, x: np.where(x > 0.5, x, -1.0), real(3, 4),
        dtypes=FLOATS),
    float_elementwise("tanh", lambda np, x: np.tanh(x)),
    float_elementwise("sigmoid", lambda np, x: 1 / (1 + np.exp(-x))),
    elementwise("relu", lambda np, x: np.maximum(x, 0), dtypes=REALS),
]  # fmt: skip


BAD = [
    bad_activation("glu", lambda F, x: F.glu(x, 0), "RuntimeError"),
    bad_activation("hardtanh", lambda F, x: F.hardtanh(x, 2.0, 1.0), "ValueError"),
    bad_activation("softshrink", lambda F, x: F.softshrink(x, -1.0), "RuntimeError"),
    bad_activation("rrelu", lambda F, x: F.rrelu(x, 0.5, 0.1, True), "RuntimeError"),
    bad_activation("prelu", lambda F, x, w: F.prelu(x, w), "RuntimeError", real(2, 3), real(2)),
    bad_activation("gelu", lambda F, x: F.gelu(x, approximate="sigmoid"), "RuntimeError"),
    bad_activation("elu", lambda F, x: F.elu(x), "NotImplementedError", dtype="int64"),
]  # fmt: skip
