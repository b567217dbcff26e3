"""`Wishart`, the distribution of a sum of outer products `x xᵀ` of normal vectors x."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import MatrixParameter, to_scale_tril
from .utils import _Number

__all__ = ["Wishart"]


class Wishart(MatrixParameter, ExponentialFamily):
    """The Wishart distribution: the distribution of the sum of `x xᵀ` over `df` centred normal vectors x of length p.

    Samples use Bartlett's decomposition. Singular samples are redrawn.

    Args:
        df: the degrees of freedom, greater than p - 1; not necessarily an integer.
        covariance_matrix: the covariance matrix of x, positive definite, of shape `(..., p, p)`.
        precision_matrix: the inverse of the covariance matrix, of the same shape.
        scale_tril: the lower Cholesky factor of the covariance matrix, of the same shape. Give exactly one of the three.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the broadcast shape of `df` and the leading dimensions of the matrix.
        - Event: `(p, p)`, positive definite matrices.

    Raises:
        ValueError: zero or several matrices are given, a matrix has fewer than two dimensions, or `df` is too small.

    Example:
        >>> torch.distributions.Wishart(3., torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._specified(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if isinstance(df, _Number):
            df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
        event_shape = matrix.shape[-2:]
        p = event_shape[-1]
        if df.le(p - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if df.lt(p).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = to_scale_tril(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - torch.arange(p, dtype=matrix.dtype, device=matrix.device))

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        mode: Tensor = torch.where(factor > 0, factor, math.nan)[..., None, None] * self.covariance_matrix
        return mode

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int = 10) -> Tensor:
        """Draw samples of shape `sample_shape + batch_shape + event_shape`.

        Args:
            sample_shape: the shape of the samples to draw.
            max_try_correction: the maximum number of times that singular samples are redrawn.
        """
        n = torch.Size(sample_shape).numel()
        sample = self._bartlett_sampling((n,))
        # Redraw all samples once, as PyTorch does, so that a seed gives the same samples.
        todo = torch.arange(n, device=sample.device)
        for _ in range(max_try_correction):
            redrawn = self._bartlett_sampling((len(todo),))
            sample = sample.index_copy(0, todo, redrawn)
            is_singular = ~self.support.check(redrawn).reshape(len(todo), self._batch_shape.numel()).all(-1)
            if not is_singular.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            todo = todo[is_singular]
        return sample.reshape(self._extended_shape(sample_shape))

    def _bartlett_sampling(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Sample `(L A)(L A)ᵀ` for the Cholesky factor L and a lower triangular matrix A of chi and normal variables."""
        p = self._event_shape[-1]
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = chi.clamp(min=torch.finfo(chi.dtype).eps).diag_embed()
        row, column = torch.tril_indices(p, p, offset=-1, device=chi.device)
        below = torch.randn((*sample_shape, *self._batch_shape, len(row)), dtype=chi.dtype, device=chi.device)
        noise[..., row, column] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        df = self.df
        p: int = self._event_shape[-1]
        whitened = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        log_prob: Tensor = (
            -df * (p * math.log(2) / 2 + self._half_log_det())
            - torch.mvlgamma(df / 2, p)
            + (df - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - whitened.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )
        return log_prob

    def entropy(self) -> Tensor:
        df = self.df
        p: int = self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + self._half_log_det())
            + torch.mvlgamma(df / 2, p)
            - (df - p - 1) / 2 * _mvdigamma(df / 2, p)
            + df * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p: int = self._event_shape[-1]
        half_df = y + (p + 1) / 2
        log_det: Tensor = p * math.log(2) - torch.linalg.slogdet(-2 * x).logabsdet
        return half_df * log_det + torch.mvlgamma(half_df, p)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Compute the derivative of `mvlgamma`."""
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)
