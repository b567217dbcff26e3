"""Transforms that apply a different transform to each slice of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import flambeau as torch
from flambeau import Tensor

from .. import constraints
from ..constraints import Constraint
from ..utils import _sum_rightmost
from .transform import Transform


class _PiecewiseTransform(Transform):
    """Split a tensor along `dim` and apply a different transform to each slice."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        new = cast(_PiecewiseTransform, super().with_cache(cache_size))
        new.transforms = [t.with_cache(cache_size) for t in self.transforms]
        return new

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _cut(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _join(self, pieces: Sequence[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(piece) for t, piece in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(piece) for t, piece in zip(self.transforms, self._cut(y), strict=True)])

    def _check_size(self, value: Tensor, size: int, expected: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"x.size({self.dim}) = {value.size(self.dim)} must equal {expected} {size}")


class CatTransform(_PiecewiseTransform):
    """Apply transforms to consecutive slices along a dimension and concatenate the results.

    Args:
        tseq: the transforms, one for each slice.
        dim: the dimension to split.
        lengths: the size of each slice along `dim`; None for 1 each. They must sum to the size of the dimension.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Raises:
        AssertionError: the numbers of lengths and transforms differ, or `tseq` contains an object that is not a `Transform`.

    Example:
        >>> D = torch.distributions
        >>> D.CatTransform([D.ExpTransform(), D.identity_transform], dim=0, lengths=[1, 2])(torch.zeros(3))
        tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @property
    def length(self) -> int:
        """The size of the input along `dim`, the sum of `lengths`."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _cut(self, value: Tensor) -> Sequence[Tensor]:
        self._check_size(value, self.length, "length")
        return value.split(self.lengths, self.dim)

    def _join(self, pieces: Sequence[Tensor]) -> Tensor:
        return torch.cat(pieces, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        log_dets = [
            _sum_rightmost(t.log_abs_det_jacobian(x_piece, y_piece), self.event_dim - t.event_dim)
            for t, x_piece, y_piece in zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        ]
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        # Slices along a batch dimension have separate log-determinants; those of slices along an event dimension are summed.
        return torch.cat(log_dets, dim=dim) if dim < 0 else cast(Tensor, sum(log_dets))


class StackTransform(_PiecewiseTransform):
    """Apply one transform to each index along a dimension and stack the results.

    Args:
        tseq: the transforms, one for each index along `dim`.
        dim: the dimension to split.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Raises:
        AssertionError: `tseq` contains an object that is not a `Transform`.

    Example:
        >>> D = torch.distributions
        >>> D.StackTransform([D.ExpTransform(), D.identity_transform], dim=1)(torch.zeros(1, 2))
        tensor([[1., 0.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _cut(self, value: Tensor) -> Sequence[Tensor]:
        self._check_size(value, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _join(self, pieces: Sequence[Tensor]) -> Tensor:
        return torch.stack(pieces, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pieces = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return self._join([t.log_abs_det_jacobian(x_piece, y_piece) for t, x_piece, y_piece in pieces])
