"""Pooling."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor, avg_pool1d
from flambeau.ops import pooling as ops
from flambeau.ops.pooling import avg_pool2d, avg_pool3d

__all__ = ["avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d"]


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
