"""Geometric functions of images: flips, crops, resizing, padding and warps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch

from .. import _tensor
from .._geometry import InterpolationMode, perspective_coefficients, resized_size
from .conversion import apply_via_tensor
from .registry import get_dimensions, kernels_for

Tensor = torch.Tensor


def hflip(img: Any) -> Any:
    """Flip an image horizontally.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms.functional import hflip
        >>> hflip(torch.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]])
    """
    return kernels_for(img).hflip(img)


def vflip(img: Any) -> Any:
    """Flip an image vertically.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms.functional import vflip
        >>> vflip(torch.tensor([[[1], [2]]])).flatten()
        tensor([2, 1])
    """
    return kernels_for(img).vflip(img)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Crop a rectangle of an image. Parts of the rectangle that are outside of the image become zeros.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        top, left: row and column of the upper left corner of the rectangle; may be negative.
        height, width: size of the rectangle.

    Example:
        >>> from flambeau_vision.transforms.functional import crop
        >>> crop(torch.arange(9).reshape(1, 3, 3), top=1, left=1, height=2, width=3)
        tensor([[[4, 5, 0],
                 [7, 8, 0]]])
    """
    return kernels_for(img).crop(img, top, left, height, width)


def _check_resize(size: Any, max_size: int | None) -> None:
    if isinstance(size, Sequence) and len(size) not in (1, 2):
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list")
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
    """Resize an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        size: `(height, width)`, or an int (or a list of one) for the shorter side, which keeps the aspect ratio;
            None to make the longer side `max_size` pixels long.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        max_size: largest length of the longer side, if `size` is an int; must be larger than `size`.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Raises:
        ValueError: `size` and `max_size` contradict each other, or the interpolation is not supported for tensors.

    Example:
        >>> from flambeau_vision.transforms.functional import resize
        >>> resize(torch.rand(3, 20, 30), 10).shape, resize(torch.rand(3, 20, 30), (8, 8)).shape
        (torch.Size([3, 10, 15]), torch.Size([3, 8, 8]))
    """
    return resize_with_kernel(_tensor.resize, img, size, interpolation, max_size, antialias)


def resize_with_kernel(
    kernel: Callable[..., Tensor],
    img: Any,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode,
    max_size: int | None,
    antialias: bool | None,
) -> Any:
    """Resize like `resize`, but call `kernel` if `img` is a plain image tensor."""
    _check_resize(size, max_size)
    kernels, mode = kernels_for(img), InterpolationMode.of(interpolation)
    _, height, width = kernels.get_dimensions(img)
    new_size = resized_size(height, width, size, max_size)
    if new_size == (height, width):
        return img
    return (kernel if kernels is _tensor else kernels.resize)(img, new_size, mode, antialias)


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
    """Crop a rectangle of an image, then resize it.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        top, left: row and column of the upper left corner of the rectangle.
        height, width: size of the rectangle.
        size: output size, in a form that `resize` accepts.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Example:
        >>> from flambeau_vision.transforms.functional import resized_crop
        >>> resized_crop(torch.rand(3, 20, 30), top=5, left=5, height=10, width=10, size=[4, 4]).shape
        torch.Size([3, 4, 4])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def four_sides(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    if isinstance(padding, int):
        return (padding,) * 4
    if not isinstance(padding, tuple | list):
        raise TypeError("Got inappropriate padding arg")
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    return tuple(padding) * (4 // len(padding))


def pad(img: Any, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant") -> Any:
    """Pad an image on all sides.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        padding: pixels on each side: an int for all, `(left and right, top and bottom)`, or `(left, top, right, bottom)`.
        fill: value of the border if `padding_mode` is `"constant"`, a number or one per channel.
        padding_mode: `"constant"` pads with `fill`; `"edge"` repeats the border pixels; `"reflect"` mirrors the image without
            its border pixels; `"symmetric"` mirrors the image with its border pixels.

    Raises:
        TypeError: `padding` or `fill` is not a number or a sequence.
        ValueError: `padding` does not have 1, 2 or 4 elements, or the mode is unknown.

    Example:
        >>> from flambeau_vision.transforms.functional import pad
        >>> row = torch.tensor([[[1, 2, 3]]])
        >>> pad(row, [2, 0]), pad(row, [2, 0], padding_mode="reflect")
        (tensor([[[0, 0, 1, 2, 3, 0, 0]]]), tensor([[[3, 2, 1, 2, 3, 2, 1]]]))
    """
    sides = four_sides(padding)
    if not isinstance(fill, int | float | tuple | list):
        raise TypeError("Got inappropriate fill arg")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    return kernels_for(img).pad(img, sides, fill, padding_mode)


def size_pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return tuple(size)


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Crop the centre of an image; images smaller than the crop are padded with zeros first.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        output_size: `(height, width)`, or an int for both.

    Example:
        >>> from flambeau_vision.transforms.functional import center_crop
        >>> center_crop(torch.arange(16).reshape(1, 4, 4), 2)
        tensor([[[ 5,  6],
                 [ 9, 10]]])
    """
    crop_height, crop_width = size_pair(output_size)
    _, height, width = get_dimensions(img)
    missing_x, missing_y = max(crop_width - width, 0), max(crop_height - height, 0)
    if (missing_x or missing_y) and not hasattr(img, "canvas_size"):  # boxes and points need no padding
        img = pad(img, [missing_x // 2, missing_y // 2, (missing_x + 1) // 2, (missing_y + 1) // 2])
        _, height, width = get_dimensions(img)
    top, left = round((height - crop_height) / 2.0), round((width - crop_width) / 2.0)
    return crop(img, top, left, crop_height, crop_width)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """Crop the four corners and the centre of an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        size: `(height, width)`, or an int for both.

    Returns:
        a tuple of five images: top left, top right, bottom left, bottom right and centre.

    Raises:
        ValueError: `size` is larger than the image.

    Example:
        >>> from flambeau_vision.transforms.functional import five_crop
        >>> [part.item() for part in five_crop(torch.arange(9).reshape(1, 3, 3), 1)]
        [0, 2, 6, 8, 4]
    """
    crop_height, crop_width = size_pair(size)
    _, height, width = get_dimensions(img)
    if crop_width > width or crop_height > height:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(height, width)}")
    down, right = height - crop_height, width - crop_width
    corners = [crop(img, top, left, crop_height, crop_width) for top in (0, down) for left in (0, right)]
    return (*corners, center_crop(img, [crop_height, crop_width]))


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """Crop the four corners and the centre of an image and of its mirror image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        size: `(height, width)`, or an int for both.
        vertical_flip: whether the mirror image is flipped vertically instead of horizontally.

    Returns:
        a tuple of ten images: those of `five_crop`, and the same crops of the mirror image.

    Raises:
        ValueError: `size` is larger than the image.

    Example:
        >>> from flambeau_vision.transforms.functional import ten_crop
        >>> [part.item() for part in ten_crop(torch.arange(9).reshape(1, 3, 3), 1)]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """
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
    """Shear, scale and rotate an image about its centre, then translate it.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        angle: rotation angle in degrees, clockwise.
        translate: shift to the right and down, in pixels.
        scale: scale factor, positive.
        shear: shear angle along x in degrees, or a pair of angles along x and y.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.
        center: centre `(x, y)` of the rotation, in pixels from the upper left corner; None for the centre of the image.

    Raises:
        TypeError: `angle` is not a number, or `translate` or `shear` has the wrong type.
        ValueError: `scale` is not positive, or a sequence has the wrong length.

    Example:
        >>> from flambeau_vision.transforms.functional import affine
        >>> affine(torch.tensor([[[1.0, 2.0, 3.0]]]), angle=0, translate=[1, 0], scale=1.0, shear=0)
        tensor([[[0., 1., 2.]]])
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
    return kernels_for(img).affine(img, angle, translate, scale, _shear_pair(shear), mode, fill, center)


def rotate(
    img: Any,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Rotate an image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        angle: rotation angle in degrees, counter-clockwise.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        expand: whether to enlarge the canvas so that the whole rotated image fits. The size is computed for `center=None`.
        center: centre `(x, y)` of the rotation, in pixels from the upper left corner; None for the centre of the image.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Raises:
        TypeError: `angle` is not a number, or `center` is not a sequence.

    Example:
        >>> from flambeau_vision.transforms.functional import rotate
        >>> rotate(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 90)
        tensor([[[2., 4.],
                 [1., 3.]]])
    """
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, tuple | list):
        raise TypeError("Argument center should be a sequence")
    return kernels_for(img).rotate(img, angle, InterpolationMode.of(interpolation), expand, center, fill)


def perspective(
    img: Any,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Apply the perspective transform that maps `startpoints` to `endpoints`.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        startpoints: `(x, y)` of four corners: top left, top right, bottom right, bottom left.
        endpoints: `(x, y)` of the corners after the transform, in the same order.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Raises:
        ValueError: `startpoints` or `endpoints` does not have four points.

    Example:
        >>> from flambeau_vision.transforms.functional import perspective
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> image = torch.arange(16.0).reshape(1, 4, 4)
        >>> torch.allclose(perspective(image, corners, corners), image, atol=1e-4)
        True
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    return kernels_for(img).perspective(img, coefficients, InterpolationMode.of(interpolation), fill)


def elastic_transform(
    img: Any,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Deform an image: each output pixel is sampled from a displaced position in the input.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        displacement: offsets `(x, y)` of the sampled positions, of shape `(1, H, W, 2)`, in units of half the image size.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel; None for black.

    Raises:
        TypeError: `displacement` is not a tensor.
        ValueError: `displacement` has another shape.

    Example:
        >>> from flambeau_vision.transforms.functional import elastic_transform
        >>> one_pixel = torch.tensor([2 / 3, 0.0]).expand(1, 1, 3, 2)
        >>> elastic_transform(torch.tensor([[[1.0, 2.0, 3.0]]]), one_pixel).round(decimals=3)
        tensor([[[2., 3., 0.]]])
    """
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    _, height, width = get_dimensions(img)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(f"Argument displacement shape should be {(1, height, width, 2)}, got {tuple(displacement.shape)}")
    mode = InterpolationMode.of(interpolation)
    return apply_via_tensor(img, lambda image: kernels_for(image).elastic_transform(image, displacement, mode, fill))
