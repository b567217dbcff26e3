"""The normal distribution: its distribution function, with logarithm and inverse, and relatives of `erf`."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.op import op
from ..engine.calls.record import Out
from .error_function import erf_forward, erfc_forward, polynomial, scaled_tail
from .precision import in_double

__all__ = ["erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

_ROOT_PI, _ROOT_TAU, _ROOT_2 = math.sqrt(math.pi), math.sqrt(2 * math.pi), math.sqrt(2)

# A first approximation of erfinv(x) / x, by M. Giles ("Approximating the erfinv function", GPU Computing Gems 2, 2011), from
# w = -log((1 - x) (1 + x)): in w - 2.5 below 5, in sqrt(w) - 3 above.
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
    """The `y >= 0` with `erfc(y) == q <= 1`: Newton's method on the logarithm, in which erfc is nearly a parabola."""
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
    "erfinv", lambda xp, input: erfinv_forward(xp, input), promote="float", dtypes="real", inplace=True,
    doc="""The inverse of `erf`, on [-1, 1]; NaN elsewhere.

    >>> import flambeau as torch
    >>> torch.erfinv(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.4769,   -inf])
    """,
    input=lambda F, g, input: g * F.exp(F.square(F.erfinv(input))) * (0.5 * _ROOT_PI),
)  # fmt: skip
erfcx = op(
    "special_erfcx", lambda xp, input: erfcx_forward(xp, input), promote="float", dtypes="real", public=False, method=False,
    doc="""`exp(x**2) * erfc(x)`, without overflow or underflow on the way.

    >>> import flambeau as torch
    >>> torch.special.erfcx(torch.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0056])
    """,
    input=lambda F, g, input, out: g * (2 * input * out - 2 / _ROOT_PI),
)  # fmt: skip
ndtr = op(
    "special_ndtr", lambda xp, input: ndtr_forward(xp, input), promote="float", dtypes="real", public=False, method=False,
    out=Out.RECORDED | Out.UNCHECKED,
    doc="""The standard normal distribution function: the mass below `x`.

    >>> import flambeau as torch
    >>> torch.special.ndtr(torch.tensor([-3.0, 0.0]))
    tensor([0.0013, 0.5000])
    """,
    input=lambda F, g, input: g * F.exp(-0.5 * input * input) * (1 / _ROOT_TAU),
)  # fmt: skip
log_ndtr = op(
    "special_log_ndtr", lambda xp, input: log_ndtr_forward(xp, input), promote="float", dtypes="real", public=False, method=False,
    doc="""The logarithm of `ndtr`, accurate far into the tail.

    >>> import flambeau as torch
    >>> torch.special.log_ndtr(torch.tensor([-100.0, 0.0]))
    tensor([-5.0055e+03, -6.9315e-01])
    """,
    input=lambda F, g, input: g * (math.sqrt(2 / math.pi) / F.special_erfcx(input * (-1 / _ROOT_2))),
)  # fmt: skip
ndtri = op(
    "special_ndtri", lambda xp, input: ndtri_forward(xp, input), promote="float", dtypes="real", public=False, method=False,
    doc="""The inverse of `ndtr`: the number below which there is the mass `x`.

    >>> import flambeau as torch
    >>> torch.special.ndtri(torch.tensor([0.0, 0.5, 0.975]))
    tensor([  -inf, 0.0000, 1.9600])
    """,
    input=lambda F, g, out: g * F.exp(0.5 * out * out) * _ROOT_TAU,
)  # fmt: skip
