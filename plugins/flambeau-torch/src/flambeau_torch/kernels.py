"""Kernels that call PyTorch's functions, many times faster than flambeau's array-API code: convolution, pooling, indexing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat.torch as xp
import torch

from flambeau.extension import Kernels, forward_of

__all__ = ["KERNELS"]

Sizes = Sequence[int]
KERNELS = kernel = Kernels()


def floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a kernel for nonempty floating-point arrays; other arrays use the operation's array-API code."""
    forward = forward_of(function.__name__)

    def chosen(*args: Any, **kwargs: Any) -> Any:
        if args[0].is_floating_point() and args[0].numel():
            return function(*args, **kwargs)
        return forward(xp, *args, **kwargs)

    KERNELS[function.__name__] = chosen
    return chosen


# --- convolution --------------------------------------------------------------------------------------------------


@floating
def convolution(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    return torch.convolution(input, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)


@floating
def convolution_transposed(
    input: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    geometry = zip(input.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, k, s, p, d in geometry]
    more = [whole - part for whole, part in zip(size, least, strict=True)]
    return torch.convolution(input, weight, bias, stride, padding, dilation, True, more, groups)


@floating
def convolution_weight(
    grad: Any, input: Any, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int, workspace: Any = None
) -> Any:
    weight, none = grad.new_empty(shape), [0] * len(stride)
    return torch.ops.aten.convolution_backward(
        grad, input, weight, None, stride, padding, dilation, False, none, groups, [False, True, False]
    )[1]


# --- pooling ------------------------------------------------------------------------------------------------------


def _pooled(input: Any, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes) -> Any:
    """Return the maxima and their indices; None if PyTorch rejects the windows or its output has another size."""
    pool = getattr(torch.nn.functional, f"max_pool{len(size)}d")
    for ceil_mode in (False, True):
        try:
            maxima, indices = pool(input, window_size, stride, padding, dilation, ceil_mode, return_indices=True)
        except RuntimeError:
            return None
        if tuple(maxima.shape[2:]) == tuple(size):
            return maxima, indices
    return None


def _max_pool(name: str, part: int) -> None:
    forward = forward_of(name)

    def pool(input: Any, *geometry: Sizes) -> Any:
        found = _pooled(input, *geometry) if input.is_floating_point() and input.numel() else None
        return forward(xp, input, *geometry) if found is None else found[part]

    KERNELS[name] = pool


for _dims in (1, 2, 3):
    _max_pool(f"max_pool{_dims}d", 0)
_max_pool("max_pool_indices", 1)


# --- indices ------------------------------------------------------------------------------------------------------


@kernel
def index(input: Any, index: Any) -> Any:
    return input[index].contiguous()


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    result = input.clone()
    result[index] = value
    return result


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    result = input.new_zeros(shape)
    result[index] = input
    return result


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    return index_put_add(input.new_zeros(shape), input, index)


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    places = torch.arange(input.numel(), device=input.device).view(input.shape)[index]
    summed = input.double() if input.dtype == torch.bfloat16 or input.dtype == torch.float16 else input.clone()
    values = values.to(summed.dtype).broadcast_to(places.shape)
    return summed.view(-1).index_add_(0, places.reshape(-1), values.reshape(-1)).view(input.shape).to(input.dtype)


@kernel
def scatter_add_along(input: Any, src: Any, index: Any, dim: int) -> Any:
    return torch.scatter_add(input, dim, index, src)
