"""Normal random values by compiled kernels, bitwise equal to those of the NumPy backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau_backends.numpy.packs import box_muller

from .choice import FLOAT
from .kernels import kernels

plain_radii, plain_directions = box_muller.radii, box_muller.directions


def radii(uniform: Any) -> Any:
    if uniform.dtype is not FLOAT or not uniform.flags.c_contiguous:
        return plain_radii(uniform)
    kernels.radii(uniform, uniform)
    return uniform


def directions(uniform: Any) -> tuple[Any, Any]:
    if uniform.dtype is not FLOAT or not uniform.flags.c_contiguous:
        return plain_directions(uniform)
    cosines = np.empty(uniform.shape, FLOAT)
    kernels.directions(cosines, uniform, uniform)
    return cosines, uniform


def draw(values: Any, key: Any, used: int) -> int:
    """Fill a vector, in blocks of 16 values, from word `used` of the generator's `key` on; return the new `used`."""
    position = np.array([used], np.int64)
    kernels.normal_blocks(values, key, position)
    return position.item()


box_muller.radii, box_muller.directions, box_muller.draw = radii, directions, draw
