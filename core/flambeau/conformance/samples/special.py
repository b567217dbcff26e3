"""Gamma, Bessel and error functions, and orthogonal polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

from .pointwise import float_elementwise
from .sample import WIDE, Bad, Input, Sample, elementwise, find, fixed, positive, real, torch_function, unit

__all__ = ["BAD", "SAMPLES"]

_PLACES = [0.3, 0.75, 1.0, 2.5, 6.0]
_TABLE = {
    "airy_ai": ([-2.0, -0.5, 0.0, 0.5, 2.0],
                [0.2274074282016856, 0.4757280916105396, 0.3550280538878172, 0.2316936064808335, 0.03492413042327438]),
    "bessel_y0": ([0.3, 0.75, 1.0, 2.5, 4.0],
                  [-0.8072735778045195, -0.1371727693857724, 0.08825696421567696, 0.4980703596152319, -0.01694073932506499]),
    "bessel_y1": ([0.3, 0.75, 1.0, 2.5, 4.0],
                  [-2.293105138388529, -1.037594550769285, -0.7812128213002887, 0.1459181379667858, 0.3979257105571]),
    "modified_bessel_i0": (_PLACES, [1.022626879351597, 1.145646778044001, 1.266065877752008, 3.289839144050123,
    67.23440697647798]),
    "modified_bessel_i1": (_PLACES, [0.1516938400035928, 0.4019924615809222, 0.565159103992485, 2.516716245288698,
    61.34193677764024]),
    "modified_bessel_k0": (_PLACES,
                           [1.372460060544297, 0.6105824221164641, 0.4210244382407083, 0.06234755320036619,
                               0.001243994328013123]),
    "modified_bessel_k1": (_PLACES,
                           [3.055992033457325, 0.9495804669621402, 0.6019072301972346, 0.07389081634774706,
                               0.001343919717735509]),
    "scaled_modified_bessel_k0": (_PLACES,
                                  [1.852627300772014, 1.292602997763962, 1.144463079806895, 0.7595486903280996,
                                      0.50186313086214]),
    "scaled_modified_bessel_k1": (_PLACES,
                                  [4.12515776224447, 2.010261864333922, 1.636153486263258, 0.9001744239078781,
                                      0.5421759102771335]),
}  # fmt: skip


def _of_table(name: str, *values: list[float], expected: list[float]) -> Sample:
    return Sample(
        name,
        lambda torch, *x: find(torch, name)(*x),
        [fixed(v) for v in values],
        lambda np, *x: np.array(expected),
        WIDE,
        grad=False,
    )


def _recurrence(first: Callable[..., Any], step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the polynomial of degree 4, given the polynomial of degree 1 and the recurrence for degree `n + 1`."""

    def formula(np: Any, x: Any) -> Any:
        before, last = np.ones_like(x), first(x)
        for n in range(1, 4):
            before, last = last, step(n, x, last, before)
        return last

    return formula


def _chebyshev(n: int, x: Any, last: Any, before: Any) -> Any:
    return 2 * x * last - before


def _shifted(n: int, x: Any, last: Any, before: Any) -> Any:
    return 2 * (2 * x - 1) * last - before


_POLYNOMIALS = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev), "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev), "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev),
    "shifted_chebyshev_polynomial_t": (lambda x: 2 * x - 1, _shifted),
    "shifted_chebyshev_polynomial_u": (lambda x: 4 * x - 2, _shifted),
    "shifted_chebyshev_polynomial_v": (lambda x: 4 * x - 3, _shifted),
    "shifted_chebyshev_polynomial_w": (lambda x: 4 * x - 1, _shifted),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda n, x, last, before: 2 * x * last - 2 * n * before),
    "hermite_polynomial_he": (lambda x: x, lambda n, x, last, before: x * last - n * before),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda n, x, last, before: ((2 * n + 1 - x) * last - n * before) / (n + 1)),
}  # fmt: skip


def _polynomial(name: str, formula: Callable[..., Any]) -> Sample:
    return Sample(
        f"special.{name}", lambda torch, x: find(torch, f"special.{name}")(x, 4), [unit(2, 3)], formula, WIDE, grad=False
    )


def _each(function: Callable[[float], float]) -> Callable[..., Any]:
    """Apply a Python function of one number to each element of an array."""
    return lambda np, x: np.vectorize(function, otypes=[float])(x)


def _inside(*shape: int) -> Input:
    """Random values between 0.05 and 0.95."""
    return Input(shape, 0.05, 0.95)


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _bessel(order: int) -> Callable[..., Any]:
    """Compute Bessel's integral by the trapezoidal rule, which is exact to rounding for a periodic function."""

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


def _erf(np: Any, x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[float])(x)


SAMPLES = [
    *(_of_table(f"special.{name}", values, expected=expected) for name, (values, expected) in _TABLE.items()),
    _of_table("special.gammainc", [0.5, 1.0, 2.5, 7.0], [0.3, 1.5, 2.0, 9.0],
              expected=[0.5614219739190001, 0.7768698398515702, 0.4505840486472198, 0.793219160140013]),
    _of_table("special.gammaincc", [0.5, 1.0, 2.5, 7.0], [0.3, 1.5, 2.0, 9.0],
              expected=[0.4385780260809999, 0.2231301601484298, 0.5494159513527802, 0.206780839859987]),
    _of_table("special.zeta", [1.5, 2.0, 3.5, 6.0], [0.5, 1.0, 2.5, 0.25],
              expected=[4.776537947554833, 1.644934066848226, 0.06517125158965971, 4096.270948064011]),
    Sample("special.multigammaln", lambda torch, x: torch.special.multigammaln(x, 3), [fixed([1.5, 2.5, 4.0])],
           lambda np, x: np.array([2.168677534063555, 1.880995461611774, 5.402975080909175]), WIDE),
    *(_polynomial(name, _recurrence(*rules)) for name, rules in _POLYNOMIALS.items()),
    elementwise("xlogy", lambda np, x, y: x * np.log(y), real, positive),
    elementwise("special.xlog1py", lambda np, x, y: x * np.log1p(y), real, positive),
    elementwise("logit", lambda np, x: np.log(x / (1 - x)), _inside),
    Sample("logit", lambda torch, x: torch.logit(x, 0.2), [_inside(8)],
           lambda np, x: np.log((y := np.clip(x, 0.2, 0.8)) / (1 - y)), WIDE,
           method=False, inplace=False),
    elementwise("lgamma", _each(math.lgamma), positive, dtypes=WIDE),
    elementwise("special.gammaln", _each(math.lgamma), positive, dtypes=WIDE),
    elementwise("erfinv", _each(lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)), unit, dtypes=WIDE, atol=1e-9),
    elementwise("special.erfcx", _each(lambda x: math.exp(x * x) * math.erfc(x)), real, dtypes=WIDE),
    elementwise("special.ndtr", _each(_phi), real, dtypes=WIDE),
    elementwise("special.log_ndtr", _each(lambda x: math.log(_phi(x))), real, dtypes=WIDE),
    elementwise("special.ndtri", _each(NormalDist().inv_cdf), _inside, dtypes=WIDE),
    elementwise("special.entr", lambda np, x: -x * np.log(x), positive, dtypes=WIDE),
    elementwise("i0", _modified(0, False), real, dtypes=WIDE),
    elementwise("special.i0e", _modified(0, True), positive, dtypes=WIDE),
    elementwise("special.i1", _modified(1, False), real, dtypes=WIDE),
    elementwise("special.i1e", _modified(1, True), positive, dtypes=WIDE),
    elementwise("special.bessel_j0", _bessel(0), real, dtypes=WIDE, grad=False),
    elementwise("special.bessel_j1", _bessel(1), real, dtypes=WIDE, grad=False),
    elementwise("special.spherical_bessel_j0", lambda np, x: np.sin(x) / x, positive, dtypes=WIDE, grad=False),
    elementwise("igammac", lambda np, a, x: np.exp(-x) * (1 + a * 0), lambda *shape: Input(shape, 1.0, 1.0), positive,
           dtypes=WIDE, grad=False),
    Sample("polygamma", lambda torch, x: torch.polygamma(1, x), [fixed([1.0, 0.5])],
           lambda np, x: np.asarray([np.pi**2 / 6, np.pi**2 / 2]),
           WIDE, method=False, inplace=False),
    Sample("digamma", lambda torch, x: torch.digamma(x), [fixed([1.0, 0.5])],
           lambda np, x: -np.euler_gamma - np.asarray([0, 2 * np.log(2)]), WIDE),
    Sample("mvlgamma", lambda torch, x: torch.mvlgamma(x, 2), [Input((4,), 1.0, 4.0)],
           lambda np, x: 0.5 * np.log(np.pi) + np.vectorize(math.lgamma)(x) + np.vectorize(math.lgamma)(x - 0.5), WIDE),
    Sample("special.legendre_polynomial_p", lambda torch, x: torch.special.legendre_polynomial_p(x, 3), [unit(4)], _legendre,
           WIDE, grad=False),
    Sample("special.chebyshev_polynomial_t", lambda torch, x: torch.special.chebyshev_polynomial_t(x, 5), [unit(4)],
           lambda np, x: np.cos(5 * np.arccos(x)), WIDE, grad=False),
    torch_function("igamma", lambda f, a, x: f(a, x), lambda np, a, x: 1 - np.exp(-x), fixed([1.0, 1.0]), positive(2),
        grad=False),
    torch_function("igammac", lambda f, a, x: f(a, x), lambda np, a, x: np.exp(-x), fixed([1.0, 1.0]), positive(2), grad=False),
    float_elementwise("erf", _erf, complexes=False),
    float_elementwise("erfc", lambda np, x: 1 - _erf(np, x), complexes=False),
]  # fmt: skip


BAD = [
    Bad("polygamma", lambda torch, x: torch.polygamma(-1, x), [real(2)], "RuntimeError"),
    Bad("mvlgamma", lambda torch, x: torch.mvlgamma(x, 0), [real(2)], "RuntimeError"),
]  # fmt: skip
