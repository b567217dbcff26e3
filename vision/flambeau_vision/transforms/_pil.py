"""Transform kernels for PIL images. Names and arguments are those of the tensor kernels in `_tensor` and `_tensor_color`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._extras import pillow
from ._geometry import InterpolationMode, inverse_affine_matrix


def get_dimensions(img: Any) -> list[int]:
    return [len(img.getbands()), img.height, img.width]


def _resampling(mode: InterpolationMode) -> Any:
    # Pillow has one nearest mode. It rounds like NEAREST_EXACT for tensors, and both modes use it.
    names = {InterpolationMode.NEAREST_EXACT: "NEAREST"}
    return getattr(pillow().Resampling, names.get(mode, mode.name))


def _fill_colour(img: Any, fill: float | Sequence[float] | None) -> Any:
    """Convert `fill` to the form that Pillow expects: a number, or a tuple with one number per band (channel)."""
    bands = len(img.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, int | float):
        fill = [fill] * bands
    if len(fill) == 1:
        fill = list(fill) * bands
    if len(fill) != bands:
        raise ValueError(
            f"The number of elements in 'fill' does not match the number of channels of the image ({len(fill)} != {bands})"
        )
    if img.mode != "F":
        fill = [int(value) for value in fill]
    return fill[0] if bands == 1 else tuple(fill)


# Geometry


def hflip(img: Any) -> Any:
    return img.transpose(pillow().Transpose.FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    return img.transpose(pillow().Transpose.FLIP_TOP_BOTTOM)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    return img.crop((left, top, left + width, top + height))


def resize(img: Any, size: tuple[int, int], interpolation: InterpolationMode, antialias: bool | None) -> Any:
    height, width = size
    return img.resize((width, height), _resampling(interpolation))


def pad(img: Any, padding: tuple[int, int, int, int], fill: Any, padding_mode: str) -> Any:
    if padding_mode == "constant":
        padded = pillow("ImageOps").expand(img, border=padding, fill=_fill_colour(img, fill))
    else:
        padded = _pad_with_content(img, padding, padding_mode)
    if img.mode == "P":
        padded.putpalette(img.getpalette())
    return padded


def _pad_with_content(img: Any, padding: tuple[int, int, int, int], padding_mode: str) -> Any:
    import numpy as np

    left, top, right, bottom = padding
    cut = [max(-side, 0) for side in padding]
    img = img.crop((cut[0], cut[1], img.width - cut[2], img.height - cut[3]))
    left, top, right, bottom = (max(side, 0) for side in (left, top, right, bottom))
    pixels = np.asarray(img)
    widths = [(top, bottom), (left, right), (0, 0)][: pixels.ndim]
    return pillow().fromarray(np.pad(pixels, widths, mode=padding_mode))


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode,
    fill: Any,
    center: Sequence[float] | None,
) -> Any:
    center = center or (img.width / 2, img.height / 2)
    matrix = inverse_affine_matrix(center, angle, translate, scale, shear)
    affine_method = pillow().Transform.AFFINE
    fill = _fill_colour(img, fill)
    return img.transform(img.size, affine_method, matrix, _resampling(interpolation), fillcolor=fill)


def rotate(img: Any, angle: float, interpolation: InterpolationMode, expand: bool, center: Any, fill: Any) -> Any:
    fill = _fill_colour(img, fill)
    return img.rotate(angle, _resampling(interpolation), expand, center=center, fillcolor=fill)


def perspective(img: Any, coefficients: list[float], interpolation: InterpolationMode, fill: Any) -> Any:
    method = pillow().Transform.PERSPECTIVE
    fill = _fill_colour(img, fill)
    return img.transform(img.size, method, coefficients, _resampling(interpolation), fillcolor=fill)


# Colour


def adjust_brightness(img: Any, factor: float) -> Any:
    return pillow("ImageEnhance").Brightness(img).enhance(factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    return pillow("ImageEnhance").Contrast(img).enhance(factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    return pillow("ImageEnhance").Color(img).enhance(factor)


def adjust_sharpness(img: Any, factor: float) -> Any:
    return pillow("ImageEnhance").Sharpness(img).enhance(factor)


def adjust_hue(img: Any, factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    hue = hue.point(lambda level: (level + int(factor * 255)) % 256)
    return pillow().merge("HSV", (hue, saturation, value)).convert(img.mode)


def adjust_gamma(img: Any, gamma: float, gain: float) -> Any:
    levels = [int((255 + 1 - 1e-3) * gain * (level / 255.0) ** gamma) for level in range(256)]
    table = [min(max(level, 0), 255) for level in levels]
    return img.convert("RGB").point(table * 3).convert(img.mode)


def to_grayscale(img: Any, num_output_channels: int) -> Any:
    grey = img.convert("L")
    return pillow().merge("RGB", (grey, grey, grey)) if num_output_channels == 3 else grey


def invert(img: Any) -> Any:
    return pillow("ImageOps").invert(img)


def posterize(img: Any, bits: int) -> Any:
    return pillow("ImageOps").posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    return pillow("ImageOps").solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    return pillow("ImageOps").autocontrast(img)


def equalize(img: Any) -> Any:
    return pillow("ImageOps").equalize(img)
