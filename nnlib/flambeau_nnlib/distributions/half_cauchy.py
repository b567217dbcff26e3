"""`HalfCauchy`, the distribution of the absolute value of a centred Cauchy variable."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from .cauchy import Cauchy
from .half_normal import FoldedDistribution

__all__ = ["HalfCauchy"]


class HalfCauchy(FoldedDistribution):
    """The half-Cauchy distribution: the distribution of |x| for x from `Cauchy(0, scale)`. Its mean is infinite.

    Args:
        scale: the scale of x and the median of |x|, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `scale`.
        - Event: `()`, a nonnegative number.

    Example:
        >>> torch.distributions.HalfCauchy(1.).cdf(torch.tensor(1.))
        tensor(0.5000)
    """

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
