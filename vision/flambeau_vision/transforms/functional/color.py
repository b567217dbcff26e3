"""What values the pixels of an image have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .conversion import through_tensor
from .geometry import size_pair
from .kinds import kernels_for

Tensor = torch.Tensor


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Multiply all values; 0 gives black, 1 the image itself."""
    return kernels_for(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Move values away from the mean grey; 0 gives even grey, 1 the image itself."""
    return kernels_for(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Move colours away from grey; 0 gives a grey image, 1 the image itself."""
    return kernels_for(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn the colour circle; 0.5 and -0.5 give complementary colours, 0 the image itself.

    Raises:
        ValueError: if `hue_factor` is not in [-0.5, 0.5].
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return kernels_for(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """`gain * img ** gamma` on values from 0 to 1; above 1, dark parts become darker."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    return kernels_for(img).adjust_gamma(img, gamma, gain)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Move pixels away from the mean of their neighbours; 0 gives a blurred image, 1 the image itself."""
    return kernels_for(img).adjust_sharpness(img, sharpness_factor)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Grey, in 1 channel or in 3 equal ones."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    return kernels_for(img).to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """`to_grayscale`, under its name for tensors."""
    return to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """The negative."""
    return kernels_for(img).invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Keep the first `bits` bits of each value (`uint8`)."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return kernels_for(img).posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Invert the values from `threshold` on."""
    return kernels_for(img).solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretch each channel so that its darkest value is black and its lightest white."""
    return kernels_for(img).autocontrast(img)


def equalize(img: Any) -> Any:
    """Spread the values of each channel evenly over their range (`uint8`)."""
    return kernels_for(img).equalize(img)


def gaussian_blur(
    img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Any:
    """Blur by a Gaussian.

    Args:
        img: a PIL image or a tensor.
        kernel_size: odd width and height of the window, or one number for both.
        sigma: standard deviation along x and y, or one number; by default `0.3 * ((kernel_size - 1) / 2 - 1) + 0.8`.
    """
    sizes = list(size_pair(kernel_size))
    for size in sizes:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else list(_float_pair("sigma", sigma))
    if any(value <= 0.0 for value in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigmas}")
    return through_tensor(img, lambda image: kernels_for(image).gaussian_blur(image, sizes, sigmas))


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
    return kernels_for(img).erase(img, i, j, h, w, v, inplace)
