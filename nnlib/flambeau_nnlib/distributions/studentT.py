"""`StudentT`, a distribution like `Normal` with heavier tails."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with location and scale. Its tails are heavier than those of the normal distribution.

    Args:
        df: the degrees of freedom, positive. The mean exists for values above 1; the variance is finite above 2.
        loc: the location: the median, and the mean if it exists.
        scale: the scale, positive. It is not the standard deviation.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a real number.

    Example:
        >>> torch.distributions.StudentT(torch.tensor([1., 2., 4.])).variance
        tensor([nan, inf, 2.])
    """

    df: Tensor
    loc: Tensor
    scale: Tensor
    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._keep_params(df=df, loc=loc, scale=scale), validate_args=validate_args)
        self._chi2 = Chi2(self.df)

    @property
    def mean(self) -> Tensor:
        mean: Tensor = torch.where(self.df > 1, self.loc, math.nan)
        return mean

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        is_finite = self.df > 2
        df = torch.where(is_finite, self.df, 3.0)  # 3 is an arbitrary df with a finite variance: it keeps NaN out of gradients
        variance = self.scale.pow(2) * df / (df - 2)
        result: Tensor = torch.where(is_finite, variance, torch.where(self.df > 1, math.inf, math.nan))
        return result

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * noise * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (value - self.loc) / self.scale
        log_normalizer = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * torch.log1p(y**2 / self.df) - log_normalizer

    def entropy(self) -> Tensor:
        half, half_up = 0.5 * self.df, 0.5 * (self.df + 1)
        spread = half_up * (torch.digamma(half_up) - torch.digamma(half))
        return self.scale.log() + spread + 0.5 * self.df.log() + self._log_beta()

    def _log_beta(self) -> Tensor:
        """Compute the logarithm of the beta function B(df / 2, 1 / 2)."""
        return torch.lgamma(0.5 * self.df) + math.lgamma(0.5) - torch.lgamma(0.5 * (self.df + 1))
