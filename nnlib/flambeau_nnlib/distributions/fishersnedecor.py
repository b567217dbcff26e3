"""`FisherSnedecor`, the F distribution of the ratio of two chi-squared variables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two chi-squared variables, each divided by its degrees of freedom.

    Args:
        df1: the degrees of freedom of the numerator, positive.
        df2: the degrees of freedom of the denominator, positive. The mean exists for values above 2, the variance above 4.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a positive number.

    Example:
        >>> torch.distributions.FisherSnedecor(1., 4.).mean
        tensor(2.)
    """

    df1: Tensor
    df2: Tensor
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_params(df1=df1, df2=df2), validate_args=validate_args)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)

    @property
    def mean(self) -> Tensor:
        mean: Tensor = torch.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)
        return mean

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        result: Tensor = torch.where(self.df1 > 2, mode, math.nan)
        return result

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, self.df2
        variance = 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))
        result: Tensor = torch.where(df2 > 4, variance, math.nan)
        return result

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = torch.finfo(self.df1.dtype).tiny
        numerator = self._gamma1.rsample(sample_shape)
        return (numerator / self._gamma2.rsample(sample_shape).clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_beta = half1.lgamma() + half2.lgamma() - (half1 + half2).lgamma()
        log_power = half1 * ratio.log() + (half1 - 1) * torch.log(value)
        return log_power - (half1 + half2) * torch.log1p(ratio * value) - log_beta
