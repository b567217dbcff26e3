"""Which kernels serve which kind of image."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ..._extras import is_pil_image
from .. import _pil, _tensor

Tensor = torch.Tensor

# Kernels of tensor types with a meaning, such as boxes: from type to a module or object with kernels as attributes.
_special_kernels: dict[type, Any] = {}


def register_kernels(kind: type, kernels: Any) -> None:
    """Make the functions here work on tensors of type `kind`, by kernels of the same names as those in `_tensor`."""
    _special_kernels[kind] = kernels


def kernels_for(img: Any) -> Any:
    if is_pil_image(img):
        return _pil
    if type(img) in _special_kernels:
        return _special_kernels[type(img)]
    if isinstance(img, Tensor):
        return _tensor
    raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")


def get_dimensions(img: Any) -> list[int]:
    """`[channels, height, width]`."""
    return kernels_for(img).get_dimensions(img)


def get_image_size(img: Any) -> list[int]:
    """`[width, height]`."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """The number of channels."""
    return get_dimensions(img)[0]
