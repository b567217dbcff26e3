"""Evaluation of polynomials for all elements of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .constants import number

__all__ = ["polynomial"]


def polynomial(out: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluate a polynomial by Horner's rule into `out`, which must not be `x`; coefficients start with the highest power."""
    dtype = x.dtype
    np.multiply(x, number(coefficients[0], dtype), out)
    for coefficient in coefficients[1:-1]:
        np.add(out, number(coefficient, dtype), out)
        np.multiply(out, x, out)
    return np.add(out, number(coefficients[-1], dtype), out)
