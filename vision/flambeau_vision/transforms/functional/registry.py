"""Registry that maps image types to kernels: the functions that compute a transform for that type."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ..._extras import is_pil_image
from .. import _pil, _tensor

Tensor = torch.Tensor

# Maps each tensor subclass, such as that of boxes, to an object whose attributes are kernels.
_special_kernels: dict[type, Any] = {}


def register_kernels(kind: type, kernels: Any) -> None:
    """Make the functions of this package support a tensor subclass, by registering its kernels.

    Args:
        kind: the tensor subclass.
        kernels: an object whose attributes are the kernels; they have the names of the kernels in `_tensor`.
    """
    _special_kernels[kind] = kernels


def kernels_for(img: Any) -> Any:
    if is_pil_image(img):
        return _pil
    if isinstance(img, Tensor):
        for kind in type(img).__mro__:
            if kind in _special_kernels:
                return _special_kernels[kind]
            if kind is Tensor:
                return _tensor
    raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")


def get_dimensions(img: Any) -> list[int]:
    """Return `[channels, height, width]` of an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms.functional import get_dimensions
        >>> get_dimensions(torch.zeros(3, 4, 5))
        [3, 4, 5]
    """
    return kernels_for(img).get_dimensions(img)


def get_image_size(img: Any) -> list[int]:
    """Return `[width, height]` of an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms.functional import get_image_size
        >>> get_image_size(torch.zeros(3, 4, 5))
        [5, 4]
    """
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """Return the number of channels of an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms.functional import get_image_num_channels
        >>> get_image_num_channels(torch.zeros(3, 4, 5))
        3
    """
    return get_dimensions(img)[0]
