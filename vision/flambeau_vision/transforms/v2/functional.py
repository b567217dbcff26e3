"""Transforms of version 2 as functions of images, boxes, points and masks. The result has the type of the input."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ..._extras import is_pil_image, pillow
from ...io import decode_image, encode_jpeg
from .. import _tensor
from .. import functional as F
from .._geometry import InterpolationMode
from ..functional import (
    get_dimensions,
    get_image_num_channels,
    pil_to_tensor,
    to_pil_image,
)
from ..functional.geometry import resize_with_kernel
from ..functional.registry import kernels_for, register_kernels
from . import _color
from ._color import with_tensor_kernel
from ._functions_by_type import function_for_type
from ._kernels import clamp_boxes, clamp_points, convert_boxes, is_rotated
from ._typed import ANNOTATIONS as _ANNOTATIONS
from ._typed import register_user_kernel, typed

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
    "clamp_bounding_boxes",
    "clamp_keypoints",
    "convert_bounding_box_format",
    "convert_image_dtype",
    "crop",
    "elastic",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "gaussian_noise",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "get_num_channels",
    "get_num_frames",
    "get_size",
    "grayscale_to_rgb",
    "hflip",
    "horizontal_flip",
    "invert",
    "is_pure_tensor",
    "jpeg",
    "normalize",
    "pad",
    "permute_channels",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "register_kernel",
    "register_kernels",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "sanitize_bounding_boxes",
    "sanitize_keypoints",
    "solarize",
    "ten_crop",
    "to_dtype",
    "to_grayscale",
    "to_image",
    "to_pil_image",
    "to_pure_tensor",
    "to_tensor",
    "uniform_temporal_subsample",
    "vertical_flip",
    "vflip",
]

get_num_channels = get_image_num_channels
convert_image_dtype = typed(with_tensor_kernel(_color.convert_image_dtype, F.convert_image_dtype))
five_crop, ten_crop = typed(F.five_crop), typed(F.ten_crop)

hflip = horizontal_flip = typed(F.hflip)
vflip = vertical_flip = typed(F.vflip)
crop = typed(F.crop)
center_crop = typed(F.center_crop)
affine = typed(F.affine)
elastic = elastic_transform = typed(F.elastic_transform)
normalize = typed(F.normalize)
gaussian_blur = typed(F.gaussian_blur)
adjust_brightness = typed(with_tensor_kernel(_color.adjust_brightness, F.adjust_brightness))
adjust_contrast = typed(with_tensor_kernel(_color.adjust_contrast, F.adjust_contrast))
adjust_gamma = typed(with_tensor_kernel(_color.adjust_gamma, F.adjust_gamma))
adjust_hue = typed(with_tensor_kernel(_color.adjust_hue, F.adjust_hue))
adjust_saturation = typed(with_tensor_kernel(_color.adjust_saturation, F.adjust_saturation))
adjust_sharpness = typed(with_tensor_kernel(_color.adjust_sharpness, F.adjust_sharpness))
autocontrast = typed(with_tensor_kernel(_color.autocontrast, F.autocontrast))
invert = typed(F.invert)
solarize = typed(with_tensor_kernel(_color.solarize, F.solarize))
rgb_to_grayscale = typed(with_tensor_kernel(_color.to_grayscale, F.rgb_to_grayscale))
to_grayscale = typed(with_tensor_kernel(_color.to_grayscale, F.to_grayscale))


@typed
def pad(
    inpt: Any,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Any:
    """Pad an image, boxes, points or a mask, like `flambeau_vision.transforms.functional.pad`.

    If `fill` is None, the border is 0.
    """
    return F.pad(inpt, padding, 0 if fill is None else fill, padding_mode)


@typed
def perspective(
    inpt: Any,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Any = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    """Apply the perspective transform that maps `startpoints` to `endpoints`.

    Args:
        inpt: an image, boxes, points or a mask.
        startpoints: the four corners `(x, y)`: upper left, upper right, lower right, lower left.
        endpoints: `(x, y)` of the corners after the transform, in the same order.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel.
        coefficients: the eight coefficients of the map from output pixels to input pixels; they replace `startpoints` and
            `endpoints`.

    Raises:
        ValueError: both or neither of points and coefficients are given, or the number of coefficients is not eight.

    Example:
        >>> from flambeau_vision.transforms.v2.functional import perspective
        >>> image = torch.tensor([[[10, 20, 30]]], dtype=torch.uint8)
        >>> perspective(image, None, None, coefficients=[-1, 0, 3, 0, 1, 0, 0, 0])
        tensor([[[30, 20, 10]]], dtype=torch.uint8)
    """
    if coefficients is None:
        if startpoints is None or endpoints is None:
            raise ValueError("Either the startpoints/endpoints or the coefficients must have non `None` values.")
        return F.perspective(inpt, startpoints, endpoints, interpolation, fill)
    if startpoints is not None and endpoints is not None:
        raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
    if len(coefficients) != 8:
        raise ValueError("Argument coefficients should have 8 float values")
    return kernels_for(inpt).perspective(inpt, list(coefficients), InterpolationMode.of(interpolation), fill)


@typed
def rotate(
    inpt: Any,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Any:
    """Rotate counter-clockwise. Rotations of tensors by multiples of 90 degrees about the centre are exact.

    Args:
        inpt: an image, boxes, points or a mask.
        angle: rotation angle in degrees, counter-clockwise.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        expand: whether to enlarge the canvas so that the whole rotated image fits.
        center: centre `(x, y)` of the rotation, in pixels from the upper left corner; None for the centre of the image.
        fill: value of the pixels outside the image, a number or one per channel.

    Example:
        >>> from flambeau_vision.transforms.v2.functional import rotate
        >>> rotate(torch.tensor([[[1, 2, 3]]]), 90, expand=True).tolist()
        [[[3], [2], [1]]]
    """
    turns, rest = divmod(angle % 360, 90)
    pixels = isinstance(inpt, torch.Tensor) and not isinstance(inpt, tv_tensors.BoundingBoxes | tv_tensors.KeyPoints)
    if pixels and rest == 0 and center is None and (turns % 2 == 0 or expand or inpt.shape[-1] == inpt.shape[-2]):
        return torch.rot90(inpt, int(turns), (-2, -1)) if turns else inpt.clone()
    return F.rotate(inpt, angle, interpolation, expand, center, fill)


@typed
def resize(
    inpt: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Resize an image, boxes or a mask. Integer arithmetic is used for uint8 tensors on the CPU, as in Pillow.

    Args:
        inpt: an image, boxes or a mask.
        size: `(height, width)`, or an int for the length of the shorter side, or None to make the longer side `max_size` long.
        interpolation: a mode or its name; tensors support all except `BOX` and `HAMMING`, masks only `NEAREST` and
            `NEAREST_EXACT`.
        max_size: largest length of the longer side, if `size` is an int.
        antialias: whether to smooth images when downscaling; required for `LANCZOS`.

    Example:
        >>> from flambeau_vision.transforms.v2.functional import resize
        >>> resize(torch.tensor([[[0, 100, 200, 100]]], dtype=torch.uint8), (1, 2), "lanczos")
        tensor([[[ 68, 153]]], dtype=torch.uint8)
    """
    return resize_with_kernel(_tensor.resize_v2, inpt, size, interpolation, max_size, antialias)


@typed
def resized_crop(
    inpt: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Crop a rectangle of an image, boxes, points or a mask, then resize it with `resize`."""
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


@typed
def erase(inpt: Any, i: int, j: int, h: int, w: int, v: torch.Tensor, inplace: bool = False) -> Any:
    """Overwrite a rectangle of an image with the values `v`: `h` rows from row `i`, and `w` columns from column `j`."""
    if is_pil_image(inpt):
        return to_pil_image(F.erase(pil_to_tensor(inpt), i, j, h, w, v), mode=inpt.mode)
    return F.erase(inpt, i, j, h, w, v, inplace)


def _is_floating_image(inpt: Any) -> bool:
    is_tensor = isinstance(inpt, torch.Tensor) and inpt.is_floating_point()
    return is_tensor and not isinstance(inpt, _ANNOTATIONS)


@typed
def posterize(inpt: Any, bits: int) -> Any:
    """Keep only the highest `bits` bits of each pixel value. Floating-point images are reduced to `2 ** bits` levels."""
    if not _is_floating_image(inpt):
        return F.posterize(inpt, bits)
    levels = 2**bits
    return (inpt * levels).floor().clamp(0, levels - 1) / levels


@typed
def equalize(inpt: Any) -> Any:
    """Equalize the histogram of each channel of an image. Floating-point images are quantized to 256 levels."""
    if not _is_floating_image(inpt):
        return F.equalize(inpt)
    return to_dtype(F.equalize(to_dtype(inpt, torch.uint8, scale=True)), inpt.dtype, scale=True)


def register_kernel(functional: Callable | str, tv_tensor_cls: type) -> Callable[[Callable], Callable]:
    """Return a decorator that registers a kernel of a function for a user-defined type. Functions and transforms use the kernel.

    The kernel is called with the tensor and all other arguments of the function. Without a kernel, transforms return the tensor
    unchanged and functions raise a `TypeError`. Types derived from a built-in type, such as `Image` or
    `BoundingBoxes`, inherit the kernels of that type.

    Args:
        functional: a function of this module, or its name.
        tv_tensor_cls: a class derived from `flambeau_vision.tv_tensors.TVTensor`.

    Raises:
        ValueError: the function is unknown, the class is not a user-defined `TVTensor`, or it already has a kernel.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> class Heights(tv_tensors.TVTensor):
        ...     pass
        >>> @v2.functional.register_kernel("hflip", Heights)
        ... def hflip_heights(heights, **kwargs):
        ...     return tv_tensors.wrap(heights.flip(-1), like=heights)
        >>> heights = torch.tensor([1, 2, 3]).as_subclass(Heights)
        >>> image, heights = v2.RandomHorizontalFlip(p=1.0)(torch.rand(3, 4, 3), heights)
        >>> heights.tolist()
        [3, 2, 1]
    """
    if isinstance(functional, str):
        if functional not in __all__:
            raise ValueError(f"Could not find functional with name '{functional}' in {__name__}.")
        functional = globals()[functional]
    return register_user_kernel(functional, tv_tensor_cls)


def get_num_frames(inpt: torch.Tensor) -> int:
    """Return T, the number of frames of a video `(..., T, C, H, W)`."""
    return inpt.shape[-4]


def get_image_size(inpt: Any) -> list[int]:
    """Return `[width, height]` of an image. Deprecated: use `get_size`, which returns `[height, width]`."""
    warnings.warn(
        "The function `get_image_size(...)` is deprecated and will be removed in a future release. "
        "Instead, please use `get_size(...)` which returns `[h, w]` instead of `[w, h]`.",
        stacklevel=2,
    )
    return F.get_image_size(inpt)


def to_tensor(inpt: Any) -> torch.Tensor:
    """Convert a PIL image or an array to a floating-point tensor. Deprecated: use `to_image` and `to_dtype`."""
    warnings.warn(
        "The function `to_tensor(...)` is deprecated and will be removed in a future release. "
        "Instead, please use `to_image(...)` followed by `to_dtype(..., dtype=torch.float32, scale=True)`.",
        stacklevel=2,
    )
    return F.to_tensor(inpt)


def is_pure_tensor(inpt: Any) -> bool:
    """Return whether `inpt` is a tensor but not a `TVTensor`."""
    return isinstance(inpt, torch.Tensor) and not isinstance(inpt, tv_tensors.TVTensor)


@typed
def grayscale_to_rgb(inpt: Any) -> Any:
    """Convert grey images to three channels; PIL images of any mode are converted to `RGB`."""
    if is_pil_image(inpt):
        return inpt.convert("RGB")
    return inpt if inpt.shape[-3] >= 3 else rgb_to_grayscale(inpt, 3)


def get_size(inpt: Any) -> list[int]:
    """Return `[height, width]` of an image or mask, or of the canvas of boxes or points."""
    return get_dimensions(inpt)[1:]


def to_image(inpt: Any) -> tv_tensors.Image:
    """Convert a tensor, an array of shape `(H, W, C)` or a PIL image to an `Image` with the same values."""
    if is_pil_image(inpt):
        inpt = pil_to_tensor(inpt)
    elif not isinstance(inpt, torch.Tensor):
        inpt = torch.from_numpy(inpt).reshape(*inpt.shape[:2], -1).permute(2, 0, 1).contiguous()
    return tv_tensors.Image(inpt)


def to_pure_tensor(inpt: torch.Tensor) -> torch.Tensor:
    """Convert a `TVTensor` to a plain tensor."""
    return inpt.as_subclass(torch.Tensor)


@typed
def to_dtype(inpt: torch.Tensor, dtype: torch.dtype = torch.float32, scale: bool = False) -> torch.Tensor:
    """Convert the dtype of a tensor.

    If `scale` is True, the values of images are scaled: floats range from 0 to 1, integers from 0 to their maximum.
    """
    is_image = not isinstance(inpt, _ANNOTATIONS)
    return _color.convert_image_dtype(inpt, dtype) if scale and is_image else inpt.to(dtype)


@typed
def permute_channels(inpt: Any, permutation: list[int]) -> Any:
    """Permute the channels of an image; boxes, points and masks are returned unchanged."""
    if isinstance(inpt, _ANNOTATIONS):
        return inpt
    if is_pil_image(inpt):
        return to_pil_image(pil_to_tensor(inpt)[permutation], mode=inpt.mode)
    return inpt[..., permutation, :, :]


@typed
def uniform_temporal_subsample(inpt: torch.Tensor, num_samples: int) -> torch.Tensor:
    """Select `num_samples` frames of a video `(..., T, C, H, W)` at equal distances, including the first and the last."""
    if not isinstance(inpt, torch.Tensor) or isinstance(inpt, (tv_tensors.Image, *_ANNOTATIONS)):
        return inpt
    indices = torch.linspace(0, inpt.shape[-4] - 1, num_samples, device=inpt.device).long()
    return torch.index_select(inpt, -4, indices)


@typed
def gaussian_noise(inpt: torch.Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> torch.Tensor:
    """Add normal noise to an image. `mean` and `sigma` of the noise are in units where white is 1.

    If `clip` is True, the result is clamped to the value range of the image.

    Raises:
        ValueError: if the image is neither floating-point nor uint8, or `sigma` is negative.
    """
    if isinstance(inpt, _ANNOTATIONS):
        return inpt
    if is_pil_image(inpt):
        raise ValueError("Gaussian Noise is not implemented for PIL images.")
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if inpt.is_floating_point():
        noisy = inpt + (mean + torch.randn_like(inpt) * sigma)
        return noisy.clamp(0, 1) if clip else noisy
    if inpt.dtype != torch.uint8:
        raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={inpt.dtype}")
    noise = mean * 255 + torch.randn_like(inpt, dtype=torch.float32) * (sigma * 255)
    noisy = inpt + noise.to(torch.int16)
    return (noisy.clamp(0, 255) if clip else noisy).to(torch.uint8)


@typed
def jpeg(image: Any, quality: int) -> Any:
    """Compress images as JPEG and decode them again, which adds artefacts.

    Args:
        image: a PIL image, or a uint8 tensor of shape `(..., C, H, W)`.
        quality: JPEG quality from 1 to 100.

    Raises:
        RuntimeError: a tensor is not uint8.
    """
    if isinstance(image, _ANNOTATIONS):
        return image
    if is_pil_image(image):
        packed = io.BytesIO()
        image.save(packed, format="JPEG", quality=quality)
        return pillow().open(packed).copy()
    images = to_pure_tensor(image).reshape(-1, *image.shape[-3:])
    if not len(images):
        return image.clone()
    return torch.stack([decode_image(encode_jpeg(single, quality)) for single in images]).reshape(image.shape)


def convert_bounding_box_format(
    inpt: torch.Tensor,
    old_format: tv_tensors.BoundingBoxFormat | str | None = None,
    new_format: tv_tensors.BoundingBoxFormat | str | None = None,
    inplace: bool = False,
) -> torch.Tensor:
    """Convert boxes to another format. If the boxes are a plain tensor, `old_format` is required.

    Args:
        inpt: the boxes.
        old_format: the format of a plain tensor, a `BoundingBoxFormat` or its name.
        new_format: the format of the result.
        inplace: whether to write the result also into `inpt`. Both formats must have the same number of values per box.

    Raises:
        TypeError: `new_format` is missing.
        ValueError: `old_format` is missing for a plain tensor, or one format is for rotated boxes and the other is not.
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    if isinstance(inpt, tv_tensors.BoundingBoxes):
        converted = convert_boxes(inpt, new_format)
    elif old_format is None:
        raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
    else:
        boxes = tv_tensors.BoundingBoxes(inpt, format=old_format, canvas_size=(0, 0))
        converted = to_pure_tensor(convert_boxes(boxes, new_format))
    if inplace:
        to_pure_tensor(inpt).copy_(to_pure_tensor(converted))
    return converted


def clamp_bounding_boxes(
    inpt: torch.Tensor,
    format: tv_tensors.BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    clamping_mode: str | None = "auto",
) -> torch.Tensor:
    """Clamp boxes to the canvas. If the boxes are a plain tensor, all other arguments are required.

    Args:
        inpt: the boxes.
        format: a `BoundingBoxFormat` or its name.
        canvas_size: `(height, width)` of the canvas.
        clamping_mode: `"soft"` or `"hard"` (see `flambeau_vision.tv_tensors.BoundingBoxes`), None to leave boxes unchanged, or
            `"auto"` for the `clamping_mode` of the boxes.

    Raises:
        ValueError: an argument is missing for a plain tensor, or given for `BoundingBoxes`, or the mode is unknown.
    """
    if clamping_mode not in ("soft", "hard", "auto", None):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if isinstance(inpt, tv_tensors.BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
        mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
        clamped = clamp_boxes(tv_tensors.wrap(to_pure_tensor(inpt), like=inpt, clamping_mode=mode))
        return tv_tensors.wrap(to_pure_tensor(clamped), like=inpt)
    if format is None or canvas_size is None or clamping_mode == "auto":
        raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
    boxes = tv_tensors.BoundingBoxes(inpt, format=format, canvas_size=canvas_size, clamping_mode=clamping_mode)
    return to_pure_tensor(clamp_boxes(boxes))


def clamp_keypoints(inpt: torch.Tensor, canvas_size: tuple[int, int] | None = None) -> torch.Tensor:
    """Clamp points to the canvas: points outside of it move to the border. Plain tensors require `canvas_size`."""
    if isinstance(inpt, tv_tensors.KeyPoints):
        if canvas_size is not None:
            raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
        return clamp_points(inpt)
    if canvas_size is None:
        raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
    return to_pure_tensor(clamp_points(tv_tensors.KeyPoints(inpt, canvas_size=canvas_size)))


def sanitize_keypoints(key_points: torch.Tensor, canvas_size: tuple[int, int] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Remove points outside of the canvas. A group that contains such a point is removed as a whole.

    Args:
        key_points: points `(N, 2)`, or groups of points `(N, ..., 2)`.
        canvas_size: `(height, width)` of the canvas, for plain tensors only.

    Returns:
        The remaining points or groups, and a boolean mask: True for each point or group that remains.

    Raises:
        ValueError: `canvas_size` is missing for a plain tensor, or given for `KeyPoints`.
    """
    is_typed = isinstance(key_points, tv_tensors.KeyPoints)
    if is_typed == (canvas_size is not None):
        raise ValueError(f"canvas_size has to be None for KeyPoints, and a size for a pure tensor, got {canvas_size}")
    height, width = key_points.canvas_size if is_typed else canvas_size
    plain = to_pure_tensor(key_points)
    x, y = plain[..., 0], plain[..., 1]
    valid = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    valid = valid.flatten(1).all(1) if valid.ndim > 1 else valid
    return (tv_tensors.wrap(plain[valid], like=key_points) if is_typed else plain[valid]), valid


def sanitize_bounding_boxes(
    bounding_boxes: torch.Tensor,
    format: tv_tensors.BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Remove boxes that are too small or partly outside of the canvas.

    Returns:
        The remaining boxes, and a boolean mask: True for each box that remains.
    """
    boxes = bounding_boxes
    if not isinstance(boxes, tv_tensors.BoundingBoxes):
        if format is None or canvas_size is None:
            raise ValueError("format and canvas_size cannot be None if bounding_boxes is a pure tensor.")
        boxes = tv_tensors.BoundingBoxes(boxes, format=format, canvas_size=canvas_size)
    corners = to_pure_tensor(convert_boxes(boxes, "XYXYXYXY" if is_rotated(boxes) else "XYXY"))
    x, y = corners[:, 0::2], corners[:, 1::2]
    height, width = boxes.canvas_size
    if is_rotated(boxes):
        wide, high = torch.hypot(x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]), torch.hypot(x[:, 2] - x[:, 1], y[:, 2] - y[:, 1])
    else:
        wide, high = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]
    valid = (wide >= min_size) & (high >= min_size) & (wide * high >= min_area)
    valid &= ((x >= 0) & (x <= width) & (y >= 0) & (y <= height)).all(1)
    valid_boxes = to_pure_tensor(bounding_boxes)[valid]
    if isinstance(bounding_boxes, tv_tensors.BoundingBoxes):
        valid_boxes = tv_tensors.wrap(valid_boxes, like=bounding_boxes)
    return valid_boxes, valid


def __getattr__(name: str) -> Any:
    # creates functions for one input type, such as `resize_mask` and `crop_bounding_boxes`, on first use
    function = function_for_type(name, globals())
    if function is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = function
    return function
