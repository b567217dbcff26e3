"""`Independent`, which turns batch dimensions of a distribution into event dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """Reinterpret batch dimensions of a distribution as event dimensions, so that `log_prob` sums over them.

    This turns a batch of independent variables into one random vector.

    Args:
        base_distribution: the distribution to wrap.
        reinterpreted_batch_ndims: the number of trailing batch dimensions that become event dimensions.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the batch shape of `base_distribution` without the reinterpreted dimensions.
        - Event: the reinterpreted dimensions followed by the event shape of `base_distribution`.

    Raises:
        ValueError: `base_distribution` has fewer than `reinterpreted_batch_ndims` batch dimensions.

    Example:
        >>> D = torch.distributions
        >>> d = D.Independent(D.Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1)
        >>> d.batch_shape, d.event_shape, d.log_prob(torch.zeros(3)).shape
        (torch.Size([2]), torch.Size([3]), torch.Size([2]))
    """

    arg_constraints = {}
    base_dist: D

    def __init__(self, base_distribution: D, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        batch_ndims = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        if batch_ndims < 0:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape = base_distribution.batch_shape + base_distribution.event_shape
        super().__init__(shape[:batch_ndims], shape[batch_ndims:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        support = self.base_dist.support
        ndims = self.reinterpreted_batch_ndims
        return constraints.independent(support, ndims) if ndims else support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
