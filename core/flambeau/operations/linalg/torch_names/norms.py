"""Norms in the `torch` namespace: `norm`, `frobenius_norm`, `nuclear_norm`, `renorm` and `norm_except_dim`."""

from __future__ import annotations

from typing import Any

from ....engine.calls.arguments import Dims, Number
from ....engine.calls.facts import Autocast, Kind, declare
from ....engine.calls.op import composite
from ....engine.calls.record import Out
from ....engine.calls.tables import PUBLIC
from ....engine.tensors.tensor import Tensor
from ....engine.values import dtypes
from ...reductions import unchecked_vector_norm
from ...views.views import wrap_dim

__all__: list[str] = []


@composite(
    out=Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.REDUCTION,
    autocast={"cuda": Autocast.FLOAT32},
    schema=(
        "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
        "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
        "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    ),
    home="torch.functional",
)
def norm(
    input: Tensor,
    p: Number | str | None = "fro",
    dim: Dims | None = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the vector norm over `dim`, or of all elements; "fro" is the 2-norm, "nuc" the sum of singular values.

    Args:
        p: the order, a number; "fro" or None for 2; "nuc" for matrices.
        dim: one dimension or several; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: the dtype is neither floating-point nor complex.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        from ..namespace import matrix_norm

        pair = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        return matrix_norm(input, "nuc", tuple(pair), keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    order = 2.0 if p is None or p == "fro" else float(p)
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.legacy_name}"
        )
    dims = None if dim is None else tuple(wrap_dim(d, input.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    return unchecked_vector_norm(input, order, dims, keepdim)


@composite(
    method=False, out=Out.OWN_DTYPE | Out.UNCHECKED, grad_fn="NormBackward1", kind=Kind.REDUCTION, schema="frobenius_norm.dim"
)
def frobenius_norm(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """Return the 2-norm over the one or two dimensions `dim`, or over all dimensions if `dim` is empty.

    Args:
        input: a floating-point or complex tensor.
        dim: one or two dimensions; () for all.
        keepdim: whether reduced dimensions are kept with size 1.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `dim` has more than two dimensions.

    >>> torch.frobenius_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    dims = (dim,) if not isinstance(dim, (tuple, list)) else tuple(dim)
    if len(dims) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return norm(input, 2, dims or None, keepdim)


@declare(
    kind=Kind.REDUCTION,
    schema=(
        "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
        "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    ),
)
def nuclear_norm(input: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Return the sum of the singular values of the matrices in the last two dimensions, or in `dim`.

    Args:
        input: the matrices.
        args, kwargs: `keepdim`, or `dim` and `keepdim`.
        out: a tensor that the result is written to.

    >>> torch.nuclear_norm(torch.diag(torch.tensor([1.0, 2.0])))
    tensor(3.)
    """
    from ..namespace import matrix_norm

    options = dict(zip(("keepdim",) if args and isinstance(args[0], bool) else ("dim", "keepdim"), args, strict=False)) | kwargs
    if len(options) < len(args) + len(kwargs) or options.keys() - {"dim", "keepdim"}:
        raise TypeError("nuclear_norm() received an invalid combination of arguments: dim and keepdim are expected")
    dim = options.get("dim", (-2, -1))
    dims = dim if isinstance(dim, (tuple, list)) else (dim, dim)
    return matrix_norm(input, "nuc", dims, options.get("keepdim", False), out=out)  # type: ignore[call-arg]  # published with `out`


@composite(
    inplace=True, out=Out.OWN_DTYPE, grad_fn="RenormBackward0", kind=Kind.NORMALIZATION, autocast={"cuda": Autocast.FLOAT32}
)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale down the slices `input.select(dim, i)` whose p-norm exceeds `maxnorm`, to the norm `maxnorm`.

    Args:
        p: the order of the norm, positive.
        dim: the dimension of the slices.
        maxnorm: the upper bound of the norm.

    Raises:
        RuntimeError: `p` is not positive, `maxnorm` is negative, or `input` has fewer than two dimensions.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    dim = wrap_dim(dim, input.ndim)
    dims = tuple(d for d in range(input.ndim) if d != dim)
    size = norm(input, p, dims, True)
    factor = (maxnorm / (size + 1e-7)).masked_fill(~(size > maxnorm), 1.0)  # where the norm is NaN, the factor is 1
    return input * factor


@declare(kind=Kind.REDUCTION)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norm of order `pow` of each slice `v.select(dim, i)`; the other dimensions have size 1 in the result.

    For `dim=-1`, return the norm of all elements.

    Args:
        v: a floating-point or complex tensor.
        pow: the order of the norm.
        dim: the dimension that is not reduced, or -1.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return norm(v, pow)
    if not 0 <= dim < v.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-v.ndim}, {v.ndim - 1}], but got {dim})")
    dims = [d for d in range(v.ndim) if d != dim]
    return norm(v, pow, dims, True)


PUBLIC.update(norm_except_dim=norm_except_dim, nuclear_norm=nuclear_norm)
