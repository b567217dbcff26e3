"""`LogisticNormal`, a distribution of probability vectors that are computed from normal variables."""

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
    """The logistic-normal distribution over probability vectors of length K + 1.

    Samples are K independent normal variables transformed by `StickBreakingTransform`.

    Args:
        loc: the means of the normal variables, of shape `(..., K)`.
        scale: the standard deviations of the normal variables, positive, of shape `(..., K)`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters without its last dimension.
        - Event: `(K + 1,)`, nonnegative numbers that sum to 1.

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
