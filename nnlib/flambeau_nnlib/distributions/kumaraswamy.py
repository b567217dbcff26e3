"""`Kumaraswamy`, a distribution on [0, 1] similar to `Beta`, with a simpler cumulative distribution function."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on [0, 1]. It resembles the beta distribution; its CDF is `1 - (1 - x**a)**b`.

    Kumaraswamy, "A generalized probability density function for double-bounded random processes", 1980.

    Args:
        concentration1: the exponent a, positive.
        concentration0: the exponent b, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a number in [0, 1].

    Example:
        >>> torch.distributions.Kumaraswamy(1., 3.).mean
        tensor(0.2500)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros, ones = torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0)
        super().__init__(
            Uniform(zeros, ones, validate_args=validate_args),
            [
                PowerTransform(self.concentration0.reciprocal()),
                AffineTransform(1.0, -1.0),
                PowerTransform(self.concentration1.reciprocal()),
            ],
            validate_args=validate_args,
        )

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = (-b).log1p() / b - (-a * b).log1p()
        mode: Tensor = torch.where((a < 1) | (b < 1), math.nan, log_mode).exp()
        return mode

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)

    def _moment(self, n: int) -> Tensor:
        """Compute the mean of `x**n`, which is `b * B(1 + n / a, b)` for the beta function B."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * torch.exp(torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b))
