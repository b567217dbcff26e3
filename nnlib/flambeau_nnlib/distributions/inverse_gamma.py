"""`InverseGamma`, the distribution of the reciprocal of a gamma variable."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The inverse gamma distribution: the distribution of 1 / x for x from `Gamma(concentration, rate)`.

    Args:
        concentration: the shape parameter, often called alpha, positive. The mean exists for values above 1, the variance
            above 2.
        rate: the scale parameter of 1 / x, often called beta, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a positive number.

    Example:
        >>> torch.distributions.InverseGamma(3., 1.).mean
        tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base_dist = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base_dist.rate.new_ones(()))
        super().__init__(base_dist, inverse, validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        mean: Tensor = torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)
        return mean

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        variance = self.rate.pow(2) / ((self.concentration - 1).pow(2) * (self.concentration - 2))
        result: Tensor = torch.where(self.concentration > 2, variance, math.inf)
        return result

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
