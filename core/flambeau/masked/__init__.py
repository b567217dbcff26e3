"""Masked operations: reductions and normalizations over the elements where a mask is True.

The functions take a tensor and a `mask`, or a `MaskedTensor`, which contains its mask.  If the mask of a slice is all False, the
result is the identity of the operation: 0 for a sum, minus infinity for a maximum, NaN for a mean.

>>> x, mask = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[True, False], [True, True]])
>>> torch.masked.sum(x, 1, mask=mask)
tensor([1., 7.])
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..operations.linalg.norms import vector_norm
from ..operations.pointwise import logaddexp as unmasked_logaddexp
from .tensors import REDUCTIONS, MaskedTensor, as_masked_tensor, dense, is_masked_tensor, masked_tensor, wrap_result

__all__ = [
    "MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
    "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin",
    "std", "sum", "var",
]  # fmt: skip

Dims = int | tuple[int, ...] | None


# --- the functions ------------------------------------------------------------------------------------------------


def _expand_mask(input: Tensor, mask: Tensor) -> Tensor:
    """Return the mask as bool, expanded to the shape of `input`."""
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.bool().expand(input.shape)


def _fill_masked(input: Tensor, mask: Tensor | None, fill: complex) -> Tensor:
    """Set elements to `fill` where the mask is False; integer dtypes replace infinity by their largest or smallest integer."""
    dtype = input.dtype
    if mask is None:
        return input
    if isinstance(fill, float) and math.isinf(fill) and not dtype.is_floating_point:
        if dtype is dtypes.bool_:
            raise NotImplementedError("masked maximum and minimum do not support torch.bool")
        limits = dtypes.iinfo(dtype)
        fill = limits.max if fill > 0 else limits.min
    return input.where(_expand_mask(input, mask), input.new_tensor(fill))


def _sorted_dims(input: Tensor, dim: Dims) -> tuple[int, ...]:
    """Return the dimensions `dim` (None for all) as non-negative numbers in ascending order."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    size, dims = max(input.ndim, 1), []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if d >= size or d < -size:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {d})")
        dims.append(d % size)
    return tuple(sorted(dims))


def _count_unmasked(input: Tensor, mask: Tensor | None, dim: Dims, keepdim: bool) -> Tensor:
    if mask is None:
        return input.new_ones(input.shape, dtype=dtypes.bool_).sum(_sorted_dims(input, dim), keepdim)
    return _expand_mask(input, mask).sum(dim, keepdim)


def _accept_masked_tensor(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Decorate a function of a tensor and a mask so that it also accepts a MaskedTensor; the result is then a MaskedTensor."""

    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapped(input: Any, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Any:
        if not isinstance(input, MaskedTensor):
            return function(input, *args, mask=mask, **kwargs)
        own, data = map(dense, (input.get_mask(), input.get_data()))
        mask = own if mask is None else own & mask
        result = function(data, *args, mask=mask, **kwargs)
        if result.shape == mask.shape:
            return wrap_result(result, mask)
        call = signature.bind(data, *args, **kwargs)
        call.apply_defaults()
        counted = mask.sum(_sorted_dims(mask, call.arguments["dim"]), bool(call.arguments["keepdim"])) > 0
        return wrap_result(result, counted.reshape(result.shape))

    return wrapped


@_accept_masked_tensor
def sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the sum of the elements where `mask` is True."""
    return _fill_masked(input, mask, 0).sum(_sorted_dims(input, dim), bool(keepdim), dtype=dtype)


@_accept_masked_tensor
def prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the product of the elements where `mask` is True."""
    if dtype is None:
        dtype = input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.int64
    product = _fill_masked(input, mask, 1).to(dtype)
    for d in reversed(_sorted_dims(input, dim)):
        product = product.prod(d, bool(keepdim))
    return product


@_accept_masked_tensor
def mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the mean of the elements where `mask` is True."""
    dtype = input.dtype if dtype is None else dtype
    if dtype.category < dtypes.FLOATING:
        raise ValueError(
            f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {dtype}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count_unmasked(input, mask, dim, bool(keepdim))  # type: ignore[no-any-return]  # a number or a Tensor


@_accept_masked_tensor
def amax(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the largest element where `mask` is True."""
    return _fill_masked(input, mask, -math.inf).amax(_sorted_dims(input, dim), bool(keepdim)).to(dtype or input.dtype)


@_accept_masked_tensor
def amin(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the smallest element where `mask` is True."""
    return _fill_masked(input, mask, math.inf).amin(_sorted_dims(input, dim), bool(keepdim)).to(dtype or input.dtype)


@_accept_masked_tensor
def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the index of the largest element where `mask` is True, in the dtype of the input."""
    return _fill_masked(input, mask, -math.inf).argmax(dim, bool(keepdim)).to(dtype or input.dtype)


@_accept_masked_tensor
def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Return the index of the smallest element where `mask` is True, in the dtype of the input."""
    return _fill_masked(input, mask, math.inf).argmin(dim, bool(keepdim)).to(dtype or input.dtype)


@_accept_masked_tensor
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the median of the elements where `mask` is True; for an even number of elements, the lower of the two middle ones.

    Raises:
        ValueError: the mask of a slice is all False, and the dtype is an integer dtype, which has no NaN for the result.
    """
    values = input if input.is_floating_point() else input.float()
    result: Tensor = _fill_masked(values, mask, math.nan).nanmedian(_sorted_dims(input, dim)[0], keepdim).values
    if values is input:
        return result
    if bool(result.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)


@_accept_masked_tensor
def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute `log(sum(exp(x)))` of the elements where `mask` is True."""
    nothing = complex(-math.inf) if input.is_complex() else -math.inf
    return _fill_masked(input, mask, nothing).logsumexp(_sorted_dims(input, dim), keepdim).to(dtype or input.dtype)


@_accept_masked_tensor
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the vector norm of order `ord` of the elements where `mask` is True."""
    fill = math.inf if isinstance(ord, float) and ord == -math.inf else 0
    return vector_norm(_fill_masked(input, mask, fill), ord, _sorted_dims(input, dim), bool(keepdim), dtype=dtype or input.dtype)


@_accept_masked_tensor
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the variance of the n elements where `mask` is True: `sum((x - mean)**2) / (n - correction)`."""
    if unbiased is not None and correction is not None:
        raise AssertionError("unbiased and correction cannot both be given")
    correction = float(unbiased is None or bool(unbiased)) if correction is None else float(correction)
    if dtype is None:
        dtype = input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.float32
    count = _count_unmasked(input, mask, dim, True)
    centred = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    computed = dtype if dtype.category >= dtypes.FLOATING else dtypes.float32
    squares = sum(centred * centred.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    if correction:
        count = (count.to(computed.to_real()) - correction).clamp(0)
    return (squares / count.reshape(squares.shape)).to(dtype)  # type: ignore[no-any-return]  # a number or a Tensor


@_accept_masked_tensor
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the standard deviation of the elements where `mask` is True."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()  # type: ignore[no-any-return]  # masked by a decorator


@_accept_masked_tensor
def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the cumulative sum of the elements where `mask` is True."""
    return _fill_masked(input, mask, 0).cumsum(_sorted_dims(input, dim)[0], dtype=dtype or input.dtype)


@_accept_masked_tensor
def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the cumulative product of the elements where `mask` is True."""
    return _fill_masked(input, mask, 1).cumprod(_sorted_dims(input, dim)[0], dtype=dtype or input.dtype)


@_accept_masked_tensor
def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the softmax over the elements where `mask` is True; the result is 0 elsewhere."""
    return _fill_masked(input, mask, -math.inf).softmax(_sorted_dims(input, dim)[0], dtype=dtype or input.dtype)


@_accept_masked_tensor
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the log-softmax over the elements where `mask` is True; the result is minus infinity elsewhere."""
    return _fill_masked(input, mask, -math.inf).log_softmax(_sorted_dims(input, dim)[0], dtype=dtype or input.dtype)


@_accept_masked_tensor
def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute `softmax(-x)` over the elements where `mask` is True; the result is 0 elsewhere."""
    return _fill_masked(input, mask, math.inf).neg().softmax(_sorted_dims(input, dim)[0], dtype=dtype or input.dtype)


@_accept_masked_tensor
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Divide the elements where `mask` is True by their norm along `dim`; the result is 0 elsewhere."""
    size: Tensor = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill_masked(input, mask, 0) / size.clamp(min=eps)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """Compute `log(exp(input) + exp(other))`; an element with a False mask counts as minus infinity."""
    result: Tensor = unmasked_logaddexp(_fill_masked(input, input_mask, -math.inf), _fill_masked(other, other_mask, -math.inf))
    return result.to(dtype or input.dtype)


# --- methods of masked tensors ------------------------------------------------------------------------------------


def _all(input: MaskedTensor, dim: Dims = None, *, keepdim: bool = False) -> Any:
    """Whether all elements are true, of those where the mask is True."""
    filled, mask = input.get_data().bool() | ~input.get_mask(), input.get_mask()
    dims = _sorted_dims(filled, dim)
    return wrap_result(filled.all(dims, keepdim), mask.any(dims, keepdim))


REDUCTIONS["all"] = _all
REDUCTIONS.update(
    (function.__name__, function)
    for function in (
        sum, mean, prod, amax, amin, argmax, argmin, var, std, logsumexp, cumsum, cumprod, softmax, log_softmax,
    )
)  # fmt: skip
