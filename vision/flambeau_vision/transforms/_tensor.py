"""Geometric kernels for image tensors of shape `(..., C, H, W)`; colour kernels are in `_tensor_color`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F

from ._geometry import InterpolationMode, inverse_affine_matrix, rotated_size
from ._tensor_color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    invert,
    posterize,
    solarize,
    to_grayscale,
)

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "gaussian_blur",
    "get_dimensions",
    "hflip",
    "invert",
    "pad",
    "perspective",
    "posterize",
    "resize",
    "resize_v2",
    "rotate",
    "solarize",
    "to_grayscale",
    "vflip",
]

Tensor = torch.Tensor


def get_dimensions(img: Tensor) -> list[int]:
    if img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")
    return [1 if img.ndim == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]


def _as_batch(img: Tensor) -> Tensor:
    """Reshape an image to `(N, C, H, W)` and convert it to a floating-point dtype."""
    batch = img.reshape(-1, *get_dimensions(img))
    return batch if batch.is_floating_point() else batch.float()


def _from_batch(batch: Tensor, img: Tensor) -> Tensor:
    """Undo `_as_batch`: restore the leading dimensions and the dtype of `img`. Values are rounded for integer dtypes."""
    result = batch.reshape(*img.shape[:-2], *batch.shape[-2:])
    if result.dtype == img.dtype:
        return result
    if not img.is_floating_point() and img.dtype != torch.bool:
        result = result.round()
    if img.dtype == torch.uint8:  # bicubic interpolation can leave the range
        result = result.clamp(0, 255)
    return result.to(img.dtype)


def hflip(img: Tensor) -> Tensor:
    return img.flip(-1)


def vflip(img: Tensor) -> Tensor:
    return img.flip(-2)


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    image_height, image_width = img.shape[-2:]
    bottom, right = top + height, left + width
    cropped = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    outside = [
        max(min(0, right) - left, 0),
        max(right - max(image_width, left), 0),
        max(min(0, bottom) - top, 0),
        max(bottom - max(image_height, top), 0),
    ]
    return F.pad(cropped, outside) if any(outside) else cropped


_SMOOTH_MODES = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)


def resize(img: Tensor, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool | None) -> Tensor:
    return _resize(_as_batch(img), img, size, interpolation, bool(antialias) and interpolation in _SMOOTH_MODES)


def resize_v2(img: Tensor, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool | None) -> Tensor:
    """Resize for version 2: like `resize`, but supports the Lanczos filter, and uses integer arithmetic for uint8 on the CPU."""
    filters = (*_SMOOTH_MODES, InterpolationMode.LANCZOS)
    if interpolation is InterpolationMode.LANCZOS and not antialias:
        raise ValueError("InterpolationMode.LANCZOS requires antialias=True")
    in_integers = img.dtype == torch.uint8 and img.device.type == "cpu" and interpolation in filters
    batch = img.reshape(-1, *get_dimensions(img)) if in_integers else _as_batch(img)
    return _resize(batch, img, size, interpolation, bool(antialias) and interpolation in filters)


def _resize(batch: Tensor, img: Tensor, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool) -> Tensor:
    align_corners = False if antialias or interpolation in _SMOOTH_MODES else None
    mode = interpolation.value
    return _from_batch(F.interpolate(batch, size, mode=mode, align_corners=align_corners, antialias=antialias), img)


# Padding


def pad(img: Tensor, padding: tuple[int, int, int, int], fill: Any, padding_mode: str) -> Tensor:
    left, top, right, bottom = padding
    if padding_mode == "symmetric":
        return _pad_symmetric(img, padding)
    if padding_mode == "constant":
        return _pad_constant(img, padding, 0 if fill is None else fill)
    mode = "replicate" if padding_mode == "edge" else padding_mode
    return _from_batch(F.pad(_as_batch(img), [left, right, top, bottom], mode=mode), img)


def _pad_constant(img: Tensor, padding: tuple[int, int, int, int], fill: Any) -> Tensor:
    left, top, right, bottom = padding
    if isinstance(fill, int | float) or len(fill) == 1:
        value = fill if isinstance(fill, int | float) else fill[0]
        return F.pad(img, [left, right, top, bottom], value=value)
    inside = F.pad(torch.ones(img.shape[-2:], device=img.device), [left, right, top, bottom]) == 1
    return torch.where(inside, F.pad(img, [left, right, top, bottom]), _channel_values(fill, img))


def _channel_values(fill: Any, img: Tensor) -> Tensor:
    """Return `fill` as a tensor that broadcasts over the pixels of `img`."""
    values = torch.tensor(fill, dtype=img.dtype, device=img.device).flatten()
    channels = get_dimensions(img)[0]
    if values.numel() not in (1, channels):
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of the image "
            f"({values.numel()} != {channels})"
        )
    return values.reshape(-1, 1, 1)


def _symmetric_indices(before: int, size: int, after: int, device: Any) -> Tensor:
    """Return the indices of a symmetric padding: `0 .. size - 1` with mirrored indices before and after it.

    The mirrored indices include the ends: `1, 0, 0, 1, 2, 2, 1` for `before=2, size=3, after=2`.
    """
    indices = torch.arange(-before, size + after, device=device) % (2 * size)
    return torch.where(indices < size, indices, 2 * size - 1 - indices)


def _pad_symmetric(img: Tensor, padding: tuple[int, int, int, int]) -> Tensor:
    left, top, right, bottom = padding
    rows = _symmetric_indices(top, img.shape[-2], bottom, img.device)
    columns = _symmetric_indices(left, img.shape[-1], right, img.device)
    return img[..., rows[:, None], columns]


# Resampling: the kernels compute the position in the input image for each output pixel


def _pixels(height: int, width: int, start: tuple[float, float], like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the coordinates `x` and `y` of all pixels, as two tensors `(height, width)`.

    `start` is `(x, y)` of the first pixel. The results have the dtype and device of `like`.
    """
    x = torch.arange(width, dtype=like.dtype, device=like.device) + start[0]
    y = torch.arange(height, dtype=like.dtype, device=like.device) + start[1]
    y, x = torch.meshgrid(y, x, indexing="ij")
    return x, y


def _coordinates_like(img: Tensor) -> Tensor:
    """Return a tensor with the device of `img`, and with the dtype in which pixel coordinates of `img` are computed."""
    return img if img.is_floating_point() else img.new_empty(0, dtype=torch.float32)


def sample_grid(img: Tensor, grid: Tensor, interpolation: InterpolationMode, fill: Any) -> Tensor:
    """Sample `img` at the positions `grid` of shape `(1, H, W, 2)`. Positions outside of the image become
    `fill`, or 0 if it is None.
    """
    if interpolation not in (
        InterpolationMode.NEAREST,
        InterpolationMode.BILINEAR,
        InterpolationMode.BICUBIC,
    ):
        raise ValueError(f"This interpolation mode is unsupported with Tensor input: {interpolation.value}")
    batch = _as_batch(img)
    grid = grid.expand(batch.shape[0], -1, -1, -1)
    mode = interpolation.value
    result = F.grid_sample(batch, grid, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        inside = torch.ones_like(batch[:, :1])
        inside = F.grid_sample(inside, grid, mode=mode, padding_mode="zeros", align_corners=False)
        background = _channel_values(fill, batch)
        if interpolation is InterpolationMode.NEAREST:
            result = torch.where(inside < 0.5, background, result)
        else:
            result = result * inside + (1 - inside) * background
    return _from_batch(result, img)


def _sample_affine(
    img: Tensor, matrix: Sequence[float], size: tuple[int, int], interpolation: InterpolationMode, fill: Any
) -> Tensor:
    # As in torchvision, the matrix is scaled before the multiplication. The order matters: at positions halfway between two
    # pixels, rounding errors decide which pixel is the nearest.
    _, height, width = get_dimensions(img)
    like = _coordinates_like(img)
    rows = torch.tensor(matrix, dtype=like.dtype, device=like.device).reshape(2, 3)
    (a, b, c), (d, e, f) = rows[0] / (0.5 * width), rows[1] / (0.5 * height)
    x, y = _pixels(*size, (0.5 - size[1] / 2, 0.5 - size[0] / 2), like)
    return sample_grid(img, torch.stack([x * a + y * b + c, x * d + y * e + f], dim=-1).unsqueeze(0), interpolation, fill)


def _from_centre(img: Tensor, center: Sequence[float] | None) -> tuple[float, float]:
    _, height, width = get_dimensions(img)
    return (0.0, 0.0) if center is None else (center[0] - width / 2, center[1] - height / 2)


def affine(
    img: Tensor,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode,
    fill: Any,
    center: Sequence[float] | None,
) -> Tensor:
    matrix = inverse_affine_matrix(_from_centre(img, center), angle, translate, scale, shear)
    return _sample_affine(img, matrix, img.shape[-2:], interpolation, fill)


def rotate(img: Tensor, angle: float, interpolation: InterpolationMode, expand: bool, center: Any, fill: Any) -> Tensor:
    matrix = inverse_affine_matrix(_from_centre(img, center), -angle, (0, 0), 1.0, (0, 0))
    size = rotated_size(*img.shape[-2:], matrix) if expand else tuple(img.shape[-2:])
    return _sample_affine(img, matrix, size, interpolation, fill)


def perspective(img: Tensor, coefficients: list[float], interpolation: InterpolationMode, fill: Any) -> Tensor:
    _, height, width = get_dimensions(img)
    like = _coordinates_like(img)
    numbers = torch.tensor([*coefficients, 1.0], dtype=like.dtype, device=like.device).reshape(3, 3)
    (a, b, c), (d, e, f), (g, h, i) = numbers[0] / (0.5 * width), numbers[1] / (0.5 * height), numbers[2]
    x, y = _pixels(height, width, (0.5, 0.5), like)
    below = x * g + y * h + i
    u, v = (x * a + y * b + c) / below - 1.0, (x * d + y * e + f) / below - 1.0
    return sample_grid(img, torch.stack([u, v], dim=-1).unsqueeze(0), interpolation, fill)


def elastic_transform(img: Tensor, displacement: Tensor, interpolation: InterpolationMode, fill: Any) -> Tensor:
    _, height, width = get_dimensions(img)
    displacement = displacement.to(device=img.device)
    dtype, device = displacement.dtype, displacement.device
    x = torch.linspace((1 - width) / width, (width - 1) / width, width, dtype=dtype, device=device)
    y = torch.linspace((1 - height) / height, (height - 1) / height, height, dtype=dtype, device=device)
    y, x = torch.meshgrid(y, x, indexing="ij")
    return sample_grid(img, torch.stack([x, y], dim=-1).unsqueeze(0) + displacement, interpolation, fill)


def gaussian_blur(img: Tensor, kernel_size: Sequence[int], sigma: Sequence[float]) -> Tensor:
    batch = _as_batch(img)
    columns, rows = (_gaussian(size, width, batch) for size, width in zip(kernel_size, sigma, strict=True))
    channels = batch.shape[1]
    kernel = (rows[:, None] * columns[None, :]).expand(channels, 1, -1, -1)
    half_x, half_y = kernel_size[0] // 2, kernel_size[1] // 2
    padded = F.pad(batch, [half_x, half_x, half_y, half_y], mode="reflect")
    return _from_batch(F.conv2d(padded, kernel, groups=channels), img)


def _gaussian(size: int, sigma: float, like: Tensor) -> Tensor:
    half = (size - 1) * 0.5
    x = torch.linspace(-half, half, size, dtype=like.dtype, device=like.device)
    density = torch.exp(-0.5 * (x / sigma) ** 2)
    return density / density.sum()


def erase(img: Tensor, top: int, left: int, height: int, width: int, value: Tensor, inplace: bool) -> Tensor:
    img = img if inplace else img.clone()
    img[..., top : top + height, left : left + width] = value
    return img
