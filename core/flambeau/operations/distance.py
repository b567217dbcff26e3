"""Distances and similarities of vectors."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.dispatch import common_shape, require_tensors
from ..engine.calls.facts import Autocast, Kind
from ..engine.calls.op import composite, op
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.ranges import arange
from .joining import repeated_positions
from .linalg.torch_names.norms import norm
from .reductions import unchecked_vector_norm

__all__ = ["cosine_similarity", "pair_distances_forward", "pairwise_distance", "pdist"]


@composite(method=False, kind=Kind.PRODUCT, home="torch", grad_fn="NormBackward1", single_operator=False)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the p-norm of `x1 - x2 + eps` over the last dimension; see `nn.PairwiseDistance`.

    Args:
        x1: a tensor `(*, D)`.
        x2: a tensor that can be broadcast with `x1`.
        p: the order of the norm.
        eps: added to each difference, so that the norm has a derivative where the vectors are equal.
        keepdim: whether the last dimension is kept with length 1.

    Example:
        >>> torch.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    return unchecked_vector_norm(x1 - x2 + eps, p, max(x1.ndim, x2.ndim) - 1, keepdim)


@composite(method=False, kind=Kind.PRODUCT, autocast={"cuda": Autocast.FLOAT32}, home="torch")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; see `nn.CosineSimilarity`.

    Args:
        x1: a tensor with the first vectors.
        x2: a tensor with the second vectors, which can be broadcast with `x1`.
        dim: the dimension of the vectors.
        eps: the lower bound of the vectors' lengths, which avoids division by 0.

    Raises:
        RuntimeError: the common dtype is not floating-point.

    Example:
        >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    shape, common = common_shape(x1.shape, x2.shape), dtypes.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common}")
    x1, x2 = x1.to(common).expand(shape), x2.to(common).expand(shape)
    lengths = [unchecked_vector_norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pair_distances_forward(xp: Any, input: Any, first: Any, second: Any) -> Any:
    """Return the Euclidean distances between rows `first` and rows `second` of `input`, computed from their differences."""
    difference = xp.take(input, first, axis=0) - xp.take(input, second, axis=0)
    return xp.sqrt(xp.sum(difference * difference, axis=1))


def _pair_distances_grad(F: Any, g: Any, input: Any, first: Any, second: Any, out: Any) -> Any:
    """Return the gradient: `g * (first - second) / out` for row `first`, its negative for row `second`; 0 for equal rows."""
    equal = out == 0
    ratio = F.masked(g / (out + F.masked(F.ones_of(out), equal)), ~equal)
    difference = F.embedding(input, first, -1, False) - F.embedding(input, second, -1, False)
    part = difference * F.reshape(ratio, (-1, 1))
    return F.sum_rows(part, first, input.shape[0]) - F.sum_rows(part, second, input.shape[0])


_pair_distances = op(
    "pair_distances", pair_distances_forward,
    kind=Kind.PRODUCT, keeps_dtype=("first", "second"), public=False, method=False, out=False,
    input=_pair_distances_grad,
)  # fmt: skip


@composite(method=False, grad_fn="PdistBackward0", kind=Kind.PRODUCT, autocast={"cuda": Autocast.FLOAT32}, home="torch")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Return the p-norm distances of all pairs of rows `i < j` of a matrix, ordered by `i`, then `j`.

    Args:
        input: a tensor `(N, D)`.
        p: the order of the norm, not negative.

    Shape:
        The result is `(N * (N - 1) / 2,)`.

    Raises:
        RuntimeError: the input is not a floating-point matrix, or `p` is negative.

    Example:
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
    difference = input[first] - input[second]
    return _largest(difference) if p == math.inf and input.numel() else unchecked_vector_norm(difference, p, 1, False)


def _pairs(count: int, device: Any) -> tuple[Tensor, Tensor]:
    """Return the indices of all pairs `i < j`, as two vectors."""
    index = arange(count, device=device)
    if not index._key.backend.has_data:
        return (index.new_empty(count * (count - 1) // 2),) * 2
    first = repeated_positions(count - 1 - index, count * (count - 1) // 2)
    ends = (index + 1) * (2 * count - 2 - index) // 2  # cumulative number of pairs up to and including each row
    return first, (count - ends)[first] + arange(first.shape[0], device=device)


@composite(grad_fn="DistBackward0", kind=Kind.REDUCTION, autocast={"cuda": Autocast.FLOAT32})
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of `input - other`.

    Args:
        input: a floating-point or complex tensor.
        other: a tensor that can be broadcast with `input`.
        p: the order of the norm.

    >>> torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0]))
    tensor(5.)
    """
    require_tensors("dist", input=input, other=other)
    return norm(input - other, float(p))


# --- distances between two sets -----------------------------------------------------------------------------------


def _euclidean_forward(xp: Any, x1: Any, x2: Any) -> Any:
    """Compute distances by one matrix product, which is inexact where points nearly coincide."""
    squares = xp.sum(x1 * x1, axis=-1, keepdims=True) + xp.matrix_transpose(xp.sum(x2 * x2, axis=-1, keepdims=True))
    return xp.sqrt(xp.clip(squares - 2 * xp.matmul(x1, xp.matrix_transpose(x2)), 0, None))


def _euclidean_grad(F: Any, g: Any, x1: Any, x2: Any, out: Any) -> Any:
    same = out == 0
    ratio = F.masked(g / (out + F.masked(F.ones_of(out), same)), ~same)
    transposed = F.mH_(ratio)
    last = len(g.shape) - 1
    return x1 * F.sum(ratio, (last,), True) - F.mm(ratio, x2), x2 * F.sum(transposed, (last,), True) - F.mm(transposed, x1)


_euclidean = op(
    "euclidean_dist", _euclidean_forward,
    kind=Kind.PRODUCT, promote="match", public=False, method=False, out=False, vjp=_euclidean_grad,
)  # fmt: skip


def _largest_grad(F: Any, g: Any, input: Any, out: Any) -> Any:
    """Return the gradient of the largest magnitude.  As in PyTorch, each of several largest elements gets all of it."""
    keepdim_shape = (*g.shape, 1)
    return F.masked(F.reshape(g, keepdim_shape) * F.sign(input), F.abs(input) == F.reshape(out, keepdim_shape))


_largest = op(
    "largest_magnitude", lambda xp, input: xp.max(xp.abs(input), axis=-1),
    kind=Kind.REDUCTION, public=False, method=False, out=False,
    input=_largest_grad,
    doc="Return the largest magnitude of each row.",
)  # fmt: skip
_COMPUTE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
_MAX_DIRECT_POINTS = 25  # for more points, `cdist` uses a matrix product, which is faster but less exact


def _check_points(x1: Tensor, x2: Tensor, p: float, compute_mode: Any) -> None:
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, points in (("X1", x1), ("X2", x2)):
        if points.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {points.ndim}D")
        if not points.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {points.dtype.legacy_name}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.legacy_name} but found {x2.dtype.legacy_name}")
    if x1.dtype in dtypes.HALF:
        raise NotImplementedError(f"\"cdist\" not implemented for '{x1.dtype.legacy_name}'")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")


@composite(method=False, grad_fn="CdistBackward0", kind=Kind.PRODUCT, autocast=Autocast.FLOAT32, home="torch.functional")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the p-norm distances between all rows of `x1` and all rows of `x2`.

    The result has the shape `(*, n, m)`.  For `p=2` and more than 25 points, one matrix product is used, which is faster and
    less exact; `compute_mode` overrides this choice.

    Args:
        x1: a floating-point tensor `(*, n, d)`.
        x2: a tensor `(*, m, d)` with the dtype of `x1`.
        p: the order of the norm, not negative.
        compute_mode: "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist" to always use a matrix product for `p=2`, or
            "donot_use_mm_for_euclid_dist".

    Raises:
        RuntimeError: the last sizes differ, or `p` is negative.

    >>> torch.cdist(torch.tensor([[0.0, 0]]), torch.tensor([[3.0, 4], [0, 0]]))
    tensor([[5., 0.]])
    """
    from .linalg.checks import broadcast_matrices

    _check_points(x1, x2, p, compute_mode)
    x1, x2 = broadcast_matrices(x1, x2)
    n, m = x1.shape[-2], x2.shape[-2]
    if not x1.numel() or not x2.numel():
        return (x1.sum(-1, True) + x2.sum(-1, True).mT) * 0
    if p == 2 and compute_mode != _COMPUTE_MODES[2] and (max(n, m) > _MAX_DIRECT_POINTS or compute_mode == _COMPUTE_MODES[1]):
        return _euclidean(x1, x2)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _largest(difference) if p == math.inf else unchecked_vector_norm(difference, float(p), x1.ndim, False)
