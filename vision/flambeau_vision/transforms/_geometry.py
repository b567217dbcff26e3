"""Matrices and sizes shared by the geometric kernels for PIL images, tensors and boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

__all__ = [
    "InterpolationMode",
    "affine_matrix",
    "inverse_affine_matrix",
    "perspective_coefficients",
    "resized_size",
    "rotated_size",
]


class InterpolationMode(Enum):
    """Ways to compute values between pixels.

    `NEAREST` copies the nearest pixel, `NEAREST_EXACT` also, but with exact rounding. `BILINEAR` mixes 4 pixels, `BICUBIC` 16
    and `LANCZOS` 36. `BOX` and `HAMMING` are for PIL images only.

    Example:
        >>> from flambeau_vision.transforms import InterpolationMode
        >>> [mode.value for mode in InterpolationMode]
        ['nearest', 'nearest-exact', 'bilinear', 'bicubic', 'box', 'hamming', 'lanczos']
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"

    @classmethod
    def of(cls, mode: InterpolationMode | int | str) -> InterpolationMode:
        """Convert the name of a mode, or its number in Pillow, to an `InterpolationMode`; return a mode unchanged."""
        if isinstance(mode, str):
            return cls(mode)
        if isinstance(mode, int):
            return (cls.NEAREST, cls.LANCZOS, cls.BILINEAR, cls.BICUBIC, cls.BOX, cls.HAMMING)[mode]
        if not isinstance(mode, cls):
            raise TypeError("Argument interpolation should be a InterpolationMode or a corresponding Pillow integer")
        return mode


def affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Return the upper two rows of the matrix that shears, scales and rotates about `center`, then translates.

    Angles are in degrees. The y axis points down, so that positive angles turn clockwise.
    """
    a, b, c, d = (scale * value for value in _rotation_shear_matrix(angle, shear))
    (x, y), (right, down) = center, translate
    return [a, b, x + right + a * -x + b * -y, c, d, y + down + c * -x + d * -y]


def inverse_affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Return the inverse of `affine_matrix`, which maps output points to input points."""
    a, b, c, d = _rotation_shear_matrix(angle, shear)
    a, b, c, d = d / scale, -b / scale, -c / scale, a / scale
    (x, y), (right, down) = center, translate
    return [a, b, a * (-x - right) + b * (-y - down) + x, c, d, c * (-x - right) + d * (-y - down) + y]


def _rotation_shear_matrix(angle: float, shear: Sequence[float]) -> tuple[float, float, float, float]:
    """Return the 2 x 2 matrix of a shear along y, then a shear along x, then a rotation. The determinant is 1."""
    rotation, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(rotation - shear_y) / math.cos(shear_y)
    b = -math.cos(rotation - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(rotation)
    c = math.sin(rotation - shear_y) / math.cos(shear_y)
    d = -math.sin(rotation - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(rotation)
    return a, b, c, d


def perspective_coefficients(startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]]) -> list[float]:
    """Return the coefficients `[a, b, c, d, e, f, g, h]` of the projective map from four end points to the start points.

    An output point `(x, y)` is mapped to `((a x + b y + c) / n, (d x + e y + f) / n)` with `n = g x + h y + 1`.
    """
    import numpy as np

    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows, values = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
        values += [u, v]
    return np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0].tolist()


def resized_size(height: int, width: int, size: int | Sequence[int] | None, max_size: int | None) -> tuple[int, int]:
    """Return `(height, width)` of a resized image.

    `size` is both sides or the shorter side. If it is the shorter side, `max_size` limits the longer side; if it is None,
    `max_size` is the longer side.
    """
    sides = [size] if isinstance(size, int) else list(size) if size is not None else []
    if len(sides) == 2:
        return int(sides[0]), int(sides[1])
    short, long = min(height, width), max(height, width)
    if size is None:
        new_short, new_long = int(max_size * short / long), max_size
    else:
        new_short, new_long = sides[0], int(sides[0] * long / short)
        if max_size is not None and new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def rotated_size(height: int, width: int, matrix: Sequence[float]) -> tuple[int, int]:
    """Return `(height, width)` of the smallest canvas that contains an image after a rotation about its centre."""
    a, b, _, c, d, _ = matrix
    corners = [(x * width / 2, y * height / 2) for x in (-1, 1) for y in (-1, 1)]
    xs = [width / 2 + a * x + b * y for x, y in corners]
    ys = [height / 2 + c * x + d * y for x, y in corners]
    # Remove rounding errors, so that a rotation by 90 degrees gives exactly the transposed size.
    spans = [(int(min(values) / 1e-4) * 1e-4, int(max(values) / 1e-4) * 1e-4) for values in (ys, xs)]
    return tuple(math.ceil(high) - math.floor(low) for low, high in spans)
