"""The memory format of convolution weights."""

from __future__ import annotations

from typing import TypeVar

import flambeau as torch

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

AnyModule = TypeVar("AnyModule", bound=Module)


def convert_conv2d_weight_memory_format(module: AnyModule, memory_format: torch.memory_format) -> AnyModule:
    """Convert the weights of all 2-D convolutions in a module, including transposed ones, in place.

    Args:
        module: a convolution, or a module that contains convolutions; it is returned.
        memory_format: the order of the elements in memory, `torch.channels_last` or `torch.contiguous_format`.

    Example:
        >>> conv = convert_conv2d_weight_memory_format(torch.nn.Conv2d(4, 4, 3), torch.channels_last)
        >>> conv.weight.is_contiguous(memory_format=torch.channels_last)
        True
    """
    return convert_weights(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: AnyModule, memory_format: torch.memory_format) -> AnyModule:
    """Convert the weights of all 3-D convolutions in a module, including transposed ones, in place.

    Args:
        module: a convolution, or a module that contains convolutions; it is returned.
        memory_format: the order of the elements in memory, `torch.channels_last_3d` or `torch.contiguous_format`.

    Example:
        >>> conv = convert_conv3d_weight_memory_format(torch.nn.Conv3d(4, 4, 3), torch.channels_last_3d)
        >>> conv.weight.is_contiguous(memory_format=torch.channels_last_3d)
        True
    """
    return convert_weights(module, (Conv3d, ConvTranspose3d), memory_format)


def convert_weights(module: AnyModule, kinds: tuple[type[Module], ...], memory_format: torch.memory_format) -> AnyModule:
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module
