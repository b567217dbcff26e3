"""`Pareto`, the power-law distribution of numbers above a minimum."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto (power-law) distribution, with density `alpha * scale**alpha / x**(alpha + 1)`.

    Args:
        scale: the minimum of the support, positive.
        alpha: the tail exponent, positive. The mean is finite for values above 1, the variance above 2.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a number of at least `scale`.

    Example:
        >>> torch.distributions.Pareto(1., 3.).mean
        tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(
            Exponential(self.alpha, validate_args=validate_args),
            [ExpTransform(), AffineTransform(0, self.scale)],
            validate_args=validate_args,
        )

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)  # so that the mean is infinite, not negative, for alpha <= 1
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)  # so that the variance is infinite, not negative, for alpha <= 2
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return torch.log(self.scale / self.alpha) + 1 + self.alpha.reciprocal()
