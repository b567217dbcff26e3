"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from ...nn import functional as F
from .. import constraints
from ..constraints import Constraint
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .transform import Parameterless, Transform, _clipped_sigmoid, check_ndim


class ReshapeTransform(Transform):
    """Reshape the trailing dimensions from `in_shape` to `out_shape`.

    Args:
        in_shape: the event shape of the input.
        out_shape: the event shape of the output, with the same number of elements as `in_shape`.
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Raises:
        ValueError: `in_shape` and `out_shape` have different numbers of elements.

    Example:
        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.zeros(3, 4)).shape
        torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape = torch.Size(in_shape)
        self.out_shape = torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        return _replace_event_shape(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        return _replace_event_shape(shape, self.out_shape, self.in_shape)


def _replace_event_shape(shape: torch.Size, old: torch.Size, new: torch.Size) -> torch.Size:
    check_ndim(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    leading: torch.Size = shape[:cut]
    return leading + new


class SoftmaxTransform(Parameterless):
    """`y = softmax(x)` along the last dimension, from n reals to a probability vector of length n.

    Not bijective: the inverse returns `log(y)`, which differs from x by a constant.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        check_ndim(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Parameterless):
    """Map n reals to a probability vector of length n + 1 by stick breaking.

    Each real, passed through a sigmoid, is the fraction broken off the remaining stick. All zeros give equal
    probabilities. Unlike `SoftmaxTransform` it is bijective.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        share = _clipped_sigmoid(x - _log_pieces_left(x))
        remaining = (1 - share).cumprod(-1)
        return F.pad(share, [0, 1], value=1.0) * F.pad(remaining, [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        piece = y[..., :-1]
        remaining = (1 - piece.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return piece.log() - remaining.log() + _log_pieces_left(piece)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _log_pieces_left(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        check_ndim(shape, 1)
        return torch.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        check_ndim(shape, 1)
        return torch.Size((*shape[:-1], shape[-1] - 1))


def _log_pieces_left(x: Tensor) -> Tensor:
    """Return `log n, ..., log 1`. With these offsets, inputs of 0 break the stick into n + 1 equal pieces."""
    return torch.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()


class CorrCholeskyTransform(Parameterless):
    """Map `D * (D - 1) / 2` reals to the Cholesky factor of a D x D correlation matrix.

    `tanh` of the reals gives the canonical partial correlations, which fill the factor row by row: Lewandowski, Kurowicka
    and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Raises:
        ValueError: when called, if the size of the last dimension is not `D * (D - 1) / 2` for any integer D.

    Example:
        >>> torch.distributions.CorrCholeskyTransform()(torch.tensor([0.0]))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = torch.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining = (1 - partial**2).sqrt().cumprod(-1)  # sqrt(1 - sum of squares of the row so far)
        identity = torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + identity) * F.pad(remaining[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1.0)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(remaining, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: None = None) -> Tensor:
        remaining = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        log_tanh_slope = -2 * (x + F.softplus(-2 * x) - math.log(2.0))
        return 0.5 * remaining.log().sum(-1) + log_tanh_slope.sum(-1)

    def forward_shape(self, shape: torch.Size) -> torch.Size:
        check_ndim(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return torch.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: torch.Size) -> torch.Size:
        check_ndim(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return torch.Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(Parameterless):
    """Map square matrices to Cholesky factors: take `exp` of the diagonal and set the entries above it to zero.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
        tensor([[1., 0.],
                [2., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Parameterless):
    """Map square matrices to positive definite matrices `L @ L.mT`, where L is the result of `LowerCholeskyTransform`.

    Args:
        cache_size: 1 caches the latest input and output, so that `inv` of that output returns the same input tensor; 0 does not.

    Example:
        >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
        tensor([[1., 2.],
                [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))
