"""The inverse gamma distribution."""

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
    """The distribution of 1 / x for x from `Gamma(concentration, rate)`.

    Args:
        concentration: the shape parameter, often called alpha, positive. There is a mean above 1, a variance above 2.
        rate: the scale of 1 / x, often called beta, positive.
        validate_args: whether parameters and values out of range raise ValueError; None for the default (see
            `Distribution.set_default_validate_args`), which is that they do.

    Shape:
        - Batch: what the parameters broadcast to.
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
