"""Colour kernels of version 2 for tensors. They round like those of torchvision's v2: uint8 results can differ from version 1.

The differences: integer images are converted to floats by a product with the reciprocal of their largest value, such as 1 / 255.
Images are blended by a product and a multiply-add. The mean grey of an image is not rounded. Sharpening adds a multiple of the
difference from the blurred image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import flambeau as torch

from .. import _tensor, _tensor_color
from .._tensor_color import as_float, average_neighbours, check_channels, check_factor, largest_value, shift_hue
from ..functional.registry import kernels_for

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "convert_image_dtype",
    "solarize",
    "to_grayscale",
    "with_tensor_kernel",
]

Tensor = torch.Tensor


def with_tensor_kernel(kernel: Callable, function: Callable) -> Callable:
    """Return a function that calls `kernel` for plain image tensors, and `function` for other inputs."""

    @wraps(function)
    def call(img: Any, *args: Any, **kwargs: Any) -> Any:
        return (kernel if kernels_for(img) is _tensor else function)(img, *args, **kwargs)

    return call


def _multiply_add(img: Tensor, other: Tensor, share: float) -> Tensor:
    """Return `img + share * other`.

    float32 on the CPU is computed in float64 and rounded once, like the fused multiply-add of PyTorch.
    """
    if img.dtype != torch.float32 or img.device.type != "cpu":
        return img + share * other
    single = torch.tensor(share, dtype=torch.float32).item()
    return (img.double() + single * other.double()).float()


def convert_image_dtype(img: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    if dtype.is_floating_point and not img.is_floating_point():
        return img.to(dtype) * (1.0 / largest_value(img.dtype))
    return _tensor_color.convert_image_dtype(img, dtype)


def _clamp_to_dtype(img: Tensor, dtype: torch.dtype) -> Tensor:
    return img.clamp(0, largest_value(dtype)).to(dtype)


def _blend(img: Tensor, other: Tensor, share: float) -> Tensor:
    """Return `share * img + (1 - share) * other`, clamped to the range of the dtype."""
    return _clamp_to_dtype(_multiply_add(as_float(img) * float(share), other, 1.0 - share), img.dtype)


def _luma(img: Tensor) -> Tensor:
    """Return the grey values (luma) of an RGB image, as one floating-point channel."""
    red, green, blue = as_float(img).unbind(-3)
    return _multiply_add(_multiply_add(0.2989 * red, green, 0.587), blue, 0.114).unsqueeze(-3)


def _grey_levels(img: Tensor) -> Tensor:
    """Return the grey values of an image as floats; for integer images, they are rounded down to integers."""
    if img.shape[-3] == 1:
        return as_float(img)
    return _luma(img) if img.is_floating_point() else _luma(img).floor()


def to_grayscale(img: Tensor, num_output_channels: int = 1) -> Tensor:
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    grey = img if img.shape[-3] == 1 else _luma(img).to(img.dtype)
    return grey.expand(*img.shape[:-3], 3, *img.shape[-2:]) if num_output_channels == 3 else grey.clone()


def solarize(img: Tensor, threshold: float) -> Tensor:
    if threshold > largest_value(img.dtype):
        raise TypeError(f"Threshold should be less or equal the maximum value of the dtype, but got {threshold}")
    return _tensor_color.solarize(img, threshold)


def adjust_brightness(img: Tensor, brightness_factor: float) -> Tensor:
    check_factor("brightness_factor", brightness_factor)
    check_channels(img)
    return _clamp_to_dtype(img * brightness_factor, img.dtype)  # uint8 products with an int factor wrap around, as in torchvision


def adjust_contrast(img: Tensor, contrast_factor: float) -> Tensor:
    check_factor("contrast_factor", contrast_factor)
    check_channels(img)
    return _blend(img, _grey_levels(img).mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Tensor, saturation_factor: float) -> Tensor:
    check_factor("saturation_factor", saturation_factor)
    return img if check_channels(img) == 1 else _blend(img, _grey_levels(img), saturation_factor)


def adjust_sharpness(img: Tensor, sharpness_factor: float) -> Tensor:
    check_factor("sharpness_factor", sharpness_factor)
    check_channels(img)
    if min(img.shape[-2:]) <= 2 or img.numel() == 0:
        return img
    result = as_float(img).clone()
    inner = result[..., 1:-1, 1:-1]
    result[..., 1:-1, 1:-1] = _multiply_add(inner, average_neighbours(img) - inner, 1.0 - sharpness_factor)
    return _clamp_to_dtype(result, img.dtype)


def adjust_hue(img: Tensor, hue_factor: float) -> Tensor:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    turned = shift_hue(convert_image_dtype(img, torch.float32), hue_factor, v2_rounding=True)
    return convert_image_dtype(turned, img.dtype)


def adjust_gamma(img: Tensor, gamma: float, gain: float = 1) -> Tensor:
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    scaled = img if img.is_floating_point() else convert_image_dtype(img, torch.float32)
    return convert_image_dtype(_tensor_color.adjust_gamma(scaled, gamma, gain), img.dtype)


def autocontrast(img: Tensor) -> Tensor:
    check_channels(img)
    if img.numel() == 0:
        return img
    pixels = as_float(img)
    low, high = pixels.amin(dim=(-2, -1), keepdim=True), pixels.amax(dim=(-2, -1), keepdim=True)
    flat = low == high
    # Like torchvision, divide by `(high - low) * (1 / largest)`: multiplying by `largest / (high - low)` rounds differently.
    scale = torch.where(flat, torch.ones_like(low), (high - low) * (1.0 / largest_value(img.dtype)))
    return _clamp_to_dtype((pixels - torch.where(flat, torch.zeros_like(low), low)) / scale, img.dtype)
