"""Transforms of pixel values: colour, sharpness, blur and erasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from . import functional as F
from ._base import RandomApplyTransform, Transform, uniform

__all__ = [
    "ColorJitter",
    "GaussianBlur",
    "Grayscale",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
]


def _factor_range(
    name: str,
    value: float | Sequence[float],
    center: float = 1,
    bound: tuple[float, float] = (0, float("inf")),
    clip_first_on_zero: bool = True,
) -> tuple[float, float] | None:
    """Return `(low, high)` of a random factor in `ColorJitter`, or None if the factor changes nothing.

    `value` is that pair, or a number for a range of this radius around `center`.
    """
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - float(value), center + float(value)
        value = [max(low, 0.0) if clip_first_on_zero else low, high]
    elif not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {list(value)}.")
    return None if value[0] == value[1] == center else tuple(value)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue at random, in random order.

    Args:
        brightness: the factor is drawn from `[max(0, 1 - brightness), 1 + brightness]`, or from a pair `(min, max)`; 0 for no
            change.
        contrast: strength of the contrast change, in the form of `brightness`.
        saturation: strength of the saturation change, in the form of `brightness`.
        hue: the shift is drawn from `[-hue, hue]`, or from a pair `(min, max)`, in the range -0.5 to 0.5, as a fraction of the
            colour circle.

    Raises:
        TypeError: a value is neither a number nor a pair.
        ValueError: a value is negative, or a range is out of bounds.

    Example:
        >>> from flambeau_vision import transforms
        >>> jitter = transforms.ColorJitter(brightness=0.2, hue=0.1)
        >>> jitter
        ColorJitter(brightness=(0.8, 1.2), contrast=None, saturation=None, hue=(-0.1, 0.1))
        >>> jitter(torch.rand(3, 4, 4)).shape
        torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = _factor_range("brightness", brightness)
        self.contrast = _factor_range("contrast", contrast)
        self.saturation = _factor_range("saturation", saturation)
        self.hue = _factor_range("hue", hue, center=0, bound=(-0.5, 0.5), clip_first_on_zero=False)

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[torch.Tensor, float | None, float | None, float | None, float | None]:
        """Draw the order of the four operations, and a factor for each operation; None for operations without a range."""
        order = torch.randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return (order, *(None if limits is None else uniform(*limits) for limits in ranges))

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": factors}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        F = self.functions
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for index in params["order"]:
            if params["factors"][index] is not None:
                inpt = changes[index](inpt, params["factors"][index])
        return inpt

    def extra_repr(self) -> str:
        names = ("brightness", "contrast", "saturation", "hue")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Grayscale(Transform):
    """Convert to grey: `0.2989 * red + 0.587 * green + 0.114 * blue`.

    Args:
        num_output_channels: 1, or 3 for three equal channels.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.Grayscale()(torch.rand(3, 4, 4)).shape
        torch.Size([1, 4, 4])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.to_grayscale(inpt, self.num_output_channels)

    def extra_repr(self) -> str:
        return f"num_output_channels={self.num_output_channels}"


class RandomGrayscale(RandomApplyTransform):
    """Convert images to grey at random. The number of channels stays the same.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> red, green, blue = transforms.RandomGrayscale(p=1.0)(torch.rand(3, 4, 4))
        >>> torch.equal(red, green), torch.equal(green, blue)
        (True, True)
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.to_grayscale(inpt, F.get_image_num_channels(inpt))


class GaussianBlur(Transform):
    """Blur images with a Gaussian kernel of random standard deviation.

    Args:
        kernel_size: odd width and height of the kernel in pixels, or an int for both.
        sigma: smallest and largest standard deviation in pixels, or a number for a fixed value.

    Raises:
        ValueError: a size is not odd and positive, or `sigma` is not `0 < min <= max`.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.GaussianBlur(kernel_size=3)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(self.kernel_size) != 2:
            raise ValueError("Kernel size should be a tuple/list of two integers")
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = (sigma, sigma) if isinstance(sigma, int | float) else tuple(sigma)
        if len(self.sigma) != 2:
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {sigma}")

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Draw the standard deviation uniformly from `[sigma_min, sigma_max)`."""
        return uniform(sigma_min, sigma_max)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        sigma = self.get_params(*self.sigma)
        return {"sigma": [sigma, sigma]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.gaussian_blur(inpt, list(self.kernel_size), params["sigma"])

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, sigma={self.sigma}"


class RandomInvert(RandomApplyTransform):
    """Invert images at random: white becomes black.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomInvert(p=1.0)(torch.tensor([[[0, 55, 255]]], dtype=torch.uint8))
        tensor([[[255, 200,   0]]], dtype=torch.uint8)
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.invert(inpt)


class RandomPosterize(RandomApplyTransform):
    """Keep only the highest bits of each value, at random; for PIL images and uint8 tensors.

    Args:
        bits: number of bits to keep, from 0 to 8.
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomPosterize(bits=2, p=1.0)(torch.tensor([[[3, 100, 255]]], dtype=torch.uint8))
        tensor([[[  0,  64, 192]]], dtype=torch.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.posterize(inpt, self.bits)

    def extra_repr(self) -> str:
        return f"bits={self.bits},p={self.p}"


class RandomSolarize(RandomApplyTransform):
    """Invert all values at or above a threshold, at random.

    Args:
        threshold: the smallest value to invert, for example 128 for uint8 or 0.5 for floats to invert the upper half.
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomSolarize(threshold=128, p=1.0)(torch.tensor([[[0, 100, 255]]], dtype=torch.uint8))
        tensor([[[  0, 100,   0]]], dtype=torch.uint8)
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.solarize(inpt, self.threshold)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold},p={self.p}"


class RandomAdjustSharpness(RandomApplyTransform):
    """Blur or sharpen images at random.

    Args:
        sharpness_factor: factor, not negative: 0 gives a blurred image, 1 the unchanged image, more than 1 a sharper one.
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomAdjustSharpness(sharpness_factor=2, p=1.0)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.adjust_sharpness(inpt, self.sharpness_factor)

    def extra_repr(self) -> str:
        return f"sharpness_factor={self.sharpness_factor},p={self.p}"


class RandomAutocontrast(RandomApplyTransform):
    """Stretch each channel to the full value range, at random.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> transforms.RandomAutocontrast(p=1.0)(torch.tensor([[[0.25, 0.5, 0.75]]]))
        tensor([[[0.0000, 0.5000, 1.0000]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.autocontrast(inpt)


class RandomEqualize(RandomApplyTransform):
    """Equalize the histogram of each channel at random; for PIL images and uint8 tensors.

    Args:
        p: probability of applying the transform, from 0 to 1.

    Example:
        >>> from flambeau_vision import transforms
        >>> dark = (torch.arange(1024) // 8).reshape(1, 32, 32).to(torch.uint8)
        >>> dark.max().item(), transforms.RandomEqualize(p=1.0)(dark).max().item()
        (127, 255)
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.equalize(inpt)


class RandomErasing(RandomApplyTransform):
    """Overwrite a random rectangle of a tensor of shape `(..., C, H, W)` with probability `p`.

    Zhong, Zheng, Kang, Li and Yang, [Random Erasing Data Augmentation](https://arxiv.org/abs/1708.04896), 2017.

    Args:
        p: probability of applying the transform, from 0 to 1.
        scale: smallest and largest area of the rectangle, as fractions of the image area.
        ratio: smallest and largest ratio of height to width.
        value: the new value: a number, a sequence with a number per channel, or `"random"` for normal noise.
        inplace: whether to write into the image instead of a copy.

    Raises:
        TypeError: `value` is not a number, string or sequence, or `scale` or `ratio` is not a sequence.
        ValueError: `p` or `scale` is outside of `[0, 1]`, or `value` is another string than `"random"`.

    Example:
        >>> from flambeau_vision import transforms
        >>> erased = transforms.RandomErasing(p=1.0, scale=(0.1, 0.2))(torch.ones(1, 10, 10))
        >>> 8 <= int((erased == 0).sum()) <= 22
        True
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        if not isinstance(value, int | float | str | tuple | list):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if not isinstance(scale, tuple | list):
            raise TypeError("Scale should be a sequence")
        if not isinstance(ratio, tuple | list):
            raise TypeError("Ratio should be a sequence")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: torch.Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: Sequence[float] | None = None,
    ) -> tuple[int, int, int, int, torch.Tensor]:
        """Draw `(top, left, height, width, content)` of a rectangle.

        If none of ten random rectangles fits into the image, return the whole image as rectangle and content.
        """
        channels, img_height, img_width = F.get_dimensions(img)
        log_low, log_high = torch.log(torch.tensor(ratio)).tolist()
        for _ in range(10):
            area = img_height * img_width * uniform(*scale)
            aspect = torch.exp(torch.empty(1).uniform_(log_low, log_high)).item()
            height, width = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
            if not (height < img_height and width < img_width):
                continue
            if value is None:
                content = torch.empty([channels, height, width], dtype=torch.float32).normal_()
            else:
                content = torch.tensor(value)[:, None, None]
            top = torch.randint(0, img_height - height + 1, size=(1,)).item()
            left = torch.randint(0, img_width - width + 1, size=(1,)).item()
            return top, left, height, width, content
        return 0, 0, img_height, img_width, img

    def _channel_values(self, channels: int) -> list[float] | None:
        if isinstance(self.value, str):
            return None
        values = [float(self.value)] if isinstance(self.value, int | float) else [float(v) for v in self.value]
        if len(values) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of input channels)"
            )
        return values

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        img = flat_inputs[0]
        values = self._channel_values(F.get_dimensions(img)[0])
        return dict(zip("ijhwv", self.get_params(img, self.scale, self.ratio, values), strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.functions.erase(inpt, **params, inplace=self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, inplace={self.inplace}"
