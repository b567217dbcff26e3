"""The transforms as functions, on PIL images and on tensors of shape `(..., C, H, W)`.

Nothing here is random. Functions that work on images look up the kernel for the kind of image that they are given;
`flambeau_vision.transforms.v2` adds kernels for boxes and masks to the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .._extras import is_pil_image, pillow
from . import _pil, _tensor, _tensor_color
from ._geometry import InterpolationMode, perspective_coefficients, resized_size

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_modes_mapping",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]

Tensor = torch.Tensor
pil_modes_mapping = dict(zip(InterpolationMode, (0, 0, 2, 3, 4, 5, 1), strict=True))

# Kernels of tensor types with a meaning, such as boxes: from type to a module or object with kernels as attributes.
_special_kernels: dict[type, Any] = {}


def register_kernels(kind: type, kernels: Any) -> None:
    """Make the functions here work on tensors of type `kind`, by kernels of the same names as those in `_tensor`."""
    _special_kernels[kind] = kernels


def _kernels(img: Any) -> Any:
    if is_pil_image(img):
        return _pil
    if type(img) in _special_kernels:
        return _special_kernels[type(img)]
    if isinstance(img, Tensor):
        return _tensor
    raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")


def get_dimensions(img: Any) -> list[int]:
    """`[channels, height, width]`."""
    return _kernels(img).get_dimensions(img)


def get_image_size(img: Any) -> list[int]:
    """`[width, height]`."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Any) -> int:
    """The number of channels."""
    return get_dimensions(img)[0]


# Conversion


def _array_of(pic: Any) -> Any:
    """The pixels of a PIL image as an array of shape `(H, W, C)`."""
    import numpy as np

    array = np.array(pic)
    return array.reshape(pic.size[1], pic.size[0], len(pic.getbands()))


def pil_to_tensor(pic: Any) -> Tensor:
    """A PIL image as a tensor of shape `(C, H, W)`, its values unchanged.

    Raises:
        TypeError: if `pic` is not a PIL image.
    """
    if not is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return torch.from_numpy(_array_of(pic)).permute(2, 0, 1).contiguous()


def to_tensor(pic: Any) -> Tensor:
    """A PIL image or an array of shape `(H, W)` or `(H, W, C)` as a tensor of shape `(C, H, W)`.

    8-bit values become floats from 0 to 1; others keep their values, integer modes of PIL their dtype.

    Raises:
        TypeError: if `pic` is neither.
        ValueError: if an array has neither 2 nor 3 dimensions.

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
        array = _array_of(pic)
        if pic.mode == "1":
            array = array.astype(np.uint8) * 255
        elif array.dtype == np.uint16:
            array = array.astype(np.int16)
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    tensor = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return tensor.to(torch.get_default_dtype()).div(255) if tensor.dtype == torch.uint8 else tensor


def convert_image_dtype(image: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Change the dtype and scale the values with it: floats from 0 to 1, integers from 0 to their largest.

    Raises:
        RuntimeError: where the integer dtype is too wide for the precision of the floating dtype.
    """
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    return _tensor_color.convert_image_dtype(image, dtype)


_PIL_MODES = {  # by channels and dtype; of each the first is the default
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
    """A tensor or array as an array of shape `(H, W, C)`; floating tensors are scaled to 8 bits."""
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if not isinstance(pic, Tensor):
        return pic.reshape(*pic.shape[:2], -1)
    if pic.is_floating_point() and mode != "F":
        pic = pic.mul(255).byte()
    return pic.detach().cpu().reshape(-1, *pic.shape[-2:]).permute(1, 2, 0).numpy()


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor of shape `(C, H, W)` or `(H, W)`, or an array of shape `(H, W, C)` or `(H, W)`, as a PIL image.

    Floating tensors are taken to range from 0 to 1 and become 8-bit, unless `mode` is `F`.

    Raises:
        TypeError: if `pic` is neither, or no mode fits its dtype.
        ValueError: if it has more than four channels, or `mode` does not fit.
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
        raise ValueError(
            f"Only modes {modes} are supported for {channels} channels of {pixels.dtype}, got {mode}"
        )
    return pillow().frombytes(mode or modes[0], (width, height), pixels.tobytes())


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """`(tensor - mean) / std`, channel by channel.

    Args:
        tensor: floating image of shape `(..., C, H, W)`.
        mean: one value per channel.
        std: one value per channel.
        inplace: write into `tensor`.

    Raises:
        TypeError: if the tensor is not a floating one.
        ValueError: if it has fewer than 3 dimensions, or a `std` is zero.

    Example:
        >>> import flambeau as torch
        >>> from flambeau_vision.transforms.functional import normalize
        >>> normalize(torch.ones(1, 1, 2), mean=[0.5], std=[0.25])
        tensor([[[2., 2.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    mean = torch.as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    std = torch.as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if (std == 0).any():
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        )
    mean, std = (value.reshape(-1, 1, 1) if value.ndim == 1 else value for value in (mean, std))
    return tensor.sub_(mean).div_(std) if inplace else (tensor - mean) / std


# Geometry


def hflip(img: Any) -> Any:
    """Swap left and right."""
    return _kernels(img).hflip(img)


def vflip(img: Any) -> Any:
    """Swap top and bottom."""
    return _kernels(img).vflip(img)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Cut out a rectangle; what lies outside the image is black."""
    return _kernels(img).crop(img, top, left, height, width)


def _check_resize(size: Any, max_size: int | None) -> None:
    if isinstance(size, Sequence) and len(size) not in (1, 2):
        raise ValueError(
            f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
        )
    if max_size is None:
        return
    if isinstance(size, Sequence) and len(size) == 2:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1"
        )
    shorter = size[0] if isinstance(size, Sequence) else size
    if shorter is not None and max_size <= shorter:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}"
        )


def resize(
    img: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Scale to `size`.

    Args:
        img: a PIL image or a tensor.
        size: `(height, width)`, or the length of the shorter side; None together with `max_size`.
        interpolation: how; tensors know `NEAREST`, `NEAREST_EXACT`, `BILINEAR` and `BICUBIC`.
        max_size: where only the shorter side is given, the longer side is at most this.
        antialias: average over the pixels that shrink into one (tensors; PIL images always do).
    """
    _check_resize(size, max_size)
    kernels, mode = _kernels(img), InterpolationMode.of(interpolation)
    _, height, width = kernels.get_dimensions(img)
    new_size = resized_size(height, width, size, max_size)
    return img if new_size == (height, width) else kernels.resize(img, new_size, mode, antialias)


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Cut out a rectangle, then `resize` it."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def four_sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    if isinstance(padding, int):
        return (padding,) * 4
    if not isinstance(padding, tuple | list):
        raise TypeError("Got inappropriate padding arg")
    if len(padding) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
        )
    return tuple(padding) * (4 // len(padding))


def pad(
    img: Any, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"
) -> Any:
    """Add a border.

    Args:
        img: a PIL image or a tensor.
        padding: one width for all sides, `(left and right, top and bottom)` or `(left, top, right, bottom)`.
        fill: the value of the border, or one per channel.
        padding_mode: `constant`; `edge` (repeat the last pixel); `reflect` (mirror, without the last pixel);
            `symmetric` (mirror, with the last pixel).
    """
    sides = four_sides(padding)
    if not isinstance(fill, int | float | tuple | list):
        raise TypeError("Got inappropriate fill arg")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    return _kernels(img).pad(img, sides, fill, padding_mode)


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return tuple(size)


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Cut `(height, width)` out of the middle; an image that is smaller is first padded with black."""
    crop_height, crop_width = _pair(output_size)
    _, height, width = get_dimensions(img)
    missing_x, missing_y = max(crop_width - width, 0), max(crop_height - height, 0)
    if missing_x or missing_y:
        img = pad(img, [missing_x // 2, missing_y // 2, (missing_x + 1) // 2, (missing_y + 1) // 2])
        _, height, width = get_dimensions(img)
    top, left = round((height - crop_height) / 2.0), round((width - crop_width) / 2.0)
    return crop(img, top, left, crop_height, crop_width)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """The four corners and the middle: top left, top right, bottom left, bottom right, centre.

    Raises:
        ValueError: if `size` is larger than the image.
    """
    crop_height, crop_width = _pair(size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    down, right = height - crop_height, width - crop_width
    corners = [crop(img, top, left, crop_height, crop_width) for top in (0, down) for left in (0, right)]
    return (*corners, center_crop(img, [crop_height, crop_width]))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """`five_crop` of the image, and of its mirror image."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def _shear_pair(shear: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(shear, int | float):
        return float(shear), 0.0
    if not isinstance(shear, tuple | list):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if len(shear) == 1:
        return shear[0], shear[0]
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return tuple(shear)


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Shear, scale and turn about the centre, then shift.

    Args:
        img: a PIL image or a tensor.
        angle: degrees clockwise.
        translate: pixels to the right and down.
        scale: factor.
        shear: degrees along x, or `(x, y)`.
        interpolation: how pixels between pixels are found.
        fill: the value outside the image, or one per channel.
        center: `(x, y)`; the middle of the image by default.
    """
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, tuple | list):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    mode = InterpolationMode.of(interpolation)
    return _kernels(img).affine(img, angle, translate, scale, _shear_pair(shear), mode, fill, center)


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Turn by `angle` degrees counter-clockwise.

    Args:
        img: a PIL image or a tensor.
        angle: degrees.
        interpolation: how pixels between pixels are found.
        expand: enlarge the canvas so that the whole turned image fits; supposes the default centre.
        center: `(x, y)`; the middle of the image by default.
        fill: the value outside the image, or one per channel.
    """
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, tuple | list):
        raise TypeError("Argument center should be a sequence")
    return _kernels(img).rotate(img, angle, InterpolationMode.of(interpolation), expand, center, fill)


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Tilt the image so that its corners move from `startpoints` to `endpoints`.

    Both are four `(x, y)`: top left, top right, bottom right, bottom left.
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    return _kernels(img).perspective(img, coefficients, InterpolationMode.of(interpolation), fill)


def _through_tensor(img: Any, function: Any) -> Any:
    """Apply a function that knows only tensors to a PIL image too."""
    return to_pil_image(function(pil_to_tensor(img)), mode=img.mode) if is_pil_image(img) else function(img)


def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Move each pixel by `displacement` of shape `(1, H, W, 2)`, in units of half the image."""
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    _, height, width = get_dimensions(img)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(
            f"Argument displacement shape should be {(1, height, width, 2)}, got {tuple(displacement.shape)}"
        )
    mode = InterpolationMode.of(interpolation)
    return _through_tensor(
        img, lambda image: _kernels(image).elastic_transform(image, displacement, mode, fill)
    )


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Blur by a Gaussian.

    Args:
        img: a PIL image or a tensor.
        kernel_size: odd width and height of the window, or one number for both.
        sigma: standard deviation along x and y, or one number; by default `0.3 * ((kernel_size - 1) / 2 - 1) + 0.8`.
    """
    sizes = list(_pair(kernel_size))
    for size in sizes:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else list(_float_pair("sigma", sigma))
    if any(value <= 0.0 for value in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigmas}")
    return _through_tensor(img, lambda image: _kernels(image).gaussian_blur(image, sizes, sigmas))


def _float_pair(name: str, value: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(value, int | float):
        return float(value), float(value)
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name} should be either float or sequence of floats. Got {type(value)}")
    if len(value) not in (1, 2):
        raise ValueError(f"If {name} is a sequence, its length should be 2. Got {len(value)}")
    return float(value[0]), float(value[-1])


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """Put `v` into the rectangle of height `h` and width `w` whose top left corner is at row `i`, column `j`."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return _kernels(img).erase(img, i, j, h, w, v, inplace)


# Colour


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Multiply all values; 0 gives black, 1 the image itself."""
    return _kernels(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Move values away from the mean grey; 0 gives even grey, 1 the image itself."""
    return _kernels(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Move colours away from grey; 0 gives a grey image, 1 the image itself."""
    return _kernels(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn the colour circle; 0.5 and -0.5 give complementary colours, 0 the image itself.

    Raises:
        ValueError: if `hue_factor` is not in [-0.5, 0.5].
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return _kernels(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """`gain * img ** gamma` on values from 0 to 1; above 1, dark parts become darker."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    return _kernels(img).adjust_gamma(img, gamma, gain)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Move pixels away from the mean of their neighbours; 0 gives a blurred image, 1 the image itself."""
    return _kernels(img).adjust_sharpness(img, sharpness_factor)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Grey, in 1 channel or in 3 equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    return _kernels(img).to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`to_grayscale`, under its name for tensors."""
    return to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """The negative."""
    return _kernels(img).invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Keep the first `bits` bits of each value (`uint8`)."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return _kernels(img).posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Invert the values from `threshold` on."""
    return _kernels(img).solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretch each channel so that its darkest value is black and its lightest white."""
    return _kernels(img).autocontrast(img)


def equalize(img: Any) -> Any:
    """Spread the values of each channel evenly over their range (`uint8`)."""
    return _kernels(img).equalize(img)
