"""Products of tensors in the `torch` namespace: `tensordot`, `inner`, `kron`, `chain_matmul` and `cross`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....engine.calls.dispatch import require_tensors
from ....engine.calls.facts import Autocast, Kind, Linearity
from ....engine.calls.op import composite
from ....engine.calls.record import Out
from ....engine.devices.warning import warn_once
from ....engine.tensors.tensor import Tensor
from ...matrix import unchecked_mm
from ...views.views import wrap_dim
from .routines import deprecate

__all__: list[str] = []


def _contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (int, tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two "
            f"lists, but got dims={dims}"
        )
    if isinstance(dims, int) or (isinstance(dims, (list, tuple)) and len(dims) == 1 and isinstance(dims[0], int)):
        count = dims if isinstance(dims, int) else dims[0]
        if count < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={count}")
        if count > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={count}")
        return list(range(a.ndim - count, a.ndim)), list(range(count))
    first, second = ([axes] if isinstance(axes, int) else list(axes) for axes in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")

    return [wrap_dim(d, a.ndim) for d in first], [wrap_dim(d, b.ndim) for d in second]


@composite(
    method=False,
    out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast={"cuda": Autocast.WIDEST},
    home="torch.functional",
)
def tensordot(a: Tensor, b: Tensor, dims: int | Tensor | Sequence[Sequence[int]] = 2) -> Tensor:
    """Multiply `a` and `b`, and sum over pairs of dimensions.

    `dims` is a number `n`, which pairs the last `n` dimensions of `a` with the first `n` of `b`, or a pair of lists: the
    dimensions of `a` and those of `b`.

    Args:
        a, b: the tensors.
        dims: the number, or the pair of lists.

    Raises:
        RuntimeError: the sizes of paired dimensions differ.

    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    torch.Size([2, 5])
    """
    first, second = _contracted_dims(a, b, dims)
    for i, j in zip(first, second, strict=True):
        n, m = a.shape[i], b.shape[j]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and second has size {m} in dim {j}"
            )
        if n != m and n == 1:
            b = b.sum(j, True, dtype=b.dtype)
        elif n != m:
            a = a.sum(i, True, dtype=a.dtype)
    rows = [d for d in range(a.ndim) if d not in first]
    columns = [d for d in range(b.ndim) if d not in second]
    shape = [a.shape[d] for d in rows] + [b.shape[d] for d in columns]
    inner = math.prod(a.shape[d] for d in first)
    left = a.permute(rows + first).reshape(math.prod(shape[: len(rows)]), inner)
    right = b.permute(second + columns).reshape(inner, math.prod(shape[len(rows) :]))
    if math.prod(shape) == 1:
        product = left.reshape(inner).dot(right.reshape(inner))  # call the method, so that modes can override `dot`
    else:
        product = unchecked_mm(left, right)
    return product.reshape(shape)


@composite(out=Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED, kind=Kind.PRODUCT, linearity=Linearity.EACH)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the sums of products over the last dimensions of both; if either is a 0-d tensor, return `input * other`.

    Args:
        input: a tensor `(*, n)`, or a 0-d tensor.
        other: a tensor `(*, n)`, or a 0-d tensor; the other dimensions of both are independent.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the last sizes differ.

    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    require_tensors("inner", input=input, other=other)
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@composite(out=True, kind=Kind.PRODUCT, linearity=Linearity.EACH)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: blocks `input[i, j] * other`.

    Args:
        input: a tensor of any shape.
        other: a tensor; dimensions of size 1 are added in front of the one with fewer dimensions.
        out: a tensor that the result is written to.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    ndim = max(input.ndim, other.ndim)
    a, b = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (input, other))
    left = input.reshape([n for size in a for n in (size, 1)])
    right = other.reshape([n for size in b for n in (1, size)])
    return (left * right).reshape([n * m for n, m in zip(a, b, strict=True)])


@composite(
    method=False,
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.PRODUCT,
    linearity=Linearity.EACH,
    autocast=Autocast.FAST,
    home="torch.functional",
    schema="chain_matmul(Tensor[] matrices) -> Tensor",
)
def chain_matmul(*matrices: Any) -> Tensor:
    """Multiply matrices in the order with the fewest multiplications; see `torch.linalg.multi_dot`.

    Args:
        *matrices: the matrices, as arguments or as one sequence.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: an argument is not a matrix, or the shapes do not fit.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)).shape
    torch.Size([2, 1])
    """
    from ..namespace import multi_dot

    deprecate("chain_matmul(*matrices)", "multi_dot(matrices)")
    factors = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    for index, matrix in enumerate(factors):
        if not isinstance(matrix, Tensor):
            raise TypeError(f"expected Tensor as element {index} in argument 0, but got {type(matrix).__name__}")
    for matrix in factors:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return factors[0] if len(factors) == 1 else multi_dot(factors)


@composite(out=Out.OWN_DTYPE | Out.DISJOINT, kind=Kind.PRODUCT, linearity=Linearity.EACH, autocast={"cuda": Autocast.WIDEST})
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of the vectors along `dim`, by default the first dimension of `input` that has size 3.

    Args:
        input: a tensor of vectors.
        other: a tensor that can be broadcast with `input`.
        dim: the dimension of the vectors, which has size 3. The default None is deprecated.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `input` has no dimension of size 3, or the sizes along `dim` are not 3.

    >>> torch.cross(torch.tensor([1.0, 0, 0]), torch.tensor([0.0, 1, 0]), dim=0)
    tensor([0., 0., 1.])
    """
    from ..namespace import cross as product

    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
            "future release."
        )
        if 3 not in input.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input.shape.index(3)
    return product(input, other, dim=dim)
