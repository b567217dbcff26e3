"""`MultivariateNormal`, the normal distribution of vectors, and the base class that it shares with `Wishart`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


class MatrixParameter(Distribution):
    """A distribution parametrized by a positive definite matrix, its inverse or its Cholesky factor.

    All computations use the Cholesky factor. It is stored before broadcasting against other parameters, so
    without the batch dimensions that these add. The matrix and its inverse are computed when first read.
    """

    _unbroadcasted_scale_tril: Tensor
    _unexpanded = ("_unbroadcasted_scale_tril",)

    @staticmethod
    def _specified(**matrices: Tensor | None) -> tuple[str, Tensor]:
        """Return the name and value of the only matrix that is not None; raise ValueError unless there is exactly one."""
        parameters = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(parameters) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = parameters[0]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        return name, matrix

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._batched(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._batched(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    def _half_log_det(self) -> Tensor:
        """Compute half the log-determinant of the covariance matrix."""
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(MatrixParameter):
    """The multivariate normal (Gaussian) distribution of vectors of length n.

    Args:
        loc: the mean, of shape `(..., n)`.
        covariance_matrix: the covariance matrix, positive definite, of shape `(..., n, n)`.
        precision_matrix: the inverse of the covariance matrix, of the same shape.
        scale_tril: the lower Cholesky factor of the covariance matrix, of the same shape. Give exactly one of the three
            matrices. `scale_tril` is the cheapest, since the others must be factorised.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters' leading dimensions.
        - Event: `(n,)`, real numbers.

    Raises:
        ValueError: zero or several matrices are given, or a parameter has too few dimensions.

    Example:
        >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[4., 0.], [0., 1.]]))
        >>> d.scale_tril
        tensor([[2., 0.],
                [0., 1.]])
        >>> d.log_prob(torch.zeros(2))
        tensor(-2.5310)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._specified(
            scale_tril=scale_tril, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix
        )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self.loc.shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        n: int = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        n: int = self._event_shape[0]
        entropy = 0.5 * n * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)


def to_scale_tril(name: str, matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of the covariance, given the constructor's argument `name` with value `matrix`."""
    if name == "scale_tril":
        return matrix
    return torch.linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of `precision⁻¹`: the inverse of a factor that is computed with reversed rows and columns."""
    reversed_factor = torch.linalg.cholesky(precision.flip(-2, -1))
    inverse_factor = reversed_factor.flip(-2, -1).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return torch.linalg.solve_triangular(inverse_factor, identity, upper=False)


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    """Multiply matrices `(..., n, m)` with vectors `(..., m)`."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """Compute the squared length of `factor⁻¹ x`, the squared Mahalanobis distance.

    `factor` has shape `(batch, n, n)` and is lower triangular; `x` has shape `(samples, batch, n)`. All samples are
    solved as columns of one triangular system per factor.
    """
    outer = x.shape[: x.dim() + 1 - factor.dim()]
    columns = x.reshape(math.prod(outer), *x.shape[len(outer) :]).movedim(0, -1)
    solved = torch.linalg.solve_triangular(factor, columns, upper=False)
    return solved.pow(2).sum(-2).movedim(-1, 0).reshape(x.shape[:-1])
