"""Angles, signs, divisors, logarithms of sums, parts of floats, and the special functions of Python's standard library."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

from .sample import COMPLEX, FLOATS, INTEGERS, REALS, Bad, Input, Sample, elementwise, fixed, positive, real, unit

__all__ = ["BAD", "SAMPLES"]

_WIDE = ("float64", "float32")


def _each(function: Callable[[float], float]) -> Callable[..., Any]:
    """A Python function of one number as a reference for arrays."""
    return lambda np, x: np.vectorize(function, otypes=[float])(x)


def _inside(*shape: int) -> Input:
    """Random values between 0.05 and 0.95."""
    return Input(shape, 0.05, 0.95)


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _bessel(order: int) -> Callable[..., Any]:
    """Bessel's integral, by the trapezoidal rule, which is exact to rounding for a periodic function."""

    def formula(np: Any, x: Any) -> Any:
        angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
        return np.mean(np.cos(order * angle - x[..., None] * np.sin(angle)), -1)

    return formula


def _modified(order: int, scaled: bool) -> Callable[..., Any]:
    def formula(np: Any, x: Any) -> Any:
        angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
        mean = np.mean(np.exp(x[..., None] * np.cos(angle)) * np.cos(order * angle), -1)
        return mean * np.exp(-np.abs(x)) if scaled else mean

    return formula


def _legendre(np: Any, x: Any) -> Any:
    return (5 * x**3 - 3 * x) / 2


SAMPLES = [
    elementwise("atan2", lambda np, x, y: np.arctan2(x, y), real, positive, dtypes=REALS, result="float"),
    elementwise("arctan2", lambda np, x, y: np.arctan2(x, y), real, positive),
    elementwise("hypot", lambda np, x, y: np.hypot(x, y), positive, real),
    elementwise("deg2rad", lambda np, x: np.deg2rad(x), dtypes=REALS, result="float"),
    elementwise("rad2deg", lambda np, x: np.rad2deg(x), dtypes=_WIDE, result="float"),
    elementwise("sinc", lambda np, x: np.sinc(x), positive),
    elementwise("copysign", lambda np, x, y: np.copysign(x, y), positive, real),
    elementwise("nextafter", lambda np, x, y: np.nextafter(x, y), real, real, dtypes=("float64",), grad=False),
    Sample("isneginf", lambda torch, x: torch.isneginf(x), [fixed([1.0, math.inf, -math.inf, math.nan])],
           lambda np, x: x == -np.inf,
           FLOATS, "bool", grad=False),
    Sample("isposinf", lambda torch, x: torch.isposinf(x), [fixed([1.0, math.inf, -math.inf, math.nan])],
           lambda np, x: x == np.inf,
           FLOATS, "bool", grad=False),
    Sample("heaviside", lambda torch, x, y: torch.heaviside(x, y), [fixed([-1.0, 0.0, 2.0]), real(3)],
           lambda np, x, y: np.heaviside(x, y),
           FLOATS, grad=False),
    Sample("fmax", lambda torch, x, y: torch.fmax(x, y), [fixed([math.nan, 1.0, 3.0]), fixed([1.0, math.nan, 2.0])],
           lambda np, x, y: np.fmax(x, y), grad=False),
    Sample("fmin", lambda torch, x, y: torch.fmin(x, y), [fixed([math.nan, 1.0, 3.0]), fixed([1.0, math.nan, 2.0])],
           lambda np, x, y: np.fmin(x, y), grad=False),
    elementwise("fmax", lambda np, x, y: np.fmax(x, y), real, real),
    elementwise("fmin", lambda np, x, y: np.fmin(x, y), real, real),
    Sample("gcd", lambda torch, x, y: torch.gcd(x, y), [fixed([12, 0, 7, 30]), fixed([8, 0, 3, 45])],
           lambda np, x, y: np.gcd(x, y),
           INTEGERS, grad=False),
    Sample("lcm", lambda torch, x, y: torch.lcm(x, y), [fixed([12, 0, 7, 3]), fixed([8, 0, 3, 4])], lambda np, x, y: np.lcm(x, y),
           INTEGERS, grad=False),
    elementwise("logaddexp", lambda np, x, y: np.logaddexp(x, y), real, real, dtypes=_WIDE),
    elementwise("logaddexp2", lambda np, x, y: np.logaddexp2(x, y), real, real, dtypes=_WIDE),
    elementwise("xlogy", lambda np, x, y: x * np.log(y), real, positive),
    elementwise("special.xlog1py", lambda np, x, y: x * np.log1p(y), real, positive),
    elementwise("logit", lambda np, x: np.log(x / (1 - x)), _inside),
    Sample("logit", lambda torch, x: torch.logit(x, 0.2), [_inside(8)],
           lambda np, x: np.log((y := np.clip(x, 0.2, 0.8)) / (1 - y)), _WIDE,
           method=False, inplace=False),
    Sample("frexp", lambda torch, x: torch.frexp(x), [positive(6)], lambda np, x: np.frexp(x), _WIDE, ("same", "int32")),
    Sample("ldexp", lambda torch, x, y: torch.ldexp(x, y), [real(3), fixed([1, 2, 3], "int64")],
           lambda np, x, y: np.ldexp(x, y), _WIDE),
    # special functions
    elementwise("lgamma", _each(math.lgamma), positive, dtypes=_WIDE),
    elementwise("special.gammaln", _each(math.lgamma), positive, dtypes=_WIDE),
    elementwise("erfinv", _each(lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)), unit, dtypes=_WIDE, atol=1e-9),
    elementwise("special.erfcx", _each(lambda x: math.exp(x * x) * math.erfc(x)), real, dtypes=_WIDE),
    elementwise("special.ndtr", _each(_phi), real, dtypes=_WIDE),
    elementwise("special.log_ndtr", _each(lambda x: math.log(_phi(x))), real, dtypes=_WIDE),
    elementwise("special.ndtri", _each(NormalDist().inv_cdf), _inside, dtypes=_WIDE),
    elementwise("special.entr", lambda np, x: -x * np.log(x), positive, dtypes=_WIDE),
    elementwise("i0", _modified(0, False), real, dtypes=_WIDE),
    elementwise("special.i0e", _modified(0, True), positive, dtypes=_WIDE),
    elementwise("special.i1", _modified(1, False), real, dtypes=_WIDE),
    elementwise("special.i1e", _modified(1, True), positive, dtypes=_WIDE),
    elementwise("special.bessel_j0", _bessel(0), real, dtypes=_WIDE, grad=False),
    elementwise("special.bessel_j1", _bessel(1), real, dtypes=_WIDE, grad=False),
    elementwise("special.spherical_bessel_j0", lambda np, x: np.sin(x) / x, positive, dtypes=_WIDE, grad=False),
    elementwise("igammac", lambda np, a, x: np.exp(-x) * (1 + a * 0), lambda *shape: Input(shape, 1.0, 1.0), positive,
           dtypes=_WIDE, grad=False),
    Sample("polygamma", lambda torch, x: torch.polygamma(1, x), [fixed([1.0, 0.5])],
           lambda np, x: np.asarray([np.pi**2 / 6, np.pi**2 / 2]),
           _WIDE, method=False, inplace=False),
    Sample("digamma", lambda torch, x: torch.digamma(x), [fixed([1.0, 0.5])],
           lambda np, x: -np.euler_gamma - np.asarray([0, 2 * np.log(2)]), _WIDE),
    Sample("mvlgamma", lambda torch, x: torch.mvlgamma(x, 2), [Input((4,), 1.0, 4.0)],
           lambda np, x: 0.5 * np.log(np.pi) + np.vectorize(math.lgamma)(x) + np.vectorize(math.lgamma)(x - 0.5), _WIDE),
    Sample("special.legendre_polynomial_p", lambda torch, x: torch.special.legendre_polynomial_p(x, 3), [unit(4)], _legendre,
           _WIDE, grad=False),
    Sample("special.chebyshev_polynomial_t", lambda torch, x: torch.special.chebyshev_polynomial_t(x, 5), [unit(4)],
           lambda np, x: np.cos(5 * np.arccos(x)), _WIDE, grad=False),
]  # fmt: skip

BAD = [
    Bad("gcd", lambda torch, x: torch.gcd(x, x), [real(2)], "NotImplementedError"),
    Bad("heaviside", lambda torch, x, y: torch.heaviside(x, y), [real(2), fixed([1.0], "float64")], "RuntimeError"),
    Bad("frexp", lambda torch, x: torch.frexp(x), [fixed([1], "int64")], "RuntimeError"),
    Bad("isneginf", lambda torch, x: torch.isneginf(x), [real(2)], "RuntimeError", COMPLEX[1]),
    Bad("polygamma", lambda torch, x: torch.polygamma(-1, x), [real(2)], "RuntimeError"),
    Bad("mvlgamma", lambda torch, x: torch.mvlgamma(x, 0), [real(2)], "RuntimeError"),
]  # fmt: skip
