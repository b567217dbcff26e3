"""`LKJCholesky`, a distribution of correlation matrices, given by their Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import flambeau as torch
from flambeau import Tensor

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution over Cholesky factors of correlation matrices R, with density proportional to
    `det(R)**(concentration - 1)`.

    Samples are drawn by the onion method: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on
    vines and extended onion method", 2009.

    Args:
        dim: the number of rows of the matrices, at least 2.
        concentration: positive. 1 gives uniform correlation matrices; larger values favour weaker correlations, smaller values
            stronger ones.
        validate_args: whether to raise ValueError for parameters and values out of range. None uses the default of
            `Distribution.set_default_validate_args`, which is initially True.

    Shape:
        - Batch: the shape of `concentration`.
        - Event: `(dim, dim)`, lower triangular matrices with a positive diagonal and rows of norm 1.

    Raises:
        ValueError: `dim` is less than 2.

    Example:
        >>> torch.distributions.LKJCholesky(2, 1.).log_prob(torch.eye(2))
        tensor(-0.6931)
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # `_beta` is the distribution of the squared length of the entries left of the diagonal, for each row. Row 0 has no
        # such entries. In row i, the first parameter is i - 1 / 2, as in PyTorch; the onion method of the paper has i / 2.
        offset = torch.arange(-1, dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = offset.clamp(min=0)
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        squared_length = self._beta.sample(sample_shape).unsqueeze(-1)
        shape, dtype = self._extended_shape(sample_shape), squared_length.dtype
        normal = torch.randn(shape, dtype=dtype, device=squared_length.device).tril(-1)
        norm = normal.norm(dim=-1, keepdim=True)
        w = squared_length.sqrt() * normal / norm.where(norm > 0, 1.0)  # the norm of the first row is 0
        diagonal = (1 - w.pow(2).sum(-1)).clamp(min=torch.finfo(dtype).tiny).sqrt()
        return w + diagonal.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        n = self.dim
        concentration = self.concentration
        order = torch.arange(n - 2, -1, -1, dtype=concentration.dtype, device=concentration.device)
        exponent = 2 * (concentration - 1).unsqueeze(-1) + order
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        alpha = concentration + 0.5 * (n - 1)
        log_normalizer = 0.5 * (n - 1) * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, n - 1) - (n - 1) * torch.lgamma(alpha)
        return (exponent * diagonal.log()).sum(-1) - log_normalizer
