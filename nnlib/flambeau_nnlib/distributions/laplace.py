"""`Laplace`, whose density decays exponentially on both sides of the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution, with density `exp(-|x - loc| / scale) / (2 * scale)`.

    Args:
        loc: the mean.
        scale: the mean absolute deviation from `loc`, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a real number.

    Example:
        >>> torch.distributions.Laplace(0., 1.).log_prob(torch.tensor([0., 2.]))
        tensor([-0.6931, -2.6931])
    """

    loc: Tensor
    scale: Tensor
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(self._keep_params(loc=loc, scale=scale), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Exclude -1 and 1, where the logarithm below is infinite.
        low = torch.finfo(self.loc.dtype).eps - 1
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(low, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return -torch.log(2 * self.scale) - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * torch.expm1(-z.abs())

    def icdf(self, value: Tensor) -> Tensor:
        u = value - 0.5
        return self.loc - self.scale * u.sign() * torch.log1p(-2 * u.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)
