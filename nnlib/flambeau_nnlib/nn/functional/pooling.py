"""Pooling (maximum, mean or norm over windows) and max unpooling."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import flambeau as torch
from flambeau import Tensor, adaptive_avg_pool1d, avg_pool1d
from flambeau.extension import Autocast, Kind, Linearity, declare, merge_nodes, require_dtype
from flambeau.extension import functions as adaptive_pooling
from flambeau.extension import functions as ops
from flambeau.extension.functions import avg_pool2d, avg_pool3d, in_format_of

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
    "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _tuple(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


# --- maxima -------------------------------------------------------------------------------------------------------


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of a sequence; see `nn.MaxPool1d` for the output size.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        kernel_size: the length of a window.
        stride: the step from one window to the next; None for `kernel_size`.
        padding: the number of elements of minus infinity added on each side, at most half of the window.
        dilation: the step from one element of a window to the next.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.
        return_indices: whether to also return the flat index of each maximum among the `L` elements of its channel.

    Raises:
        RuntimeError: the number of dimensions is wrong, the padding is too large, or no window fits.

    Example:
        >>> F.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[3., 5.]])
    """
    return ops.max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of an image; see `nn.MaxPool2d` for the output size.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: height and width of a window, or one number for both.
        stride: the step from one window to the next; None for `kernel_size`.
        padding: the number of elements of minus infinity added on each side, at most half of the window.
        dilation: the step from one element of a window to the next.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.
        return_indices: whether to also return the flat index of each maximum among the `H * W` elements of its channel.

    Raises:
        RuntimeError: the number of dimensions is wrong, the padding is too large, or no window fits.

    Example:
        >>> F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
        tensor([[[4.]]])
        >>> F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2, return_indices=True)
        (tensor([[[4.]]]), tensor([[[3]]]))
    """
    return ops.max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of a volume; see `nn.MaxPool3d` for the output size.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the step from one window to the next; None for `kernel_size`.
        padding: the number of elements of minus infinity added on each side, at most half of the window.
        dilation: the step from one element of a window to the next.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the padding.
        return_indices: whether to also return the flat index of each maximum among the `D * H * W` elements of its channel.

    Raises:
        RuntimeError: the number of dimensions is wrong, the padding is too large, or no window fits.

    Example:
        >>> F.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    return ops.max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


# --- adaptive -----------------------------------------------------------------------------------------------------


def _sizes(input: Tensor, output_size: Any) -> Any:
    if not isinstance(output_size, Iterable):
        return output_size
    sizes = tuple(output_size)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return sizes


@declare(kind=Kind.POOLING, linearity=Linearity.JOINT, autocast=Autocast.WHOLE)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Compute the mean of each of `output_size` windows that cover an image; see `nn.AdaptiveAvgPool2d`.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`; RuntimeError for other numbers of dimensions.
        output_size: height and width of the result, or one number for both; None keeps the input's size.

    Example:
        >>> F.adaptive_avg_pool2d(torch.ones(1, 3, 7, 5), (2, None)).shape
        torch.Size([1, 3, 2, 5])
    """
    return adaptive_pooling.adaptive_avg_pool(2, input, _sizes(input, output_size))


@declare(kind=Kind.POOLING, linearity=Linearity.JOINT, autocast={"cpu": Autocast.FLOAT32})
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Compute the mean of each of `output_size` windows that cover a volume; see `nn.AdaptiveAvgPool3d`.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`; RuntimeError for other numbers of dimensions.
        output_size: depth, height and width of the result, or one number for all; None keeps the input's size.

    Example:
        >>> F.adaptive_avg_pool3d(torch.ones(1, 3, 4, 7, 5), (2, 3, None)).shape
        torch.Size([1, 3, 2, 3, 5])
    """
    return adaptive_pooling.adaptive_avg_pool(3, input, _sizes(input, output_size))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Compute the maximum of each of `output_size` windows that cover a sequence; see `nn.AdaptiveMaxPool1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`; RuntimeError for other numbers of dimensions.
        output_size: the length of the result.
        return_indices: whether to also return the flat index of each maximum among the `L` elements of its channel.

    Example:
        >>> F.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
        tensor([[3., 5.]])
    """
    return adaptive_pooling.adaptive_max_pool(1, input, output_size, return_indices)


@declare(kind=Kind.POOLING)
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Compute the maximum of each of `output_size` windows that cover an image; see `nn.AdaptiveMaxPool2d`.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`; RuntimeError for other numbers of dimensions.
        output_size: height and width of the result, or one number for both; None keeps the input's size.
        return_indices: whether to also return the flat index of each maximum among the `H * W` elements of its channel.

    Example:
        >>> F.adaptive_max_pool2d(torch.ones(1, 3, 7, 5), (2, None)).shape
        torch.Size([1, 3, 2, 5])
    """
    return adaptive_pooling.adaptive_max_pool(2, input, _sizes(input, output_size), return_indices)


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Compute the maximum of each of `output_size` windows that cover a volume; see `nn.AdaptiveMaxPool3d`.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`; RuntimeError for other numbers of dimensions.
        output_size: depth, height and width of the result, or one number for all; None keeps the input's size.
        return_indices: whether to also return the flat index of each maximum among the `D * H * W` elements of its channel.

    Example:
        >>> F.adaptive_max_pool3d(torch.ones(1, 3, 4, 7, 5), (2, 3, None)).shape
        torch.Size([1, 3, 2, 3, 5])
    """
    return adaptive_pooling.adaptive_max_pool(3, input, _sizes(input, output_size), return_indices)


# --- fractional ---------------------------------------------------------------------------------------------------


def _fractional_max_pool(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> Any:
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    full_name = name if n == 2 else f"{name}_out"
    channels, *space = (input.size(dim) for dim in range(-n - 1, 0))
    if input.ndim > n + 2:
        raise RuntimeError(f"{full_name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(input.shape)}")
    ops.require_elements(full_name, input)
    kernels = _size_per_dimension(name, "kernel_size", kernel_size, n)
    if output_size is None:
        sizes = tuple(int(length * ratio) for length, ratio in zip(space, _tuple(output_ratio, n), strict=True))
    else:
        sizes = _size_per_dimension(name, "output_size", output_size, n)
    batched = input if input.dim() == n + 2 else input.unsqueeze(0)
    if samples is None:
        samples = torch.rand(batched.shape[0], channels, n, dtype=input.dtype, device=input.device)
    else:
        _check_samples(samples, batched, n)
    order = (1, 0) if n == 2 else (0, 1, 2)  # the column of `samples` that belongs to each dimension
    positions = []
    names = ("time", "height", "width")[-n:]
    for dim, (length, size, kernel) in enumerate(zip(space, sizes, kernels, strict=True)):
        if size + kernel - 1 > (length if n == 2 else length - 1):  # in 3 dimensions, PyTorch requires one more element
            raise RuntimeError(f"{full_name}(): pool {names[dim]} {kernel} too large relative to input {names[dim]} {length}")
        positions.append(_random_windows(samples[: len(batched), :, order[dim]], length, size, kernel))
    require_dtype(f"{name}_out_frame", input, "floating")
    maxima, indices = adaptive_pooling.max_of_windows(batched, positions)
    if batched is not input:
        maxima, indices = maxima.squeeze(0), indices.squeeze(0)
    return merge_nodes(maxima, f"FractionalMaxPool{n}DBackward0", (input,)), indices


def _size_per_dimension(name: str, argument: str, value: Any, n: int) -> tuple[int, ...]:
    """Return an argument as `n` ints.  Unlike other pools, fractional pools refuse a sequence with one int."""
    if isinstance(value, (tuple, list)) and len(value) != n and all(isinstance(size, int) for size in value):
        raise RuntimeError(f"{name}: {argument} must either be a single int, or a tuple of {n} ints")
    return ops.per_dimension(name, argument, value, n)


def _check_samples(samples: Tensor, batched: Tensor, n: int) -> None:
    if samples.dtype != batched.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if len(samples) < len(batched):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != batched.shape[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")


def _random_windows(sample: Tensor, length: int, size: int, kernel: int) -> Tensor:
    """Return the positions `(N, C, size, kernel)` of all window elements. `sample` shifts all windows except the last one."""
    last = length - kernel
    starts = torch.full((*sample.shape, size), last, device=sample.device)
    if size > 1:
        # Round to the sample's dtype at every step, as PyTorch does: in half precision, rounding changes where windows begin.
        alpha = sample.new_tensor(last) / sample.new_tensor(size - 1)
        sample = sample.unsqueeze(-1)
        window_index = torch.arange(size - 1, device=sample.device).to(sample.dtype)
        starts[..., :-1] = ((window_index + sample) * alpha).long() - (sample * alpha).long()
    return starts.unsqueeze(-1) + torch.arange(kernel, device=sample.device)


@declare(kind=Kind.POOLING, random=True, autocast={"cpu": Autocast.FLOAT32})
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Compute the maximum of windows at random positions in an image; see `nn.FractionalMaxPool2d`.

    Graham, *Fractional max-pooling*, 2014.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: height and width of a window, or one number for both; RuntimeError if the windows do not fit.
        output_size: the spatial sizes of the result, or one number for all. ValueError without `output_size` and
            `output_ratio`.
        output_ratio: the output sizes as fractions of the input sizes, used without `output_size`.
        return_indices: whether to also return the flat index of each maximum among the `H * W` elements of its channel.
        _random_samples: numbers in [0, 1) of shape `(N, C, 2)` that determine the positions of the windows; None to draw them.

    Example:
        >>> F.fractional_max_pool2d(torch.randn(2, 16, 50, 32), 3, output_ratio=0.5).shape
        torch.Size([2, 16, 25, 16])
    """
    maxima, indices = _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return (maxima, indices) if return_indices else maxima


@declare(kind=Kind.POOLING, random=True, autocast={"cpu": Autocast.FLOAT32})
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Compute the maximum of windows at random positions in a volume; see `nn.FractionalMaxPool3d`.

    Graham, *Fractional max-pooling*, 2014.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        kernel_size: depth, height and width of a window, or one number for all; RuntimeError if the windows do not
            fit.
        output_size: the spatial sizes of the result, or one number for all. ValueError without `output_size` and
            `output_ratio`.
        output_ratio: the output sizes as fractions of the input sizes, used without `output_size`.
        return_indices: whether to also return the flat index of each maximum among the `D * H * W` elements of its channel.
        _random_samples: numbers in [0, 1) of shape `(N, C, 3)` that determine the positions of the windows; None to draw them.

    Example:
        >>> F.fractional_max_pool3d(torch.randn(2, 3, 6, 8, 9), 3, output_size=(2, 3, 4)).shape
        torch.Size([2, 3, 2, 3, 4])
    """
    maxima, indices = _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return (maxima, indices) if return_indices else maxima


def _with_indices(pool: Callable[..., Any], autocast: Any = None) -> Callable[..., Any]:
    """Return a version of the pooling function that always returns indices; `autocast` is its autocast rule."""
    signature = inspect.signature(pool)

    def pool_with_indices(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        return pool(**{**arguments, "return_indices": True})

    functools.update_wrapper(pool_with_indices, pool)
    pool_with_indices.__name__ = f"{pool.__name__}_with_indices"
    after_summary = inspect.cleandoc(pool.__doc__ or "").partition("\n\n")[2]
    pool_with_indices.__doc__ = f"`{pool.__name__}` with `return_indices=True`, regardless of that argument.\n\n{after_summary}"
    return declare(kind=Kind.POOLING, autocast=autocast)(pool_with_indices)


max_pool1d_with_indices = _with_indices(max_pool1d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d, {"cpu": Autocast.WHOLE})
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d, {"cpu": Autocast.FLOAT32})
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d, {"cpu": Autocast.FLOAT32})
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d, {"cpu": Autocast.FLOAT32})


# --- norms --------------------------------------------------------------------------------------------------------


def _lp_pool(
    pools: tuple[Callable[..., Tensor], Callable[..., Tensor]],
    input: Tensor,
    p: float,
    n: int,
    kernel_size: Any,
    stride: Any,
    ceil_mode: bool,
) -> Tensor:
    avg_pool, max_pool = pools
    if p == float("inf"):
        return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -max_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    mean = avg_pool(input.pow(p), kernel_size, stride, 0, ceil_mode)
    count: int = prod(_tuple(kernel_size, n))
    return (torch.sign(mean) * torch.relu(mean.abs()) * count).pow(1.0 / p)


@declare(kind=Kind.POOLING)
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Compute the p-norm `sum(x ** p) ** (1 / p)` of each window of a sequence; see `nn.LPPool1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        norm_type: the order p of the norm; not 0.
        kernel_size: the length of a window.
        stride: the step from one window to the next; None for `kernel_size`.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Example:
        >>> F.lp_pool1d(torch.tensor([[[3.0, 4.0, 6.0, 8.0]]]), 2, 2)
        tensor([[[ 5., 10.]]])
    """
    return _lp_pool((avg_pool1d, max_pool1d), input, norm_type, 1, kernel_size, stride, ceil_mode)


@declare(kind=Kind.POOLING)
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Compute the p-norm `sum(x ** p) ** (1 / p)` of each window of an image; see `nn.LPPool2d`.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        norm_type: the order p of the norm; not 0.
        kernel_size: height and width of a window, or one number for both.
        stride: the step from one window to the next; None for `kernel_size`.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Example:
        >>> F.lp_pool2d(torch.ones(1, 2, 2), 1, 2)
        tensor([[[4.]]])
    """
    return _lp_pool((avg_pool2d, max_pool2d), input, norm_type, 2, kernel_size, stride, ceil_mode)


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Compute the p-norm `sum(x ** p) ** (1 / p)` of each window of a volume; see `nn.LPPool3d`.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        norm_type: the order p of the norm; not 0.
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the step from one window to the next; None for `kernel_size`.
        ceil_mode: whether to round output sizes up, so that the last window may extend beyond the end.

    Example:
        >>> F.lp_pool3d(torch.rand(2, 3, 4, 6, 8), 2, 2).shape
        torch.Size([2, 3, 2, 3, 4])
    """
    return _lp_pool((avg_pool3d, max_pool3d), input, norm_type, 3, kernel_size, stride, ceil_mode)


# --- max unpooling ------------------------------------------------------------------------------------------------


def _unpooled_size(
    input_size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_size: Sequence[int] | None,
) -> list[int]:
    sizes = [(input_size[dim - len(kernel)] - 1) * stride[dim] + kernel[dim] - 2 * padding[dim] for dim in range(len(kernel))]
    if output_size is None:
        if min(sizes) < 0:
            raise ValueError(f"max_unpooling: output_size must contain non-negative spatial dimensions, but got {sizes}")
        return sizes
    output_size = list(output_size)[2:] if len(output_size) == len(sizes) + 2 else list(output_size)
    if len(output_size) != len(sizes):
        raise ValueError(
            f"output_size should be a sequence containing {len(sizes)} or {len(sizes) + 2} elements, but it has a "
            f"length of '{len(output_size)}'"
        )
    for dim, (default, size) in enumerate(zip(sizes, output_size, strict=True)):
        least, most = default - stride[dim], default + stride[dim]
        if not least < size < most:
            raise ValueError(f'invalid output_size "{tuple(output_size)}" (dim {dim} must be between {least} and {most})')
    return output_size


def _unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Sequence[int] | None
) -> Tensor:
    kernel = _tuple(kernel_size, n)
    stride = kernel if stride is None else _tuple(stride, n)
    size = _unpooled_size(input.shape, kernel, stride, _tuple(padding, n), output_size)
    if indices.dtype is not torch.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {indices.type().split('.')[-1].removesuffix('Tensor')}"
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
            f"indices tensor with shape: {list(indices.shape)}"
        )
    require_dtype(f"max_unpool{n}d", input, "floating")
    count = prod(size)
    ops.check_places(indices, size)
    batch_shape = input.shape[:-n]
    output = input.new_zeros(*batch_shape, count).scatter(-1, indices.flatten(-n), input.flatten(-n))
    name = "SqueezeBackward1" if n == 1 else f"MaxUnpool{n}DBackward0"
    return merge_nodes(in_format_of(output.reshape(*batch_shape, *size), input), name, (input,))


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Place maxima at the positions given by `indices`, with zeros elsewhere; the inverse of `max_pool1d`; see `nn.MaxUnpool1d`.

    Args:
        input: the maxima, a tensor `(N, C, L)` or `(C, L)`.
        indices: the indices that `max_pool1d` returns with `return_indices`, int64, in the shape of `input`.
        kernel_size: the length of a window, as for the pooling.
        stride: the stride of the pooling; None for `kernel_size`.
        padding: the padding of the pooling, on each side.
        output_size: the shape of the result, with or without batch and channels; ValueError if pooling it would not give
            the size of `input`. None for `(size - 1) * stride - 2 * padding + kernel_size`.

    Example:
        >>> maxima, indices = F.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2, return_indices=True)
        >>> F.max_unpool1d(maxima, indices, 2)
        tensor([[0., 3., 0., 5.]])
    """
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Place maxima at the positions given by `indices`, with zeros elsewhere; the inverse of `max_pool2d`; see `nn.MaxUnpool2d`.

    Args:
        input: the maxima, a tensor `(N, C, H, W)` or `(C, H, W)`.
        indices: the indices that `max_pool2d` returns with `return_indices`, int64, in the shape of `input`.
        kernel_size: height and width of a window, or one number for both, as for the pooling.
        stride: the stride of the pooling; None for `kernel_size`.
        padding: the padding of the pooling, on each side.
        output_size: the shape of the result, with or without batch and channels; ValueError if pooling it would not give
            the size of `input`. None for `(size - 1) * stride - 2 * padding + kernel_size`.

    Example:
        >>> maxima, indices = F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2, return_indices=True)
        >>> F.max_unpool2d(maxima, indices, 2)
        tensor([[[0., 0.],
                 [0., 4.]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Place maxima at the positions given by `indices`, with zeros elsewhere; the inverse of `max_pool3d`; see `nn.MaxUnpool3d`.

    Args:
        input: the maxima, a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        indices: the indices that `max_pool3d` returns with `return_indices`, int64, in the shape of `input`.
        kernel_size: depth, height and width of a window, or one number for all, as for the pooling.
        stride: the stride of the pooling; None for `kernel_size`.
        padding: the padding of the pooling, on each side.
        output_size: the shape of the result, with or without batch and channels; ValueError if pooling it would not give
            the size of `input`. None for `(size - 1) * stride - 2 * padding + kernel_size`.

    Example:
        >>> volume = torch.randn(1, 3, 4, 6, 9)
        >>> maxima, indices = F.max_pool3d(volume, 2, return_indices=True)
        >>> F.max_unpool3d(maxima, indices, 2, output_size=volume.size()).shape
        torch.Size([1, 3, 4, 6, 9])
    """
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
