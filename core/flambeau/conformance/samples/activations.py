"""Activations, softmax, and the gates made of them."""

from __future__ import annotations

import math
from typing import Any

from .sample import FLOATS, REALS, Bad, Sample, elementwise, fixed, mask, positive, real

__all__ = ["BAD", "SAMPLES"]


def _sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(np: Any, x: Any, beta: float = 1.0) -> Any:
    return np.log1p(np.exp(beta * x)) / beta


def _elu(np: Any, x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _gelu(np: Any, x: Any) -> Any:
    return x * np.vectorize(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), otypes=[float])(x)


def _gelu_tanh(np: Any, x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _softmax(np: Any, x: Any, axis: int) -> Any:
    exps = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return exps / exps.sum(axis, keepdims=True)


_ON_BOTH_SIDES = fixed([[-3.1, -0.6, 0.1], [0.6, 2.2, 9.0]])


def _by_channel(torch: Any, x: Any) -> Any:
    scale, zero_point = (torch.full((2,), value, device=x.device) for value in (0.25, 2.0))
    return torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -4, 11)


def _fake_quantized(np: Any, x: Any) -> Any:
    return (np.clip(np.rint(x / 0.25) + 2, -4, 11) - 2) * 0.25


def _of(name: str, reference: Any, **options: Any) -> Sample:
    return elementwise(f"nn.functional.{name}", reference, **options)


def _with(name: str, call: Any, reference: Any, *inputs: Any, **options: Any) -> Sample:
    return Sample(
        f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs or [real(3, 4)], reference, **options
    )


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
    _of("silu", lambda np, x: x * _sigmoid(np, x)),
    _of("mish", lambda np, x: x * np.tanh(_softplus(np, x))),
    _of("softplus", lambda np, x: _softplus(np, x)),
    _of("logsigmoid", lambda np, x: np.log(_sigmoid(np, x))),
    _of("softsign", lambda np, x: x / (1 + np.abs(x)), dtypes=FLOATS),
    _of("tanhshrink", lambda np, x: x - np.tanh(x), atol=1e-3),
    _of("sigmoid", lambda np, x: _sigmoid(np, x)),
    _of("tanh", lambda np, x: np.tanh(x)),
    _of("gelu", lambda np, x: _gelu(np, x)),
    _with("gelu", lambda F, x: F.gelu(x, approximate="tanh"), lambda np, x: _gelu_tanh(np, x)),
    _with("gelu", lambda F, x: F.gelu(x), lambda np, x: _gelu(np, x), fixed([-30.0, -4.0, 0.0, 3.9, 4.1, 30.0]), grad=False),
    _with("elu", lambda F, x: F.elu(x, 0.5), lambda np, x: _elu(np, x, 0.5)),
    _with("celu", lambda F, x: F.celu(x, 0.5), lambda np, x: np.where(x > 0, x, 0.5 * (np.exp(x / 0.5) - 1))),
    _with("leaky_relu", lambda F, x: F.leaky_relu(x, 0.3), lambda np, x: np.where(x > 0, x, 0.3 * x)),
    _with("leaky_relu", lambda F, x: F.leaky_relu(x, 1.5), lambda np, x: np.where(x > 0, x, 1.5 * x)),
    _with("hardtanh", lambda F, x: F.hardtanh(x, -0.5, 1.5), lambda np, x: np.clip(x, -0.5, 1.5)),
    _with("softplus", lambda F, x: F.softplus(x, beta=2.0, threshold=3.0),
          lambda np, x: np.where(2 * x > 3, x, _softplus(np, x, 2.0))),
    Sample("fake_quantize_per_tensor_affine", lambda torch, x: torch.fake_quantize_per_tensor_affine(x, 0.25, 2, -4, 11),
           [_ON_BOTH_SIDES], _fake_quantized, grad=False),
    Sample("fake_quantize_per_channel_affine", _by_channel, [_ON_BOTH_SIDES], _fake_quantized, grad=False),
    _with("threshold", lambda F, x: F.threshold(x, 0.1, 7.0), lambda np, x: np.where(x > 0.1, x, 7.0)),
    _with("hardshrink", lambda F, x: F.hardshrink(x, 1.0), lambda np, x: np.where(np.abs(x) > 1, x, 0)),
    _with("softshrink", lambda F, x: F.softshrink(x, 1.0), lambda np, x: np.sign(x) * np.maximum(np.abs(x) - 1, 0)),
    _with("prelu", lambda F, x, w: F.prelu(x, w), lambda np, x, w: np.where(x > 0, x, w * x), real(3, 4), positive(1)),
    _with("prelu", lambda F, x, w: F.prelu(x, w), lambda np, x, w: np.where(x > 0, x, w[:, None] * x), real(2, 3, 4), real(3)),
    _with("rrelu", lambda F, x: F.rrelu(x, 0.1, 0.3), lambda np, x: np.where(x > 0, x, 0.2 * x)),
    _with("relu_", lambda F, x: F.relu_(x * 1), lambda np, x: np.maximum(x, 0)),
    _with("elu_", lambda F, x: F.elu_(x * 1), lambda np, x: _elu(np, x)),
    _with("silu", lambda F, x: F.silu(x * 1, inplace=True), lambda np, x: x * _sigmoid(np, x)),
    _with("hardtanh_", lambda F, x: F.hardtanh_(x * 1), lambda np, x: np.clip(x, -1, 1)),
    _with("glu", lambda F, x: F.glu(x), lambda np, x: x[:, :2] * _sigmoid(np, x[:, 2:])),
    _with("glu", lambda F, x: F.glu(x, 0), lambda np, x: x[:1] * _sigmoid(np, x[1:]), real(2, 3)),
    _with("softmax", lambda F, x: F.softmax(x, 1), lambda np, x: _softmax(np, x, 1)),
    _with("softmax", lambda F, x: F.softmax(x, 0), lambda np, x: _softmax(np, x, 0), real(3, 4, 2)),
    _with("softmax", lambda F, x: F.softmax(x, -1), lambda np, x: _softmax(np, x, -1), real(0, 3)),
    _with("softmax", lambda F, x: F.softmax(x, 0), lambda np, x: np.ones_like(x), real()),
    _with("softmax", lambda F, x: F.softmax(x, 1), lambda np, x: _softmax(np, x, 1),
          fixed([[1000.0, 0, -1000.0], [-900.0, -901.0, -950.0]]),
          dtypes=("float64", "float32"), grad=False),
    _with("softmin", lambda F, x: F.softmin(x, 1), lambda np, x: _softmax(np, -x, 1)),
    _with("log_softmax", lambda F, x: F.log_softmax(x, 1), lambda np, x: np.log(_softmax(np, x, 1)), real(3, 4, 2)),
    _with("log_softmax", lambda F, x: F.log_softmax(x, -1), lambda np, x: np.log(_softmax(np, x, -1))),
    _with("log_softmax", lambda F, x: F.log_softmax(x, 0, dtype=None), lambda np, x: np.log(_softmax(np, x, 0))),
    _with("log_softmax", lambda F, x: F.log_softmax(x, 1), lambda np, x: x - x.max(1, keepdims=True) - np.log(1 + np.exp(-1.0)),
          fixed([[1000.0, 999.0], [-5000.0, -5001.0]]), dtypes=("float64", "float32"), grad=False),
    _with("dropout", lambda F, x: F.dropout(x, 0.5, training=False), lambda np, x: x),
    _with("dropout", lambda F, x: F.dropout(x, 1.0), lambda np, x: x * 0),
    _with("alpha_dropout", lambda F, x: F.alpha_dropout(x, 0.0, training=True), lambda np, x: x),
    _with("feature_alpha_dropout", lambda F, x: F.feature_alpha_dropout(x, 0.4), lambda np, x: x),
    _with("dropout1d", lambda F, x: F.dropout1d(x, 0.0), lambda np, x: x),
    _with("dropout2d", lambda F, x: F.dropout2d(x, 1.0), lambda np, x: x * 0, real(2, 3, 2, 2)),
    _with("dropout3d", lambda F, x: F.dropout3d(x, 0.3, training=False), lambda np, x: x, real(2, 3, 2, 2)),
    _with("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
          lambda np, q, k, v: _softmax(np, q @ k.swapaxes(-1, -2) / 2, -1) @ v, real(2, 3, 4), real(2, 5, 4), real(2, 5, 3)),
    _with("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
          lambda np, q, k, v: _softmax(np, np.where(np.tri(3, 4) > 0, q @ k.T * 0.3, -np.inf), -1) @ v, real(3, 2), real(4, 2),
          real(4, 5)),
    _with("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
          lambda np, q, k, v, m: _softmax(np, q @ k.swapaxes(-1, -2) / np.sqrt(2) + m, -1) @ v, real(2, 3, 2), real(2, 4, 2),
          real(2, 4, 5),
          real(3, 4)),
    _with("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
          lambda np, q, k, v, m: np.where(m.any(-1, keepdims=True), np.nan_to_num(
              _softmax(np, np.where(m, q @ k.T / np.sqrt(2), -1e300), -1)) @ v, 0), real(3, 2), real(4, 2), real(4, 5),
              mask(3, 4)),
    _with("scaled_dot_product_attention", lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
          lambda np, q, k, v, m: _softmax(np, np.where(m, q @ k.swapaxes(-1, -2) / 2, -1e300), -1) @ v, real(2, 3, 2, 4),
          real(2, 3, 5, 4), real(2, 3, 5, 4), fixed([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]], "bool")),
    _with("scaled_dot_product_attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
          lambda np, q, k, v: _softmax(np, np.where(np.tri(3, 5) > 0, q @ k.swapaxes(-1, -2) / 2, -1e300), -1) @ v,
          real(2, 3, 3, 4), real(2, 3, 5, 4), real(2, 3, 5, 4)),
]  # fmt: skip


def _bad(name: str, call: Any, error: str, *inputs: Any, dtype: str = "float32") -> Bad:
    return Bad(f"nn.functional.{name}", lambda torch, *x: call(torch.nn.functional, *x), inputs or [real(3, 4)], error, dtype)


BAD = [
    _bad("dropout", lambda F, x: F.dropout(x, 1.5), "ValueError"),
    _bad("softmax", lambda F, x: F.softmax(x, 2), "IndexError"),
    _bad("softmax", lambda F, x: F.softmax(x, 0), "NotImplementedError", dtype="int64"),
    _bad("log_softmax", lambda F, x: F.log_softmax(x, -3), "IndexError"),
    _bad("glu", lambda F, x: F.glu(x, 0), "RuntimeError"),
    _bad("hardtanh", lambda F, x: F.hardtanh(x, 2.0, 1.0), "ValueError"),
    _bad("softshrink", lambda F, x: F.softshrink(x, -1.0), "RuntimeError"),
    _bad("rrelu", lambda F, x: F.rrelu(x, 0.5, 0.1, True), "RuntimeError"),
    _bad("prelu", lambda F, x, w: F.prelu(x, w), "RuntimeError", real(2, 3), real(2)),
    _bad("gelu", lambda F, x: F.gelu(x, approximate="sigmoid"), "RuntimeError"),
    _bad("elu", lambda F, x: F.elu(x), "NotImplementedError", dtype="int64"),
    _bad("dropout1d", lambda F, x: F.dropout1d(x), "RuntimeError", real(3)),
    _bad("scaled_dot_product_attention", lambda F, x: F.scaled_dot_product_attention(x[0], x, x), "RuntimeError"),
]
