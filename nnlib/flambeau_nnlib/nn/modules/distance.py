"""Distances and similarities between vectors."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The distance between vectors: the p-norm of `x1 - x2 + eps` over the last dimension.

    Args:
        p: the order of the norm, 2 for Euclidean distance; may be negative or infinite.
        eps: added to each difference, so that the norm of equal vectors has a gradient.
        keepdim: whether to keep the last dimension with size 1.

    Shape:
        - Inputs: `(N, D)` or `(D,)`, or others that broadcast together.
        - Output: `(N,)` or `()`; with `keepdim`, `(N, 1)` or `(1,)`.

    Example:
        >>> torch.nn.PairwiseDistance(p=1.0)(torch.tensor([[3.0, 0.0]]), torch.tensor([[0.5, 4.0]]))
        tensor([6.5000])
    """

    __constants__ = ("norm", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors: `sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`, between -1 and 1.

    Args:
        dim: the dimension of the vectors.
        eps: the lower bound of lengths in the divisor, so that a vector of zeros gives 0.

    Shape:
        - Inputs: `(*, D, *)`, where D is at position `dim`; they broadcast together.
        - Output: `(*, *)`, without that dimension.

    Example:
        >>> torch.nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 4.0]]))
        tensor([0.])
    """

    __constants__ = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
