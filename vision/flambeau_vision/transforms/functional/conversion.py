"""Convert images between PIL, NumPy and tensors, and between dtypes and value ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..._extras import is_pil_image, pillow
from .. import _tensor_color

Tensor = torch.Tensor


def _pil_to_array(pic: Any) -> Any:
    """Return the pixels of a PIL image as an array of shape `(H, W, C)`."""
    import numpy as np

    array = np.array(pic)
    return array.reshape(pic.size[1], pic.size[0], len(pic.getbands()))


def pil_to_tensor(pic: Any) -> Tensor:
    """Convert a PIL image to a tensor of shape `(C, H, W)` with the same values, uint8 for 8-bit modes.

    Args:
        pic: the PIL image.

    Raises:
        TypeError: `pic` is not a PIL image.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision.transforms.functional import pil_to_tensor
        >>> pil_to_tensor(Image.new("RGB", (2, 1), color=(255, 0, 51)))[2]
        tensor([[51, 51]], dtype=torch.uint8)
    """
    if not is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return torch.from_numpy(_pil_to_array(pic)).permute(2, 0, 1).contiguous()


def to_tensor(pic: Any) -> Tensor:
    """Convert a PIL image or a NumPy array to a tensor of shape `(C, H, W)`; 8-bit values are scaled to `[0, 1]`.

    Other values are not scaled; images of the integer modes of PIL keep their dtype.

    Args:
        pic: the PIL image, or an array of shape `(H, W)` or `(H, W, C)`.

    Raises:
        TypeError: `pic` is neither a PIL image nor an array.
        ValueError: an array does not have 2 or 3 dimensions.

    Example:
        >>> import numpy as np
        >>> from flambeau_vision.transforms.functional import to_tensor
        >>> to_tensor(np.array([[0, 51], [102, 255]], dtype=np.uint8))
        tensor([[[0.0000, 0.2000],
                 [0.4000, 1.0000]]])
    """
    import numpy as np

    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic.reshape(*pic.shape[:2], -1)
    elif is_pil_image(pic):
        array = _pil_to_array(pic)
        if pic.mode == "1":
            array = array.astype(np.uint8) * 255
        elif array.dtype == np.uint16:
            array = array.astype(np.int16)
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    tensor = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return tensor.to(torch.get_default_dtype()).div(255) if tensor.dtype == torch.uint8 else tensor


def convert_image_dtype(image: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Convert the dtype and scale the values: floats range from 0 to 1, integers from 0 to their maximum.

    Args:
        image: a tensor of any shape.
        dtype: the dtype to convert to.

    Raises:
        TypeError: `image` is not a tensor.
        RuntimeError: `image` is floating-point and its dtype cannot represent all integers of `dtype`: float32 to int32.

    Example:
        >>> from flambeau_vision.transforms.functional import convert_image_dtype
        >>> convert_image_dtype(torch.tensor([0, 51, 255], dtype=torch.uint8))
        tensor([0.0000, 0.2000, 1.0000])
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    return _tensor_color.convert_image_dtype(image, dtype)


_PIL_MODES = {  # maps (channels, dtype) to the possible modes; the first is the default
    (1, "uint8"): ("L",),
    (1, "int16"): ("I;16",),
    (1, "uint16"): ("I;16",),
    (1, "int32"): ("I",),
    (1, "float32"): ("F",),
    (2, "uint8"): ("LA",),
    (3, "uint8"): ("RGB", "YCbCr", "HSV"),
    (4, "uint8"): ("RGBA", "CMYK", "RGBX"),
}


def _pixels_for_pil(pic: Any, mode: str | None) -> Any:
    """Convert a tensor or array to an array of shape `(H, W, C)`; floating-point tensors are scaled to 8 bits."""
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if not isinstance(pic, Tensor):
        return pic.reshape(*pic.shape[:2], -1)
    if pic.is_floating_point() and mode != "F":
        pic = pic.mul(255).byte()
    return pic.detach().cpu().reshape(-1, *pic.shape[-2:]).permute(1, 2, 0).numpy()


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Convert a tensor or a NumPy array to a PIL image.

    Floating-point tensors with values in `[0, 1]` are scaled to 8 bits, unless `mode` is `"F"`.

    Args:
        pic: a tensor of shape `(C, H, W)` or `(H, W)`, or an array of shape `(H, W, C)` or `(H, W)`.
        mode: the mode of the PIL image, such as `"RGB"` or `"CMYK"`; None to infer it from the channels and the dtype.

    Raises:
        TypeError: `pic` is neither a tensor nor an array, or no mode supports its dtype.
        ValueError: `pic` has more than four channels, or `mode` does not match the channels and the dtype.

    Example:
        >>> from flambeau_vision.transforms.functional import to_pil_image
        >>> image = to_pil_image(torch.ones(3, 4, 5))
        >>> image.mode, image.size, image.getpixel((0, 0))
        ('RGB', (5, 4), (255, 255, 255))
    """
    import numpy as np

    if not isinstance(pic, Tensor | np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    pixels = _pixels_for_pil(pic, mode)
    height, width, channels = pixels.shape
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    modes = _PIL_MODES.get((channels, str(pixels.dtype)))
    if modes is None:
        raise TypeError(f"Input type {pixels.dtype} with {channels} channels is not supported")
    if mode is not None and mode not in modes:
        raise ValueError(f"Only modes {modes} are supported for {channels} channels of {pixels.dtype}, got {mode}")
    return pillow().frombytes(mode or modes[0], (width, height), pixels.tobytes())


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Compute `(tensor - mean) / std` per channel.

    Args:
        tensor: floating-point image of shape `(..., C, H, W)`.
        mean: the mean to subtract, one value per channel.
        std: the standard deviation to divide by, one nonzero value per channel.
        inplace: whether to modify `tensor` in place.

    Raises:
        TypeError: `tensor` is not a floating-point tensor.
        ValueError: `tensor` has fewer than 3 dimensions, or a value of `std` is zero.

    Example:
        >>> from flambeau_vision.transforms.functional import normalize
        >>> normalize(torch.ones(1, 1, 2), mean=[0.5], std=[0.25])
        tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}")
    mean = torch.as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    std = torch.as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if (std == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    mean, std = (value.reshape(-1, 1, 1) if value.ndim == 1 else value for value in (mean, std))
    return (tensor.sub_(mean) if inplace else tensor.sub(mean)).div_(std)


def apply_via_tensor(img: Any, function: Any) -> Any:
    """Apply a function of tensors to a tensor or a PIL image. A PIL image is converted to a tensor and back."""
    return to_pil_image(function(pil_to_tensor(img)), mode=img.mode) if is_pil_image(img) else function(img)
