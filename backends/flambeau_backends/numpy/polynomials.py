"""Polynomials at all numbers of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .constants import number

__all__ = ["polynomial"]


def polynomial(out: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Fill `out`, which must not be `x`, by Horner's rule, from the coefficient of the highest power down."""
    dtype = x.dtype
    np.multiply(x, number(coefficients[0], dtype), out)
    for coefficient in coefficients[1:-1]:
        np.add(out, number(coefficient, dtype), out)
        np.multiply(out, x, out)
    return np.add(out, number(coefficients[-1], dtype), out)
