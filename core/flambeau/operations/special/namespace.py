"""Special functions, as in `scipy.special`.

Most are computed in float64 for all dtypes, so that float32 results are correct almost to the last digit.

>>> torch.special.gammaln(torch.tensor([5.0])).exp()
tensor([24.])
"""

from __future__ import annotations

from ... import operations  # noqa: F401  (fills the table that the names below come from)
from ...engine.calls.facts import Kind, declare
from ...engine.calls.op import op
from ...engine.calls.tables import PUBLIC
from ...engine.calls.wrappers import open_to_overrides
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..trigonometry import sinc
from .bessel import airy as airy_ai
from .bessel import i0, i0e, i1, i1e
from .bessel import j0 as bessel_j0
from .bessel import j1 as bessel_j1
from .bessel import k0 as modified_bessel_k0
from .bessel import k1 as modified_bessel_k1
from .bessel import modified_i0 as modified_bessel_i0
from .bessel import modified_i1 as modified_bessel_i1
from .bessel import scaled_k0 as scaled_modified_bessel_k0
from .bessel import scaled_k1 as scaled_modified_bessel_k1
from .bessel import spherical as spherical_bessel_j0
from .bessel import y0 as bessel_y0
from .bessel import y1 as bessel_y1
from .error_function import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .gamma import digamma, gammainc, gammaincc, mvlgamma, polygamma, zeta
from .gamma import lgamma as gammaln
from .logarithms import logit, xlog1py, xlogy
from .polynomials import POLYNOMIALS

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr",
    "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta", *POLYNOMIALS,
]  # fmt: skip

globals().update(POLYNOMIALS)
psi = digamma
exp2, expm1, log1p, round, expit, logsumexp = (
    PUBLIC[name] for name in ("exp2", "expm1", "log1p", "round", "sigmoid", "logsumexp")
)  # fmt: skip
entr = op(
    "special_entr", lambda xp, input: xp.where(
        input > 0, -input * xp.log(xp.where(input > 0, input, 1.0)), xp.where(input < 0, -xp.inf, input * 0)),
    kind=Kind.POINTWISE, keeps_zero=True,
    promote="float", dtypes="real", public=False, method=False,
    doc="""Return `-x log(x)`, a term of an entropy; it is 0 at 0 and -inf for negative `x`.

    >>> torch.special.entr(torch.tensor([0.0, 0.5, -1.0]))
    tensor([0.0000, 0.3466,   -inf])
    """,
    input=lambda F, g, input: g * (-F.log(input) - 1),
)  # fmt: skip


def softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return `exp(x)` divided by its sum along `dim`.  See `torch.softmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the elements sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.special.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return PUBLIC["softmax"](input, dim, dtype=dtype)  # type: ignore[no-any-return]  # a generated function


def log_softmax(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax`.  See `torch.log_softmax`.

    Args:
        input: a tensor of any shape.
        dim: the dimension along which the exponentials sum to 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.special.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return PUBLIC["log_softmax"](input, dim, dtype=dtype)  # type: ignore[no-any-return]  # a generated function


@declare(kind=Kind.POINTWISE, schema="special_multigammaln(Tensor self, int p) -> Tensor")
def multigammaln(a: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `p`.  See `torch.mvlgamma`.

    Args:
        a: a real tensor whose elements are above `(p - 1) / 2`.
        p: the dimension, at least 1.

    >>> torch.special.multigammaln(torch.tensor([2.0]), 2)
    tensor([0.4516])
    """
    return mvlgamma(a, p, out=out)  # type: ignore[call-arg]  # as all that are published with `out`


open_to_overrides(globals(), __all__, native=__all__)
