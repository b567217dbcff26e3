"""Argument checks shared by the linear algebra functions, and `LinAlgError`."""

from __future__ import annotations

from typing import Any

from ...engine.tensors.tensor import Tensor
from ...engine.values import dtypes

__all__ = [
    "LinAlgError", "adjoint", "anywhere", "broadcast_matrices", "check_floating", "check_matrix", "check_same_dtype",
    "check_square", "failure",
    "is_numerical_failure", "ones_where", "promote_square",
]  # fmt: skip


class _LinAlgError(RuntimeError):
    """Raised if a matrix is singular or not positive-definite, or if an iteration does not converge.

    >>> try:
    ...     torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError as error:
    ...     print(str(error)[:47])
    linalg.inv: The diagonal element 1 is zero, the
    """


LinAlgError = _LinAlgError


def check_matrix(name: str, value: Any, argument: str = "A") -> None:
    if not isinstance(value, Tensor):
        function = name.removeprefix("torch.").replace(".", "_")
        raise TypeError(f"{function}(): argument '{argument}' (position 1) must be Tensor, not {type(value).__name__}")
    if value._array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, value: Any, argument: str = "A") -> None:
    check_matrix(name, value, argument)
    rows, columns = value._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_floating(name: str, tensor: Tensor, kernel: str | None = None) -> None:
    """Raise an error for integer and half-precision dtypes; `kernel` is the name in PyTorch's message for half precision."""
    dtype = tensor._key.dtype
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {dtype.legacy_name}")
    if dtype in dtypes.HALF:
        if kernel is None:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dtype.legacy_name}")
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.legacy_name}'")


def promote_square(name: str, value: Any, kernel: str | None = None) -> None:
    """Raise an error unless `value` is a batch of floating-point or complex square matrices."""
    check_square(name, value)
    check_floating(name, value, kernel)


def check_same_dtype(name: str, A: Tensor, B: Tensor) -> None:
    if A._key.dtype is not B._key.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {A.dtype.legacy_name} and B of "
            f"type {B.dtype.legacy_name} instead"
        )


def broadcast_matrices(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """Broadcast the batch dimensions of two batches of matrices."""
    a, b = A._array.shape, B._array.shape
    if a[:-2] == b[:-2]:
        return A, B
    from ...engine.calls.dispatch import common_shape

    batch = common_shape(a[:-2], b[:-2])
    return A.expand(*batch, *a[-2:]), B.expand(*batch, *b[-2:])


def adjoint(xp: Any, matrices: Any) -> Any:
    """Return the conjugate transpose of an array of matrices."""
    transposed = xp.matrix_transpose(matrices)
    return xp.conj(transposed) if xp.isdtype(matrices.dtype, "complex floating") else transposed


def anywhere(condition: Tensor) -> bool:
    """Whether the condition is true for any element, over the whole batch inside `vmap`."""
    backend, array = _unhidden(condition)
    return backend.has_data and bool(backend.xp.any(array))


def _unhidden(tensor: Tensor) -> tuple[Any, Any]:
    backend, array = tensor._key.backend, tensor._array
    return getattr(backend, "inner", backend), getattr(array, "raw", array)


def failure(info: Tensor) -> tuple[str, int] | None:
    """Return an error message prefix that names the first matrix with nonzero `info`, and its `info`; None if all are 0."""
    backend, array = _unhidden(info)
    if not backend.has_data:
        return None
    with backend.guard(info._key.device.index or 0):
        if not bool(backend.xp.any(array != 0)):
            return None
        codes = backend.tolist(backend.xp.reshape(array, (-1,)))
    index = next(i for i, code in enumerate(codes) if code)
    return (f"(Batch element {index}): " if array.ndim else ""), codes[index]


def is_numerical_failure(error: BaseException | None) -> bool:
    """Whether an array library raised this error for numerical reasons (a singular matrix, no convergence)."""
    return type(error).__name__ == "LinAlgError"


def ones_where(F: Any, like: Any, mask: Any) -> Any:
    """Return 1 where `mask` is true, else 0; callers add it to a denominator that is 0 where `mask` is true."""
    return F.masked(F.ones_of(like), mask)
