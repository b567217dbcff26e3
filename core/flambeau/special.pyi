"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator

__all__ = [  # noqa: RUF022
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e",
    "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln",
    "ndtr", "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

def airy_ai(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Bessel function of the first kind, of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Bessel function of the first kind, of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Bessel function of the second kind, of order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Bessel function of the second kind, of order 1."""
def chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the first kind of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the second kind of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the third kind of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the fourth kind of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of `lgamma`.

    >>> torch.digamma(torch.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """
def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `-x log(x)`, a term of an entropy; it is 0 at 0 and -inf for negative `x`.

    >>> torch.special.entr(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.3466,   -inf])
    """
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to `x`.

    >>> torch.erf(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `1 - erf(x)`, accurate also where it is small."""
def erfcx(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(x**2) * erfc(x)` without overflow or underflow of the factors.

    >>> torch.special.erfcx(torch.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0056])
    """
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of `erf` on [-1, 1], NaN elsewhere.

    >>> torch.erfinv(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.4769,   -inf])
    """
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `2 ** x`."""
def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 / (1 + exp(-x))`."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(x) - 1`, accurate near 0."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the probability that a gamma variable of shape `input` is below `other` (regularised lower incomplete gamma).

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the upper limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igamma(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.6321])
    """
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the regularised upper incomplete gamma function: `1 - igamma`, accurate also where it is small.

    Args:
        input: the shape parameters, a floating-point tensor; their gradient is not implemented.
        other: the lower limits of the integral, a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.igammac(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.3679])
    """
def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function.

    >>> torch.lgamma(torch.tensor([0.5, 1.0, 5.0]))
    tensor([0.5724, 0.0000, 3.1781])
    """
def hermite_polynomial_h(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the physicist's Hermite polynomial of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def hermite_polynomial_he(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the probabilist's Hermite polynomial of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0.

    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
def i0e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(-|x|) * i0(x)`."""
def i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(-|x|) * i1(x)`."""
def laguerre_polynomial_l(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Laguerre polynomial of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def legendre_polynomial_p(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Legendre polynomial of degree `n`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `log(1 + x)`, accurate near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of `ndtr`, accurate far into the tail.

    >>> torch.special.log_ndtr(torch.tensor([-100.0, 0.0]))
    tensor([-5.0055e+03, -6.9315e-01])
    """
def log_softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """Return the logarithm of `softmax`.  See `torch.log_softmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the exponentials sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.special.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `log(x / (1 - x))`, the inverse of sigmoid; with `eps`, `x` is clamped to `[eps, 1 - eps]`.

    Args:
        input: a tensor of a real dtype.
        eps: the distance of the bounds from 0 and 1; None for no bounds, so that the result is NaN outside of [0, 1].
        out: a tensor that the result is written to.

    >>> torch.logit(torch.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Return `log(sum(exp(input)))` over `dim` without overflow.

    Args:
        input: a tensor of any shape; an integer tensor is converted to the default dtype.
        dim: the dimension or dimensions to reduce.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the modified Bessel function of the second kind, of order 1."""
def multigammaln(a: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `p`.  See `torch.mvlgamma`.

    Args:
        a: a real tensor whose elements are above `(p - 1) / 2`.
        p: the dimension, at least 1.

    >>> torch.special.multigammaln(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the standard normal distribution function: the probability of a value below `x`.

    >>> torch.special.ndtr(torch.tensor([-3.0, 0.0]))
    tensor([0.0013, 0.5000])
    """
def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the inverse of `ndtr`: the quantile of the standard normal distribution for probability `x`.

    >>> torch.special.ndtri(torch.tensor([0.0, 0.5, 0.975]))
    tensor([  -inf, 0.0000, 1.9600])
    """
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the `n`-th derivative of `digamma`.

    Args:
        n: the order of the derivative, not negative.
        input: a real tensor.

    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the derivative of `lgamma`.

    >>> torch.digamma(torch.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Round to the nearest integer, or to `decimals` decimals; ties go to the even number.

    Args:
        decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.

    Raises:
        NotImplementedError: `decimals` is not 0 and the dtype is not floating-point.

    >>> torch.tensor([0.5, 1.5, 2.345]).round(), torch.tensor([2.345]).round(decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `exp(x) * modified_bessel_k0(x)`."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(x) * modified_bessel_k1(x)`."""
def shifted_chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the first kind of degree `n` of `2 * x - 1`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def shifted_chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the second kind of degree `n` of `2 * x - 1`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def shifted_chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the third kind of degree `n` of `2 * x - 1`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def shifted_chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Chebyshev polynomial of the fourth kind of degree `n` of `2 * x - 1`.

    Args:
        x: real numbers, a tensor or a number.
        n: the degrees, a tensor or a number; rounded towards 0. For a negative degree the result is 0.
    """
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `sin(pi x) / (pi x)`, which is 1 at 0."""
def softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """Return `exp(x)` divided by its sum along `dim`.  See `torch.softmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the elements sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.special.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the spherical Bessel function of order 0: `sin(x) / x`."""
def xlog1py(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return `input * log1p(other)`; it is 0 where `input` is 0, unless `other` is NaN.

    Args:
        input: the factors, a tensor or a number.
        other: the numbers `x` for which `log(1 + x)` is taken, a tensor or a number.

    >>> torch.special.xlog1py(torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 1.0]))
    tensor([0.0000, 0.6931])
    """
def xlogy(input: Tensor | _int | _float | _complex, other: Tensor | _int | _float | _complex, *, out: Tensor | None = ...) -> Tensor:
    """Return `input * log(other)`; it is 0 where `input` is 0, unless `other` is NaN.

    Args:
        input: the factors, a tensor or a number.
        other: the numbers whose logarithms are taken, a tensor or a number.

    >>> torch.xlogy(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
def zeta(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Return the Hurwitz zeta function: the sum over `k >= 0` of `(other + k)**-input`.

    Args:
        input: the exponents, a tensor or a number; below 1 the result is NaN.
        other: the smallest terms, a tensor or a number; 0, -1, -2 and so on give infinity.

    >>> torch.special.zeta(torch.tensor([2.0]), torch.tensor([1.0]))
    tensor([1.6449])
    """
