"""Operators of `torch.ops.quantized_decomposed`: quantization of float tensors to integers, and back.

Each scale may be a number or a tensor, so the overloads of an operator are one function.
"""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

__all__ = [
    "choose_qparams", "choose_qparams_symmetric", "dequantize_per_channel", "dequantize_per_tensor", "quantize_per_channel",
    "quantize_per_tensor",
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


def choose_qparams(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return a scale and a zero point that map the range of a tensor, extended to contain zero, to the integers."""
    low, high = input.min().clamp(max=0).double(), input.max().clamp(min=0).double()
    scale = ((high - low) / (quant_max - quant_min)).clamp(min=eps)
    zero_point = (quant_min - torch.round(low / scale)).clamp(quant_min, quant_max)
    return scale, zero_point.long()


def choose_qparams_symmetric(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return a scale that maps the largest magnitude to the integers, and the zero point of the dtype."""
    scale = (input.abs().max().double() / ((quant_max - quant_min) / 2)).clamp(min=eps)
    return scale, torch.tensor(128 if dtype == torch.uint8 else 0)
