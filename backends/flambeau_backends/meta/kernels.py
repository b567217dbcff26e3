"""Meta kernels for operations whose forward reads data, or whose CPU kernel returns another memory order than the forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.backend import memory_order
from flambeau.engine.values.constants import preserve_format
from flambeau.extension import Order, forward_of, names
from flambeau.operations.resampling import Taps

from ..numpy.kernels_fourier import transform_order
from ..numpy.layout import has_channels_last
from .arrays import MetaArray, described, in_order, like
from .namespace import namespace

__all__ = ["KERNELS"]

Kernel = Callable[..., Any]


def _contiguous(input: MetaArray) -> MetaArray:
    return input if input.layout.flags.c_contiguous else described(input.shape, input.dtype)


# --- indexing -----------------------------------------------------------------------------------------------------


def _getitem(input: MetaArray, index: Any) -> MetaArray:
    return input[index]


def _setitem(input: MetaArray, value: Any, index: Any) -> MetaArray:
    result = like(input)
    result[index] = value
    return result


def _setitem_in_place(input: MetaArray, value: Any, index: Any) -> MetaArray:
    input[index] = value
    return input


def _index_backward(input: MetaArray, shape: Any, index: Any) -> MetaArray:
    return described(shape, input.dtype)


# --- layouts ------------------------------------------------------------------------------------------------------


def _clone(input: MetaArray, memory_format: Any = None) -> MetaArray:
    if memory_format is not None and memory_format is not preserve_format:
        return in_order(input.shape, input.dtype, memory_format.order(input.ndim))
    if 0 in input.layout.strides:  # expanded
        return in_order(input.shape, input.dtype, memory_order(input.shape, input.strides))
    return like(input)


def _diagonal(input: MetaArray, offset: int, dim1: int, dim2: int) -> MetaArray:
    return input.view(np.diagonal(input.layout, offset, dim1, dim2))


def _view_as_real(input: MetaArray) -> MetaArray:
    real = input.layout.real[..., None]
    return input.view(as_strided(real, (*input.shape, 2), (*input.layout.strides, real.itemsize)))


def _view_as_complex(input: MetaArray) -> MetaArray:
    return input.view(input.layout.view(np.complex128 if input.dtype == np.float64 else np.complex64)[..., 0])


def _cummax(input: MetaArray, dim: int) -> tuple[MetaArray, MetaArray]:
    return described(input.shape, input.dtype), described(input.shape, np.int64)


def _unsqueeze(input: MetaArray, dim: int) -> MetaArray:
    return input[(slice(None),) * dim + (None,)]


def _gather_along(input: MetaArray, index: MetaArray, dim: int) -> MetaArray:
    return described(index.shape, input.dtype) if input.layout.flags.c_contiguous else like(index, input.dtype)


def _row_major_kernel(name: str) -> Kernel:
    """Return a kernel that runs the forward and makes its results row-major, whatever the memory order of the arguments."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        results = forward_of(name)(namespace, *args, **kwargs)
        return tuple(map(_contiguous, results)) if isinstance(results, (tuple, list)) else _contiguous(results)

    return kernel


def _image_order(image: MetaArray) -> Sequence[int]:
    return (0, *range(2, image.ndim), 1) if has_channels_last(image.layout) else range(image.ndim)


def _image_format_kernel(name: str) -> Kernel:
    """Return a kernel that runs the forward; results are channels-last if the first argument is, else row-major."""

    def kernel(image: MetaArray, *args: Any, **kwargs: Any) -> Any:
        results = forward_of(name)(namespace, image, *args, **kwargs)
        order = _image_order(image)
        arranged = [in_order(r.shape, r.dtype, order) for r in (results if isinstance(results, (tuple, list)) else (results,))]
        return tuple(arranged) if isinstance(results, (tuple, list)) else arranged[0]

    return kernel


def _sort(input: MetaArray, *args: Any) -> Any:
    """Return values and indices in the memory order of the input."""
    order = memory_order(input.shape, input.layout.strides)
    return tuple(in_order(r.shape, r.dtype, order) for r in forward_of("sort")(namespace, input, *args))


def _topk(*args: Any) -> Any:
    """Return row-major indices; the values keep the forward's memory order."""
    values, indices = forward_of("topk")(namespace, *args)
    return values, _contiguous(indices)


# --- resampling and adaptive pooling, without the positions and weights of each element ------------------------------


def _window_means(input: MetaArray, dim: int, size: int) -> MetaArray:
    return described((*input.shape[:dim], size, *input.shape[dim + 1 :]), input.dtype)


def _adaptive_max_indices(input: MetaArray, sizes: Sequence[int]) -> MetaArray:
    return described((*input.shape[: -len(sizes)], *sizes), np.int64)


def _resample(input: MetaArray, dim: int, taps: Taps) -> MetaArray:
    return _resized(input, (*input.shape[:dim], taps.size, *input.shape[dim + 1 :]))


def _resample_backward(input: MetaArray, dim: int, taps: Taps) -> MetaArray:
    return described((*input.shape[:dim], taps.length, *input.shape[dim + 1 :]), input.dtype)


def _resample_bytes(input: MetaArray, sizes: Sequence[int], *params: Any) -> MetaArray:
    return _resized(input, (*input.shape[: -len(sizes)], *sizes))


def _resized(image: MetaArray, shape: Sequence[int]) -> MetaArray:
    return in_order(shape, image.dtype, _image_order(image))


# --- operations without a forward -----------------------------------------------------------------------------------


def _ldl_factor(A: MetaArray, hermitian: bool = False) -> tuple[MetaArray, MetaArray, MetaArray]:
    return described(A.shape, A.dtype), described(A.shape[:-1], np.int64), described(A.shape[:-2], np.int64)


def _ldl_solve(LD: MetaArray, B: MetaArray, pivots: MetaArray, hermitian: bool = False) -> MetaArray:
    return described(B.shape, B.dtype)


# --- Fourier transforms: results have the memory order of the CPU kernels -------------------------------------------


def _fourier(name: str, halved: bool) -> Kernel:
    def kernel(input: MetaArray, dims: tuple[int, ...], *params: Any) -> MetaArray:
        result = forward_of(name)(namespace, input, dims, *params)
        return in_order(result.shape, result.dtype, transform_order(input.layout, dims, halved))

    return kernel


KERNELS: Mapping[str, Kernel] = {
    "clone": _clone,
    "contiguous": _contiguous,
    "cummax": _cummax,
    "cummin": _cummax,
    "diagonal": _diagonal,
    "unsqueeze": _unsqueeze,
    "view_as_complex": _view_as_complex,
    "view_as_real": _view_as_real,
    "pairs_of_complex": _view_as_real,
    "gather_along": _gather_along,
    **{f"getitem_{name}": _getitem for name in ("select", "slice", "unsqueeze", "alias")},
    "index": lambda input, index: _contiguous(input[index]),
    "setitem": _setitem,
    "setitem_in_place": _setitem_in_place,
    "index_put_add": lambda input, values, index: described(input.shape, input.dtype),
    "index_backward": _index_backward,
    "gcd": namespace.gcd,
    "lcm": namespace.lcm,
    "round": lambda input: _contiguous(input) if input.dtype.kind in "iu" else like(input),
    **{name: _row_major_kernel(name) for name in names(order=Order.ROW_MAJOR)},
    **{name: _image_format_kernel(name) for name in names(order=Order.IMAGE)},
    "sort": _sort,
    "topk": _topk,
    **dict.fromkeys(("resample", "resample_nearest"), _resample),
    "resample_backward": _resample_backward,
    "resample_bytes": _resample_bytes,
    "window_means": _window_means,
    "adaptive_max_indices": _adaptive_max_indices,
    "linalg_ldl_factor_ex": _ldl_factor,
    "linalg_ldl_solve": _ldl_solve,
    "fft_c2c": _fourier("fft_c2c", halved=False),
    "fft_r2c": _fourier("fft_r2c", halved=True),
    "fft_c2r": _fourier("fft_c2r", halved=True),
}
