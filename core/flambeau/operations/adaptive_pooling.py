"""Pooling to a given output size: windows that divide the input as evenly as possible, or at given positions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ..engine.calls.dispatch import require_dtype, whole_numbers
from ..engine.calls.node_names import gathered
from ..engine.calls.op import composite, op
from ..engine.tape.grad_mode import no_grad
from ..engine.tape.node import shown_as
from ..engine.tensors.tensor import Tensor
from .comparison import where
from .conversion import in_format_of
from .creation import tensor
from .pooling import avg_pool1d, avg_pool2d, avg_pool3d, max_pool
from .views import with_tied_gradient

__all__ = ["adaptive_avg_pool", "adaptive_avg_pool1d", "adaptive_max_pool", "max_of_windows"]

_AVG_POOLS = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}


def adaptive_windows(length: int, count: int) -> list[tuple[int, int]]:
    """`count` windows over `length` elements, which may overlap by one."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _target(name: str, n: int, input: Tensor, output_size: Any) -> tuple[int, ...]:
    """The output size as a tuple; None stands for the input's own size."""
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
    for dim, length in enumerate(input.shape[-n:], input.ndim - n):
        if not length:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {dim} being empty"
            )
    require_dtype(name, input, "floating")
    return sizes


def _equal_window_size(space: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """The window size where all windows are equally large and do not overlap, else None."""
    if all(size and length % size == 0 for length, size in zip(space, sizes, strict=True)):
        return [length // size for length, size in zip(space, sizes, strict=True)]
    return None


def adaptive_avg_pool(n: int, input: Tensor, output_size: Any) -> Tensor:
    """Means of windows over the last `n` dimensions, as many as `output_size` says."""
    sizes = _target(f"adaptive_avg_pool{n}d", n, input, output_size)
    space = input.shape[-n:]
    if sizes == (1,) * n:
        output = input.mean(tuple(range(-n, 0)), keepdim=True)
        return output if n > 1 else shown_as(output, "SqueezeBackward1")
    kernel = _equal_window_size(space, sizes)
    output = _AVG_POOLS[n](input, tuple(kernel)) if kernel and input.numel() else _averages(n, input, sizes)
    return gathered(output, f"AdaptiveAvgPool{n}DBackward0", (input,)) if n > 1 else shown_as(output, "SqueezeBackward1")


def _averages(n: int, input: Tensor, sizes: Sequence[int]) -> Tensor:
    output = with_tied_gradient(input)
    for dim, size in reversed([*enumerate(sizes, input.ndim - n)]):
        matrix = tensor(_averaging(output.shape[dim], size), dtype=output.dtype, device=output.device)
        matrix = matrix.reshape(output.shape[dim], size)
        if dim == output.ndim - 2:
            output = matrix.mT @ output
        else:
            output = (output.transpose(dim, -1) @ matrix).transpose(dim, -1)
    return in_format_of(output.contiguous(), input) if n == 2 else output.contiguous()


@lru_cache(64)
def _averaging(length: int, count: int) -> list[list[float]]:
    """The matrix whose columns take the means of the windows."""
    return [
        [1 / (stop - start) if start <= i < stop else 0.0 for start, stop in adaptive_windows(length, count)]
        for i in range(length)
    ]


@composite(method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` windows that divide a sequence as evenly as possible; see `nn.AdaptiveAvgPool1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`.
        output_size: the number of windows.

    Shape:
        The result is `(N, C, output_size)` or `(C, output_size)`.

    Example:
        >>> import flambeau as torch
        >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
        tensor([[1.5000, 3.5000]])
    """
    return adaptive_avg_pool(1, input, output_size)


def adaptive_max_pool(n: int, input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of windows over the last `n` dimensions and, if asked for, where in them (flattened) they are."""
    sizes = _target(f"adaptive_max_pool{n}d", n, input, output_size)
    kernel = _equal_window_size(input.shape[-n:], sizes)
    result = max_pool(n, input, tuple(kernel), return_indices=return_indices) if kernel else _maxima(n, input, sizes)
    output = result[0] if isinstance(result, tuple) else result
    if n > 1:
        gathered(output, f"AdaptiveMaxPool{n}DBackward0", (input,))
    else:
        shown_as(output, "SqueezeBackward1")
    return result if return_indices else output


def _maxima(n: int, input: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    with no_grad():
        indices = _max_indices(input.detach(), tuple(sizes))
    output = with_tied_gradient(input).flatten(-n).gather(-1, indices.flatten(-n)).reshape(indices.shape)
    return in_format_of(output, input), in_format_of(indices, input)


def _max_indices_forward(xp: Any, input: Any, /, sizes: Sequence[int]) -> Any:
    """For each window, where in the flattened space its maximum is: along the last dimension first, so that the first counts."""
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
    "adaptive_max_indices", _max_indices_forward, promote="index", dtypes="floating", public=False, method=False, out=False
)


def max_of_windows(input: Tensor, positions: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The maximum of every window, and where in the flattened space it is.

    `positions` has an index tensor `(..., windows, elements of a window)` for each dimension of space.
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
    """Where in its window each maximum is: the first of equal ones, but the last of NaNs."""
    first, last = windows.argmax(-1), windows.shape[-1] - 1 - windows.flip(-1).argmax(-1)
    return where(windows.isnan().any(-1), last, first)  # type: ignore[no-any-return]  # `where` of tensors is a tensor


def _flat_positions(positions: Sequence[Tensor], space: Sequence[int]) -> Tensor:
    """Indices `(..., windows of each dimension, elements of each dimension)` into the flattened space."""
    n = len(positions)
    flat: Any = 0
    for dim, (index, length) in enumerate(zip(positions, space, strict=True)):
        shape = [1] * (2 * n)
        shape[dim], shape[n + dim] = index.shape[-2:]
        flat = flat * length + index.reshape(*index.shape[:-2], *shape)
    return flat  # type: ignore[no-any-return]  # a sum that starts at 0
