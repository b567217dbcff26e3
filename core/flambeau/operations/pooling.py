"""Pooling: the maximum or the mean over windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import Any

from ..engine.calls.arguments import Dims
from ..engine.calls.dispatch import require_dtype, require_flags, whole_numbers
from ..engine.calls.facts import Autocast, Kind, Linearity, Order, declare
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import composite, formula, op
from ..engine.calls.record import Out
from ..engine.calls.signatures import with_args
from ..engine.calls.tables import PUBLIC
from ..engine.calls.wrappers import with_out
from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor
from .comparison import where
from .conversion import in_format_of
from .convolution import kernel_places, pad_space, spread_out, window
from .creation.from_shape import require_memory
from .views.views import with_tied_gradient

__all__ = [
    "adaptive_avg_pool", "adaptive_avg_pool1d", "adaptive_max_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "max_of_windows", "max_pool",
]  # fmt: skip

Sizes = Sequence[int]


# --- maxima -------------------------------------------------------------------------------------------------------


def _end_padding(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, space: Sizes) -> list[int]:
    """Return the padding that each dimension needs at its end for every window to fit."""
    return [
        max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
        for o, k, s, p, d, n in zip(size, kernel, stride, padding, dilation, space, strict=True)
    ]


def _lowest(xp: Any, dtype: Any) -> Any:
    return -xp.inf if xp.isdtype(dtype, "real floating") else xp.iinfo(dtype).min


def _padded_with_lowest(xp: Any, input: Any, before: Sizes, after: Sizes) -> Any:
    lowest = _lowest(xp, input.dtype)
    for dim, (low, high) in enumerate(zip(before, after, strict=True), 2):
        for amount, in_front in ((low, True), (high, False)):
            if amount:
                more = xp.full((*input.shape[:dim], amount, *input.shape[dim + 1 :]), lowest, dtype=input.dtype)
                input = xp.concat([more, input] if in_front else [input, more], axis=dim)
    return input


def _max_pool_forward(
    xp: Any, input: Any, /, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes
) -> Any:
    after = _end_padding(size, window_size, stride, padding, dilation, input.shape[2:])
    padded = _padded_with_lowest(xp, input, padding, after)
    maxima = None
    for _, start in kernel_places(window_size, dilation):
        windows = padded[window(start, size, stride)]
        maxima = windows if maxima is None else xp.maximum(maxima, windows)
    return maxima if prod(window_size) > 1 else xp.asarray(maxima, copy=True)


def max_pool_indices_forward(
    xp: Any, input: Any, /, window_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes
) -> Any:
    """Return the position of each window's maximum in the flattened spatial dimensions of the input."""
    after = _end_padding(size, window_size, stride, padding, dilation, input.shape[2:])
    padded = _padded_with_lowest(xp, input, padding, after)
    best: Any = None
    indices: Any = None
    for _, start in kernel_places(window_size, dilation):
        windows = padded[window(start, size, stride)]
        positions = _positions(xp, start, size, stride, padding, input.shape[2:])
        if best is None:
            best, indices = windows, xp.zeros(windows.shape, dtype=xp.int64) + positions
        else:
            better = (windows > best) | (windows != windows)
            if any(padding) or any(after):
                better = (better | (indices < 0)) & (positions >= 0)
            best, indices = xp.where(better, windows, best), xp.where(better, positions, indices)
    return indices


def _positions(xp: Any, start: Sizes, size: Sizes, stride: Sizes, padding: Sizes, space: Sizes) -> Any:
    """Return, for each window, the flattened input position under one kernel element, or -1 in the padding."""
    flat: Any = None
    outside: Any = None
    for dim, (a, o, s, p, n) in enumerate(zip(start, size, stride, padding, space, strict=True)):
        along = xp.reshape(xp.arange(o, dtype=xp.int64) * s + (a - p), tuple(o if i == dim else 1 for i in range(len(size))))
        flat = along if flat is None else flat * n + along
        if a < p or (o - 1) * s + a - p >= n:
            beyond = (along < 0) | (along >= n)
            outside = beyond if outside is None else outside | beyond
    return flat if outside is None else xp.where(outside, xp.asarray(-1, dtype=xp.int64), flat)


def check_places(indices: Any, size: Sizes) -> None:
    """Raise RuntimeError if an index is not in a volume of this size."""
    low, high = indices._key.backend.extremes(indices._array) if indices.numel() else (0, -1)
    if low < 0 or high >= prod(size):
        wrong = int(low if low < 0 else high)
        raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, size))})")


def unpooled(F: Any, g: Any, indices: Any, shape: Sizes) -> Any:
    """Scatter the gradient to the positions of the maxima."""
    flat = (*shape[:2], prod(shape[2:]))
    rows = (*g.shape[:2], prod(g.shape[2:]))
    output = F.scatter_add_along(F.zeros_of(g, flat), F.reshape(g, rows), F.reshape(indices, rows), 2)
    return F.reshape(output, tuple(shape))


@formula
def max_pool_backward(
    F: Any, g: Any, input: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, size: Sizes
) -> Any:
    return unpooled(F, g, F.max_pool_indices(input, kernel, stride, padding, dilation, size), tuple(input.shape))


def _grad_fn_of(name: str, n: int) -> str:
    """Return PyTorch's name of the autograd node. PyTorch computes 1-d pooling as 2-d pooling and a squeeze."""
    return "SqueezeBackward1" if n == 1 else name.format(n)


def _max_pool_record(n: int) -> Callable[..., Tensor]:
    return op(
        f"max_pool{n}d",
        _max_pool_forward,
        kind=Kind.POOLING,
        dtypes="real numbers",
        public=False,
        method=False,
        out=False,
        grad_fn=_grad_fn_of("MaxPool{}DWithIndicesBackward0", n),
        input=lambda F, g, input, window_size, stride, padding, dilation, size: F.tied(
            max_pool_backward(F, g, input, window_size, stride, padding, dilation, size), input
        ),
    )


_max_pool = {n: _max_pool_record(n) for n in (1, 2, 3)}
_max_pool_indices = op(
    "max_pool_indices",
    max_pool_indices_forward,
    kind=Kind.POOLING,
    order=Order.IMAGE,
    promote="index",
    dtypes="real numbers",
    public=False,
    method=False,
    out=False,
)


# --- arguments ----------------------------------------------------------------------------------------------------


def per_dimension(function: str, name: str, value: Any, n: int) -> tuple[int, ...]:
    """Return `value`, an int or a sequence of `n` ints, as a tuple of `n` ints."""
    if type(value) is int:
        return (value,) * n
    values = whole_numbers(name, value)
    if len(values) not in (1, n):
        many = {1: "one int", 2: "two ints", 3: "three ints"}[n]
        raise RuntimeError(f"{function}: {name} must either be a single int, or a tuple of {many}")
    return values if len(values) == n else values * n


def _with_batch(function: str, n: int, input: Tensor) -> tuple[Tensor, bool]:
    """Return the input with a batch dimension, and whether it already had one."""
    shape = input._array.shape
    if len(shape) not in (n + 1, n + 2) or 0 in (shape[1:] if len(shape) == n + 2 else shape):
        if n == 1:
            raise RuntimeError(
                f"{function}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
                f"got:{list(shape)}"
            )
        if len(shape) not in (n + 1, n + 2):
            raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    return (input, True) if len(shape) == n + 2 else (input.unsqueeze(0), False)


def pooled_size(space: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> tuple[int, ...]:
    """Return the spatial sizes after pooling.  With `ceil_mode`, the last window may extend past the end."""
    sizes = []
    for n, k, s, p, d in zip(space, kernel, stride, padding, dilation, strict=True):
        size = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        sizes.append(size - 1 if ceil_mode and (size - 1) * s >= n + p else size)
    return tuple(sizes)


def _geometry(
    function: str, n: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Sizes, Sizes, Sizes, Sizes, Sizes]:
    """Return kernel, stride, padding and dilation for each dimension, and the spatial sizes of the result."""
    kernel = per_dimension(function, "kernel_size", kernel_size, n)
    unset = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    stride = kernel if unset else per_dimension(function, "stride", stride, n)
    padding, dilation = per_dimension(function, "padding", padding, n), per_dimension(function, "dilation", dilation, n)
    return kernel, stride, padding, dilation, _checked_size(input._array.shape, kernel, stride, padding, dilation, ceil_mode)


@lru_cache(256)
def _checked_size(input_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Sizes:
    """Return the spatial sizes of the result.  Raises RuntimeError for windows that are invalid or do not fit."""
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {' '.join(map(str, kernel))}")
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero, but got dilation " + " ".join(map(str, dilation)))
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if not 0 <= p <= (d * (k - 1) + 1) // 2:
            problem = "pad must be non-negative" if p < 0 else "pad should be at most half of effective kernel size"
            raise RuntimeError(f"{problem}, but got pad={p}, kernel_size={k} and dilation={d}")
    size = pooled_size(input_shape[2:], kernel, stride, padding, dilation, ceil_mode)
    if min(size) < 1:
        before, after = ("x".join(map(str, (input_shape[1], *space))) for space in (input_shape[2:], size))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")
    return size


def max_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the maximum of each window over the last `n` dimensions and, with `return_indices`, its flattened position."""
    require_flags(f"max_pool{n}d", ceil_mode=ceil_mode)
    input, batched = _with_batch(f"max_pool{n}d", n, input)
    geometry = _geometry(f"max_pool{n}d", n, input, kernel_size, stride, padding, dilation, ceil_mode)
    if return_indices:
        with no_grad():
            indices = _max_pool_indices(input.detach(), *geometry)
        output = merge_nodes(_at_indices(n, input, indices), _grad_fn_of("MaxPool{}DWithIndicesBackward0", n), (input,))
        return (output, indices) if batched else (output.squeeze(0), indices.squeeze(0))
    output = _max_pool[n](input, *geometry)
    if batched:
        return output
    return output.squeeze(0) if n == 1 else merge_nodes(output.squeeze(0), f"MaxPool{n}DWithIndicesBackward0", (input,))


def _at_indices(n: int, input: Tensor, indices: Tensor) -> Tensor:
    """Return the elements at flattened positions in the last `n` dimensions, in the memory format of the indices."""
    output = with_tied_gradient(input).flatten(-n).gather(-1, indices.flatten(-n)).reshape(indices.shape)
    return in_format_of(output, indices)


# --- means --------------------------------------------------------------------------------------------------------


def window_sizes(
    xp: Any,
    space: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    size: Sizes,
    count_padding: bool,
    divisor: int | None,
    dtype: Any,
) -> Any:
    """Return the divisor of the means: `divisor`, or the window size, an array if windows at the edges are smaller."""
    if divisor is not None:
        return divisor
    counts: Any = 1
    for dim, (n, k, s, p, o) in enumerate(zip(space, kernel, stride, padding, size, strict=True)):
        if (o - 1) * s + k <= n + (2 * p if count_padding else 0) and (count_padding or not p):
            counts = counts * k
            continue
        starts = [i * s - p for i in range(o)]
        ends = [min(start + k, n + p) for start in starts]
        lengths = [e - a if count_padding else min(e, n) - max(a, 0) for a, e in zip(starts, ends, strict=True)]
        counts = counts * xp.reshape(xp.asarray(lengths, dtype=dtype), tuple(o if i == dim else 1 for i in range(len(size))))
    return counts


def _avg_pool_forward(
    xp: Any,
    input: Any,
    /,
    window_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    size: Sizes,
    count_padding: bool,
    divisor: int | None,
) -> Any:
    ones = (1,) * len(size)
    after = _end_padding(size, window_size, stride, padding, ones, input.shape[2:])
    padded = pad_space(xp, input, padding, after)
    total: Any = None
    for start in product(*map(range, window_size)):
        windows = padded[window(start, size, stride)]
        total = windows if total is None else total + windows
    counts = window_sizes(xp, input.shape[2:], window_size, stride, padding, size, count_padding, divisor, input.dtype)
    if not xp.isdtype(input.dtype, "integral"):
        return total / counts
    quotient = xp.abs(total) // xp.abs(counts)
    return xp.where((total < 0) != (counts < 0), -quotient, quotient)  # round towards zero


def _avg_pool_backward_forward(
    xp: Any,
    input: Any,
    /,
    space: Sizes,
    window_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    size: Sizes,
    count_padding: bool,
    divisor: int | None,
) -> Any:
    spread = spread_out(
        xp, input / window_sizes(xp, space, window_size, stride, padding, size, count_padding, divisor, input.dtype), stride
    )
    padded_size = [
        max(n + 2 * p, k - 1 + length) for n, p, k, length in zip(space, padding, window_size, spread.shape[2:], strict=True)
    ]
    total: Any = None
    for start in product(*map(range, window_size)):
        part = pad_space(xp, spread, start, [r - a - n for r, a, n in zip(padded_size, start, spread.shape[2:], strict=True)])
        total = part if total is None else total + part
    return total[(..., *(slice(p, p + n) for p, n in zip(padding, space, strict=True)))]


def _avg_pool_record(n: int) -> Callable[..., Tensor]:
    return op(
        f"avg_pool{n}d_windows",
        _avg_pool_forward,
        kind=Kind.POOLING,
        order=Order.ROW_MAJOR if n == 1 else Order.IMAGE,
        promote="accumulate",
        dtypes="real numbers",
        public=False,
        method=False,
        out=False,
        grad_fn=_grad_fn_of("AvgPool{}DBackward0", n),
        input=lambda F, g, input, window_size, stride, padding, size, count_padding, divisor: F.tied(
            F.avg_pool_backward(g, tuple(input.shape[2:]), window_size, stride, padding, size, count_padding, divisor), input
        ),
    )


_avg_pool = {n: _avg_pool_record(n) for n in (1, 2, 3)}
op(
    "avg_pool_backward", _avg_pool_backward_forward,
    kind=Kind.POOLING, order=Order.ROW_MAJOR, promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, window_size, stride, padding, size, count_padding, divisor: getattr(F, f"avg_pool{len(size)}d_windows")(
        g, window_size, stride, padding, size, count_padding, divisor),
)  # fmt: skip


def _mean_of_windows(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Tensor:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    input, batched = _with_batch(f"avg_pool{n}d", n, input)
    kernel, stride, padding, _, size = _geometry(f"avg_pool{n}d", n, input, kernel_size, stride, padding, 1, ceil_mode)
    output = _avg_pool[n](input, kernel, stride, padding, size, count_include_pad, divisor_override)
    return output if batched else output.squeeze(0)


@composite(method=False, kind=Kind.POOLING, linearity=Linearity.JOINT, home="torch")
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Return the mean of each window of a sequence; see `nn.AvgPool1d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        kernel_size: the length of a window.
        stride: the distance between windows; None for `kernel_size`.
        padding: the number of zeros added on each side, at most half of the window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.
        count_include_pad: whether the zeros of the padding count as elements of a window.

    Raises:
        RuntimeError: the input has another number of dimensions, the padding is too large, or no window fits.

    Example:
        >>> torch.avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
    return _mean_of_windows(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@with_out(
    Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.POOLING,
    linearity=Linearity.JOINT,
    home="torch._C._nn",
    single_operator=True,
)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of an image; see `nn.AvgPool2d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: height and width of a window, or one number for both.
        stride: the distance between windows; None for `kernel_size`.
        padding: the number of zeros added on each side, at most half of the window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.
        count_include_pad: whether the zeros of the padding count as elements of a window.
        divisor_override: the divisor of the sums, instead of the number of elements of a window.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the input has another number of dimensions, the padding is too large, or no window fits.

    Example:
        >>> F.avg_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
        tensor([[[2.5000]]])
    """
    return _mean_of_windows(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@with_out(
    Out.OWN_DTYPE | Out.UNCHECKED,
    kind=Kind.POOLING,
    single_operator=True,
    linearity=Linearity.JOINT,
    autocast={"cpu": Autocast.FLOAT32},
    home="torch._C._nn",
)
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of a volume; see `nn.AvgPool3d` for the sizes of the result.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`.
        kernel_size: depth, height and width of a window, or one number for all.
        stride: the distance between windows; None for `kernel_size`.
        padding: the number of zeros added on each side, at most half of the window.
        ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input.
        count_include_pad: whether the zeros of the padding count as elements of a window.
        divisor_override: the divisor of the sums, instead of the number of elements of a window.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the input has another number of dimensions, the padding is too large, or no window fits.

    Example:
        >>> F.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    return _mean_of_windows(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# --- functions of `torch` ------------------------------------------------------------------------------------------

_MAX_POOL_ARGS = """\
    kernel_size: the size of a window: one number, or one for each dimension.
    stride: the distance between windows; None or () for `kernel_size`.
    padding: the number of places added on each side, at most half of the window; they are never the maximum.
    dilation: the distance between the elements of a window.
    ceil_mode: whether sizes are rounded up, so that the last window may exceed the padded input."""


@declare(kind=Kind.POOLING)
@with_args(_MAX_POOL_ARGS)
def max_pool1d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the maximum of each window of `(N, C, L)` or `(C, L)`; see `torch.nn.functional.max_pool2d`.

    >>> torch.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # a tensor without `return_indices`


@declare(kind=Kind.POOLING)
@with_args(_MAX_POOL_ARGS)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window of `(N, C, L)` or `(C, L)`, and its index.

    >>> torch.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)  # type: ignore[no-any-return]  # two tensors with `return_indices`


@declare(kind=Kind.POOLING, order=Order.IMAGE)
@with_args(_MAX_POOL_ARGS)
def max_pool2d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the maximum of each window of `(N, C, H, W)` or `(C, H, W)`; see `torch.nn.functional.max_pool2d`.

    >>> torch.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # a tensor without `return_indices`


@declare(kind=Kind.POOLING, autocast={"cpu": Autocast.FLOAT32})
@with_args(_MAX_POOL_ARGS)
def max_pool3d(
    input: Tensor, kernel_size: Dims, stride: Dims | None = (), padding: Dims = 0, dilation: Dims = 1, ceil_mode: bool = False
) -> Tensor:
    """Return the maximum of each window of `(N, C, D, H, W)` or `(C, D, H, W)`; see `torch.nn.functional.max_pool2d`.

    >>> torch.max_pool3d(torch.ones(1, 2, 2, 2), 2)
    tensor([[[[1.]]]])
    """
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)  # type: ignore[no-any-return]  # a tensor without `return_indices`


@declare(kind=Kind.POOLING)
def adaptive_max_pool1d(input: Tensor, output_size: Dims) -> tuple[Tensor, Tensor]:
    """Return the maximum of each of `output_size` windows of a sequence, and its index.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        output_size: the number of windows.

    >>> torch.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
    return adaptive_max_pool(1, input, output_size, return_indices=True)  # type: ignore[no-any-return]  # two tensors with `return_indices`


PUBLIC.update(
    max_pool1d=max_pool1d,
    max_pool1d_with_indices=max_pool1d_with_indices,
    max_pool2d=max_pool2d,
    max_pool3d=max_pool3d,
    adaptive_max_pool1d=adaptive_max_pool1d,
)

# --- to a given output size ------------------------------------------------------------------------------------------


_AVG_POOLS = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}


def adaptive_windows(length: int, count: int) -> list[tuple[int, int]]:
    """Return the starts and stops of `count` windows over `length` elements; neighbouring windows may overlap by one element."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _target(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """Return the output sizes as a tuple, with None replaced by the size of the input."""
    if input.ndim not in (n + 1, n + 2):
        if n == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' "
                f"(while checking arguments for {name})"
            )
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(input.shape)}")
    if output_size is None or isinstance(output_size, bool):
        raise TypeError(f"{name}(): argument 'output_size' must be tuple of ints, not {type(output_size).__name__}")
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * n
    whole_numbers("output_size", [size for size in sizes if size is not None])
    if len(sizes) != n:
        raise RuntimeError(f"{name}: output_size must be {n}")
    sizes = tuple(length if size is None else size for size, length in zip(sizes, input.shape[-n:], strict=True))
    if min(sizes) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{', '.join(map(str, sizes))}}}"
        )
    require_elements(name, input, first=1 if n == 3 else input.ndim - n)
    require_dtype(name, input, "floating")
    require_memory(input, (*input.shape[:-n], *sizes))
    return sizes


def require_elements(name: str, input: Tensor, first: int = 1) -> None:
    """Raise RuntimeError if a dimension, from the dimension `first` on, is empty."""
    for dim, length in enumerate(input.shape[first:], first):
        if not length:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {dim} being empty"
            )


def _equal_window_size(space: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """Return the window size if all windows have the same size and do not overlap, else None."""
    if all(size and length % size == 0 for length, size in zip(space, sizes, strict=True)):
        return [length // size for length, size in zip(space, sizes, strict=True)]
    return None


def adaptive_avg_pool(n: int, input: Tensor, output_size: Any) -> Tensor:
    """Return the means of `output_size` windows over the last `n` dimensions."""
    sizes = _target(f"adaptive_avg_pool{n}d", n, input, output_size)
    space = input.shape[-n:]
    if sizes == (1,) * n:
        output = input.mean(tuple(range(-n, 0)), keepdim=True)
        return output if n > 1 else merge_nodes(output, "SqueezeBackward1", (input,))
    kernel = _equal_window_size(space, sizes)
    output = _AVG_POOLS[n](input, tuple(kernel)) if kernel and input.numel() else _averages(n, input, sizes)
    return merge_nodes(output, "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0", (input,))


def _averages(n: int, input: Tensor, sizes: Sequence[int]) -> Tensor:
    output = with_tied_gradient(input)
    for dim, size in reversed([*enumerate(sizes, input.ndim - n)]):
        output = _window_means(output, dim, size)
    return in_format_of(output, input) if n == 2 else output


def _window_means_forward(xp: Any, input: Any, /, dim: int, size: int) -> Any:
    """Return the means of adaptive windows along one dimension. NaN or inf only affects the windows that contain it."""
    before = (slice(None),) * dim
    windows = adaptive_windows(input.shape[dim], size)
    if not windows:
        return input[(*before, slice(0, 0), ...)]
    return xp.concat([xp.mean(input[(*before, slice(*window), ...)], axis=dim, keepdims=True) for window in windows], axis=dim)


def _window_means_grad(F: Any, g: Any, input_shape: tuple[int, ...], dim: int, size: int) -> Any:
    """Return the gradient: for each element, the sum of `g / window length` over the windows that contain it."""
    before, windows = (slice(None),) * dim, adaptive_windows(input_shape[dim], size)
    if not windows:
        return F.zeros_of(g, tuple(input_shape))
    shares = [
        F.getitem_slice(g, (*before, slice(i, i + 1), ...)) * (1 / (stop - start)) for i, (start, stop) in enumerate(windows)
    ]
    bounds = sorted({bound for window in windows for bound in window})
    segments, first = [], 0
    for low, high in pairwise(bounds):  # all elements of a segment belong to the same windows
        while windows[first][1] <= low:
            first += 1
        total = shares[first]
        for i in range(first + 1, size):
            if windows[i][0] > low:
                break
            total = total + shares[i]
        segments.append(F.expand(total, (*g.shape[:dim], high - low, *g.shape[dim + 1 :])))
    return F.cat(segments, dim)


_window_means = op(
    "window_means", _window_means_forward,
    kind=Kind.POOLING, linearity=Linearity.JOINT, order=Order.ROW_MAJOR, promote="accumulate", public=False, method=False,
    out=False,
    input=_window_means_grad,
)  # fmt: skip


@composite(method=False, kind=Kind.POOLING, linearity=Linearity.JOINT, autocast=Autocast.WHOLE, home="torch")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of `output_size` windows of nearly equal length over a sequence; see `nn.AdaptiveAvgPool1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        output_size: the number of windows.

    Shape:
        The result is `(N, C, output_size)` or `(C, output_size)`.

    Example:
        >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
    return adaptive_avg_pool(1, input, output_size)


def adaptive_max_pool(n: int, input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the maxima of windows over the last `n` dimensions and, with `return_indices`, their flattened positions."""
    sizes = _target(f"adaptive_max_pool{n}d", n, input, output_size)
    require_elements(f"adaptive_max_pool{n}d", input)
    kernel = _equal_window_size(input.shape[-n:], sizes) if input.numel() else None
    result = max_pool(n, input, tuple(kernel), return_indices=return_indices) if kernel else _maxima(n, input, sizes)
    output = result[0] if isinstance(result, tuple) else result
    merge_nodes(output, "SqueezeBackward1" if n == 1 else f"AdaptiveMaxPool{n}DBackward0", (input,))
    return result if return_indices else output


def _maxima(n: int, input: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    with no_grad():
        indices = in_format_of(_max_indices(input.detach(), tuple(sizes)), input)
    return _at_indices(n, input, indices), indices


def _max_indices_forward(xp: Any, input: Any, /, sizes: Sequence[int]) -> Any:
    """Return the flattened position of each window's maximum; of equal maxima, the first one."""
    values, places, step = input, None, 1
    for dim, size in reversed([*enumerate(sizes, input.ndim - len(sizes))]):
        windows = adaptive_windows(values.shape[dim], size)
        best: Any = None
        for place in range(max((stop - start for start, stop in windows), default=1)):
            position = xp.asarray([min(start + place, stop - 1) for start, stop in windows], dtype=xp.int64)
            part = xp.take(values, position, axis=dim)
            across = tuple(size if d == dim else 1 for d in range(input.ndim))
            position = xp.broadcast_to(xp.reshape(position, across), part.shape)
            if best is None:
                best, chosen = part, position
            else:
                better = (part > best) | (part != part)
                best, chosen = xp.where(better, part, best), xp.where(better, position, chosen)
        places = chosen if places is None else chosen * step + xp.take_along_axis(places, chosen, axis=dim)
        values, step = best, step * values.shape[dim]
    return places


_max_indices = op(
    "adaptive_max_indices",
    _max_indices_forward,
    kind=Kind.POOLING,
    promote="index",
    dtypes="floating",
    public=False,
    method=False,
    out=False,
)


def max_of_windows(input: Tensor, positions: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the maximum of every window, and its position in the flattened spatial dimensions.

    `positions` has an index tensor `(..., windows, elements of a window)` for each spatial dimension.
    """
    n = len(positions)
    input = with_tied_gradient(input)
    batch, space = input.shape[:-n], input.shape[-n:]
    flat = _flat_positions(positions, space)
    sizes, elements = flat.shape[-2 * n : -n], prod(flat.shape[-n:])
    flat = flat.expand(*batch, *flat.shape[-2 * n :]).reshape(*batch, prod(sizes), elements)
    values = input.flatten(-n)
    with no_grad():
        windows = values.detach().gather(-1, flat.flatten(-2)).reshape(flat.shape)
        indices = flat.gather(-1, _position_of_maximum(windows).unsqueeze(-1)).squeeze(-1)
    output = values.gather(-1, indices)
    return output.reshape(*batch, *sizes), indices.reshape(*batch, *sizes)


def _position_of_maximum(windows: Tensor) -> Tensor:
    """Return the position of the maximum in each window: of equal maxima the first, of several NaNs the last."""
    first, last = windows.argmax(-1), windows.shape[-1] - 1 - windows.flip(-1).argmax(-1)
    return where(windows.isnan().any(-1), last, first)  # type: ignore[no-any-return]  # `where` of tensors is a tensor


def _flat_positions(positions: Sequence[Tensor], space: Sequence[int]) -> Tensor:
    """Combine the index tensors of the spatial dimensions to one of shape `(..., *windows, *elements)` for the flattened ones."""
    n = len(positions)
    flat: Any = 0
    for dim, (index, length) in enumerate(zip(positions, space, strict=True)):
        shape = [1] * (2 * n)
        shape[dim], shape[n + dim] = index.shape[-2:]
        flat = flat * length + index.reshape(*index.shape[:-2], *shape)
    return flat  # type: ignore[no-any-return]  # a sum that starts at 0
