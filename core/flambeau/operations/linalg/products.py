"""Products of vectors and matrices: chains, powers, the matrix exponential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...engine.calls.dispatch import require_dtype
from ...engine.calls.facts import Autocast, Kind, Linearity, declare
from ...engine.calls.node_names import with_grad_fn
from ...engine.calls.op import op
from ...engine.calls.record import Out
from ...engine.calls.tables import PUBLIC
from ...engine.calls.wrappers import with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ...engine.values.constants import contiguous_format
from ..indexing.standard import highest
from ..views import selecting
from ..views.views import wrap_dim
from .checks import check_floating, check_square
from .solves import inv

__all__ = ["cross", "diagonal", "matmul", "matrix_exp", "matrix_power", "multi_dot", "vander", "vecdot"]


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.PRODUCT, linearity=Linearity.EACH)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiply matrices or batches of matrices; see `torch.matmul`.

    Args:
        other: the second factor.
    """
    return PUBLIC["matmul"](input, other)  # type: ignore[no-any-return]  # a generated function


@declare(kind=Kind.VIEW)
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return a view of the diagonals of matrices: `torch.diagonal` with the last two dimensions as default.

    Args:
        A: matrices `(*, m, n)`.
        offset: the diagonal: 0 for the main one, positive above it, negative below.
        dim1, dim2: the dimensions of the rows and the columns.
    """
    if not isinstance(A, Tensor):
        raise TypeError(f"linalg_diagonal(): argument 'A' (position 1) must be Tensor, not {type(A).__name__}")
    return selecting.diagonal(A, offset, dim1, dim2)


# --- vectors ------------------------------------------------------------------------------------------------------


@with_out(Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.PRODUCT, linearity=Linearity.EACH)
@with_grad_fn("LinalgCrossBackward0")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the cross product of vectors of length 3 along `dim`; the other dimensions broadcast.

    Args:
        other: a tensor with the dtype and the number of dimensions of `input`.
        dim: the dimension of length 3.

    Raises:
        RuntimeError: a vector has not 3 elements, or the dtypes or the numbers of dimensions differ.

    >>> torch.linalg.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]))
    tensor([0., 0., 1.])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim or input.shape[axis] != 3 or other.shape[axis] != 3:
        lengths = [tensor.shape[axis] if tensor.ndim else 1 for tensor in (input, other)]
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy_name} but found {other.dtype.legacy_name}")
    require_dtype("cross", input, "numbers")
    product = input.roll(-1, axis) * other.roll(1, axis) - input.roll(1, axis) * other.roll(-1, axis)
    return product


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.PRODUCT, linearity=Linearity.EACH, autocast=Autocast.FAST)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the inner products of vectors along `dim`, with `x` conjugated; the other dimensions broadcast.

    Args:
        x, y: floating-point or complex tensors of the same dtype.
        dim: the dimension of the vectors.

    Raises:
        RuntimeError: the dtypes differ, or are neither floating-point nor complex.

    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([1.0, 1]))
    tensor([3., 7.])
    """
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.legacy_name} "
            f"and y of type {y.dtype.legacy_name} instead"
        )
    if x.ndim == y.ndim == 1 and x.shape != y.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{len(x)}] and src [{len(y)}] to have the same number of "
            f"elements, but got {len(x)} and {len(y)} elements respectively"
        )
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.legacy_name}")
    return (x.conj() * y).sum(dim).to(x.dtype)


@declare(kind=Kind.OTHER)
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Return Vandermonde matrices: row `i` holds the powers 0 to `N - 1` of `x[i]`; `N` defaults to the length of `x`.

    Args:
        x: numbers `(*, n)`.
        N: the number of powers, above 1; None for `n`.

    Raises:
        RuntimeError: `N` is below 2.

    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype is dtypes.bool_ or x.dtype in dtypes.HALF:
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.legacy_name}")
    count = (x.shape[-1] if x.ndim else 1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    from ..joining import cat

    x = x if x.ndim else x.reshape(1)
    ones = x.new_ones((*x.shape, 1))
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    return cat([ones.to(powers.dtype), powers], -1)


# --- matrices -----------------------------------------------------------------------------------------------------


def _check_chain(tensors: Sequence[Tensor]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for name, tensor in (("first", tensors[0]), ("last", tensors[-1])):
        if tensor.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {tensor.ndim}D")
    for index, tensor in enumerate(tensors[1:], 1):
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {tensors[0].dtype.name} "
                f"and tensor {index} {tensor.dtype.name}"
            )
        if index < len(tensors) - 1 and tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {index} must be 2D but got {tensor.ndim}D")
    matrices = _as_matrices(tensors)
    for index, (left, right) in enumerate(pairwise(matrices)):
        if left.shape[-1] != right.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {index} and {index + 1} with shapes {list(left.shape)} and "
                f"{list(right.shape)} cannot be multiplied"
            )


def _as_matrices(tensors: Sequence[Any]) -> list[Any]:
    first = tensors[0].unsqueeze(0) if tensors[0].ndim == 1 else tensors[0]
    last = tensors[-1].unsqueeze(1) if tensors[-1].ndim == 1 else tensors[-1]
    return [first, *tensors[1:-1], last]


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return where to split each part `(i, j)` of a matrix chain for the fewest multiplications (Cormen et al., 15.2)."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.PRODUCT, linearity=Linearity.EACH, autocast=Autocast.FAST)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Multiply two or more matrices in the order with the fewest multiplications; the first and the last may be vectors.

    Args:
        tensors: matrices of the same dtype, whose inner sizes match.

    Raises:
        RuntimeError: fewer than two tensors are given, or their shapes or dtypes do not match.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    tensors = list(tensors)
    _check_chain(tensors)
    matrices = _as_matrices(tensors)
    split = _best_splits([matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)])

    def product(i: int, j: int) -> Tensor:
        return matrices[i] if i == j else product(i, split[i, j]) @ product(split[i, j] + 1, j)

    chain = product(0, len(matrices) - 1)
    chain = chain.squeeze(1) if tensors[-1].ndim == 1 else chain
    return chain.squeeze(0) if tensors[0].ndim == 1 else chain


@with_out(Out.UNCHECKED, kind=Kind.DECOMPOSITION)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Return the `n`-th power of square matrices, by repeated squaring; for negative `n`, the power of the inverses.

    Args:
        n: the exponent.

    Raises:
        LinAlgError: `n` is negative and a matrix is singular.

    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [1, 0]]), 10)
    tensor([[89, 55],
            [55, 34]])
    """
    check_square("linalg.matrix_power", input)
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if n == 1:
        return input.clone(memory_format=contiguous_format)
    if n < 0:
        input, n = inv(input), -n
    if n == 0:
        eye = input.new_ones(input.shape[-2:]).tril().triu()
        return input.clone(memory_format=contiguous_format).copy_(eye)
    power, square = None, input
    while n:
        if n & 1:
            power = square if power is None else power @ square
        n >>= 1
        square = square @ square if n else square
    return power  # type: ignore[return-value]  # the loop runs at least once


# Degree of the Taylor polynomial, and the norms up to which it is accurate in single and in double precision: Al-Mohy and
# Higham, "Computing the action of the matrix exponential" (2011), table 3.1.  A rational approximation needs fewer
# squarings, but divides by a polynomial of the matrix that is nearly singular in single precision.
_DEGREE, _NORM_SINGLE, _NORM_DOUBLE = 20, 3.6, 1.4


def _matrix_exp_forward(xp: Any, A: Any) -> Any:
    if 0 in A.shape:
        return A + 0
    norm = xp.max(xp.sum(xp.abs(A), axis=-2), axis=-1)
    finite = xp.where(xp.isfinite(norm) & (norm > 0), norm, xp.ones_like(norm))
    largest = _NORM_SINGLE if xp.finfo(norm.dtype).eps > 1e-10 else _NORM_DOUBLE
    squarings = xp.clip(xp.ceil(xp.log2(finite / largest)), 0, None)
    scale = xp.astype(xp.pow(2 * xp.ones_like(squarings), -squarings), norm.dtype)
    exponential = _taylor(xp, A * xp.expand_dims(scale, axis=(-2, -1)))
    for step in range(highest(xp, squarings)):
        more = xp.expand_dims(squarings > step, axis=(-2, -1))
        exponential = xp.where(more, xp.matmul(exponential, exponential), exponential)
    return exponential


def _taylor(xp: Any, A: Any) -> Any:
    """Sum `A ** k / k!` up to `k = 20`, as a polynomial in `A ** 5` (Paterson and Stockmeyer, 1973)."""
    powers = [xp.eye(A.shape[-1], dtype=A.dtype), A]
    while len(powers) < 6:
        powers.append(xp.matmul(powers[len(powers) // 2], powers[(len(powers) + 1) // 2]))
    total = powers[5] / float(math.factorial(_DEGREE))
    for low in range(_DEGREE - 5, -1, -5):
        for k in range(4, -1, -1):  # the smallest terms first, to lose fewer digits
            total = total + powers[k] / float(math.factorial(low + k))
        total = xp.matmul(powers[5], total) if low else total
    return total


def _matrix_exp_grad(F: Any, g: Any, A: Any) -> Any:
    """Return the gradient: the upper right block of the exponential of `[[A^H, g], [0, A^H]]` (Mathias, 1996)."""
    A_h, n, last = F.mH_(A), A.shape[-1], len(A.shape) - 1
    above, below = F.cat([A_h, g], last), F.cat([F.zeros_of(A_h, tuple(A_h.shape)), A_h], last)
    return F.getitem_slice(F.linalg_matrix_exp(F.cat([above, below], last - 1)), (..., slice(0, n), slice(n, None)))


_matrix_exp = op(
    "linalg_matrix_exp", _matrix_exp_forward,
    kind=Kind.DECOMPOSITION, promote="accumulate", public=False, method=False, out=False, A=_matrix_exp_grad,
)  # fmt: skip


def matrix_exp(input: Tensor) -> Tensor:
    """Compute the exponential of square matrices by scaling and squaring.

    >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1], [0, 0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square("linalg.matrix_exp", input)
    if input.dtype not in dtypes.HALF:
        check_floating("linalg.matrix_exp", input)
    return _matrix_exp(input)
