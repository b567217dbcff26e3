"""Where the pixels of an image are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .._geometry import InterpolationMode, perspective_coefficients, resized_size
from .conversion import through_tensor
from .kinds import get_dimensions, kernels_for

Tensor = torch.Tensor


def hflip(img: Any) -> Any:
    """Swap left and right."""
    return kernels_for(img).hflip(img)


def vflip(img: Any) -> Any:
    """Swap top and bottom."""
    return kernels_for(img).vflip(img)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a rectangle; what lies outside the image is black."""
    return kernels_for(img).crop(img, top, left, height, width)


def _check_resize(size: Any, max_size: int | None) -> None:
    if isinstance(size, Sequence) and len(size) not in (1, 2):
        raise ValueError(
            f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
        )
    if max_size is None:
        return
    if isinstance(size, Sequence) and len(size) == 2:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1"
        )
    shorter = size[0] if isinstance(size, Sequence) else size
    if shorter is not None and max_size <= shorter:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}"
        )


def resize(
    img: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Scale to `size`.

    Args:
        img: a PIL image or a tensor.
        size: `(height, width)`, or the length of the shorter side; None together with `max_size`.
        interpolation: how; tensors know `NEAREST`, `NEAREST_EXACT`, `BILINEAR` and `BICUBIC`.
        max_size: where only the shorter side is given, the longer side is at most this.
        antialias: average over the pixels that shrink into one (tensors; PIL images always do).
    """
    _check_resize(size, max_size)
    kernels, mode = kernels_for(img), InterpolationMode.of(interpolation)
    _, height, width = kernels.get_dimensions(img)
    new_size = resized_size(height, width, size, max_size)
    return img if new_size == (height, width) else kernels.resize(img, new_size, mode, antialias)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Cut out a rectangle, then `resize` it."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def four_sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    if isinstance(padding, int):
        return (padding,) * 4
    if not isinstance(padding, tuple | list):
        raise TypeError("Got inappropriate padding arg")
    if len(padding) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
        )
    return tuple(padding) * (4 // len(padding))


def pad(
    img: Any, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"
) -> Any:
    """Add a border.

    Args:
        img: a PIL image or a tensor.
        padding: one width for all sides, `(left and right, top and bottom)` or `(left, top, right, bottom)`.
        fill: the value of the border, or one per channel.
        padding_mode: `constant`; `edge` (repeat the last pixel); `reflect` (mirror, without the last pixel);
            `symmetric` (mirror, with the last pixel).
    """
    sides = four_sides(padding)
    if not isinstance(fill, int | float | tuple | list):
        raise TypeError("Got inappropriate fill arg")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    return kernels_for(img).pad(img, sides, fill, padding_mode)


def size_pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return tuple(size)


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Cut `(height, width)` out of the middle; an image that is smaller is first padded with black."""
    crop_height, crop_width = size_pair(output_size)
    _, height, width = get_dimensions(img)
    missing_x, missing_y = max(crop_width - width, 0), max(crop_height - height, 0)
    if missing_x or missing_y:
        img = pad(img, [missing_x // 2, missing_y // 2, (missing_x + 1) // 2, (missing_y + 1) // 2])
        _, height, width = get_dimensions(img)
    top, left = round((height - crop_height) / 2.0), round((width - crop_width) / 2.0)
    return crop(img, top, left, crop_height, crop_width)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """The four corners and the middle: top left, top right, bottom left, bottom right, centre.

    Raises:
        ValueError: if `size` is larger than the image.
    """
    crop_height, crop_width = size_pair(size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    down, right = height - crop_height, width - crop_width
    corners = [crop(img, top, left, crop_height, crop_width) for top in (0, down) for left in (0, right)]
    return (*corners, center_crop(img, [crop_height, crop_width]))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the image, and of its mirror image."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def _shear_pair(shear: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(shear, int | float):
        return float(shear), 0.0
    if not isinstance(shear, tuple | list):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if len(shear) == 1:
        return shear[0], shear[0]
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return tuple(shear)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Shear, scale and turn about the centre, then shift.

    Args:
        img: a PIL image or a tensor.
        angle: degrees clockwise.
        translate: pixels to the right and down.
        scale: factor.
        shear: degrees along x, or `(x, y)`.
        interpolation: how pixels between pixels are found.
        fill: the value outside the image, or one per channel.
        center: `(x, y)`; the middle of the image by default.
    """
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, tuple | list):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    mode = InterpolationMode.of(interpolation)
    return kernels_for(img).affine(img, angle, translate, scale, _shear_pair(shear), mode, fill, center)


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Turn by `angle` degrees counter-clockwise.

    Args:
        img: a PIL image or a tensor.
        angle: degrees.
        interpolation: how pixels between pixels are found.
        expand: enlarge the canvas so that the whole turned image fits; supposes the default centre.
        center: `(x, y)`; the middle of the image by default.
        fill: the value outside the image, or one per channel.
    """
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, tuple | list):
        raise TypeError("Argument center should be a sequence")
    return kernels_for(img).rotate(img, angle, InterpolationMode.of(interpolation), expand, center, fill)


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Tilt the image so that its corners move from `startpoints` to `endpoints`.

    Both are four `(x, y)`: top left, top right, bottom right, bottom left.
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    return kernels_for(img).perspective(img, coefficients, InterpolationMode.of(interpolation), fill)


def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Move each pixel by `displacement` of shape `(1, H, W, 2)`, in units of half the image."""
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    _, height, width = get_dimensions(img)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(
            f"Argument displacement shape should be {(1, height, width, 2)}, got {tuple(displacement.shape)}"
        )
    mode = InterpolationMode.of(interpolation)
    return through_tensor(
        img, lambda image: kernels_for(image).elastic_transform(image, displacement, mode, fill)
    )
