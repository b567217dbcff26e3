"""CuPy kernels by operation name: ufuncs, fused elementwise kernels, and the CUDA kernels of `kernels.cu`.

A kernel takes CuPy arrays, then the operation's parameters, and never writes to its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from math import prod
from typing import Any

import cupy
import numpy as np

from flambeau_backends.numpy.kernels import NOT_ELEMENTWISE, UFUNCS

from .source import launch, pointer

__all__ = ["INPLACE", "KERNELS", "in_place", "kernel"]

Kernel = Callable[..., Any]
Sizes = Sequence[int]

_ELEMENTWISE = {
    name: getattr(cupy, ufunc.__name__)
    for name, ufunc in UFUNCS.items()
    if name not in NOT_ELEMENTWISE and hasattr(cupy, ufunc.__name__)
}
KERNELS: dict[str, Kernel] = dict(_ELEMENTWISE)
INPLACE: dict[str, Kernel] = {}


def kernel(function: Kernel) -> Kernel:
    """Register a function as the kernel of the operation of the same name."""
    KERNELS[function.__name__.rstrip("_")] = function
    return function


def _on_its_device(function: Kernel) -> Kernel:
    """Wrap a kernel to run on the device of its first array, for kernels that the backend does not bind to a device."""

    @wraps(function)
    def guarded(first: Any, /, *others: Any, **scalars: Any) -> Any:
        with first.device:
            return function(first, *others, **scalars)

    return guarded


def formula(function: Kernel) -> Kernel:
    """Register a function as the kernel of the backward formula or optimizer step of the same name."""
    KERNELS[function.__name__] = _on_its_device(function)
    return function


def is_expanded(target: Any) -> bool:
    """Whether elements share memory (stride 0), so that writing to one changes others."""
    if 0 not in target.strides or not target.size:
        return False
    return any(stride == 0 and length > 1 for stride, length in zip(target.strides, target.shape, strict=True))


def in_place(function: Kernel) -> Kernel:
    """Register a function as the in-place kernel of the operation of its name. The kernel refuses tensors made by `expand`."""

    @wraps(function)
    def checked(target: Any, /, *others: Any, **scalars: Any) -> Any:
        if is_expanded(target):
            raise ValueError("elements share memory")
        return function(target, *others, **scalars)

    INPLACE[function.__name__.rstrip("_")] = _on_its_device(checked)
    return function


def _written(ufunc: Any, name: str) -> Kernel:
    def write(target: Any, *others: Any) -> None:
        ufunc(target, *others, out=target)

    write.__name__ = name
    return write


for _name, _ufunc in _ELEMENTWISE.items():
    in_place(_written(_ufunc, _name))


# --- fused, in place ----------------------------------------------------------------------------------------------

_ADD = cupy.ElementwiseKernel("T target, T other, T alpha", "T out", "out = target + alpha * other", "flambeau_add")
_ADDCMUL = cupy.ElementwiseKernel("T target, T a, T b, T value", "T out", "out = target + value * a * b", "flambeau_addcmul")
_ADDCDIV = cupy.ElementwiseKernel("T target, T a, T b, T value", "T out", "out = target + value * a / b", "flambeau_addcdiv")
_LERP = cupy.ElementwiseKernel("T target, T end, T weight", "T out", "out = target + weight * (end - target)", "flambeau_lerp")


def _one(like: Any) -> Any:
    return like.dtype.type(1)


@in_place
def add_(target: Any, other: Any, alpha: Any = None) -> None:
    _ADD(target, other, _one(target) if alpha is None else alpha, target)


@in_place
def sub_(target: Any, other: Any, alpha: Any = None) -> None:
    _ADD(target, other, -_one(target) if alpha is None else -alpha, target)


@in_place
def addcmul_(target: Any, first: Any, second: Any, value: Any = None) -> None:
    _ADDCMUL(target, first, second, _one(target) if value is None else value, target)


@in_place
def addcdiv_(target: Any, first: Any, second: Any, value: Any = None) -> None:
    if target.dtype.kind in "biu":
        raise TypeError("addcdiv_ is not supported for integer tensors")
    _ADDCDIV(target, first, second, _one(target) if value is None else value, target)


@in_place
def lerp_(target: Any, end: Any, weight: Any) -> None:
    _LERP(target, end, weight, target)


def _copy(target: Any, source: Any) -> bool:
    """Copy `source` into `target`; return False, without copying, if the target is expanded."""
    if is_expanded(target):
        return False
    target[...] = source
    return True


def _zero(target: Any) -> None:
    target.fill(0)


INPLACE.update(copy=_on_its_device(_copy), zero=_on_its_device(_zero))


# --- instances of kernels.cu --------------------------------------------------------------------------------------


def real(array: Any) -> str:
    """Return the C++ type of an array's elements: `double` for float64, else `float`."""
    return "double" if array.dtype == np.float64 else "float"


def is_supported(*arrays: Any) -> bool:
    """Whether all arrays (or None) are float32 or float64, the dtypes that `kernels.cu` supports."""
    return all(array is None or array.dtype in (np.float32, np.float64) for array in arrays)


def dense(array: Any) -> Any:
    """Return the array in row-major order, copied if necessary."""
    return array if array is None or array.flags.c_contiguous else cupy.ascontiguousarray(array)


def _rows(array: Any, dim: int) -> tuple[int, int, int]:
    """Return the number of vectors along a dimension, their length, and the stride between their elements."""
    length, inner = array.shape[dim], prod(array.shape[dim + 1 :])
    return array.size // max(length, 1), length, inner


def _along_rows(name: str, dim: int, *arrays: Any) -> Any:
    arrays = tuple(map(dense, arrays))
    result = cupy.empty_like(arrays[0])
    rows, length, inner = _rows(result, dim)
    launch(name, result.size, (*arrays, result, np.int64(length), np.int64(inner)), blocks=rows)
    return result


@kernel
def round_(input: Any) -> Any:
    return input.copy() if input.dtype.kind in "iu" else cupy.rint(input)


@kernel
def softmax(input: Any, dim: int) -> Any:
    return _along_rows(f"softmax<{real(input)}, false>", dim, input)


@kernel
def log_softmax(input: Any, dim: int) -> Any:
    return _along_rows(f"softmax<{real(input)}, true>", dim, input)


@formula
def softmax_backward(g: Any, out: Any, dim: int) -> Any:
    if not is_supported(g, out):
        return out * (g - cupy.sum(g * out, dim, keepdims=True))
    return _along_rows(f"softmax_backward<{real(g)}, false>", dim, cupy.broadcast_to(g, out.shape), out)


@formula
def log_softmax_backward(g: Any, out: Any, dim: int) -> Any:
    if not is_supported(g, out):
        return g - cupy.exp(out) * cupy.sum(g, dim, keepdims=True)
    return _along_rows(f"softmax_backward<{real(g)}, true>", dim, cupy.broadcast_to(g, out.shape), out)


# --- cross entropy ------------------------------------------------------------------------------------------------


def _losses(input: Any, log_sum: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return the loss of each sample, and its weight."""
    input, target = dense(input), dense(target.astype(np.int64, copy=False))
    losses, weights = cupy.empty(target.shape, input.dtype), cupy.empty(target.shape, input.dtype)
    sizes = np.int64(target.size), np.int64(input.shape[1]), np.int64(prod(input.shape[2:]))
    arrays = input, pointer(dense(log_sum)), target, pointer(dense(weight)), losses, weights
    launch(f"cross_entropy<{real(input)}>", target.size, (*arrays, *sizes, np.int64(ignore_index)))
    return losses, weights


def _reduced(losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return cupy.sum(losses) / cupy.sum(weights) if reduction == "mean" else cupy.sum(losses)


@kernel
def nll_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100) -> Any:
    return _reduced(*_losses(input, None, target, weight, ignore_index), reduction)


@kernel
def cross_entropy(
    input: Any, log_sum: Any, target: Any, weight: Any = None, reduction: str = "mean", ignore_index: int = -100
) -> Any:
    return _reduced(*_losses(input, log_sum, target, weight, ignore_index), reduction)


def _total_weight(target: Any, weight: Any, ignore_index: int, dtype: Any) -> Any:
    """Sum the weights of all targets: the divisor of a mean loss."""
    counted = (target != ignore_index).astype(dtype)
    return cupy.sum(counted if weight is None else counted * cupy.take(weight, cupy.where(target == ignore_index, 0, target)))


@kernel
def nll_loss_backward(
    input: Any, target: Any, weight: Any = None, shape: Sizes = (), reduction: str = "mean", ignore_index: int = -100
) -> Any:
    target, weight = dense(target.astype(np.int64, copy=False)), dense(weight)
    if reduction == "mean":
        input = input / _total_weight(target, weight, ignore_index, input.dtype)
    grad, grad_input = dense(cupy.broadcast_to(input, target.shape)), cupy.zeros(tuple(shape), input.dtype)
    sizes = np.int64(target.size), np.int64(shape[1]), np.int64(prod(shape[2:])), np.int64(ignore_index)
    launch(f"nll_loss_backward<{real(input)}>", target.size, (grad, target, pointer(weight), grad_input, *sizes))
    return grad_input


@formula
def cross_entropy_backward(g: Any, input: Any, log_sum: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    dtype = input.dtype
    input = dense(input if is_supported(input) else input.astype(np.float32))
    log_sum = dense(log_sum.astype(input.dtype, copy=False))
    target, weight = (
        dense(target.astype(np.int64, copy=False)),
        None if weight is None else dense(weight.astype(input.dtype, copy=False)),
    )
    if reduction == "mean":
        g = g / _total_weight(target, weight, ignore_index, input.dtype)
    grad = dense(cupy.broadcast_to(g.astype(input.dtype, copy=False), target.shape))
    grad_input = cupy.empty_like(input)
    sizes = np.int64(target.size), np.int64(input.shape[1]), np.int64(prod(input.shape[2:])), np.int64(ignore_index)
    launch(
        f"cross_entropy_backward<{real(input)}>",
        grad_input.size,
        (grad, input, log_sum, target, pointer(weight), grad_input, *sizes),
    )
    return grad_input.astype(dtype, copy=False)


# --- dropout ------------------------------------------------------------------------------------------------------


@kernel
def fused_dropout(input: Any, keep: float, generator: Any) -> tuple[Any, Any]:
    return generator.dropout(dense(input), keep)  # type: ignore[no-any-return]  # a pair of arrays


# --- pooling ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _windows(device: int, *geometry: tuple[int, ...]) -> Any:
    """Return a `(6, 3)` device array: rows are input, output, window, stride, padding and dilation; columns are dimensions."""
    fillers = (1, 1, 1, 1, 0, 1)
    rows = [(filler,) * (3 - len(sizes)) + tuple(sizes) for sizes, filler in zip(geometry, fillers, strict=True)]
    return cupy.asarray(np.array(rows, np.int32))


def _geometry(space: Sizes, size: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Any:
    return _windows(cupy.cuda.runtime.getDevice(), *map(tuple, (space, size, window, stride, padding, dilation)))


def _pooled(input: Any, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes, want: str) -> Any:
    dtype, shape = input.dtype, (*input.shape[:2], *size)
    input = dense(input if is_supported(input) else input.astype(np.float64 if dtype.kind in "iu" else np.float32))
    result = cupy.empty(shape, input.dtype if want == "values" else np.int64)
    targets = (result, pointer(None)) if want == "values" else (pointer(None), result)
    geometry = _geometry(input.shape[2:], size, window, stride, padding, dilation)
    launch(f"max_pool<{real(input)}>", result.size, (input, *targets, np.int64(result.size), geometry))
    return result.astype(dtype, copy=False) if want == "values" else result


def _max_pool(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    return _pooled(input, window_size, stride, padding, dilation, size, "values")


@kernel
def max_pool_indices(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    return _pooled(input, window_size, stride, padding, dilation, size, "indices")


@formula
def max_pool_backward(g: Any, input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    dtype = input.dtype
    if not is_supported(input):
        g, input = g.astype(np.float32), input.astype(np.float32)
    g, input = dense(g), dense(input)
    grad_input = cupy.zeros(input.shape, input.dtype)
    geometry = _geometry(input.shape[2:], size, window_size, stride, padding, dilation)
    launch(f"max_pool_backward<{real(input)}>", g.size, (g, input, grad_input, np.int64(g.size), geometry))
    return grad_input.astype(dtype, copy=False)


def _avg_pool(
    input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, size: Sizes, count_padding: bool, divisor: int | None
) -> Any:
    dtype = input.dtype
    input = dense(input if is_supported(input) else input.astype(np.float64))
    result = cupy.empty((*input.shape[:2], *size), input.dtype)
    geometry = _geometry(input.shape[2:], size, window_size, stride, padding, (1,) * len(size))
    launch(
        f"avg_pool<{real(input)}>",
        result.size,
        (input, result, np.int64(result.size), geometry, np.bool_(count_padding), np.int64(divisor or 0)),
    )
    return result if is_supported(cupy.empty(0, dtype)) else cupy.floor(result).astype(dtype)


@kernel
def avg_pool_backward(
    input: Any,
    space: Sizes,
    window_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    size: Sizes,
    count_padding: bool,
    divisor: int | None,
) -> Any:
    input = dense(input)
    grad_input = cupy.empty((*input.shape[:2], *space), input.dtype)
    geometry = _geometry(space, size, window_size, stride, padding, (1,) * len(size))
    launch(
        f"avg_pool_backward<{real(input)}>",
        grad_input.size,
        (input, grad_input, np.int64(grad_input.size), geometry, np.bool_(count_padding), np.int64(divisor or 0)),
    )
    return grad_input


for _n in (1, 2, 3):
    KERNELS[f"max_pool{_n}d"], KERNELS[f"avg_pool{_n}d_windows"] = _max_pool, _avg_pool


# --- embedding ----------------------------------------------------------------------------------------------------

_BY_SIZE = {2: "short", 4: "int", 8: "long long"}


@kernel
def embedding(weight: Any, indices: Any, padding_idx: int = -1, by_frequency: bool = False) -> Any:
    """Return the rows of `weight` at `indices`."""
    if weight.itemsize not in _BY_SIZE:
        return cupy.take(weight, indices, axis=0)
    weight, indices, width = dense(weight), dense(indices.astype(np.int64, copy=False)), weight.shape[1]
    result = cupy.empty((*indices.shape, width), weight.dtype)
    sizes = np.int64(result.size), np.int64(width), np.int64(weight.shape[0])
    launch(f"take_rows<{_BY_SIZE[weight.itemsize]}>", result.size, (weight, indices, result, *sizes))
    return result


@kernel
def sum_rows(input: Any, indices: Any, count: int) -> Any:
    """Sum rows by index: the gradient of an embedding's weight; half precision is summed in float32."""
    dtype, width = input.dtype, input.shape[-1]
    input = dense(input if is_supported(input) else input.astype(np.float32))
    sums = cupy.zeros((count, width), input.dtype)
    indices = dense(indices.astype(np.int64, copy=False))
    launch(f"sum_rows<{real(input)}>", input.size, (input, indices, sums, np.int64(input.size), np.int64(width)))
    return sums.astype(dtype, copy=False)
