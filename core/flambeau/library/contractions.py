"""PyTorch's decomposition of `linear`, `matmul` and convolutions, for modes that intercept operators.

Tools that count operations look for `aten.mm`, `addmm`, `bmm` and `convolution`, which PyTorch calls for these functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from .ops import ops

__all__ = ["DECOMPOSITIONS"]

Tensor = torch.Tensor


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute `input @ weight.t() + bias` by `addmm` or `mm` of the input's rows."""
    if weight.ndim != 2:
        return _matmul(input, weight) if bias is None else _matmul(input, weight).add(bias)
    shape = (*input.shape[:-1], weight.shape[0])
    rows = input if input.ndim == 2 else input.reshape(-1, input.shape[-1])
    result = rows.mm(weight.t()) if bias is None else torch.addmm(bias, rows, weight.t())
    return result if input.ndim == 2 else result.view(shape)


def _matmul(input: Tensor, other: Tensor) -> Tensor:
    """Compute a product by `dot`, `mv`, `mm` or `bmm`, depending on the numbers of dimensions."""
    dims = (input.ndim, other.ndim)
    if dims == (1, 1):
        return input.dot(other)
    if dims == (2, 1):
        return input.mv(other)
    if dims == (1, 2):
        return input.unsqueeze(0).mm(other).squeeze(0)
    if dims == (2, 2):
        return input.mm(other)
    if input.ndim >= 3 and other.ndim <= 2:
        rows = input.reshape(-1, input.shape[-1])
        product = rows.mv(other) if other.ndim == 1 else rows.mm(other)
        return product.view((*input.shape[:-1], *other.shape[1:]))
    left = input.unsqueeze(0) if input.ndim == 1 else input
    right = other.unsqueeze(1) if other.ndim == 1 else other
    batch = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    count = math.prod(batch)
    left_matrices = left.expand(*batch, *left.shape[-2:]).reshape(count, *left.shape[-2:])
    right_matrices = right.expand(*batch, *right.shape[-2:]).reshape(count, *right.shape[-2:])
    outer, columns = (() if input.ndim == 1 else left.shape[-2:-1]), (() if other.ndim == 1 else right.shape[-1:])
    return left_matrices.bmm(right_matrices).view((*batch, *outer, *columns))


def _each(value: int | Sequence[int], dims: int) -> list[int]:
    """Return one value for each spatial dimension."""
    values = [value] if isinstance(value, int) else list(value)
    return values * dims if len(values) == 1 else values


def _convolve(input: Tensor, weight: Tensor, dims: int, *args: Any) -> Tensor:
    """Call `aten.convolution` for an input with or without a batch."""
    single = input.ndim == dims + 1
    result: Tensor = ops.aten.convolution.default(input.unsqueeze(0) if single else input, weight, *args)
    return result.squeeze(0) if single else result


def _convolution(dims: int) -> Callable[..., Tensor]:
    """Return the decomposition of a convolution with the given number of spatial dimensions."""

    def convolution(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:  # fmt: skip
        steps = _each(dilation, dims)
        if padding == "same":
            totals = [step * (size - 1) for step, size in zip(steps, weight.shape[2:], strict=True)]
            odd = [total % 2 for total in totals]
            if any(odd):
                input = torch.nn.functional.pad(input, [side for last in reversed(odd) for side in (0, last)])
            padding = [total // 2 for total in totals]
        elif padding == "valid":
            padding = 0
        sizes = (_each(stride, dims), _each(padding, dims), steps)
        return _convolve(input, weight, dims, bias, *sizes, False, [0] * dims, groups)

    return convolution


def _transposed_convolution(dims: int) -> Callable[..., Tensor]:
    """Return the decomposition of a transposed convolution with the given number of spatial dimensions."""

    def convolution(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        sizes = (_each(stride, dims), _each(padding, dims), _each(dilation, dims))
        return _convolve(input, weight, dims, bias, *sizes, True, _each(output_padding, dims), groups)

    return convolution


DECOMPOSITIONS: dict[str, Callable[..., Tensor]] = {
    "linear": _linear,
    "matmul": _matmul,
    **{f"conv{dims}d": _convolution(dims) for dims in (1, 2, 3)},
    **{f"conv_transpose{dims}d": _transposed_convolution(dims) for dims in (1, 2, 3)},
}
