"""Distances and similarities of vectors."""

from __future__ import annotations

from typing import Any

from ..engine.calls.dispatch import common_shape
from ..engine.calls.op import composite, op
from ..engine.tape.node import shown_as
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation import arange
from .joining import repeated_positions
from .reductions import _vector_norm as vector_norm

__all__ = ["cosine_similarity", "pair_distances_forward", "pairwise_distance", "pdist"]


@composite(method=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension; see `nn.PairwiseDistance`.

    Args:
        x1: a tensor `(*, D)`.
        x2: a tensor that can be broadcast with `x1`.
        p: the order of the norm.
        eps: what is added to the difference, so that its norm has a derivative where the vectors are equal.
        keepdim: whether the last dimension stays, with length 1.

    Example:
        >>> import flambeau as torch
        >>> torch.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    return shown_as(vector_norm(x1 - x2 + eps, p, max(x1.ndim, x2.ndim) - 1, keepdim), "NormBackward1")


@composite(method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`; see `nn.CosineSimilarity`.

    Args:
        x1: a tensor with the first vectors.
        x2: a tensor with the second vectors, which can be broadcast with `x1`.
        dim: the dimension of the vectors.
        eps: what the length of a vector counts as at least, so that nothing is divided by 0.

    Raises:
        RuntimeError: the common dtype is not floating-point.

    Example:
        >>> import flambeau as torch
        >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    shape, common = common_shape(x1.shape, x2.shape), dtypes.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common}")
    x1, x2 = x1.to(common).expand(shape), x2.to(common).expand(shape)
    lengths = [vector_norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pair_distances_forward(xp: Any, input: Any, first: Any, second: Any) -> Any:
    """Euclidean distances of the rows `first` and `second`, from their differences."""
    difference = xp.take(input, first, axis=0) - xp.take(input, second, axis=0)
    return xp.sqrt(xp.sum(difference * difference, axis=1))


def _pair_distances_grad(F: Any, g: Any, input: Any, first: Any, second: Any, out: Any) -> Any:
    """The gradient of each pair along its difference, added to one row and subtracted from the other; 0 where they are equal."""
    equal = out == 0
    ratio = F.masked(g / (out + F.masked(F.ones_of(out), equal)), ~equal)
    difference = F.embedding(input, first, -1, False) - F.embedding(input, second, -1, False)
    part = difference * F.reshape(ratio, (-1, 1))
    return F.sum_rows(part, first, input.shape[0]) - F.sum_rows(part, second, input.shape[0])


_pair_distances = op(
    "pair_distances", pair_distances_forward, keeps_dtype=("first", "second"), public=False, method=False, out=False,
    input=_pair_distances_grad,
)  # fmt: skip


@composite(method=False, grad_fn="PdistBackward0")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows of a matrix, those of row 0 first.

    Args:
        input: a tensor `(N, D)`.
        p: the order of the norm, not negative.

    Shape:
        The result is `(N * (N - 1) / 2,)`.

    Raises:
        RuntimeError: the input is no matrix of floating-point numbers, or `p` is negative.

    Example:
        >>> import flambeau as torch
        >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    first, second = _pairs(input.shape[0], input.device)
    if p == 2 and input.dtype not in dtypes.HALF:
        return _pair_distances(input, first, second)
    return vector_norm(input[first] - input[second], p, 1, False)


def _pairs(count: int, device: Any) -> tuple[Tensor, Tensor]:
    """Indices `i < j` of all pairs."""
    index = arange(count, device=device)
    if not index._key.backend.has_data:
        return (index.new_empty(count * (count - 1) // 2),) * 2
    first = repeated_positions(count - 1 - index, count * (count - 1) // 2)
    ends = (index + 1) * (2 * count - 2 - index) // 2  # of the pairs of each row, one after the other
    return first, (count - ends)[first] + arange(first.shape[0], device=device)
