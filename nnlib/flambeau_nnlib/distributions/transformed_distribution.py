"""`TransformedDistribution`, the distribution of a random variable after one or several transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of `transforms(x)` for x from a base distribution.

    The density of x and the change of variables give the density. `cdf` and `icdf` require monotone transforms.

    Args:
        base_distribution: the distribution of x.
        transforms: one transform, or a list of transforms in the order of application.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch and event: the shapes of `base_distribution` as changed by the transforms. A transform of vectors or
          matrices turns trailing batch dimensions into event dimensions.

    Raises:
        ValueError: `base_distribution` has too few dimensions for the transforms, or `transforms` has a wrong type.

    Example:
        >>> D = torch.distributions
        >>> d = D.TransformedDistribution(D.Uniform(0., 1.), D.AffineTransform(1., 2.))
        >>> d.icdf(torch.tensor([0., 0.5, 1.]))
        tensor([1., 2., 3.])
    """

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        transform = ComposeTransform(transforms)
        domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim

        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        if len(base_shape) < domain_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain_dim}, but got {base_shape}.")
        # Parameters of the transforms can add or expand batch dimensions by broadcasting.
        shape = transform.forward_shape(base_shape)
        expanded_base_shape = transform.inverse_shape(shape)
        if expanded_base_shape != base_shape:
            cut = len(expanded_base_shape) - base_event_dim
            base_distribution = base_distribution.expand(expanded_base_shape[:cut])
        if domain_dim > base_event_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_event_dim)
        self.base_dist = base_distribution

        cut = len(shape) - max(codomain_dim, base_event_dim + codomain_dim - domain_dim)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self._event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with torch.no_grad():
            return self._transform(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transform(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        event_dim = len(self._event_shape)
        log_det: Tensor | float = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            log_det = log_det + _sum_rightmost(term, event_dim - transform.domain.event_dim)
            y = x
        return _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape)) - log_det

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._flip_if_decreasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transform(self.base_dist.icdf(self._flip_if_decreasing(value)))

    def _transform(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def _flip_if_decreasing(self, prob: Tensor) -> Tensor:
        """Return `prob`, or `1 - prob` where the composed transform is decreasing."""
        sign = math.prod(transform.sign for transform in self.transforms)
        return prob if isinstance(sign, int) and sign == 1 else sign * (prob - 0.5) + 0.5
