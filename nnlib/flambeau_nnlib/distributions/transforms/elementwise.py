"""Elementwise transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import flambeau as torch
from flambeau import Tensor

from ...nn import functional as F
from .. import constraints
from ..constraints import Constraint
from ..utils import _Number, _sum_rightmost, broadcast_all, lazy_property
from .transform import Parameterless, Transform, _clipped_sigmoid, clamp_inside_unit_interval, with_event_dim

if TYPE_CHECKING:
    from ..distribution import Distribution


class _Monotone(Parameterless):
    """Base of parameterless, strictly increasing transforms of the real line."""

    domain: Constraint = constraints.real
    bijective = True
    sign = +1


class ExpTransform(_Monotone):
    """`y = exp(x)`, from the reals to the positive numbers.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.ExpTransform()(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Monotone):
    """`y = 1 / (1 + exp(-x))`, from the reals to (0, 1). Outputs are clamped so that they never round to 0 or 1.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.SigmoidTransform().inv(torch.tensor([0.5, 0.75]))
        tensor([0.0000, 1.0986])
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = clamp_inside_unit_interval(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Monotone):
    """`y = log(1 + exp(x))`, from the reals to the positive numbers; close to x for large x.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 50.0]))
        tensor([ 0.6931, 50.0000])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


class TanhTransform(_Monotone):
    """`y = tanh(x)`, from the reals to the numbers between -1 and 1.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor, even
            where y rounds to ±1. 0 disables the cache.

    Example:
        >>> tanh = torch.distributions.transforms.TanhTransform(cache_size=1)
        >>> tanh.inv(tanh(torch.tensor(20.0)))
        tensor(20.)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))  # log(1 - tanh(x)**2) without cancellation


class AbsTransform(Parameterless):
    """`y = |x|`, from the reals to the nonnegative numbers. Not bijective: the inverse returns y itself.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """`y = x ** exponent`, on the positive numbers.

    Args:
        exponent: the exponent, nonzero; must broadcast with x.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.PowerTransform(torch.tensor(2.0)).inv(torch.tensor([1.0, 9.0]))
        tensor([1., 3.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        return torch.Size(torch.broadcast_shapes(shape, self.exponent.shape))

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """`y = loc + scale * x`, on the reals.

    Args:
        loc: the offset.
        scale: the factor, nonzero.
        event_dim: the number of trailing dimensions that the log-determinant sums over: 0 for scalars, 1 for vectors.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([0.0, 3.0]))
        tensor([1., 7.])
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return with_event_dim(constraints.real, self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return with_event_dim(constraints.real, self._event_dim)

    @property
    def sign(self) -> Tensor | int:
        if isinstance(self.scale, _Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, _Number):
            log_scale = torch.full_like(x, math.log(abs(self.scale)))
        else:
            log_scale = self.scale.abs().log()
        shape = x.shape[: x.dim() - self._event_dim]
        return _sum_rightmost(log_scale, self._event_dim).expand(shape)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        return torch.Size(torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())))

    inverse_shape = forward_shape


def _same(a: Tensor | float, b: Tensor | float) -> bool:
    return bool(torch.as_tensor(a == b).all())


class CumulativeDistributionTransform(Transform):
    """Apply the cumulative distribution function of a distribution, which maps its draws to uniform numbers in [0, 1].

    Args:
        distribution: a univariate distribution with `cdf` and `icdf`.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> D = torch.distributions
        >>> D.CumulativeDistributionTransform(D.Cauchy(0., 1.))(torch.tensor([-1., 0.]))
        tensor([0.2500, 0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
