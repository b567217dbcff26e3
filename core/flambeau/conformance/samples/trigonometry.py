"""Trigonometric and hyperbolic functions and their inverses; angles."""

from __future__ import annotations

from typing import Any

from .pointwise import float_elementwise
from .sample import COMPLEX, FLOATS, REALS, WIDE, Sample, elementwise, positive, real, unit

__all__ = ["SAMPLES"]


def _unit(name: str, formula: Any) -> Sample:
    return elementwise(name, formula, unit, dtypes=(*FLOATS, *COMPLEX))


SAMPLES = [
    float_elementwise("sin", lambda np, x: np.sin(x)),
    float_elementwise("cos", lambda np, x: np.cos(x)),
    float_elementwise("tan", lambda np, x: np.sin(x) / np.cos(x), unit),
    _unit("asin", lambda np, x: np.arcsin(x)),
    _unit("acos", lambda np, x: np.arccos(x)),
    float_elementwise("atan", lambda np, x: np.arctan(x)),
    float_elementwise("sinh", lambda np, x: (np.exp(x) - np.exp(-x)) / 2),
    float_elementwise("cosh", lambda np, x: (np.exp(x) + np.exp(-x)) / 2),
    float_elementwise("asinh", lambda np, x: np.arcsinh(x)),
    elementwise("acosh", lambda np, x: np.log(x + np.sqrt(x * x - 1)),
                lambda *shape: real(*shape, low=1.3, high=3)),
    _unit("atanh", lambda np, x: np.log((1 + x) / (1 - x)) / 2),
    *(elementwise(f"arc{name}", lambda np, x, name=name: getattr(np, f"arc{name}")(x), unit)
      for name in ("sin", "cos", "tan", "sinh", "tanh")),
    elementwise("arccosh", lambda np, x: np.arccosh(x), lambda *shape: real(*shape, low=1.3, high=3)),
    elementwise("atan2", lambda np, x, y: np.arctan2(x, y), real, positive, dtypes=REALS, result="float"),
    elementwise("arctan2", lambda np, x, y: np.arctan2(x, y), real, positive),
    elementwise("hypot", lambda np, x, y: np.hypot(x, y), positive, real),
    elementwise("deg2rad", lambda np, x: np.deg2rad(x), dtypes=REALS, result="float"),
    elementwise("rad2deg", lambda np, x: np.rad2deg(x), dtypes=WIDE, result="float"),
    elementwise("sinc", lambda np, x: np.sinc(x), positive),
]  # fmt: skip
