"""`GeneralizedPareto`, the distribution of excesses over a high threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution of excesses over a high threshold.

    Pickands, [Statistical Inference Using Extreme Order Statistics](https://doi.org/10.1214/aos/1176343003), 1975.

    Args:
        loc: the threshold, the lower limit of the support.
        scale: the scale, positive.
        concentration: the tail index: above 0 the tail is heavy, at 0 exponential, and below 0 the support ends at
            `loc - scale / concentration`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a number of at least `loc`.

    Example:
        >>> torch.distributions.GeneralizedPareto(0., 1., 0.).cdf(torch.tensor(1.))
        tensor(0.6321)
    """

    loc: Tensor
    scale: Tensor
    concentration: Tensor
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._keep_params(loc=loc, scale=scale, concentration=concentration), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        upper = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, upper, math.inf))

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        concentration = torch.where(exists, self.concentration, 0.5)
        mean: Tensor = torch.where(exists, self.loc + self.scale / (1 - concentration), math.nan)
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        concentration = torch.where(exists, self.concentration, 0.25)
        variance = self.scale**2 / ((1 - concentration) ** 2 * (1 - 2 * concentration))
        result: Tensor = torch.where(exists, variance, math.nan)
        return result

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        is_zero, concentration = self._nonzero_concentration()
        z = (value - self.loc) / self.scale
        decay = torch.special.xlog1py(1 + 1 / concentration, concentration * z)  # 0 for concentration -1 (uniform)
        log_prob: Tensor = -self.scale.log() - torch.where(is_zero, z, decay)
        return log_prob

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Compute the logarithm of the probability of a draw greater than `value`."""
        self._check_sample(value)
        is_zero, concentration = self._nonzero_concentration()
        z = (value - self.loc) / self.scale
        log_survival: Tensor = -torch.where(is_zero, z, torch.log1p(concentration * z) / concentration)
        return log_survival

    def log_cdf(self, value: Tensor) -> Tensor:
        """Compute the logarithm of the probability of a draw less than or equal to `value`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, concentration = self._nonzero_concentration()
        log_survival = torch.log1p(-value)
        z = torch.expm1(-concentration * log_survival) / concentration
        icdf: Tensor = self.loc + self.scale * torch.where(is_zero, -log_survival, z)
        return icdf

    def entropy(self) -> Tensor:
        return torch.log(self.scale) + self.concentration + 1

    def _nonzero_concentration(self) -> tuple[Tensor, Tensor]:
        """Return a mask of zero concentrations (the exponential case), and the concentrations with these replaced by 1."""
        is_zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return is_zero, torch.where(is_zero, 1.0, self.concentration)
