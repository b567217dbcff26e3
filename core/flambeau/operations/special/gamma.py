"""The gamma function: its logarithm, polygamma and Hurwitz zeta functions, and the incomplete gamma functions.

Recurrence and reflection formulas replace arguments by larger ones, for which asymptotic series are accurate (Abramowitz and
Stegun, "Handbook of Mathematical Functions", 1964, chapters 6 and 23).
"""

from __future__ import annotations

import math
import sys
from typing import Any

from ...engine.calls.facts import Kind
from ...engine.calls.inplace import in_place
from ...engine.calls.op import composite, not_implemented, op
from ...engine.calls.record import Out
from ...engine.tensors.tensor import Tensor, attach
from ...engine.values import dtypes
from .double_precision import chebyshev, in_double, quadrature
from .error_function import polynomial

__all__ = [
    "beta_grad", "digamma", "gamma_grad_by_integral", "gamma_grad_by_series", "gammainc", "gammaincc", "lgamma",
    "mvlgamma", "polygamma", "zeta",
]  # fmt: skip

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)  # B2, B4, ...
_LARGE = 10  # for arguments of at least this size, the asymptotic series are accurate
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)

# log(gamma(x)) / ((x - 1) (x - 2)) on [1, 2], as a Chebyshev series in 2x - 3.
_LGAMMA = (
    0.49141539302938714, -0.07611416167043585, 0.008432324965932778, -0.001079493726328608, 0.00014900748003692963,
    -2.1512399888556784e-05, 3.1979329860862186e-06, -4.851693012139927e-07, 7.47148782116316e-08,
    -1.1638296700170518e-08, 1.829400437118668e-09, -2.8969180607129607e-10, 4.61570140620909e-11,
    -7.392810230497983e-12, 1.1894280008333085e-12, -1.9212068676522805e-13, 3.113975526387164e-14,
    -5.0628432984486114e-15, 8.254150281631144e-16, -1.3490578987574844e-16, 2.209876116782623e-17,
)  # fmt: skip


def _stirling_correction(x: Any) -> Any:
    """Return `log(gamma(x)) - ((x - 1/2) log(x) - x + log(2 pi) / 2)`."""
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]
    return polynomial(1 / (x * x), terms[::-1]) / x


def _lgamma_of_positive(xp: Any, x: Any) -> Any:
    """Return `log(gamma(x))` for positive `x`.

    From 10 on, this is Stirling's series.  Smaller arguments are moved to [1, 2] by the recurrence; there, the logarithm is a
    Chebyshev series multiplied by `(x - 1) (x - 2)`, which is accurate near the zeros at 1 and 2.
    """
    near, factor = xp.clip(x, 0.0, _LARGE), xp.ones_like(x)
    for _ in range(_LARGE - 2):
        above = near > 2
        near = xp.where(above, near - 1, near)
        factor = xp.where(above, factor * near, factor)
    below = near < 1
    factor = xp.where(below, factor / near, factor)
    near = xp.where(below, near + 1, near)
    small = (near - 1) * (near - 2) * chebyshev(2 * near - 3, _LGAMMA) + xp.log(factor)
    far = xp.clip(x, _LARGE, math.inf)
    large = (far - 0.5) * (xp.log(far) - 1) - 0.5 + _HALF_LOG_TAU + _stirling_correction(far)
    return xp.where(x < _LARGE, small, xp.where(x == math.inf, x, large))


@in_double
def lgamma_forward(xp: Any, input: Any) -> Any:
    positive = _lgamma_of_positive(xp, xp.where(input < 0, 1 - input, xp.abs(input)))
    sine = xp.abs(xp.sin(math.pi * (input - xp.round(input))))
    reflected = xp.where(sine == 0, math.inf, math.log(math.pi) - xp.log(xp.where(sine == 0, 1.0, sine)) - positive)
    result = xp.where(input < 0, reflected, positive)
    return xp.where(xp.isinf(input), math.inf, xp.where(input != input, input, result))


@in_double
def digamma_forward(xp: Any, input: Any) -> Any:
    negative = input < 0
    x, total = xp.where(negative, 1 - input, input), xp.zeros_like(input)
    for _ in range(_LARGE):
        below = x < _LARGE
        total = xp.where(below, total - 1 / x, total)
        x = xp.where(below, x + 1, x)
    terms = [-b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    inverse = 1 / (x * x)
    result = total + xp.log(x) - 0.5 / x + polynomial(inverse, terms[::-1]) * inverse
    fraction = input - xp.round(input)
    result = xp.where(negative, result - math.pi / xp.tan(math.pi * fraction), result)
    result = xp.where(negative & (fraction == 0), math.nan, result)
    return xp.where(input == 0, xp.copysign(xp.full_like(input, math.inf), -input), result)


@in_double
def zeta_forward(xp: Any, input: Any, other: Any) -> Any:
    s, q = xp.broadcast_arrays(input, other)
    whole, negative = q == xp.floor(q), q < 0
    fraction = q - xp.floor(q)
    folded = _hurwitz(xp, s, 1 - fraction) - _hurwitz(xp, s, xp.where(negative, 1 - q, 1.0))
    folded = xp.where(xp.remainder(s, 2.0) == 0, folded, -folded)
    result = xp.where(negative, folded + _hurwitz(xp, s, fraction), _hurwitz(xp, s, q))
    result = xp.where(negative & (s != xp.floor(s)), math.nan, result)
    result = xp.where(s == math.inf, xp.where(q > 1, 0.0, xp.where(q == 1, q, math.inf)), result)
    result = xp.where((q <= 0) & whole, math.inf, result)
    return xp.where((s < 1) | (s != s) | (q != q), math.nan, xp.where(s == 1, math.inf, result))


def _hurwitz(xp: Any, s: Any, q: Any) -> Any:
    """Sum `(q + k)**-s` over `k >= 0` for positive `q`: ten terms, and the Euler-Maclaurin formula for the rest."""
    total = xp.zeros_like(s)
    for k in range(_LARGE):
        total = total + (q + k) ** -s
    edge = q + _LARGE
    power = edge**-s
    total = total + edge ** (1 - s) / xp.where(s == 1, 2.0, s - 1) + 0.5 * power
    factor = s / edge
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * power * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (edge * edge)
    return total


lgamma = op(
    "lgamma", lambda xp, input: lgamma_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="""Return the logarithm of the absolute value of the gamma function.

    >>> torch.lgamma(torch.tensor([0.5, 1.0, 5.0]))
    tensor([0.5724, 0.0000, 3.1781])
    """,
    input=lambda F, g, input: g * F.digamma(input),
)  # fmt: skip
digamma = op(
    "digamma", lambda xp, input: digamma_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", dtypes="real", inplace=True,
    doc="""Return the derivative of `lgamma`.

    >>> torch.digamma(torch.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """,
    input=lambda F, g, input: g * F.polygamma_of(input, 1),
)  # fmt: skip
zeta = op(
    "special_zeta", lambda xp, input, other: zeta_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False,
    method=False,
    doc="""Return the Hurwitz zeta function: the sum over `k >= 0` of `(other + k)**-input`.

    Args:
        input: the exponents, a tensor or a number; below 1 the result is NaN.
        other: the smallest terms, a tensor or a number; 0, -1, -2 and so on give infinity.

    >>> torch.special.zeta(torch.tensor([2.0]), torch.tensor([1.0]))
    tensor([1.6449])
    """,
    input=not_implemented("zeta"), other=lambda F, g, input, other: g * -input * F.special_zeta(input + 1, other),
)  # fmt: skip


@in_double
def _derivative_of_digamma(xp: Any, input: Any, n: int) -> Any:
    factorial = math.factorial(n) if n < 171 else math.inf  # 171! exceeds the largest float64
    order = xp.asarray(n + 1.0, dtype=input.dtype)
    return (1.0 if n % 2 else -1.0) * factorial * zeta_forward(xp, order, input)


def _polygamma_forward(xp: Any, input: Any, /, n: int) -> Any:
    if n == 0:
        return digamma_forward(xp, input)
    return _derivative_of_digamma(xp, input, n)


_polygamma = op(
    "polygamma_of", _polygamma_forward,
    kind=Kind.POINTWISE, promote="float", dtypes="real", public=False, method=False,
    grad_fn="PolygammaBackward0", dispatches=lambda input, n: ("polygamma", n, input),
    input=lambda F, g, input, n: g * F.polygamma_of(input, n + 1),
)  # fmt: skip


@composite(method=False, out=True, kind=Kind.POINTWISE, schema="polygamma(int n, Tensor self) -> Tensor")
def polygamma(n: int, input: Tensor) -> Tensor:
    """Return the `n`-th derivative of `digamma`.

    Args:
        n: the order of the derivative, not negative.
        input: a real tensor.

    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _polygamma(input, n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """Return the `n`-th derivative of digamma.

    Args:
        n: the order of the derivative, not negative.
    """
    return polygamma(n, self)


attach(polygamma=_polygamma_method)
attach(polygamma_=in_place("polygamma", _polygamma_method))


@composite(inplace=True, out=Out.UNCHECKED, grad_fn="MvlgammaBackward0", kind=Kind.POINTWISE)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `p`.

    Args:
        input: a real tensor whose elements are above `(p - 1) / 2`.
        p: the dimension, at least 1.

    >>> torch.mvlgamma(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if input._key.dtype.category < dtypes.FLOATING:
        input = input.to(dtypes.get_default_dtype())
    halves = input.new_tensor([-0.5 * i for i in range(p)])
    return lgamma(input.unsqueeze(-1) + halves).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


# --- incomplete gamma functions -----------------------------------------------------------------------------------


def _density(xp: Any, a: Any, x: Any) -> Any:
    """Return `x**a * exp(-x) / gamma(a)`; for large `a`, computed from the ratio `x / a`, to avoid cancellation."""
    small, large = xp.clip(a, 0.0, _LARGE), xp.clip(a, _LARGE, math.inf)
    direct = xp.exp(small * xp.log(x) - x - _lgamma_of_positive(xp, small))
    ratio = (x - large) / large
    log_ratio = xp.where(xp.abs(ratio) < 0.5, xp.log1p(ratio), xp.log(x) - xp.log(large))
    around_peak = xp.exp(large * (log_ratio - ratio) - _stirling_correction(large)) * xp.sqrt(large / (2 * math.pi))
    return xp.where(a < _LARGE, direct, around_peak)


def _series(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Sum `a (-x)**k / (k! (a + k))` over `k > 0` for `x <= 1`; return the sum and its derivative with respect to `a`."""
    total, slope, term = xp.zeros_like(x), xp.zeros_like(x), xp.ones_like(x)
    for k in range(1, 20):
        inverse = 1 / (a + k)
        term = term * x * (-1 / k)
        share = term * inverse
        total = total + share
        slope = slope + share * inverse * k
    return a * total, slope


def _log_factorial(xp: Any, a: Any) -> Any:
    """Return `lgamma(1 + a)`, with full relative accuracy near 0."""
    near = xp.clip(a, 0.0, 1.0)
    return xp.where(a < 1, near * (near - 1) * chebyshev(2 * near - 1, _LGAMMA), _lgamma_of_positive(xp, 1 + a))


def _path(xp: Any, a: Any, x: Any, decay: float) -> Any:
    """Return the change of `log(x)`, away from the peak, by which the density of the logarithm decreases by `exp(-decay)`.

    It is negative for `x < a`.  The first estimate is for a normal distribution; the others are upper bounds.
    """
    y = 2 * decay / (xp.abs(a - x) + xp.hypot(a - x, xp.sqrt(2 * decay * x)))
    up = xp.minimum(y, xp.log1p((decay + a * y) / x))
    for _ in range(2):  # Newton's method
        fall = x * xp.expm1(-y)
        y = y - (a * y + fall - decay) / (a - x - fall)
    return xp.where(x < a, -xp.minimum(y, (decay + x) / a), up)


def _tails(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Return the probabilities that a gamma variable of shape `a` is below `x` and above `x`.

    Below 1, they are computed by a series.  From 1 on, one is integrated, and the other is 1 minus it.
    """
    ordinary = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    a, x = xp.where(ordinary, a, 1.0), xp.where(ordinary, x, 1.0)
    near = xp.minimum(x, xp.ones_like(x))
    series_sum = _series(xp, a, near)[0]
    exponent = a * xp.log(near) - _log_factorial(xp, a)
    near_below, near_above = xp.exp(exponent) * (1 + series_sum), -xp.expm1(exponent) - xp.exp(exponent) * series_sum
    integral = quadrature(lambda change: xp.exp(a * change - x * xp.expm1(change)), _path(xp, a, x, 40.0))
    tail = _density(xp, a, x) * xp.abs(integral)
    below, above = xp.where(x < a, tail, 1 - tail), xp.where(x < a, 1 - tail, tail)
    return xp.where(x < 1, near_below, below), xp.where(x < 1, near_above, above)


def _limits(xp: Any, a: Any, x: Any, result: Any, at_zero: float) -> Any:
    """Replace the result where `a` or `x` is 0 or infinite: by its limit, or by NaN where it is undefined."""
    result = xp.where((x == 0) | (a == math.inf), at_zero, result)
    result = xp.where((a == 0) | (x == math.inf), 1 - at_zero, result)
    undefined = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | ((a == math.inf) & (x == math.inf)) | (a != a) | (x != x)
    return xp.where(undefined, math.nan, result)


@in_double
def igamma_forward(xp: Any, input: Any, other: Any) -> Any:
    a, x = xp.broadcast_arrays(input, other)
    return _limits(xp, a, x, _tails(xp, a, x)[0], 0.0)


@in_double
def igammac_forward(xp: Any, input: Any, other: Any) -> Any:
    a, x = xp.broadcast_arrays(input, other)
    return _limits(xp, a, x, _tails(xp, a, x)[1], 1.0)


def _incomplete_slope(F: Any, g: Any, input: Any, other: Any) -> Any:
    return g * F.exp((input - 1) * F.log(other) - other - F.lgamma(input))


gammainc = op(
    "igamma", lambda xp, input, other: igamma_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False,
    dtypes="floating", inplace=True,
    doc="""Return the probability that a gamma variable of shape `input` is below `other` (regularised lower incomplete gamma).

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the upper limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igamma(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.6321])
    """,
    input=not_implemented("igamma: input"), other=_incomplete_slope,
)  # fmt: skip
gammaincc = op(
    "igammac", lambda xp, input, other: igammac_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False,
    dtypes="floating", inplace=True,
    doc="""Return the regularised upper incomplete gamma function: `1 - igamma`, accurate also where it is small.

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the lower limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igammac(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.3679])
    """,
    input=not_implemented("igammac: input"), other=lambda F, g, input, other: _incomplete_slope(F, -g, input, other),
)  # fmt: skip

# --- derivatives of samples by their parameters -------------------------------------------------------------------


@in_double
def gamma_grad_forward(xp: Any, input: Any, sample: Any) -> Any:
    """Return the derivative of a gamma sample with respect to its shape parameter.

    It is minus the derivative of the distribution function with respect to the shape, divided by the density.
    """
    a, x = xp.broadcast_arrays(input, sample)
    return xp.where(x < 1, gamma_grad_by_series(xp, a, xp.minimum(x, xp.ones_like(x))), gamma_grad_by_integral(xp, a, x))


def gamma_grad_by_series(xp: Any, a: Any, x: Any) -> Any:
    """Return the derivative for samples up to 1, by a power series."""
    total, slope = _series(xp, a, x)
    return -x * xp.exp(x) / a * ((1 + total) * (xp.log(x) - digamma_forward(xp, 1 + a)) + slope)


def gamma_grad_by_integral(xp: Any, a: Any, x: Any, points: int = 40) -> Any:
    """Return the derivative as an integral over one tail of the density times the score `log(t) - digamma(shape)`.

    With `t = x * exp(y)`, the integrand is an entire function of `y`.  The relative error is 3e-8 with 20 points, 1e-13 with 40.
    """
    score = xp.log(x) - digamma_forward(xp, a)

    def integrand(change: Any) -> Any:  # of the logarithm of the sample
        return xp.exp(a * change - x * xp.expm1(change)) * (score + change)

    return x * quadrature(integrand, _path(xp, a, x, float(points)), points)


op(
    "standard_gamma_grad",
    lambda xp, input, sample: gamma_grad_forward(xp, input, sample),
    kind=Kind.POINTWISE,
    promote="float",
    public=False,
    method=False,
    out=False,
)


def beta_grad(xp: Any, x: Any, a: Any, b: Any, points: int = 36) -> Any:
    """Return `dx/da / (1 - x)` for a beta(a, b) sample `x`.

    It is minus the derivative of the distribution function by `a`, divided by the density and by `1 - x`.  That derivative is the
    integral of `(log(t) - mean of log(t)) * density(t)` over [0, x], or minus the integral over [x, 1].  The interval without the
    mean is used, where the density is monotone.  With `t = u * exp(-s)`, or `1 - t = u * exp(-s)`, the integrand decays
    exponentially in `s`.  It is singular at `s = log(u)`, which `s = -log(u) * (exp(r) - 1)` moves to minus infinity.
    The relative error is 4e-7 with 18 points, and 1e-11 with 36.
    """
    is_low = x * (a + b) < a
    u = xp.where(is_low, x, 1 - x)
    u = xp.maximum(u, xp.full_like(u, sys.float_info.min))
    near, far = xp.where(is_low, a, b), xp.where(is_low, b, a)
    odds, log_u, log_rest = u / (1 - u), xp.log(u), xp.log1p(-u)
    mean_log = digamma_forward(xp, a) - digamma_forward(xp, a + b)

    def integrand(r: Any) -> Any:
        stretch = xp.expm1(r)
        s = -log_u * stretch
        log_rest_of_v = xp.log1p(-u * xp.exp(-s))
        relative_density = xp.exp((far - 1) * (log_rest_of_v - log_rest) - near * s)
        return relative_density * (xp.where(is_low, log_u - s, log_rest_of_v) - mean_log) * (stretch + 1)

    end = xp.log1p(-_beta_distance(xp, u, near, far, points + 4.0) / log_u)
    integral = -log_u * quadrature(integrand, end, points)
    return xp.where(is_low, -odds * integral, integral)


def _beta_distance(xp: Any, u: Any, near: Any, far: Any, decay: float) -> Any:
    """Return a distance from `-log(u)` at which the density of the logarithm is lower by at least `exp(-decay)`."""
    power, log_rest = xp.maximum(far - 1, xp.zeros_like(far)), xp.log1p(-u)
    slope = power * u / (1 - u)
    excess = near - slope
    s = 2 * decay / (excess + xp.sqrt(excess * excess + 2 * decay * slope / (1 - u)))  # for a normal distribution
    for _ in range(2):  # Newton's method
        v = u * xp.exp(-s)
        s = s - (near * s - power * (xp.log1p(-v) - log_rest) - decay) / (near - power * v / (1 - v))
    return s


_dirichlet_grad = op(
    "dirichlet_grad", lambda xp, x, alpha, total: in_double(beta_grad)(xp, x, alpha, total - alpha),
    kind=Kind.POINTWISE, promote="float", public=False, method=False, out=False,
    schema="_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    doc="""Return, for each component of a Dirichlet sample, its derivative by its concentration, divided by `1 - component`.

    Each component is a beta sample.  If it changes, the other components change in proportion to their sizes.

    Args:
        x: the sample.
        alpha: the concentrations, with the shape of `x`.
        total: the sum of the concentrations, repeated for each component.
    """,
)  # fmt: skip
