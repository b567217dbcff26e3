"""Colour kernels for image tensors of shape `(..., C, H, W)`."""

from __future__ import annotations

import flambeau as torch
import flambeau.nn.functional as F

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "as_float",
    "autocontrast",
    "average_neighbours",
    "check_channels",
    "check_factor",
    "convert_image_dtype",
    "equalize",
    "invert",
    "largest_value",
    "posterize",
    "shift_hue",
    "solarize",
    "to_grayscale",
]

Tensor = torch.Tensor

_LARGEST = {
    torch.uint8: 255,
    torch.int8: 127,
    torch.int16: 32767,
    torch.int32: 2**31 - 1,
    torch.int64: 2**63 - 1,
}


def largest_value(dtype: torch.dtype) -> int:
    """Return the value of white: 1 for floating-point dtypes, the largest integer for integer dtypes."""
    return _LARGEST.get(dtype, 1)


def convert_image_dtype(img: Tensor, dtype: torch.dtype) -> Tensor:
    if img.dtype == dtype:
        return img
    if img.is_floating_point():
        return _from_float(img, dtype)
    if dtype.is_floating_point:
        return img.to(dtype) / largest_value(img.dtype)
    # Values of integer dtypes are shifted by the difference in bits without sign: 8 for uint8, 31 for int32.
    shift = largest_value(dtype).bit_length() - largest_value(img.dtype).bit_length()
    return img.to(dtype) * 2**shift if shift > 0 else (img // 2**-shift).to(dtype)


def _from_float(img: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return img.to(dtype)
    too_wide = {torch.float32: (torch.int32, torch.int64), torch.float64: (torch.int64,)}
    if dtype in too_wide.get(img.dtype, ()):
        raise RuntimeError(f"The cast from {img.dtype} to {dtype} cannot be performed safely.")
    # Scale by slightly less than `largest + 1`: all integers get equal parts of [0, 1], and 1.0 becomes `largest`.
    return (img * (largest_value(dtype) + 1.0 - 1e-3)).to(dtype)


def check_channels(img: Tensor, allowed: tuple[int, ...] = (1, 3)) -> int:
    if img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")
    channels = 1 if img.ndim == 2 else img.shape[-3]
    if channels not in allowed:
        raise TypeError(f"Input image tensor permitted channel values are {list(allowed)}, but found {channels}")
    return channels


def as_float(img: Tensor) -> Tensor:
    return img if img.is_floating_point() else img.float()


def _blend(img: Tensor, other: Tensor, share: float) -> Tensor:
    """Return `share * img + (1 - share) * other`, clamped to the range of the dtype."""
    mixed = share * as_float(img) + (1.0 - share) * as_float(other)
    return mixed.clamp(0, largest_value(img.dtype)).to(img.dtype)


def check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def _grey(img: Tensor) -> Tensor:
    """Return the grey values of an image as one channel, with the colour weights of ITU-R BT.601."""
    if img.shape[-3] == 1:
        return img
    red, green, blue = as_float(img).unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def to_grayscale(img: Tensor, num_output_channels: int) -> Tensor:
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    grey = img.clone() if check_channels(img) == 1 else _grey(img)
    return grey.expand(img.shape) if num_output_channels == 3 else grey


def adjust_brightness(img: Tensor, factor: float) -> Tensor:
    check_factor("brightness_factor", factor)
    check_channels(img)
    return _blend(img, torch.zeros_like(img), factor)


def adjust_contrast(img: Tensor, factor: float) -> Tensor:
    check_factor("contrast_factor", factor)
    channels = check_channels(img, (1, 3))
    grey = _grey(img) if channels == 3 else img
    return _blend(img, as_float(grey).mean(dim=(-3, -2, -1), keepdim=True), factor)


def adjust_saturation(img: Tensor, factor: float) -> Tensor:
    check_factor("saturation_factor", factor)
    channels = check_channels(img)
    return img if channels == 1 else _blend(img, _grey(img), factor)


def adjust_hue(img: Tensor, factor: float) -> Tensor:
    return convert_image_dtype(shift_hue(convert_image_dtype(img, torch.float32), factor, v2_rounding=False), img.dtype)


def shift_hue(img: Tensor, factor: float, v2_rounding: bool) -> Tensor:
    """Add `factor` to the hue of a float32 image. Round like torchvision's v2 if `v2_rounding` is True, otherwise like v1."""
    if check_channels(img) == 1 or img.numel() == 0:
        return img
    hue, saturation, value = _rgb_to_hsv(img, v2_rounding)
    return _hsv_to_rgb((hue + factor) % 1.0, saturation, value, v2_rounding)


def _rgb_to_hsv(img: Tensor, v2_rounding: bool) -> tuple[Tensor, Tensor, Tensor]:
    red, green, _ = img.unbind(-3)
    value = img.amax(-3)
    spread = value - img.amin(-3)
    grey = spread == 0
    ones = torch.ones_like(value)
    saturation = spread / torch.where(grey, ones, value)
    below = (value.unsqueeze(-3) - img) / torch.where(grey, ones, spread).unsqueeze(-3)
    below_red, below_green, below_blue = below.unbind(-3)
    from_red = below_blue - below_green
    from_green = 2.0 + below_red - below_blue
    from_blue = 4.0 + below_green - below_red
    sixths = torch.where(value == red, from_red, torch.where(value == green, from_green, from_blue))
    turns = sixths * (1.0 / 6.0) if v2_rounding else sixths / 6.0
    return torch.fmod(turns + 1.0, 1.0), saturation, value


# For red, green and blue (rows) in each sixth of the hue circle (columns): an index into (value, lowest, falling, rising).
_HSV_CHANNELS = ((0, 2, 1, 1, 3, 0), (3, 0, 0, 2, 1, 1), (1, 1, 3, 0, 0, 2))


def _hsv_to_rgb(hue: Tensor, saturation: Tensor, value: Tensor, v2_rounding: bool) -> Tensor:
    sixth = (hue * 6.0).floor()
    part = hue * 6.0 - sixth
    lowest = value * (1.0 - saturation)
    falling = value * (1.0 - saturation * part)
    rise = saturation * part + (1.0 - saturation) if v2_rounding else 1.0 - saturation * (1.0 - part)
    levels = torch.stack([value, *(level.clamp(0, 1) for level in (lowest, falling, value * rise))], dim=-3)
    indices = torch.tensor(_HSV_CHANNELS, device=hue.device)[:, sixth.long() % 6]
    return levels.gather(-3, indices.movedim(0, -3))


def adjust_gamma(img: Tensor, gamma: float, gain: float) -> Tensor:
    check_channels(img)
    scaled = convert_image_dtype(img, as_float(img[..., :0]).dtype)
    return convert_image_dtype((gain * scaled**gamma).clamp(0, 1), img.dtype)


def adjust_sharpness(img: Tensor, factor: float) -> Tensor:
    check_factor("sharpness_factor", factor)
    check_channels(img)
    if min(img.shape[-2:]) <= 2:
        return img
    return _blend(img, _blur_inner(img), factor)


def _blur_inner(img: Tensor) -> Tensor:
    """Replace each pixel by a weighted mean of itself and its neighbours; border pixels stay the same."""
    result = img.clone()
    result[..., 1:-1, 1:-1] = average_neighbours(img).to(img.dtype)
    return result


def average_neighbours(img: Tensor) -> Tensor:
    """Return the weighted mean of 3 x 3 pixels around each inner pixel, as floats; rounded for integer images.

    The inner pixel has the weight 5, its eight neighbours have the weight 1.
    """
    channels = img.shape[-3]
    batch = as_float(img).reshape(-1, *img.shape[-3:])
    kernel = torch.ones(3, 3, dtype=batch.dtype, device=batch.device)
    kernel[1, 1] = 5.0
    inner = F.conv2d(batch, (kernel / kernel.sum()).expand(channels, 1, 3, 3), groups=channels)
    inner = inner.reshape(*img.shape[:-2], *inner.shape[-2:])
    return inner if img.is_floating_point() else inner.round()


def invert(img: Tensor) -> Tensor:
    check_channels(img)
    return largest_value(img.dtype) - img


def posterize(img: Tensor, bits: int) -> Tensor:
    check_channels(img)
    if img.dtype != torch.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img: Tensor, threshold: float) -> Tensor:
    check_channels(img)
    if threshold > largest_value(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return torch.where(img >= threshold, invert(img), img)


def autocontrast(img: Tensor) -> Tensor:
    check_channels(img)
    bound = largest_value(img.dtype)
    pixels = as_float(img)
    low, high = pixels.amin(dim=(-2, -1), keepdim=True), pixels.amax(dim=(-2, -1), keepdim=True)
    flat = low == high
    scale = torch.where(flat, torch.ones_like(low), bound / torch.where(flat, torch.ones_like(low), high - low))
    return ((pixels - torch.where(flat, torch.zeros_like(low), low)) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Tensor) -> Tensor:
    check_channels(img)
    if img.dtype != torch.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    planes = img.reshape(-1, *img.shape[-2:])
    return torch.stack([_equalize_plane(plane) for plane in planes]).reshape(img.shape) if len(planes) else img


def _equalize_plane(plane: Tensor) -> Tensor:
    histogram = torch.bincount(plane.flatten().long(), minlength=256)
    counts = histogram[histogram != 0]
    step = int(counts[:-1].sum()) // 255
    if step == 0:
        return plane
    below = histogram.cumsum(0) - histogram
    table = ((below + step // 2) // step).clamp(0, 255)
    return table[plane.long()].to(torch.uint8)
