"""`ComposeTransform`, a sequence of transforms, and `IndependentTransform`, which adds event dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import flambeau as torch
from flambeau import Tensor

from .. import constraints
from ..constraints import Constraint
from ..utils import _sum_rightmost, lazy_property
from .transform import Transform, check_ndim, with_event_dim


class ComposeTransform(Transform):
    """Apply several transforms one after another.

    Args:
        parts: the transforms in the order of application; an empty list gives the identity.
        cache_size: 1 makes each part cache its latest input and output; 0 leaves the parts unchanged.

    Example:
        >>> D = torch.distributions
        >>> D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])(torch.zeros(2))
        tensor([3., 3.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return _output_constraint([(part.codomain, part.domain) for part in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return _output_constraint([(part.domain, part.codomain) for part in self.parts])

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Tensor | int:
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        total: Tensor | float = 0.0
        event_dim = self.domain.event_dim
        for i, part in enumerate(self.parts):
            part_y = y if i == len(self.parts) - 1 else part(x)
            log_det = part.log_abs_det_jacobian(x, part_y)
            total = total + _sum_rightmost(log_det, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = part_y
        return cast(Tensor, total)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


def _output_constraint(maps: list[tuple[Constraint, Constraint]]) -> Constraint:
    """Return the constraint on the output of a chain of maps, each given as a pair (input constraint, output constraint).

    It is the constraint of the last map, with added event dimensions where earlier maps have more.
    """
    if not maps:
        return constraints.real
    event_dim = maps[0][0].event_dim
    for source, target in maps:
        event_dim = max(event_dim + target.event_dim - source.event_dim, target.event_dim)
    return with_event_dim(maps[-1][1], event_dim)


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_ndims` batch dimensions count as part of the event.

    The transformed values stay the same. The log-determinant also sums over these dimensions.

    Args:
        base_transform: the transform to wrap.
        reinterpreted_batch_ndims: the number of additional dimensions that the log-determinant sums over.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> D = torch.distributions
        >>> x = torch.tensor([1.0, 2.0])
        >>> D.IndependentTransform(D.ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
        tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Tensor | int:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        check_ndim(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        check_ndim(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
