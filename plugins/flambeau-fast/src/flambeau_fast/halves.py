"""Casts between float32 and half precision; the NumPy backend computes all operations on halves by way of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from flambeau_backends.numpy.packs import halves

from .choice import FLOAT
from .kernels import kernels

LEAST = 1 << 8  # elements from which on the call costs less than NumPy's conversion


def _between(half: Any, to_single: Callable[..., None], from_single: Callable[..., None]) -> None:
    """Register the conversions of a dtype of two bytes."""
    halves.CONVERSIONS[half, FLOAT] = LEAST, lambda out, vector: to_single(out, vector.view(np.uint16))
    halves.CONVERSIONS[FLOAT, half] = LEAST, lambda out, vector: from_single(out.view(np.uint16), vector)


_between(np.dtype(np.float16), kernels.half_to_single, kernels.single_to_half)
_between(np.dtype(ml_dtypes.bfloat16), kernels.bfloat16_to_single, kernels.single_to_bfloat16)
