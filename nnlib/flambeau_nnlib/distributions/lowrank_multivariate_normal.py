"""`LowRankMultivariateNormal`, whose covariance is the sum of a low-rank and a diagonal matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """A multivariate normal distribution whose covariance is `cov_factor @ cov_factor.mT + diag(cov_diag)`.

    The inverse and the determinant of the covariance only require a Cholesky factor of the m x m *capacitance* matrix
    `I + W.mT @ D⁻¹ @ W`, by the Woodbury identity and the matrix determinant lemma.

    Args:
        loc: the mean, of shape `(..., n)`.
        cov_factor: the factor W, of shape `(..., n, m)` with m much smaller than n.
        cov_diag: the diagonal D, positive, of shape `(..., n)`.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of the parameters' leading dimensions.
        - Event: `(n,)`, real numbers.

    Raises:
        ValueError: the parameters have too few dimensions, or their sizes n differ.

    Example:
        >>> factor = torch.tensor([[1.], [0.]])
        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), factor, torch.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _unexpanded = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        self.cov_diag = cov_diag.expand((*batch_shape, -1))
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = torch.linalg.cholesky(_plus_identity(self._weighted_factor() @ cov_factor))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self.loc.shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        scale = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / scale
        return self._batched(scale * torch.linalg.cholesky(_plus_identity(factor @ factor.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._batched(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        whitened = self._whitened_factor()
        return self._batched(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - whitened.mT @ whitened)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options: dict[str, Any] = {"dtype": self.loc.dtype, "device": self.loc.device}
        factor_noise = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        diag_noise = _standard_normal(shape, **options)
        from_factor = _batch_mv(self._unbroadcasted_cov_factor, factor_noise)
        return self.loc + from_factor + self._unbroadcasted_cov_diag.sqrt() * diag_noise

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        distance = self._mahalanobis(value - self.loc)
        n: int = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        n: int = self._event_shape[0]
        entropy = 0.5 * (n * (1 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)

    def _weighted_factor(self) -> Tensor:
        """Return `W.mT @ D⁻¹`."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _whitened_factor(self) -> Tensor:
        """Return A of shape `(..., m, n)` such that the inverse of the covariance is `D⁻¹ - A.mT @ A`."""
        return torch.linalg.solve_triangular(self._capacitance_tril, self._weighted_factor(), upper=False)

    def _log_det(self) -> Tensor:
        """Compute the log-determinant of the covariance."""
        log_diag = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log()
        return 2 * log_diag.sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, x: Tensor) -> Tensor:
        """Compute `x.mT @ covariance⁻¹ @ x`, the squared Mahalanobis distance."""
        from_factor = _batch_mahalanobis(self._capacitance_tril, _batch_mv(self._weighted_factor(), x))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - from_factor

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])


def _plus_identity(matrix: Tensor) -> Tensor:
    return matrix + torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
