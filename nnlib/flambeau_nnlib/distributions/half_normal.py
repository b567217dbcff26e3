"""`HalfNormal`, the distribution of |x| for a centred normal variable x, and the base class of `HalfNormal` and `HalfCauchy`."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .cauchy import Cauchy
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class FoldedDistribution(TransformedDistribution):
    """The distribution of |x| for x from a distribution with parameter `scale` that is symmetric about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal | Cauchy

    def __init__(self, base_distribution: Normal | Cauchy, validate_args: bool | None) -> None:
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob: Tensor = torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)
        return log_prob

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(FoldedDistribution):
    """The half-normal distribution: the distribution of |x| for x from `Normal(0, scale)`.

    Args:
        scale: the standard deviation of x, positive. The standard deviation of |x| is `0.6028 * scale`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `scale`.
        - Event: `()`, a nonnegative number.

    Example:
        >>> torch.distributions.HalfNormal(1.).mean
        tensor(0.7979)
    """

    base_dist: Normal

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
