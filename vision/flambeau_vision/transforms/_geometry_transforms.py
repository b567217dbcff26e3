"""Geometric transforms: crops, flips, resizing and warps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import flambeau as torch

from . import functional as F
from ._base import RandomApplyTransform, Transform, channel_fill, fill_for, uniform
from ._geometry import InterpolationMode
from .functional.geometry import four_sides

__all__ = [
    "CenterCrop",
    "ElasticTransform",
    "FiveCrop",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "Scale",
    "TenCrop",
]

_NEAREST, _BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def _size_pair(size: Any, error: str = "Please provide only two dimensions (h, w) for size.") -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(error)
    return tuple(size)


def _height_and_width(flat_inputs: list[Any]) -> tuple[int, int]:
    _, height, width = F.get_dimensions(flat_inputs[0])
    return height, width


def _symmetric_range(name: str, value: float | Sequence[float], sizes: tuple[int, ...] = (2,)) -> list[float]:
    """Convert a number to the range `[-value, value]`; a sequence must already be a range and is returned as a list of floats."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} should be a sequence of length {' or '.join(map(str, sizes))}.")
    if len(value) not in sizes:
        raise ValueError(f"{name} should be a sequence of length {' or '.join(map(str, sizes))}.")
    return [float(number) for number in value]


def _check_fill(fill: Any) -> Any:
    if fill is None:
        return 0
    if not isinstance(fill, int | float | Sequence | dict):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


class Resize(Transform):
    """Resize a PIL image or a tensor of shape `(..., C, H, W)`.

    Args:
        size: `(height, width)`, or an int for the length of the shorter side, which keeps the aspect ratio; None to make the
            longer side `max_size` pixels long.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        max_size: largest length of the longer side, if `size` is an int.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Raises:
        TypeError: `size` is neither an int nor a sequence.
        ValueError: `size` has more than two elements.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.Resize(10)(torch.rand(3, 20, 30)).shape
        torch.Size([3, 10, 15])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: InterpolationMode = _BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is not None and not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = InterpolationMode.of(interpolation)
        self.antialias = antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.resize(inpt, self.size, self.interpolation, self.max_size, self.antialias)

    def extra_repr(self) -> str:
        return f"size={self.size}, interpolation={self.interpolation.value}, max_size={self.max_size}, antialias={self.antialias}"


class Scale(Resize):
    """Deprecated name of `Resize`; creating it emits a warning.

    Args:
        *args, **kwargs: arguments of `Resize`.

    Example:
        >>> import warnings
        >>> from flambeau_vision import transforms
        >>> with warnings.catch_warnings(action="ignore"):
        ...     transforms.Scale(10).size
        10
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("The use of the transforms.Scale transform is deprecated, use Resize instead.", stacklevel=2)
        super().__init__(*args, **kwargs)


class CenterCrop(Transform):
    """Crop the centre of an image; images smaller than the crop are padded with zeros first.

    Args:
        size: `(height, width)`, or an int for both.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.CenterCrop(2)(torch.arange(16).reshape(1, 4, 4))
        tensor([[[ 5,  6],
                 [ 9, 10]]])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _size_pair(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.center_crop(inpt, self.size)

    def extra_repr(self) -> str:
        return f"size={self.size}"


class Pad(Transform):
    """Pad an image on all sides.

    Args:
        padding: pixels on each side: an int for all, `(left and right, top and bottom)`, or `(left, top, right, bottom)`.
        fill: value of the border if `padding_mode` is `"constant"`, a number or one per channel.
        padding_mode: `"constant"` pads with `fill`; `"edge"` repeats the border pixels; `"reflect"` mirrors the image without
            its border pixels; `"symmetric"` mirrors the image with its border pixels.

    Raises:
        TypeError: `padding` or `fill` is not a number or a sequence.
        ValueError: `padding` does not have 1, 2 or 4 elements, or the mode is unknown.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.Pad([2, 0])(torch.tensor([[[1, 2, 3]]]))
        tensor([[[0, 0, 1, 2, 3, 0, 0]]])
    """

    def __init__(self, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        if not isinstance(padding, int | tuple | list):
            raise TypeError("Got inappropriate padding arg")
        if not isinstance(fill, int | float | tuple | list | dict | None):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if isinstance(padding, Sequence) and len(padding) not in (1, 2, 4):
            raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.pad(inpt, self.padding, fill_for(inpt, self.fill), self.padding_mode)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(Transform):
    """Crop a rectangle of fixed size at a random position.

    Args:
        size: `(height, width)`, or an int for both.
        padding: padding before the crop, in pixels: an int for all sides, `(left and right, top and bottom)`, or
            `(left, top, right, bottom)`; None for no padding.
        pad_if_needed: whether to pad images that are smaller than `size`; if False, they raise an error.
        fill: value of the border if `padding_mode` is `"constant"`, a number or one per channel.
        padding_mode: `"constant"` pads with `fill`; `"edge"` repeats the border pixels; `"reflect"` mirrors the image without
            its border pixels; `"symmetric"` mirrors the image with its border pixels.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomCrop(32, padding=4)(torch.rand(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = _size_pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: Sequence[int]) -> tuple[int, int, int, int]:
        """Draw `(top, left, height, width)` of a crop of `output_size`."""
        _, height, width = F.get_dimensions(img)
        return RandomCrop._draw(height, width, *output_size)

    @staticmethod
    def _draw(height: int, width: int, crop_height: int, crop_width: int) -> tuple[int, int, int, int]:
        if height < crop_height or width < crop_width:
            raise ValueError(f"Required crop size {(crop_height, crop_width)} is larger than input image size {(height, width)}")
        if (height, width) == (crop_height, crop_width):
            return 0, 0, height, width
        top = torch.randint(0, height - crop_height + 1, size=(1,)).item()
        left = torch.randint(0, width - crop_width + 1, size=(1,)).item()
        return top, left, crop_height, crop_width

    def _borders(self, height: int, width: int) -> list[list[int]]:
        """Return a list of paddings `[left, top, right, bottom]`, which are applied one after the other."""
        borders = [] if self.padding is None else [list(four_sides(self.padding))]
        for left, top, right, bottom in borders:
            height, width = height + top + bottom, width + left + right
        if self.pad_if_needed:
            missing_y, missing_x = max(self.size[0] - height, 0), max(self.size[1] - width, 0)
            if missing_x:
                borders.append([missing_x, 0, missing_x, 0])
            if missing_y:
                borders.append([0, missing_y, 0, missing_y])
        return borders

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = _height_and_width(flat_inputs)
        borders = self._borders(height, width)
        height += sum(top + bottom for _, top, _, bottom in borders)
        width += sum(left + right for left, _, right, _ in borders)
        return {"borders": borders, "crop": self._draw(height, width, *self.size)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        for border in params["borders"]:
            inpt = self.functions.pad(inpt, border, fill_for(inpt, self.fill), self.padding_mode)
        return self.functions.crop(inpt, *params["crop"])

    def extra_repr(self) -> str:
        return f"size={self.size}, padding={self.padding}"


@cache
def _logarithms(ratio: tuple[float, ...]) -> list[float]:
    """Return the logarithms of two ratios, computed in float32, since the random numbers between them are float32."""
    return torch.log(torch.tensor(ratio)).tolist()


class RandomResizedCrop(Transform):
    """Crop a rectangle of random area, aspect ratio and position, and resize it: the usual augmentation for ImageNet.

    Szegedy et al., [Going Deeper with Convolutions](https://arxiv.org/abs/1409.4842), 2014.

    Args:
        size: output size `(height, width)`, or an int for both.
        scale: smallest and largest area of the rectangle, as fractions of the image area.
        ratio: smallest and largest ratio of width to height.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Raises:
        TypeError: `scale` or `ratio` is not a sequence.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomResizedCrop(16)(torch.rand(3, 20, 30)).shape
        torch.Size([3, 16, 16])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = _BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = _size_pair(size)
        if not isinstance(scale, Sequence):
            raise TypeError("Scale should be a sequence")
        if not isinstance(ratio, Sequence):
            raise TypeError("Ratio should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=2)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = InterpolationMode.of(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Draw `(top, left, height, width)` of a crop.

        If none of ten random crops fits into the image, return the largest central crop whose aspect ratio is allowed.
        """
        _, img_height, img_width = F.get_dimensions(img)
        log_low, log_high = _logarithms(tuple(ratio))
        for _ in range(10):
            area = img_height * img_width * uniform(*scale)
            aspect = torch.exp(torch.empty(1).uniform_(log_low, log_high)).item()
            width, height = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
            if 0 < width <= img_width and 0 < height <= img_height:
                top = torch.randint(0, img_height - height + 1, size=(1,)).item()
                left = torch.randint(0, img_width - width + 1, size=(1,)).item()
                return top, left, height, width
        height, width = img_height, img_width
        if width / height < min(ratio):
            height = round(width / min(ratio))
        elif width / height > max(ratio):
            width = round(height * max(ratio))
        return (img_height - height) // 2, (img_width - width) // 2, height, width

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"crop": self.get_params(flat_inputs[0], self.scale, self.ratio)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.resized_crop(inpt, *params["crop"], self.size, self.interpolation, antialias=self.antialias)

    def extra_repr(self) -> str:
        scale, ratio = (tuple(round(value, 4) for value in limits) for limits in (self.scale, self.ratio))
        return (
            f"size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias}"
        )


class RandomSizedCrop(RandomResizedCrop):
    """Deprecated name of `RandomResizedCrop`; creating it emits a warning.

    Args:
        *args, **kwargs: arguments of `RandomResizedCrop`.

    Example:
        >>> import warnings
        >>> from flambeau_vision import transforms
        >>> with warnings.catch_warnings(action="ignore"):
        ...     transforms.RandomSizedCrop(16).size
        (16, 16)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "The use of the transforms.RandomSizedCrop transform is deprecated, use RandomResizedCrop instead.",
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class FiveCrop(Transform):
    """Return a tuple of five crops of an image: top left, top right, bottom left, bottom right and centre.

    Args:
        size: `(height, width)`, or an int for both.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision import transforms
        >>> [part.item() for part in transforms.FiveCrop(1)(torch.arange(9).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4]
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _size_pair(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.five_crop(inpt, self.size)

    def extra_repr(self) -> str:
        return f"size={self.size}"


class TenCrop(Transform):
    """Apply `FiveCrop` to the image and to its mirror image; return a tuple of ten images.

    Args:
        size: `(height, width)`, or an int for both.
        vertical_flip: whether the mirror image is flipped vertically instead of horizontally.

    Raises:
        ValueError: from calls, if the image is smaller than `size`.

    Example:
        >>> from flambeau_vision import transforms
        >>> [part.item() for part in transforms.TenCrop(1)(torch.arange(9).reshape(1, 3, 3))]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = _size_pair(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.ten_crop(inpt, self.size, self.vertical_flip)

    def extra_repr(self) -> str:
        return f"size={self.size}, vertical_flip={self.vertical_flip}"


class RandomHorizontalFlip(RandomApplyTransform):
    """Flip images horizontally at random.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomHorizontalFlip(p=1.0)(torch.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.hflip(inpt)


class RandomVerticalFlip(RandomApplyTransform):
    """Flip images vertically at random.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomVerticalFlip(p=1.0)(torch.tensor([[[1], [2]]])).flatten()
        tensor([2, 1])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.vflip(inpt)


class RandomRotation(Transform):
    """Rotate images by a random angle.

    Args:
        degrees: smallest and largest angle in degrees, counter-clockwise, or a number for `(-degrees, degrees)`.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        expand: whether to enlarge the canvas so that the whole rotated image fits.
        center: centre `(x, y)` of the rotation, in pixels from the upper left corner; None for the centre of the image.
        fill: value of the pixels outside the image, a number or one per channel.

    Raises:
        ValueError: `degrees` is a negative number, or a sequence without two elements.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomRotation((90, 90))(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[2., 4.],
                 [1., 3.]]])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode = _NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.degrees = _symmetric_range("degrees", degrees)
        self.interpolation = InterpolationMode.of(interpolation)
        self.expand = expand
        self.center = center
        self.fill = _check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draw the angle uniformly from `degrees`."""
        return uniform(*degrees)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"angle": self.get_params(self.degrees)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = channel_fill(inpt, self.fill)
        return self.functions.rotate(inpt, params["angle"], self.interpolation, self.expand, self.center, fill)

    def extra_repr(self) -> str:
        shown = f"degrees={self.degrees}, interpolation={self.interpolation.value}, expand={self.expand}"
        if self.center is not None:
            shown += f", center={self.center}"
        return f"{shown}, fill={self.fill}"


class RandomAffine(Transform):
    """Rotate, translate, scale and shear images at random.

    Args:
        degrees: smallest and largest clockwise angle in degrees, or a number for `(-degrees, degrees)`; 0 for no rotation.
        translate: largest horizontal and vertical shifts, as fractions of width and height; None for no shift.
        scale: smallest and largest scale factor; None for no scaling.
        shear: smallest and largest shear angle along x in degrees; four numbers also give the range along y; one number
            is the range `(-shear, shear)` along x; None for no shear.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel.
        center: centre `(x, y)` of the rotation, in pixels from the upper left corner; None for the centre of the image.

    Raises:
        ValueError: a range has the wrong length, `translate` is outside of `[0, 1]`, or `scale` is not positive.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1))(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode = _NEAREST,
        fill: float | Sequence[float] = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = _symmetric_range("degrees", degrees)
        if translate is not None and not all(0.0 <= share <= 1.0 for share in translate):
            raise ValueError("translation values should be between 0 and 1")
        if scale is not None and any(factor <= 0 for factor in scale):
            raise ValueError("scale values should be positive")
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _symmetric_range("shear", shear, sizes=(2, 4))
        self.interpolation = InterpolationMode.of(interpolation)
        self.fill = _check_fill(fill)
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Draw `(angle, translations, scale, shear)`; `img_size` is `(width, height)`."""
        angle = uniform(*degrees)
        shift = (0, 0)
        if translate is not None:
            limits = [share * side for share, side in zip(translate, img_size, strict=False)]
            shift = tuple(round(uniform(-limit, limit)) for limit in limits)
        scale = 1.0 if scale_ranges is None else uniform(*scale_ranges)
        shear_x = 0.0 if shears is None else uniform(shears[0], shears[1])
        shear_y = uniform(shears[2], shears[3]) if shears is not None and len(shears) == 4 else 0.0
        return angle, shift, scale, (shear_x, shear_y)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = _height_and_width(flat_inputs)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return dict(zip(("angle", "translate", "scale", "shear"), drawn, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = channel_fill(inpt, self.fill)
        return self.functions.affine(inpt, **params, interpolation=self.interpolation, fill=fill, center=self.center)

    def extra_repr(self) -> str:
        shown = f"degrees={self.degrees}"
        for name in ("translate", "scale", "shear"):
            if getattr(self, name) is not None:
                shown += f", {name}={getattr(self, name)}"
        if self.interpolation is not _NEAREST:
            shown += f", interpolation={self.interpolation.value}"
        if self.fill != 0:
            shown += f", fill={self.fill}"
        return shown if self.center is None else f"{shown}, center={self.center}"


class RandomPerspective(RandomApplyTransform):
    """Apply a random perspective transform that moves the corners inwards.

    Args:
        distortion_scale: largest shift of the corners, from 0 to 1, as a fraction of half the image size.
        p: probability of applying the transform, from 0 to 1.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomPerspective(distortion_scale=0.3, p=1.0)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode = _BILINEAR,
        fill: float | Sequence[float] = 0,
    ) -> None:
        super().__init__(p)
        self.distortion_scale = distortion_scale
        self.interpolation = InterpolationMode.of(interpolation)
        self.fill = _check_fill(fill)

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """Draw `(startpoints, endpoints)`: the corners of the image, and random points that the corners move to.

        The order is top left, top right, bottom right, bottom left.
        """
        reach_x, reach_y = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))

        def draw(low: int, high: int) -> int:
            return torch.randint(low, high, size=(1,)).item()

        left, right = (0, reach_x + 1), (width - reach_x - 1, width)
        top, bottom = (0, reach_y + 1), (height - reach_y - 1, height)
        corners = ((left, top), (right, top), (right, bottom), (left, bottom))
        endpoints = [[draw(*x), draw(*y)] for x, y in corners]
        startpoints = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return startpoints, endpoints

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = _height_and_width(flat_inputs)
        startpoints, endpoints = self.get_params(width, height, self.distortion_scale)
        return {"startpoints": startpoints, "endpoints": endpoints}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.perspective(inpt, **params, interpolation=self.interpolation, fill=channel_fill(inpt, self.fill))


class ElasticTransform(Transform):
    """Apply a random smooth displacement to the pixels (elastic deformation).

    Args:
        alpha: strength along x and y, or a number for both: before smoothing, pixels move by up to `alpha / 2` pixels.
        sigma: standard deviation along x and y of the Gaussian that smooths the displacement, in pixels, or a number for both.
        interpolation: `InterpolationMode.NEAREST`, `BILINEAR` or `BICUBIC`.
        fill: value of the pixels outside the image, a number or one per channel.

    Raises:
        TypeError: `alpha` or `sigma` is not a number or a sequence.
        ValueError: `alpha` or `sigma` has more than two elements.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.ElasticTransform(alpha=5.0, sigma=2.0)(torch.rand(3, 24, 24)).shape
        torch.Size([3, 24, 24])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode = _BILINEAR,
        fill: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.alpha = self._pair("alpha", alpha)
        self.sigma = self._pair("sigma", sigma)
        self.interpolation = InterpolationMode.of(interpolation)
        self.fill = fill

    @staticmethod
    def _pair(name: str, value: float | Sequence[float]) -> list[float]:
        if not isinstance(value, int | float | Sequence):
            raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
        if isinstance(value, Sequence) and len(value) not in (1, 2):
            raise ValueError(f"If {name} is a sequence its length should be one or two. Got {len(value)}")
        pair = [value] * 2 if isinstance(value, int | float) else list(value) * (2 // len(value))
        return [float(number) for number in pair]

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> torch.Tensor:
        """Draw a random displacement of shape `(1, height, width, 2)`, where `size` is `(height, width)`."""
        moves = []
        height, width = size
        for strength, smoothness, side in zip(alpha, sigma, (width, height), strict=True):
            move = torch.rand([1, 1, *size]) * 2 - 1
            if smoothness > 0.0:
                window = int(8 * smoothness + 1) | 1
                move = F.gaussian_blur(move, [window, window], list(sigma))
            moves.append(move * strength / side)
        return torch.cat(moves, dim=1).permute(0, 2, 3, 1)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"displacement": self.get_params(self.alpha, self.sigma, _height_and_width(flat_inputs))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        fill = channel_fill(inpt, self.fill)
        return self.functions.elastic_transform(inpt, params["displacement"], self.interpolation, fill)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}, sigma={self.sigma}, interpolation={self.interpolation}, fill={self.fill}"
