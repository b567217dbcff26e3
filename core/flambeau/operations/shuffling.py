"""Move elements between channels and spatial dimensions: pixel and channel shuffles."""

from __future__ import annotations

from typing import Any

from ..engine.calls.facts import Kind
from ..engine.calls.op import composite
from ..engine.tensors.tensor import Tensor
from ..engine.values.constants import contiguous_format
from .conversion import in_format_of

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def _check(name: str, input: Tensor, factor_name: str, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {factor_name}, but got {factor}")


def _copied(moved: Tensor, shape: Any, input: Tensor) -> Tensor:
    """Copy the permuted view `moved` to a contiguous tensor of `shape`, in the memory format of the input."""
    return in_format_of(moved.clone(memory_format=contiguous_format).reshape(shape), input)


@composite(method=False, grad_fn="PixelShuffleBackward0", kind=Kind.MOVEMENT, home="torch")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Turn every `r * r` channels into one channel with `r` times the height and width; see `nn.PixelShuffle`.

    Shi et al., *Real-time single image and video super-resolution using an efficient sub-pixel convolutional network*, 2016.

    Args:
        input: a tensor `(*, C * r * r, H, W)`.
        upscale_factor: the factor `r`.

    Shape:
        The result is `(*, C, H * r, W * r)`.

    Raises:
        RuntimeError: the square of `upscale_factor` does not divide the number of channels.

    Example:
        >>> torch.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
        tensor([[[0., 1.],
                 [2., 3.]]])
    """
    r = upscale_factor
    _check("pixel_shuffle", input, "upscale_factor", r)
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(batch)
    split = input.reshape(*batch, channels // (r * r), r, r, height, width)
    moved = split.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _copied(moved, (*batch, channels // (r * r), height * r, width * r), input)


@composite(method=False, grad_fn="PixelUnshuffleBackward0", kind=Kind.MOVEMENT, home="torch")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Turn blocks of `r * r` pixels into channels, the inverse of `pixel_shuffle`; see `nn.PixelUnshuffle`.

    Args:
        input: a tensor `(*, C, H * r, W * r)`.
        downscale_factor: the factor `r`.

    Shape:
        The result is `(*, C * r * r, H, W)`.

    Raises:
        RuntimeError: `downscale_factor` does not divide height and width.

    Example:
        >>> torch.pixel_unshuffle(torch.arange(4.0).reshape(1, 2, 2), 2).shape
        torch.Size([4, 1, 1])
    """
    r = downscale_factor
    _check("pixel_unshuffle", input, "downscale_factor", r)
    *batch, channels, height, width = input.shape
    for name, length, dim in (("height", height, -2), ("width", width, -1)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={length} is not divisible by {r}"
            )
    n = len(batch)
    split = input.reshape(*batch, channels, height // r, r, width // r, r)
    moved = split.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _copied(moved, (*batch, channels * r * r, height // r, width // r), input)


@composite(method=False, grad_fn="ChannelShuffleBackward0", kind=Kind.MOVEMENT, home="torch")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder the channels so that they are taken from each of `groups` groups in turn; see `nn.ChannelShuffle`.

    Zhang et al., *ShuffleNet*, 2018.

    Args:
        input: a tensor `(N, C, *)`.
        groups: a number that divides `C`.

    Shape:
        The result is `(N, C, *)`.

    Raises:
        RuntimeError: `groups` does not divide the number of channels.

    Example:
        >>> torch.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *space = input.shape
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    split = input.reshape(batch, groups, channels // groups, *space)
    return _copied(split.transpose(1, 2), input.shape, input)
