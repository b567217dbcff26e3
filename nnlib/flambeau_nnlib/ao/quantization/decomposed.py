"""Operators of `torch.ops.quantized_decomposed`: quantization of float tensors to integers, and back.

Each scale may be a number or a tensor, so the overloads of an operator are one function.
"""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = [
    "choose_qparams", "choose_qparams_per_token", "choose_qparams_per_token_asymmetric", "choose_qparams_symmetric",
    "dequantize_per_channel", "dequantize_per_channel_group", "dequantize_per_tensor", "dequantize_per_token",
    "quantize_per_channel", "quantize_per_channel_group", "quantize_per_tensor", "quantize_per_token",
]  # fmt: skip


def quantize_per_tensor(input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: torch.dtype) -> Tensor:
    """Return `clamp(round(input / scale) + zero_point, quant_min, quant_max)` in an integer dtype."""
    inverse = 1.0 / scale
    integers = torch.round(input.float() * inverse) + zero_point
    quantized: Tensor = integers.clamp(quant_min, quant_max).to(dtype)
    return quantized


def dequantize_per_tensor(
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Return `(input - zero_point) * scale` in float32, or in `out_dtype`.

    Raises:
        AssertionError: the tensor is not of the given dtype.
    """
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")
    out_dtype = out_dtype or torch.float32
    values: Tensor = (input.to(out_dtype) - zero_point) * scale
    return values


def _along(values: Tensor, input: Tensor, axis: int) -> Tensor:
    """Return one value for each channel in a shape that broadcasts against the input."""
    return values.view([-1 if dim == axis % input.dim() else 1 for dim in range(input.dim())])


def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype
) -> Tensor:
    """Quantize with a scale and a zero point for each channel along `axis`; see `quantize_per_tensor`."""
    scales, zero_points = _along(scales, input, axis), _along(zero_points, input, axis)
    return quantize_per_tensor(input, scales, zero_points, quant_min, quant_max, dtype)


def dequantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Return the values of a tensor that `quantize_per_channel` quantized.  Without `zero_points`, they are zero."""
    offset = 0 if zero_points is None else _along(zero_points, input, axis)
    return dequantize_per_tensor(input, _along(scales, input, axis), offset, quant_min, quant_max, dtype, out_dtype=out_dtype)


def check_numbers_of_rows(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    """Raise AssertionError unless the numbers of scales and of zero points equal the number of rows."""
    rows = input.shape[:-1].numel()
    if scales.numel() != rows:
        raise AssertionError(f"num_tokens: {rows} scales: {scales.size()}")
    if zero_points.numel() != rows:
        raise AssertionError(f"num_tokens: {rows} zero_points: {zero_points.size()}")


def quantize_per_token(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: torch.dtype
) -> Tensor:
    """Quantize with a scale and a zero point for each row along the last dimension.

    Unlike in `quantize_per_tensor`, the zero points are added before rounding.

    Args:
        input: tensor of shape `(*, N)`.
        scales: tensor of shape `(*, 1)`.
        zero_points: tensor of shape `(*, 1)`.
        quant_min: smallest integer of the result.
        quant_max: largest integer of the result.
        dtype: integer dtype of the result.

    Raises:
        AssertionError: the number of scales or of zero points is not the number of rows.
    """
    check_numbers_of_rows(input, scales, zero_points)
    quantized: Tensor = (input * (1.0 / scales) + zero_points).round().clamp(quant_min, quant_max).to(dtype)
    return quantized


def dequantize_per_token(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    output_dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the values of a tensor that `quantize_per_token` quantized."""
    values: Tensor = ((input - zero_points) * scales).to(output_dtype)
    return values


def _group_size(input: Tensor, scales: Tensor, group_size: int) -> int:
    """Return the number of columns of a group: all columns if the group is larger and each row has one scale.

    Raises:
        AssertionError: the tensor is not 2-D, or the number of columns is not a multiple of the group size.
    """
    if group_size <= 1:
        raise AssertionError("group_size must be > 1")
    if group_size > input.shape[-1] and scales.shape[-1] == 1:
        group_size = input.shape[-1]
    if input.shape[-1] % group_size:
        raise AssertionError("input.shape[-1] must be divisible by group_size")
    if input.dim() != 2:
        raise AssertionError("input must be 2-dimensional")
    return group_size


def quantize_per_channel_group(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    group_size: int = 128,
) -> Tensor:
    """Quantize with a scale and a zero point for each group of columns in each row; see `quantize_per_token`.

    Args:
        input: tensor of shape `(M, N)` without NaN.
        scales: tensor of shape `(M, N / group_size)`.
        zero_points: tensor of shape `(M, N / group_size)`.
        quant_min: smallest integer of the result.
        quant_max: largest integer of the result.
        dtype: integer dtype of the result.
        group_size: number of columns in a group.

    Raises:
        AssertionError: the tensor is not 2-D, contains NaN, or its number of columns is not a multiple of `group_size`.
    """
    groups = input.reshape(-1, _group_size(input, scales, group_size))
    if groups.isnan().any():
        raise AssertionError("to_quant must not contain NaNs")
    quantized = quantize_per_token(groups, scales.reshape(-1, 1), zero_points.reshape(-1, 1), quant_min, quant_max, dtype)
    return quantized.reshape_as(input)


def dequantize_per_channel_group(
    w_int8: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    group_size: int = 128,
    output_dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the values of a tensor that `quantize_per_channel_group` quantized.  Without `zero_points`, they are zero."""
    groups = w_int8.reshape(-1, _group_size(w_int8, scales, group_size))
    offsets = torch.zeros((), dtype=torch.int32) if zero_points is None else zero_points.reshape(-1, 1)
    values: Tensor = ((groups - offsets) * scales.reshape(-1, 1)).reshape_as(w_int8).to(output_dtype)
    return values


def choose_qparams(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return a scale and a zero point that map the range of a tensor, extended to contain zero, to the integers.

    Both have shape `(1,)`. They are computed in the dtype of the input, and returned in float64 and int64.
    """
    low, high = input.min().clamp(max=0), input.max().clamp(min=0)
    scale = torch.maximum((high - low) / (quant_max - quant_min), torch.tensor([eps]))
    zero_point = (quant_min - torch.round(low / scale).int()).clamp(quant_min, quant_max)
    return scale.double(), zero_point.long()


def choose_qparams_symmetric(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return a scale that maps the largest magnitude to the integers, and the zero point of the dtype.

    Both have shape `(1,)`, as in `choose_qparams`.
    """
    scale = torch.maximum(input.abs().max() / ((quant_max - quant_min) / 2), torch.tensor([eps]))
    return scale.double(), torch.tensor([128 if dtype == torch.uint8 else 0])


def choose_qparams_per_token(input: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return a scale for each row along the last dimension that maps its largest magnitude to 127, and zeros.

    Args:
        input: tensor of shape `(*, N)`.
        dtype: dtype of the quantized tensor, int8.

    Returns:
        two tensors of shape `(*, 1)` and the dtype of the input; float32 for float16.

    Raises:
        Exception: the dtype is not int8.
    """
    if dtype != torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(-1, keepdim=True)
    scales = (scales.float() if scales.dtype == torch.float16 else scales).clamp(min=1e-5) / 127
    return scales, torch.zeros_like(scales)


def choose_qparams_per_token_asymmetric(input: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return a scale and a zero point for each row that map its range, extended to contain zero, to the integers of int8.

    The zero point is computed from that end of the range which gives the smaller rounding error, as in XNNPACK.

    Args:
        input: tensor of shape `(*, N)`.
        dtype: ignored.

    Returns:
        scales in float64 and zero points in int64, of shape `(*, 1)`.
    """
    quant_min, quant_max = -128, 127
    low, high = input.amin(-1, keepdim=True).clamp(max=0), input.amax(-1, keepdim=True).clamp(min=0)
    scales = ((high - low) / (quant_max - quant_min)).clamp(min=torch.finfo(torch.float32).eps)
    low, high = low / scales, high / scales
    zero_points = torch.where(quant_min + low + quant_max + high > 0, quant_min - low, quant_max - high)
    return scales.double(), zero_points.clamp(quant_min, quant_max).round().long()
