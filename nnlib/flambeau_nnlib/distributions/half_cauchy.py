"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from .cauchy import Cauchy
from .half_normal import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The distribution of |x| for x from `Cauchy(0, scale)`; its mean is infinite.

    Args:
        scale: the scale of x, positive, which is the median of |x|.
        validate_args: whether parameters and values out of range raise ValueError; None for the default (see
            `Distribution.set_default_validate_args`), which is that they do.

    Shape:
        - Batch: that of `scale`.
        - Event: `()`, a number from 0 on.

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
