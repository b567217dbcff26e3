"""Elementwise functions of one tensor."""

from __future__ import annotations

import math
from typing import Any

from .sample import COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, Sample, elementwise, fixed, positive, real, unit

__all__ = ["SAMPLES"]


def _erf(np: Any, x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[float])(x)


def _float(name: str, formula: Any, domain: Any = real, complexes: bool = True, **options: Any) -> Sample:
    """A function whose result has a floating-point dtype also for integers."""
    dtypes = (*REALS, *COMPLEX) if complexes else REALS
    return elementwise(name, formula, domain, dtypes=dtypes, result="float", **options)


def _steps(name: str, formula: Any) -> Sample:
    return elementwise(name, formula, dtypes=REALS)


def _unit(name: str, formula: Any) -> Sample:
    return elementwise(name, formula, unit, dtypes=(*FLOATS, *COMPLEX))


SAMPLES = [
    elementwise("neg", lambda np, x: -x, dtypes=(*FLOATS, "int64", *COMPLEX)),
    elementwise("negative", lambda np, x: -x),
    elementwise("positive", lambda np, x: x, dtypes=NUMBERS),
    elementwise("abs", lambda np, x: abs(x), dtypes=REALS),
    elementwise("absolute", lambda np, x: abs(x), dtypes=REALS),
    elementwise("abs", lambda np, x: abs(x), dtypes=COMPLEX, result="real", inplace=False),
    elementwise("sign", lambda np, x: np.sign(x), dtypes=REALS),
    elementwise("sgn", lambda np, x: x / abs(x), positive, dtypes=(*FLOATS, *COMPLEX)),
    elementwise("conj_physical", lambda np, x: np.conj(x), dtypes=NUMBERS),
    elementwise("clone", lambda np, x: x, dtypes=(*NUMBERS, "bool")),
    _float("sqrt", lambda np, x: x**0.5, positive),
    _float("rsqrt", lambda np, x: x**-0.5, positive),
    elementwise("square", lambda np, x: x * x, dtypes=NUMBERS),
    _float("reciprocal", lambda np, x: 1 / x, positive),
    _float("exp", lambda np, x: np.exp(x)),
    _float("exp2", lambda np, x: 2.0**x),
    _float("expm1", lambda np, x: np.expm1(x)),
    _float("log", lambda np, x: np.log(x), positive),
    _float("log2", lambda np, x: np.log(x) / np.log(2), positive),
    _float("log10", lambda np, x: np.log(x) / np.log(10), positive),
    _float("log1p", lambda np, x: np.log(1 + x), positive),
    _float("sin", lambda np, x: np.sin(x)),
    _float("cos", lambda np, x: np.cos(x)),
    _float("tan", lambda np, x: np.sin(x) / np.cos(x), unit),
    _unit("asin", lambda np, x: np.arcsin(x)),
    _unit("acos", lambda np, x: np.arccos(x)),
    _float("atan", lambda np, x: np.arctan(x)),
    _float("sinh", lambda np, x: (np.exp(x) - np.exp(-x)) / 2),
    _float("cosh", lambda np, x: (np.exp(x) + np.exp(-x)) / 2),
    _float("tanh", lambda np, x: np.tanh(x)),
    _float("asinh", lambda np, x: np.arcsinh(x)),
    elementwise("acosh", lambda np, x: np.log(x + np.sqrt(x * x - 1)),
                lambda *shape: real(*shape, low=1.3, high=3)),
    _unit("atanh", lambda np, x: np.log((1 + x) / (1 - x)) / 2),
    *(elementwise(f"arc{name}", lambda np, x, name=name: getattr(np, f"arc{name}")(x), unit)
      for name in ("sin", "cos", "tan", "sinh", "tanh")),
    elementwise("arccosh", lambda np, x: np.arccosh(x), lambda *shape: real(*shape, low=1.3, high=3)),
    _steps("floor", lambda np, x: np.floor(x)),
    _steps("ceil", lambda np, x: np.ceil(x)),
    _steps("trunc", lambda np, x: np.trunc(x)),
    _steps("fix", lambda np, x: np.trunc(x)),
    _steps("round", lambda np, x: np.round(x)),
    Sample("round", lambda torch, x: torch.round(x, decimals=1), [real(2, 3)], lambda np, x: np.round(x, 1),
           ("float64", "float32")),
    Sample("round", lambda torch, x: torch.round(x), [fixed([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])],
           lambda np, x: np.array([-2.0, -2, 0, 0, 2, 2]), grad=False),
    elementwise("frac", lambda np, x: x - np.trunc(x)),
    _float("sigmoid", lambda np, x: 1 / (1 + np.exp(-x))),
    elementwise("relu", lambda np, x: np.maximum(x, 0), dtypes=REALS),
    _float("erf", _erf, complexes=False),
    _float("erfc", lambda np, x: 1 - _erf(np, x), complexes=False),
    elementwise("isnan", lambda np, x: x != x, dtypes=NUMBERS, result="bool", grad=False),
    elementwise("isinf", lambda np, x: abs(x) == np.inf, dtypes=NUMBERS, result="bool", grad=False),
    elementwise("isfinite", lambda np, x: abs(x) < np.inf, dtypes=NUMBERS, result="bool", grad=False),
    elementwise("signbit", lambda np, x: x < 0, dtypes=REALS, result="bool", grad=False),
    *(Sample(name, lambda torch, x, name=name: getattr(torch, name)(x), [fixed([1.0, float("inf"), float("-inf"), float("nan")])],
             lambda np, x, name=name: getattr(np, name)(x), FLOATS, "bool", grad=False)
      for name in ("isnan", "isinf", "isfinite")),
    *(Sample(name, lambda torch, x, name=name: getattr(torch, name)(x), [fixed([1, 2], dtype)], lambda np, x: x, (dtype,),
             grad=False)
      for name in ("resolve_conj", "resolve_neg") for dtype in ("float64", *INTEGERS)),
]  # fmt: skip
