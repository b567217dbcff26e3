"""`out=`: what PyTorch lets it be for which operation, and how results are written there."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from ..runtime.state import state
from ..tape.grad_mode import _grad
from ..tape.saved import check_inference
from ..tensors.tensor import Tensor
from ..values import dtypes
from .named_results import filled
from .transform_hooks import hooks

__all__ = ["SETS_DTYPE", "check", "write"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SETS_DTYPE = _names("cumprod cumsum nansum prod sum")  # where no `dtype` is given, that of `out` is meant

# Operations on single elements and sums are cast into `out`; these want a result of their own dtype.
_OWN_DTYPE_ONLY = SETS_DTYPE | _names("""
    abs absolute addbmm addmm addmv all amax amin aminmax any argmax argmin argsort avg_pool2d avg_pool3d baddbmm bitwise_not
    bmm bucketize ceil chain_matmul clamp clamp_max clamp_min clip complex conj_physical cross cummax cummin diag dot
    fft_ihfft fix float_power floor frac frexp frobenius_norm gather gelu hardshrink hash_tensor heaviside histc histogram
    index_add index_copy index_reduce index_select inner inverse isin isneginf isposinf kthvalue lerp linalg_cholesky
    linalg_cholesky_ex
    linalg_cross linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
    linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_norm
    linalg_multi_dot linalg_norm linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd
    linalg_svdvals linalg_vecdot linalg_vector_norm linear log_softmax logcumsumexp logsigmoid lu_solve lu_unpack masked_select
    matmul matrix_power max_dim median min_dim mm mode msort multinomial mv nan_to_num nanmedian nanquantile neg negative
    nonzero nonzero_static norm ormqr polar qr quantile renorm round scatter scatter_add
    scatter_reduce searchsorted sgn sign signbit slice_scatter slogdet softmax softplus softshrink sort svd take
    take_along_dim tensordot topk triangular_solve tril triu trunc vdot where
""")
_REAL = _names("fft_hfft fft_irfft fft_irfft2 fft_irfftn")  # and no complex `out`
_JOINING = _names("cat column_stack concat concatenate dstack hstack row_stack stack vstack")

# Where an `out` of another shape does not get the result's order in memory.
_ROW_MAJOR = _names("cholesky cholesky_solve linalg_solve linalg_tensorinv nanquantile quantile")

# Those that are copied into `out` once they are done, by a step that autograd records.
_RECORDED = _names("""
    conj_physical diag eigvals fft_ifft fft_ihfft floor_divide heaviside inner linalg_cond linalg_eigvals linalg_matrix_norm
    linalg_norm linalg_tensorinv linalg_tensorsolve log_softmax nanquantile quantile slice_scatter softmax special_ndtr tensordot
""")
_UNKNOWN_TO_AUTOGRAD = tuple(
    f"special_{each}"
    for each in (
        "airy_ai",
        "bessel_",
        "chebyshev_",
        "hermite_",
        "laguerre_",
        "legendre_",
        "modified_",
        "scaled_",
        "shifted_",
        "spherical_",
    )
)

# Where memory may be shared: an operation on single elements may overwrite its argument, but not a part of it.
_NOT_EVEN_THE_SAME = _JOINING | _names("""
    cross gather index_select kthvalue linalg_cross masked_select nonzero take take_along_dim
""")
_ONLY_THE_FIRST = _names("index_add index_copy index_reduce scatter scatter_add scatter_reduce")
_UNCHECKED = _names("""
    addmm amax amin avg_pool2d avg_pool3d bmm chain_matmul cholesky cholesky_inverse cholesky_solve diag diff dot
    frobenius_norm histc inner
    inverse linear log_softmax logsigmoid logsumexp lu_solve matmul matrix_power max mean min mm mv mvlgamma nanmean
    nanquantile nansum norm orgqr ormqr prod quantile slice_scatter softmax special_multigammaln special_ndtr std sum
    tensordot threshold tril triu var vdot
""")


def check(name: str, out: Any, given: Iterable[Any]) -> None:
    """Refuse an `out` that is no tensor, that autograd would have to know of, or that shares memory with what is given."""
    if name in SETS_DTYPE and not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    for each in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(each, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(each).__name__}")
        if each._requires_grad and _grad.get() and not name.startswith(_UNKNOWN_TO_AUTOGRAD):
            raise _not_differentiable(name)
        _check_memory(name, each, given)
    if name == "argsort":  # which sorts the elements, too, through which a gradient would flow
        check_untracked("sort", any(each._requires_grad for each in _tensors_in(given)))
    if state.forward_levels and hooks.forward.has_tangent(list(_tensors_in(given))):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


def check_untracked(name: str, tracked: bool) -> None:
    """Refuse what autograd would have to follow into `out`."""
    if tracked and _grad.get() and name not in _RECORDED and not name.startswith(_UNKNOWN_TO_AUTOGRAD):
        raise _not_differentiable(name)


def _not_differentiable(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
        "arguments requires grad."
    )


def write(name: str, out: Any, result: Any) -> Any:
    """Write the result of an operation, or its results, into `out`, and return that."""
    if isinstance(result, Tensor):
        if not isinstance(out, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        return _write(name, out, result)
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    for target, each in zip(out, result, strict=True):
        _write(f"{name}_dim" if name in ("max", "min") else name, target, each)
    return filled(type(result), out)


def _write(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Write a result into `out`, resized if need be, where its dtype can be cast."""
    check_inference(out)
    _check_dtype(name, out, result)
    if result.device != out.device:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {result.device} and {out.device}!"
        )
    if any(length > 1 and not step for length, step in zip(out._array.shape, out.stride(), strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )
    if out._array.shape != result._array.shape:
        _resize(out, result, name in _ROW_MAJOR or name.startswith("fft_"))
    with_history = out._view is None and not out._requires_grad and not name.startswith(_UNKNOWN_TO_AUTOGRAD)
    return out._assign(result if with_history else result.detach())


def _check_dtype(name: str, out: Tensor, result: Tensor) -> None:
    if out.dtype is result.dtype:
        return
    if name in _OWN_DTYPE_ONLY or (name in _REAL and out.is_complex()):
        raise RuntimeError(f"{name}(): Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")
    if not dtypes.can_cast(result.dtype, out.dtype):
        if name in _JOINING:
            raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.legacy_name}")
        raise RuntimeError(
            f"result type {result.dtype.legacy_name} can't be cast to the desired output type {out.dtype.legacy_name}"
        )


def _resize(out: Tensor, result: Tensor, row_major: bool) -> None:
    """Give `out` the shape of the result and, unless it is to be `row_major`, its order in memory."""
    if out.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=5,
        )
    out.resize_(result.shape)
    if not row_major and not result.is_contiguous() and _is_dense(result):
        out.as_strided_(result.shape, result.stride())


# --- memory -------------------------------------------------------------------------------------------------------


def _check_memory(name: str, out: Tensor, given: Iterable[Any]) -> None:
    if name in _UNCHECKED or (name.startswith(("fft_", "linalg_")) and name != "linalg_cross"):
        return
    for position, each in enumerate(_tensors_in(given)):
        found = _shared(out, each)
        allowed = "none" if name in _NOT_EVEN_THE_SAME or (position and name in _ONLY_THE_FIRST) else "all"
        if found not in ("none", allowed):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                "single memory location. Please clone() the tensor before performing the operation."
            )


def _tensors_in(given: Iterable[Any]) -> Iterator[Tensor]:
    for each in given:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from _tensors_in(each)


def _shared(one: Tensor, other: Tensor) -> str:
    """Whether two tensors have "none", "some" or "all" of their memory in common; "none" if one of them has gaps."""
    if one is not other and (one._storage is None or one._storage is not other._storage):
        return "none"
    if not one.numel() or not other.numel() or not _is_dense(one) or not _is_dense(other):
        return "none"
    (start, end), (first, last) = _bytes_of(one), _bytes_of(other)
    if (start, end) == (first, last):
        return "all" if one.stride() == other.stride() else "some"
    return "some" if start < last and first < end else "none"


def _bytes_of(tensor: Tensor) -> tuple[int, int]:
    """Where, in its memory, a tensor without gaps begins and ends."""
    start, size = tensor.storage_offset(), tensor.element_size()
    return start * size, (start + tensor.numel()) * size


def _is_dense(tensor: Tensor) -> bool:
    """Whether the elements lie side by side, in any order of dimensions."""
    expected = 1
    for step, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length != 1 and step != expected:
            return False
        expected *= length
    return True
