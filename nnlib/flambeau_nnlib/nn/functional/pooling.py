"""Pooling: the maximum, the mean or a norm over windows, and its reverse."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import flambeau as torch
from flambeau import Tensor, adaptive_avg_pool1d, avg_pool1d
from flambeau.autograd.unfolding import gathered
from flambeau.dispatch import require_dtype
from flambeau.ops import adaptive_pooling
from flambeau.ops import pooling as ops
from flambeau.ops.conversion import in_format_of
from flambeau.ops.pooling import avg_pool2d, avg_pool3d

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
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The maximum of windows of ``(N, C, L)`` or ``(C, L)``; see :func:`max_pool2d`."""
    return ops.max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The maximum of windows of ``(N, C, H, W)`` or ``(C, H, W)``.

    ``stride`` is the kernel's size where not given; with ``ceil_mode`` a last window may reach beyond the end.  With
    ``return_indices`` the result is ``(maxima, where in H * W they are)``.  Raises RuntimeError where nothing would be left.

    >>> import flambeau as torch
    >>> torch.nn.functional.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    return ops.max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The maximum of windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see :func:`max_pool2d`."""
    return ops.max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


# --- to a given size ----------------------------------------------------------------------------------------------


def _sizes(input: Tensor, output_size: Any) -> Any:
    if not isinstance(output_size, Iterable):
        return output_size
    sizes = tuple(output_size)
    if input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return sizes


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows of ``(N, C, H, W)`` or ``(C, H, W)`` that share the image out: ``output_size`` of them.

    ``output_size`` is a number or one for each dimension, None standing for the input's own.

    >>> import flambeau as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 3, 7, 5), (2, None)).shape
    torch.Size([1, 3, 2, 5])
    """
    return adaptive_pooling.adaptive_avg_pool(2, input, _sizes(input, output_size))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see :func:`adaptive_avg_pool2d`."""
    return adaptive_pooling.adaptive_avg_pool(3, input, _sizes(input, output_size))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows of ``(N, C, L)`` or ``(C, L)``; see :func:`adaptive_max_pool2d`."""
    return adaptive_pooling.adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows of ``(N, C, H, W)`` or ``(C, H, W)`` that share the image out: ``output_size`` of them.

    With ``return_indices`` the result is ``(maxima, where in H * W they are)``.
    """
    return adaptive_pooling.adaptive_max_pool(2, input, _sizes(input, output_size), return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``; see :func:`adaptive_max_pool2d`."""
    return adaptive_pooling.adaptive_max_pool(3, input, _sizes(input, output_size), return_indices)


# --- at random places ---------------------------------------------------------------------------------------------


def _fractional(n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None) -> Any:
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    channels, *space = (input.size(dim) for dim in range(-n - 1, 0))
    kernels = ops.per_dimension(name, "kernel_size", kernel_size, n)
    if output_size is None:
        sizes = tuple(int(length * ratio) for length, ratio in zip(space, _tuple(output_ratio, n), strict=True))
    else:
        sizes = ops.per_dimension(name, "output_size", output_size, n)
    batched = input if input.dim() == n + 2 else input.unsqueeze(0)
    if samples is None:
        samples = torch.rand(batched.shape[0], channels, n, dtype=input.dtype, device=input.device)
    else:
        _check_samples(samples, batched, n)
    order = (1, 0) if n == 2 else (0, 1, 2)  # which sample serves which dimension
    positions = []
    names = ("time", "height", "width")[-n:]
    for dim, (length, size, kernel) in enumerate(zip(space, sizes, kernels, strict=True)):
        if size + kernel - 1 > (length if n == 2 else length - 1):  # in three dimensions PyTorch wants one place to spare
            called = name if n == 2 else f"{name}_out"
            raise RuntimeError(f"{called}(): pool {names[dim]} {kernel} too large relative to input {names[dim]} {length}")
        positions.append(_random_windows(samples[: len(batched), :, order[dim]], length, size, kernel))
    made, indices = adaptive_pooling.max_of_windows(batched, positions)
    made, indices = (made, indices) if batched is input else (made.squeeze(0), indices.squeeze(0))
    return gathered(made, f"FractionalMaxPool{n}DBackward0", (input,)), indices


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
    """Positions ``(N, C, size, kernel)`` of windows whose distances vary with the sample; the last ends at the end."""
    steps = torch.arange(size, dtype=sample.dtype, device=sample.device)
    if size > 1:
        alpha = (length - kernel) / (size - 1)
        sample = sample.unsqueeze(-1)
        starts = ((steps + sample) * alpha).floor() - (sample * alpha).floor()
        starts = torch.cat([starts[..., :-1], torch.full_like(starts[..., -1:], length - kernel)], -1)
    else:
        starts = torch.full((*sample.shape, size), length - kernel, device=sample.device)
    return starts.long().unsqueeze(-1) + torch.arange(kernel, device=sample.device)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Maxima of windows at random places, ``output_size`` of them or that ratio of the input's (Graham 2014).

    Benjamin Graham, "Fractional max-pooling".  Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``.
    """
    made = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Maxima of windows of ``(N, C, D, H, W)`` at random places; see :func:`fractional_max_pool2d`."""
    made = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


def _with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The same pool, which always says where the maxima are."""
    signature = inspect.signature(pool)

    def pool_with_indices(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        return pool(**{**given, "return_indices": True})

    functools.update_wrapper(pool_with_indices, pool)
    pool_with_indices.__name__ = f"{pool.__name__}_with_indices"
    pool_with_indices.__doc__ = f":func:`{pool.__name__}`, with where the maxima are."
    return pool_with_indices


max_pool1d_with_indices = _with_indices(max_pool1d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)
adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d)


# --- norms --------------------------------------------------------------------------------------------------------


def _lp_pool(pools: tuple[Any, Any], input: Tensor, p: float, n: int, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    mean_pool, largest_pool = pools
    if p == float("inf"):
        return largest_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if p == -float("inf"):
        return -largest_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    mean = mean_pool(input.pow(p), kernel_size, stride, 0, ceil_mode)
    return (torch.sign(mean) * torch.relu(mean.abs()) * prod(_tuple(kernel_size, n))).pow(1.0 / p)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of windows of ``(N, C, L)`` or ``(C, L)``."""
    return _lp_pool((avg_pool1d, max_pool1d), input, norm_type, 1, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of windows of ``(N, C, H, W)`` or ``(C, H, W)``."""
    return _lp_pool((avg_pool2d, max_pool2d), input, norm_type, 2, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The ``norm_type``-norm of windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
    return _lp_pool((avg_pool3d, max_pool3d), input, norm_type, 3, kernel_size, stride, ceil_mode)


# --- the reverse of max pooling -----------------------------------------------------------------------------------


def _unpooled_size(
    given: Sequence[int], kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], wanted: Sequence[int] | None
) -> list[int]:
    sizes = [(given[dim - len(kernel)] - 1) * stride[dim] + kernel[dim] - 2 * padding[dim] for dim in range(len(kernel))]
    if wanted is None:
        if min(sizes) < 0:
            raise ValueError(f"max_unpooling: output_size must contain non-negative spatial dimensions, but got {sizes}")
        return sizes
    wanted = list(wanted)[2:] if len(wanted) == len(sizes) + 2 else list(wanted)
    if len(wanted) != len(sizes):
        raise ValueError(f"output_size should be a sequence containing {len(sizes)} or {len(sizes) + 2} elements, but it has a "
                         f"length of '{len(wanted)}'")  # fmt: skip
    for dim, (size, asked) in enumerate(zip(sizes, wanted, strict=True)):
        least, most = size - stride[dim], size + stride[dim]
        if not least < asked < most:
            raise ValueError(f'invalid output_size "{tuple(wanted)}" (dim {dim} must be between {least} and {most})')
    return wanted


def _unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Sequence[int] | None
) -> Tensor:
    kernel = _tuple(kernel_size, n)
    stride = kernel if stride is None else _tuple(stride, n)
    size = _unpooled_size(input.shape, kernel, stride, _tuple(padding, n), output_size)
    if indices.dtype is not torch.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: "
                           f"{indices.type().split('.')[-1].removesuffix('Tensor')}")
    if indices.shape != input.shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
                           f"indices tensor with shape: {list(indices.shape)}")  # fmt: skip
    require_dtype(f"max_unpool{n}d", input, "floating")
    count = prod(size)
    ops.check_places(indices, size)
    lead = input.shape[:-n]
    made = input.new_zeros(*lead, count).scatter(-1, indices.flatten(-n), input.flatten(-n))
    name = "SqueezeBackward1" if n == 1 else f"MaxUnpool{n}DBackward0"
    return gathered(in_format_of(made.reshape(*lead, *size), input), name, (input,))


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back where ``indices`` of :func:`max_pool1d` says, zeros elsewhere; see :func:`max_unpool2d`."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back where ``indices`` of :func:`max_pool2d` says, zeros elsewhere.

    Several sizes are pooled to the same one: ``output_size`` says which of them is meant.

    >>> import flambeau as torch
    >>> import flambeau.nn.functional as F
    >>> maxima, indices = F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2, return_indices=True)
    >>> F.max_unpool2d(maxima, indices, 2)
    tensor([[[0., 0.],
             [0., 4.]]])
    """
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Put maxima back where ``indices`` of :func:`max_pool3d` says, zeros elsewhere; see :func:`max_unpool2d`."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)
