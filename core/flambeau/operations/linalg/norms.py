"""Norms of vectors and matrices, condition number and rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...engine.calls.arguments import Dims, Number, as_python
from ...engine.calls.facts import Autocast, Kind
from ...engine.calls.record import Out
from ...engine.calls.wrappers import with_out
from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes
from ..reductions import amax, amin, unchecked_vector_norm
from ..views.views import wrap_dim
from .checks import check_floating, check_matrix, promote_square
from .decompositions import eigvalsh, svdvals
from .solves import inv_ex, tolerance

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


def _cast(name: str, A: Tensor, dtype: Any) -> Tensor:
    """Convert `A` to `dtype` if given.  Raises RuntimeError for dtypes that norms do not support."""
    if A.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.legacy_name}")
    if dtype is None:
        return A
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.legacy_name}")
    if A.dtype.is_complex is not dtype.is_complex:
        kind = "complex" if A.dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.legacy_name}")
    if dtypes.promote_types(A.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({A.dtype.legacy_name}) should be convertible without narrowing to "
            f"the specified dtype ({dtype.legacy_name})"
        )
    return A.to(dtype)


def _dims(dim: Any, ndim: int) -> tuple[int, ...] | None:
    if dim is None:
        return None
    dims = tuple(wrap_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims or None


def _refuse_empty(x: Tensor, ord: float, dims: tuple[int, ...] | None) -> None:
    """Raise RuntimeError for an empty input if the norm is a maximum or minimum, which has no identity."""
    if x.numel() or not (ord < 0 or ord == math.inf):
        return
    shown = f"{ord:g}"
    if dims is None:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does "
            "not have an identity"
        )
    for d in dims:
        if not x.shape[d]:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d}because this "
                "dimension is empty and the operation does not have an identity"
            )


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.REDUCTION, autocast={"cuda": Autocast.FLOAT32})
def vector_norm(
    input: Tensor, ord: Number = 2, dim: Dims | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the norm `sum(abs(x) ** ord) ** (1 / ord)` over the dimensions `dim`, or of all elements as one vector.

    For `ord` inf and -inf it is the largest and the smallest absolute value; for 0, the number of nonzero elements.

    Args:
        input: a floating-point or complex tensor.
        ord: the order of the norm: any number, inf or -inf.
        dim: the dimensions to reduce, an int or a tuple; None for all.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: `input` is empty and `ord` is negative or inf, or its dtype is neither floating-point nor complex.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    ord = as_python(ord)
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    input = _cast("linalg.vector_norm", input, dtype)
    dims = _dims(dim, input.ndim)
    _refuse_empty(input, ord, dims)
    return unchecked_vector_norm(input, float(ord), dims, keepdim)


def _two_dims(dim: Any, ndim: int) -> tuple[int, int]:
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    first, second = (wrap_dim(d, ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dims[0]}, {dims[1]})")
    return first, second


@with_out(
    Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED,
    kind=Kind.REDUCTION,
    autocast={"cuda": Autocast.FLOAT32},
    schema=(
        "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor",
        'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? '
        "dtype=None) -> Tensor",
    ),
)
def matrix_norm(
    input: Tensor,
    ord: Number | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the norm of matrices: "fro" (Frobenius), "nuc" (nuclear), or a number.

    A number selects the largest (`ord > 0`) or smallest (`ord < 0`) singular value for 2 and -2, column sum of absolute values
    for 1 and -1, or row sum of absolute values for inf and -inf.

    Args:
        input: floating-point or complex matrices.
        ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf.
        dim: the two dimensions of the rows and the columns.
        keepdim: whether the two dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    Raises:
        RuntimeError: `ord` is another value, or `dim` has not two different dimensions.

    >>> torch.linalg.matrix_norm(torch.tensor([[1.0, -2], [3, 4]]), 1)
    tensor(6.)
    """
    check_matrix("linalg.matrix_norm", input)
    input = _cast("linalg.matrix_norm", input, dtype)
    rows, columns = _two_dims(dim, input.ndim)
    if ord == "fro":
        return unchecked_vector_norm(input, 2.0, (rows, columns), keepdim)
    if ord == "nuc" or ord in (2, -2):
        check_floating("linalg.matrix_norm", input)
        values = svdvals(input.permute(*(d for d in range(input.ndim) if d not in (rows, columns)), rows, columns))
        result = values.sum(-1) if isinstance(ord, str) else _extreme(values, -1, ord > 0)  # a string can only be "nuc" here
        return _restore_dims(result, rows, columns) if keepdim else result
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    added, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = unchecked_vector_norm(input, 1.0, (added,), True)
    result = _extreme(sums, compared, ord > 0, keepdim=True)
    return result if keepdim else result.squeeze((rows, columns))


def _extreme(values: Tensor, dim: int, largest: bool, keepdim: bool = False) -> Tensor:
    if largest and not values.shape[dim]:  # the norm of a matrix without elements is 0
        return values.sum(dim, keepdim)
    return (amax if largest else amin)(values, (dim,), keepdim)


def _restore_dims(result: Tensor, *dims: int) -> Tensor:
    """Insert dimensions of size 1 for the reduced dimensions, for `keepdim`."""
    for d in sorted(dims):
        result = result.unsqueeze(d)
    return result


@with_out(
    Out.OWN_DTYPE | Out.RECORDED | Out.UNCHECKED,
    kind=Kind.REDUCTION,
    autocast={"cuda": Autocast.FLOAT32},
    schema=(
        "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    ),
)
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return `matrix_norm` if `ord` is given and `dim` (or the input) has two dimensions; otherwise `vector_norm`.

    Without `ord`, the result is the 2-norm over `dim`, or of all elements.

    Args:
        input: a floating-point or complex tensor.
        ord: the order, as for `matrix_norm` or `vector_norm`.
        dim: one dimension for vectors, two for matrices; None for all, at most two if `ord` is given.
        keepdim: whether the reduced dimensions are kept with length 1.
        dtype: the dtype to convert `input` to before the computation; None for no conversion.

    >>> torch.linalg.norm(torch.tensor([3.0, -4.0])), torch.linalg.norm(torch.tensor([3.0, -4.0]), torch.inf)
    (tensor(5.), tensor(4.))
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linalg_norm(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    dim = as_python(dim)
    dims = (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if dims is None and input.ndim > 2:
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D.")
    if isinstance(ord, str) or (input.ndim == 2 if dims is None else len(dims) == 2):
        return matrix_norm(input, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


@with_out(
    Out.RECORDED | Out.UNCHECKED,
    kind=Kind.DECOMPOSITION,
    autocast={"cpu": Autocast.FLOAT32},
    schema=("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", "linalg_cond.p_str(Tensor self, str p) -> Tensor"),
)
def cond(input: Tensor, p: Any = None) -> Tensor:
    """Return the condition number `norm(input, p) * norm(inv(input), p)`; it is infinite for singular matrices.

    For `p` None and 2, it is the ratio of the largest and the smallest singular value; for -2, the inverse of that.

    Args:
        input: matrices `(*, m, n)`, square unless `p` is None, 2 or -2.
        p: the order of the matrix norm: None, "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    Raises:
        RuntimeError: `p` is another value, or a matrix is not square.

    >>> torch.linalg.cond(torch.tensor([[1.0, 0], [0, 4]]))
    tensor(4.)
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linalg_cond(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if input.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p not in (None, 2, -2) and input.shape[-2] != input.shape[-1]:
        shown = p if isinstance(p, str) else f"{p:g}"
        raise RuntimeError(
            f"linalg.cond(ord={shown}): A must be batches of square matrices, but they are {input.shape[-2]} by "
            f"{input.shape[-1]} matrices"
        )
    if not input.numel():
        return input.new_zeros(input.shape[:-2], dtype=input.dtype.to_real())
    with input._key.backend.ignoring_arithmetic_errors():  # the number of a singular matrix is infinite
        return _cond(input, p)


def _cond(input: Tensor, p: Any) -> Tensor:
    if p in (None, 2, -2):
        values = svdvals(input)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    inverse, info = inv_ex(input)
    singular = info != 0
    inverse = inverse.masked_fill(singular.unsqueeze(-1).unsqueeze(-1), 0.0)
    numbers = (matrix_norm(input, p) * matrix_norm(inverse, p)).masked_fill(singular, math.inf)
    return numbers.nan_to_num(math.inf, math.inf)  # NaN is the product of an infinite norm and 0


@with_out(
    Out.UNCHECKED,
    kind=Kind.DECOMPOSITION,
    autocast={"cpu": Autocast.FLOAT32},
    schema=(
        "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
        "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
        "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool "
        "hermitian=False) -> Tensor",
        "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    ),
)
def matrix_rank(input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Return the number of singular values above `max(atol, rtol * largest)`; `tol` is the legacy name of `atol`.

    Args:
        input: matrices `(*, m, n)`, floating-point or complex.
        tol: the legacy name of `atol`; if given, `rtol` is 0.
        hermitian: whether the matrices are Hermitian; absolute eigenvalues then replace the singular values, which is faster.
        atol: the absolute tolerance, a number or a tensor of the batch shape; None for 0.
        rtol: the relative tolerance; None for `max(m, n)` times the machine epsilon, or for 0 if an `atol` above 0 is given.

    >>> torch.linalg.matrix_rank(torch.ones(2, 2))
    tensor(1)
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"linalg_matrix_rank(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    check_matrix("torch.linalg.matrix_rank", input, "input")
    if tol is not None:
        atol, rtol = tol, 0.0
    # PyTorch has no default tolerance for integer and half-precision dtypes
    if rtol is None and (input.dtype.category < dtypes.FLOATING or input.dtype in dtypes.HALF):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        promote_square("torch.linalg.matrix_rank", input, "linalg_eigh_cpu")
    if not input.numel():
        return input.new_zeros(input.shape[:-2], dtype=dtypes.int64)
    input = input.detach()
    values = eigvalsh(input).abs() if hermitian else svdvals(input)
    limit = tolerance(amax(values, (-1,)), input.shape, atol, rtol)
    return (values > limit.unsqueeze(-1)).sum(-1)
