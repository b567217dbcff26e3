"""The logistic-normal distribution."""

from __future__ import annotations

from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """A distribution over probability vectors of length K + 1: K normal variables say how to break a stick.

    See `StickBreakingTransform`, which the variables go through.

    Args:
        loc: the means of the normal variables, of shape `(..., K)`.
        scale: their standard deviations, positive.
        validate_args: whether parameters and values out of range raise ValueError; None for the default (see
            `Distribution.set_default_validate_args`), which is that they do.

    Shape:
        - Batch: what the parameters broadcast to, without the last dimension.
        - Event: `(K + 1,)`, numbers that are not negative and sum to 1.

    Example:
        >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
        torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent[Normal]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base_dist: Distribution = Normal(loc, scale, validate_args=validate_args)
        if not base_dist.batch_shape:
            base_dist = base_dist.expand((1,))
        super().__init__(base_dist, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
