"""Helpers of special functions: computation in float64 for every dtype, Chebyshev series, exact products, quadrature."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["chebyshev", "in_double", "product_and_rest", "quadrature"]


def in_double(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a forward function of float64 arrays to accept arrays of any floating-point dtype."""

    @functools.wraps(forward)
    def compute(xp: Any, *args: Any) -> Any:
        dtype = next(arg.dtype for arg in args if hasattr(arg, "dtype"))
        result = forward(xp, *(xp.astype(arg, xp.float64) if hasattr(arg, "dtype") else arg for arg in args))
        return xp.astype(result, dtype)

    return compute


def chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluate a series of Chebyshev polynomials at `x` in [-1, 1], by Clenshaw's recurrence."""
    ahead: Any = 0.0
    behind: Any = 0.0
    for coefficient in reversed(coefficients[1:]):
        ahead, behind = coefficient + 2 * x * ahead - behind, ahead
    return coefficients[0] + x * ahead - behind


def product_and_rest(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the product of two float64 numbers and its rounding error (Dekker 1971).

    T. J. Dekker, "A floating-point technique for extending the available precision".
    """
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return product, x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: Any) -> tuple[Any, Any]:
    """Split a number into two summands with half the digits each, so that products of such summands are exact."""
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def quadrature(integrand: Callable[[Any], Any], end: Any, points: int = 40) -> Any:
    """Integrate from 0 to `end` by Gauss-Legendre quadrature."""
    total: Any = 0.0
    for node, weight in _gauss_legendre(points):
        total = total + weight * integrand(end * node)
    return end * total


@functools.cache
def _gauss_legendre(points: int) -> list[tuple[float, float]]:
    """Return the nodes and weights of Gauss-Legendre quadrature on [0, 1]; nodes are roots of a Legendre polynomial."""
    rule = []
    for index in range(points):
        x = math.cos(math.pi * (index + 0.75) / (points + 0.5))
        for _ in range(6):  # Newton's method
            last, value = 1.0, x
            for degree in range(2, points + 1):
                last, value = value, ((2 * degree - 1) * x * value - (degree - 1) * last) / degree
            slope = points * (last - x * value) / (1 - x * x)
            x -= value / slope
        rule.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return rule
