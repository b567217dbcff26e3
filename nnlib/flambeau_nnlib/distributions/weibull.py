"""`Weibull`, the distribution of times to failure at a rising, constant or falling failure rate."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution of times to failure, with a hazard rate proportional to `x**(concentration - 1)`.

    Args:
        scale: the scale, often called lambda, positive.
        concentration: the shape parameter, often called k, positive. Below 1 the failure rate decreases over time; at 1 the
            distribution is exponential; above 1 the failure rate increases.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a positive number.

    Example:
        >>> torch.distributions.Weibull(2., 1.).mean
        tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(
            Exponential(torch.ones_like(self.scale), validate_args=validate_args),
            [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)],
            validate_args=validate_args,
        )

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        mean_square = torch.exp(torch.lgamma(1 + 2 * self.concentration_reciprocal))
        square_mean = torch.exp(2 * torch.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (mean_square - square_mean)

    def entropy(self) -> Tensor:
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + torch.log(self.scale * reciprocal) + 1
