"""The error function, its complement, their inverses, and the normal distribution.

The rational approximations are from S. L. Moshier's Cephes library (1984-2000).  They are accurate to a few units in the last
place of float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...engine.calls.facts import Autocast, Kind
from ...engine.calls.op import op
from ...engine.calls.record import Out
from .double_precision import in_double

__all__ = [
    "erf", "erf_forward", "erfc", "erfc_forward", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri", "polynomial", "scaled_tail",
]  # fmt: skip

# erf(x) = x T(x^2) / U(x^2) for |x| < 1; erfc(x) = exp(-x^2) P(x) / Q(x) for 1 <= x < 8, exp(-x^2) R(x) / S(x) for x >= 8.
_T = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
_U = (
    1.0,
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
_Q = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
_R = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
_S = (
    1.0,
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Evaluate a polynomial by Horner's rule; the coefficient of the highest power is first."""
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _near_zero(x: Any) -> Any:
    square = x * x
    return x * polynomial(square, _T) / polynomial(square, _U)


def scaled_tail(xp: Any, x: Any) -> Any:
    """Return `exp(x**2) * erfc(x)` for `x >= 1`."""
    middle, inverse = xp.clip(x, 1.0, 8.0), 1 / xp.clip(x, 8.0, math.inf)
    # R(x) / S(x), computed in powers of 1 / x, because powers of x may overflow
    far = inverse * polynomial(inverse, _R[::-1]) / polynomial(inverse, _S[::-1])
    return xp.where(x < 8, polynomial(middle, _P) / polynomial(middle, _Q), far)


def _tail(xp: Any, x: Any) -> Any:
    """Return `erfc(x)` for `x >= 1`."""
    return xp.exp(-x * x) * scaled_tail(xp, x)


def erf_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    return xp.where(size < 1, _near_zero(xp.clip(input, -1.0, 1.0)), xp.sign(input) * (1 - _tail(xp, size)))


def erfc_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    tail = _tail(xp, size)
    return xp.where(size < 1, 1 - _near_zero(xp.clip(input, -1.0, 1.0)), xp.where(input < 0, 2 - tail, tail))


_accurate_erfc = in_double(erfc_forward)  # in float32, `exp` would amplify the rounding error of x ** 2

erf = op(
    "erf", erf_forward,
    kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True, promote="float_accumulate", dtypes="real", inplace=True,
    doc="""Return the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """,
    input=lambda F, g, input: g * F.exp(-input * input) * (2 / math.sqrt(math.pi)),
)  # fmt: skip
erfc = op(
    "erfc", lambda xp, input: _accurate_erfc(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="Return `1 - erf(x)`, accurate also where it is small.",
    input=lambda F, g, input: g * F.exp(-input * input) * (-2 / math.sqrt(math.pi)),
)  # fmt: skip

# --- inverses, and the normal distribution ---------------------------------------------------------------------------


_ROOT_PI, _ROOT_TAU, _ROOT_2 = math.sqrt(math.pi), math.sqrt(2 * math.pi), math.sqrt(2)

# First approximation of erfinv(x) / x by M. Giles ("Approximating the erfinv function", GPU Computing Gems 2, 2011): for
# w = -log((1 - x) (1 + x)) below 5, the polynomial _NEAR in w - 2.5; for larger w, the polynomial _FAR in sqrt(w) - 3.
_NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@in_double
def erfcx_forward(xp: Any, input: Any) -> Any:
    small = xp.clip(input, -math.inf, 1.0)
    return xp.where(input < 1, xp.exp(small * small) * erfc_forward(xp, small), scaled_tail(xp, xp.clip(input, 1.0, math.inf)))


def _erfc_inverse(xp: Any, q: Any) -> Any:
    """Solve `erfc(y) == q` for `q <= 1` by Newton's method on `log(erfc(y))`, which is nearly a parabola."""
    w = -xp.log(q * (2 - q))
    near, far = polynomial(xp.clip(w, 0.0, 5.0) - 2.5, _NEAR), polynomial(xp.sqrt(xp.clip(w, 5.0, 16.0)) - 3, _FAR)
    guess = xp.where(w < 5, near, far) * (1 - q)
    y = xp.where(w < 16, guess, xp.sqrt(xp.clip(w - 0.5 * xp.log(math.pi * xp.clip(w, 1.0, math.inf)), 0.0, math.inf)))
    target = xp.log(q)
    for _ in range(3):
        scaled = erfcx_forward(xp, y)
        y = y + (xp.log(scaled) - y * y - target) * 0.5 * _ROOT_PI * scaled
    return y


@in_double
def erfinv_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    inside = xp.where(size < 1, size, 0.5)
    w = -xp.log1p(-inside * inside)
    near = polynomial(xp.clip(w, 0.0, 5.0) - 2.5, _NEAR) * inside
    for _ in range(2):
        near = near - (erf_forward(xp, near) - inside) * 0.5 * _ROOT_PI * xp.exp(near * near)
    result = xp.where(inside < 0.5, near, _erfc_inverse(xp, 1 - xp.clip(inside, 0.5, 1.0)))
    result = xp.where(size == 1, math.inf, xp.where(size < 1, result, math.nan))
    return xp.where(input < 0, -result, result)


@in_double
def ndtr_forward(xp: Any, input: Any) -> Any:
    return 0.5 * erfc_forward(xp, -input / _ROOT_2)


@in_double
def log_ndtr_forward(xp: Any, input: Any) -> Any:
    x = input / _ROOT_2
    low = xp.clip(x, -math.inf, 0.0)
    below = xp.log(0.5 * erfcx_forward(xp, -low)) - low * low
    above = xp.log1p(-0.5 * erfc_forward(xp, xp.clip(x, 0.0, math.inf)))
    return xp.where(input == -math.inf, input, xp.where(input < 0, below, above))


@in_double
def ndtri_forward(xp: Any, input: Any) -> Any:
    inside = xp.where((input > 0) & (input < 1), input, 0.5)
    tail = _ROOT_2 * _erfc_inverse(xp, 2 * xp.minimum(inside, 1 - inside))
    centre = _ROOT_2 * erfinv_forward(xp, 2 * inside - 1)
    result = xp.where(xp.abs(inside - 0.5) < 0.25, centre, xp.where(inside < 0.5, -tail, tail))
    result = xp.where(input == 0, -math.inf, xp.where(input == 1, math.inf, result))
    return xp.where((input >= 0) & (input <= 1), result, math.nan)


erfinv = op(
    "erfinv", lambda xp, input: erfinv_forward(xp, input),
    kind=Kind.POINTWISE, keeps_zero=True, autocast={"cuda": Autocast.FLOAT32}, promote="float", dtypes="real", inplace=True,
    doc="""Return the inverse of `erf` on [-1, 1], NaN elsewhere.

    >>> torch.erfinv(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.4769,   -inf])
    """,
    input=lambda F, g, input: g * F.exp(F.square(F.erfinv(input))) * (0.5 * _ROOT_PI),
)  # fmt: skip
erfcx = op(
    "special_erfcx", lambda xp, input: erfcx_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    doc="""Return `exp(x**2) * erfc(x)` without overflow or underflow of the factors.

    >>> torch.special.erfcx(torch.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0056])
    """,
    input=lambda F, g, input, out: g * (2 * input * out - 2 / _ROOT_PI),
)  # fmt: skip
ndtr = op(
    "special_ndtr", lambda xp, input: ndtr_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    out=Out.RECORDED | Out.UNCHECKED,
    doc="""Return the standard normal distribution function: the probability of a value below `x`.

    >>> torch.special.ndtr(torch.tensor([-3.0, 0.0]))
    tensor([0.0013, 0.5000])
    """,
    input=lambda F, g, input: g * F.exp(-0.5 * input * input) * (1 / _ROOT_TAU),
)  # fmt: skip
log_ndtr = op(
    "special_log_ndtr", lambda xp, input: log_ndtr_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    doc="""Return the logarithm of `ndtr`, accurate far into the tail.

    >>> torch.special.log_ndtr(torch.tensor([-100.0, 0.0]))
    tensor([-5.0055e+03, -6.9315e-01])
    """,
    input=lambda F, g, input: g * (math.sqrt(2 / math.pi) / F.special_erfcx(input * (-1 / _ROOT_2))),
)  # fmt: skip
ndtri = op(
    "special_ndtri", lambda xp, input: ndtri_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    doc="""Return the inverse of `ndtr`: the quantile of the standard normal distribution for probability `x`.

    >>> torch.special.ndtri(torch.tensor([0.0, 0.5, 0.975]))
    tensor([  -inf, 0.0000, 1.9600])
    """,
    input=lambda F, g, out: g * F.exp(0.5 * out * out) * _ROOT_TAU,
)  # fmt: skip
