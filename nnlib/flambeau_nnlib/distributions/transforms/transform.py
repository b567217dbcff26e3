"""The base class of transforms, inverse transforms, and helpers that several transforms share."""

from __future__ import annotations

import copy
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .. import constraints
from ..constraints import Constraint


class Transform:
    """A map from `domain` to `codomain` with an inverse and a log-determinant. Base class of all transforms.

    Call `t(x)` to transform and `t.inv(y)` to invert. A subclass defines `_call` and, if they exist, `_inverse` and
    `log_abs_det_jacobian`. The inverse of a transform that is not bijective returns one of the possible inputs.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Attributes:
        domain, codomain: the constraints that inputs and outputs satisfy.
        bijective: whether `t.inv(t(x)) == x` and `t(t.inv(y)) == y`.
        sign: +1 for increasing and -1 for decreasing univariate transforms.

    Raises:
        ValueError: `cache_size` is neither 0 nor 1.

    Example:
        >>> class Double(torch.distributions.transforms.Transform):
        ...     domain = codomain = torch.distributions.constraints.real
        ...     bijective, sign = True, +1
        ...     def _call(self, x):
        ...         return 2 * x
        ...     def _inverse(self, y):
        ...         return y / 2
        ...     def log_abs_det_jacobian(self, x, y):
        ...         return torch.full_like(x, 2.0).log()
        >>> double = Double()
        >>> double(torch.tensor(3.0)), double.inv(torch.tensor(3.0))
        (tensor(6.), tensor(1.5000))
    """

    bijective = False
    domain: Constraint
    codomain: Constraint

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._set_cache(cache_size)
        super().__init__()  # calls the next base class of a subclass with several bases

    def _set_cache(self, cache_size: int) -> None:
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Transform | None = None

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return this transform if its cache size is `cache_size`, else a copy with that cache size."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        new._set_cache(cache_size)
        return new

    @property
    def event_dim(self) -> int:
        """The number of trailing dimensions transformed together, if the same for input and output."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform; `t.inv.inv is t`."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Tensor | int:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """Transform `x`."""
        if self._cache_size == 0:
            return self._call(x)
        y_old: Tensor
        x_old, y_old = self._cached_x_y
        if x is not x_old:
            y_old = self._call(x)
            self._cached_x_y = x, y_old
        return y_old

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old: Tensor
        x_old, y_old = self._cached_x_y
        if y is not y_old:
            x_old = self._inverse(y)
            self._cached_x_y = x_old, y
        return x_old

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Compute `log |det dy/dx|` for an input `x` and its output `y`."""
        raise NotImplementedError

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        """Return the shape of the output for an input of shape `shape`."""
        return shape

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        """Return the shape of the input for an output of shape `shape`."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform. Both share one cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv: Transform = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Tensor | int:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class Parameterless(Transform):
    """Base of transforms without parameters: all instances of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


def check_ndim(shape: torch.Size, event_dim: int) -> None:
    if len(shape) < event_dim:
        raise ValueError("Too few dimensions on input")


def with_event_dim(constraint: Constraint, event_dim: int) -> Constraint:
    """Return `constraint` with at least `event_dim` event dimensions."""
    extra = event_dim - constraint.event_dim
    return constraints.independent(constraint, extra) if extra > 0 else constraint


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return clamp_inside_unit_interval(torch.sigmoid(x))


def clamp_inside_unit_interval(probs: Tensor) -> Tensor:
    finfo = torch.finfo(probs.dtype)
    return probs.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
