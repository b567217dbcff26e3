"""Elementwise functions of one and two tensors."""

from __future__ import annotations

import math
from typing import Any

from .conversion import asked
from .sample import COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, WIDE, Bad, Sample, elementwise, fixed, positive, real

__all__ = ["BAD", "SAMPLES", "float_elementwise"]


def float_elementwise(name: str, formula: Any, domain: Any = real, complexes: bool = True, **options: Any) -> Sample:
    """Return a sample of a function whose result has a floating-point dtype also for integers."""
    dtypes = (*REALS, *COMPLEX) if complexes else REALS
    return elementwise(name, formula, domain, dtypes=dtypes, result="float", **options)


def _steps(name: str, formula: Any) -> Sample:
    return elementwise(name, formula, dtypes=REALS)


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
    float_elementwise("sqrt", lambda np, x: x**0.5, positive),
    float_elementwise("rsqrt", lambda np, x: x**-0.5, positive),
    elementwise("square", lambda np, x: x * x, dtypes=NUMBERS),
    float_elementwise("reciprocal", lambda np, x: 1 / x, positive),
    float_elementwise("exp", lambda np, x: np.exp(x)),
    float_elementwise("exp2", lambda np, x: 2.0**x),
    float_elementwise("expm1", lambda np, x: np.expm1(x)),
    float_elementwise("log", lambda np, x: np.log(x), positive),
    float_elementwise("log2", lambda np, x: np.log(x) / np.log(2), positive),
    float_elementwise("log10", lambda np, x: np.log(x) / np.log(10), positive),
    float_elementwise("log1p", lambda np, x: np.log(1 + x), positive),
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
    elementwise("sgn", lambda np, x: np.where(x == 0, 0, x / np.where(x == 0, 1, abs(x))), dtypes=COMPLEX),
    asked("is_conj", lambda np, x: False),
    asked("is_neg", lambda np, x: False),
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
    Sample("gcd", lambda torch, x, y: torch.gcd(x, y), [fixed([12, 0, 7, 30]), fixed([8, 0, 3, 45])],
           lambda np, x, y: np.gcd(x, y),
           INTEGERS, grad=False),
    Sample("lcm", lambda torch, x, y: torch.lcm(x, y), [fixed([12, 0, 7, 3]), fixed([8, 0, 3, 4])], lambda np, x, y: np.lcm(x, y),
           INTEGERS, grad=False),
    elementwise("logaddexp", lambda np, x, y: np.logaddexp(x, y), real, real, dtypes=WIDE),
    elementwise("logaddexp2", lambda np, x, y: np.logaddexp2(x, y), real, real, dtypes=WIDE),
    Sample("frexp", lambda torch, x: torch.frexp(x), [positive(6)], lambda np, x: np.frexp(x), WIDE, ("same", "int32")),
    Sample("ldexp", lambda torch, x, y: torch.ldexp(x, y), [real(3), fixed([1, 2, 3], "int64")],
           lambda np, x, y: np.ldexp(x, y), WIDE),
]  # fmt: skip


BAD = [
    Bad("gcd", lambda torch, x: torch.gcd(x, x), [real(2)], "NotImplementedError"),
    Bad("heaviside", lambda torch, x, y: torch.heaviside(x, y), [real(2), fixed([1.0], "float64")], "RuntimeError"),
    Bad("frexp", lambda torch, x: torch.frexp(x), [fixed([1], "int64")], "RuntimeError"),
    Bad("isneginf", lambda torch, x: torch.isneginf(x), [real(2)], "RuntimeError", COMPLEX[1]),
]  # fmt: skip
