"""`Gumbel`, a distribution of extreme values, such as the maximum of many samples."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution of extreme values: the distribution of `loc - scale * log(-log(u))` for uniform u.

    Args:
        loc: the mode; the mean is `loc + 0.5772 * scale`.
        scale: the scale, positive.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters.
        - Event: `()`, a real number.

    Example:
        >>> torch.distributions.Gumbel(0., 1.).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = torch.finfo(self.loc.dtype)
        low, high = torch.full_like(self.loc, finfo.tiny), torch.full_like(self.loc, 1 - finfo.eps)
        log = ExpTransform().inv
        negative = AffineTransform(0, -torch.ones_like(self.scale))
        super().__init__(
            Uniform(low, high, validate_args=validate_args),
            [log, negative, log, AffineTransform(self.loc, -self.scale)],
            validate_args=validate_args,
        )

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
