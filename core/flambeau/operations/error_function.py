"""The error function and its complement.

Rational approximations of S. L. Moshier's Cephes library (1984-2000), accurate to a few units in the last place of a
double.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..engine.calls.op import op
from .precision import in_double

__all__ = ["erf", "erf_forward", "erfc", "erfc_forward", "polynomial", "scaled_tail"]

# erf(x) = x T(x^2) / U(x^2) near 0; erfc(x) = exp(-x^2) P(x) / Q(x) below 8, and with R / S above.
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
    """Horner's rule, from the highest power down."""
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _near_zero(x: Any) -> Any:
    square = x * x
    return x * polynomial(square, _T) / polynomial(square, _U)


def scaled_tail(xp: Any, x: Any) -> Any:
    """`exp(x**2) * erfc(x)` of numbers from 1 on."""
    middle, inverse = xp.clip(x, 1.0, 8.0), 1 / xp.clip(x, 8.0, math.inf)
    far = (
        inverse * polynomial(inverse, _R[::-1]) / polynomial(inverse, _S[::-1])
    )  # the quotient of the powers of x, without overflow
    return xp.where(x < 8, polynomial(middle, _P) / polynomial(middle, _Q), far)


def _tail(xp: Any, x: Any) -> Any:
    """`erfc` of numbers from 1 on."""
    return xp.exp(-x * x) * scaled_tail(xp, x)


def erf_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    return xp.where(size < 1, _near_zero(xp.clip(input, -1.0, 1.0)), xp.sign(input) * (1 - _tail(xp, size)))


def erfc_forward(xp: Any, input: Any) -> Any:
    size = xp.abs(input)
    tail = _tail(xp, size)
    return xp.where(size < 1, 1 - _near_zero(xp.clip(input, -1.0, 1.0)), xp.where(input < 0, 2 - tail, tail))


_accurate_erfc = in_double(erfc_forward)  # a rounding error in the square of its argument would grow with it

erf = op(
    "erf", erf_forward, promote="float_accumulate", dtypes="real", inplace=True,
    doc="""The error function: twice the normal distribution's mass, of variance 1/2, between 0 and `x`.

    >>> import flambeau as torch
    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """,
    input=lambda F, g, input: g * F.exp(-input * input) * (2 / math.sqrt(math.pi)),
)  # fmt: skip
erfc = op(
    "erfc", lambda xp, input: _accurate_erfc(xp, input), promote="float", dtypes="real", inplace=True,
    doc="`1 - erf(x)`, accurate where that is small.",
    input=lambda F, g, input: g * F.exp(-input * input) * (-2 / math.sqrt(math.pi)),
)  # fmt: skip
