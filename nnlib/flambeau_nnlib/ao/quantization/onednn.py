"""Operators of `torch.ops.onednn`: linear layers with quantized inputs and weights, followed by pointwise functions.

Sums of products are exact; the results are rounded once, except for the functions that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.nn import functional as F

__all__ = ["LIBRARY"]

_INPUTS = "Tensor qx, {kind} x_scale, {zero} x_zero_point, Tensor qw, Tensor w_scale, Tensor w_zero_point"
_OUTPUT = "float output_scale, int output_zero_point, ScalarType? output_dtype"
_BINARY = "float other_scale, int other_zp, str binary_post_op, float binary_alpha"
_POST_OPS: dict[str, Callable[..., Tensor]] = {
    "none": lambda y, algorithm: y,
    "relu": lambda y, algorithm: F.relu(y),
    "leaky_relu": lambda y, algorithm, slope: F.leaky_relu(y, slope),
    "gelu": lambda y, algorithm: F.gelu(y, approximate=algorithm or "none"),
    "hardtanh": lambda y, algorithm, low, high: F.hardtanh(y, low, high),
    "hardswish": lambda y, algorithm: F.hardswish(y),
    "swish": lambda y, algorithm: F.silu(y),
    "tanh": lambda y, algorithm: y.tanh(),
}


def qlinear_prepack(weight: Tensor, x_shape: Sequence[int] | None) -> Tensor:
    """Return the transpose of an int8 weight of shape `(N, K)`, for `qlinear_pointwise`.

    Args:
        weight: the weight.
        x_shape: the shape of the input, which is not used.
    """
    return weight.t().contiguous()


def _product(qx: Tensor, x_scale: Any, x_zero_point: Any, qw: Tensor, w_scale: Tensor, w_zero_point: Tensor) -> Tensor:
    """Return the product of the input and the weight in float32."""
    product = (qx.double() - x_zero_point) @ (qw.double() - w_zero_point)  # exact
    scaled: Tensor = product * x_scale * w_scale
    return scaled.float()


def _finish(y: Tensor, scale: float, zero_point: int, dtype: torch.dtype | None, name: str, args: Any, algorithm: str) -> Tensor:
    """Apply a pointwise function and convert the result to a dtype; integers are quantized."""
    if name not in _POST_OPS:
        raise RuntimeError(f"onednn qlinear: unsupported unary post op {name}")
    y = _POST_OPS[name](y, algorithm, *args)
    if dtype is None or dtype in (torch.uint8, torch.int8):
        dtype = dtype or torch.uint8
        limits = torch.iinfo(dtype)
        y = (torch.round(y / scale) + zero_point).clamp(limits.min, limits.max)
    return y.to(dtype)


def qlinear_pointwise(*args: Any) -> Tensor:
    """Return `post_op(x @ weight.T + bias)`, where `x = (qx - x_zero_point) * x_scale`, and alike for the weight.

    Args:
        args: those of `torch.ops.onednn.qlinear_pointwise`: the input and the packed weight with their scales and zero points;
            the bias; scale, zero point and dtype of the output, which are used if the dtype is uint8 or int8; and the name,
            arguments and algorithm of the pointwise function.

    Raises:
        RuntimeError: the pointwise function is unknown.
    """
    *inputs, bias, scale, zero_point, dtype, name, post_args, algorithm = args
    y = _product(*inputs)
    return _finish(y if bias is None else y + bias, scale, zero_point, dtype, name, post_args, algorithm)


def qlinear_pointwise_binary(*args: Any) -> Tensor:
    """Return `post_op(x @ weight.T + bias + other)`; `sum` writes it to `other`. See `qlinear_pointwise`.

    Args:
        args: those of `torch.ops.onednn.qlinear_pointwise.binary`.

    Raises:
        RuntimeError: a function is unknown, or `binary_alpha` is not 1.
    """
    *inputs, other, bias, scale, zero_point, dtype, other_scale, other_zero_point = args[:13]
    binary, alpha, name, post_args, algorithm = args[13:]
    if binary not in ("add", "sum"):
        raise RuntimeError(f"onednn qlinear: unsupported binary post op {binary}")
    if alpha != 1:
        raise RuntimeError("onednn qlinear: alpha != 1 for binary post op is not yet supported.")
    y = _product(*inputs)
    y = y if bias is None else y + bias
    y = y + (other.float() - other_zero_point) * other_scale
    y = _finish(y, scale, zero_point, dtype, name, post_args, algorithm)
    return other.copy_(y) if binary == "sum" else y


LIBRARY = torch.library.Library("onednn", "DEF")
LIBRARY.define("qlinear_prepack(Tensor weight, int[]? x_shape) -> Tensor")
LIBRARY.impl("qlinear_prepack", qlinear_prepack, "CompositeExplicitAutograd")
for _overload, _kind, _zero in (("", "float", "int"), ("tensor", "Tensor", "Tensor")):
    _given = _INPUTS.format(kind=_kind, zero=_zero)
    _last = "str post_op_name, Scalar?[] post_op_args, str post_op_algorithm"
    _last_unary = "str unary_post_op, Scalar?[] unary_post_op_args, str unary_post_op_algorithm"
    _name = f"qlinear_pointwise.{_overload}".rstrip(".")
    _binary_name = f"qlinear_pointwise.binary_{_overload}".rstrip("_")
    LIBRARY.define(f"{_name}({_given}, Tensor? bias, {_OUTPUT}, {_last}) -> Tensor")
    LIBRARY.define(f"{_binary_name}({_given}, Tensor? other, Tensor? bias, {_OUTPUT}, {_BINARY}, {_last_unary}) -> Tensor")
    LIBRARY.impl(_name, qlinear_pointwise, "CompositeExplicitAutograd")
    LIBRARY.impl(_binary_name, qlinear_pointwise_binary, "CompositeExplicitAutograd")
