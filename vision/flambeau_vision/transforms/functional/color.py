"""Functions that change pixel values: colour, sharpness, blur and erasing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from .conversion import apply_via_tensor
from .geometry import size_pair
from .registry import kernels_for

Tensor = torch.Tensor


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Multiply all pixel values by a factor.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        brightness_factor: factor, not negative: 0 gives black, 1 the unchanged image, 2 twice the brightness.

    Raises:
        ValueError: `img` is a tensor and the factor is negative.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_brightness
        >>> adjust_brightness(torch.tensor([[[0.25, 0.75]]]), 2.0)
        tensor([[[0.5000, 1.0000]]])
    """
    return kernels_for(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Change the contrast: scale the difference between each pixel and the mean grey of the image.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        contrast_factor: factor of the difference, not negative. 0 gives uniform grey, 1 the unchanged image, more than
            1 more contrast.

    Raises:
        ValueError: `img` is a tensor and the factor is negative.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_contrast
        >>> adjust_contrast(torch.tensor([[[0.25, 0.75]]]), 0.5)
        tensor([[[0.3750, 0.6250]]])
    """
    return kernels_for(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Change the saturation: scale the difference between the image and its grey version.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        saturation_factor: factor of the difference, not negative: 0 gives a grey image, 1 the unchanged image, more than
            1 stronger colours.

    Raises:
        ValueError: `img` is a tensor and the factor is negative.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_saturation
        >>> adjust_saturation(torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0.0).flatten()
        tensor([0.2989, 0.2989, 0.2989])
    """
    return kernels_for(img).adjust_saturation(img, saturation_factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Shift the hue of all colours.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        hue_factor: shift from -0.5 to 0.5, as a fraction of the colour circle. 0 gives the unchanged image, -0.5 and 0.5
            give complementary colours.

    Raises:
        ValueError: `hue_factor` is out of range.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_hue
        >>> adjust_hue(torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0.5).flatten()
        tensor([0., 1., 1.])
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return kernels_for(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """Compute `gain * img ** gamma`, where the values of the image are scaled to `[0, 1]`.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        gamma: exponent, not negative: values above 1 make dark parts darker, values below 1 make them lighter.
        gain: the factor of the result.

    Raises:
        ValueError: `gamma` is negative.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_gamma
        >>> adjust_gamma(torch.tensor([[[0.5, 1.0]]]), gamma=2.0)
        tensor([[[0.2500, 1.0000]]])
    """
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    return kernels_for(img).adjust_gamma(img, gamma, gain)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Change the sharpness: scale the difference between each pixel and a mean of its neighbours.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        sharpness_factor: factor of the difference, not negative: 0 gives a blurred image, 1 the unchanged image, more than
            1 a sharper one.

    Raises:
        ValueError: `img` is a tensor and the factor is negative.

    Example:
        >>> from flambeau_vision.transforms.functional import adjust_sharpness
        >>> image = torch.rand(1, 5, 5)
        >>> torch.allclose(adjust_sharpness(image, 1.0), image)
        True
    """
    return kernels_for(img).adjust_sharpness(img, sharpness_factor)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Convert to grey: `0.2989 * red + 0.587 * green + 0.114 * blue`.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        num_output_channels: 1, or 3 for three equal channels; a tensor with one channel is returned with one channel.

    Raises:
        ValueError: `num_output_channels` is neither 1 nor 3.

    Example:
        >>> from flambeau_vision.transforms.functional import to_grayscale
        >>> to_grayscale(torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1))
        tensor([[[0.2989]]])
    """
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    return kernels_for(img).to_grayscale(img, num_output_channels)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Convert to grey; an alias of `to_grayscale`.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        num_output_channels: 1, or 3 for three equal channels; a tensor with one channel is returned with one channel.

    Raises:
        ValueError: `num_output_channels` is neither 1 nor 3.

    Example:
        >>> from flambeau_vision.transforms.functional import rgb_to_grayscale
        >>> rgb_to_grayscale(torch.rand(3, 4, 5), num_output_channels=3).shape
        torch.Size([3, 4, 5])
    """
    return to_grayscale(img, num_output_channels)


def invert(img: Any) -> Any:
    """Return the negative of an image: the value of white minus each pixel value.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms.functional import invert
        >>> invert(torch.tensor([[[0, 55, 255]]], dtype=torch.uint8))
        tensor([[[255, 200,   0]]], dtype=torch.uint8)
    """
    return kernels_for(img).invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Keep only the highest bits of each value, which reduces the number of colours.

    Args:
        img: a PIL image, or a uint8 tensor of shape `(..., C, H, W)` with 1 or 3 channels.
        bits: number of bits to keep, from 0 to 8.

    Raises:
        ValueError: `bits` is out of range.
        TypeError: a tensor is not uint8.

    Example:
        >>> from flambeau_vision.transforms.functional import posterize
        >>> posterize(torch.tensor([[[3, 100, 255]]], dtype=torch.uint8), bits=2)
        tensor([[[  0,  64, 192]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return kernels_for(img).posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Invert all values at or above a threshold.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.
        threshold: the smallest value to invert, for example 128 for uint8 or 0.5 for floats to invert the upper half.

    Raises:
        TypeError: `threshold` is larger than the maximum of the tensor's dtype.

    Example:
        >>> from flambeau_vision.transforms.functional import solarize
        >>> solarize(torch.tensor([[[0, 100, 255]]], dtype=torch.uint8), threshold=128)
        tensor([[[  0, 100,   0]]], dtype=torch.uint8)
    """
    return kernels_for(img).solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretch each channel to the full value range.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)` with 1 or 3 channels: uint8, or floating from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms.functional import autocontrast
        >>> autocontrast(torch.tensor([[[0.25, 0.5, 0.75]]]))
        tensor([[[0.0000, 0.5000, 1.0000]]])
    """
    return kernels_for(img).autocontrast(img)


def equalize(img: Any) -> Any:
    """Equalize the histogram of each channel, so that all values are about equally frequent.

    Args:
        img: a PIL image, or a uint8 tensor of shape `(..., C, H, W)` with 1 or 3 channels.

    Raises:
        TypeError: a tensor is not uint8.

    Example:
        >>> from flambeau_vision.transforms.functional import equalize
        >>> dark = (torch.arange(1024) // 8).reshape(1, 32, 32).to(torch.uint8)
        >>> dark.max().item(), equalize(dark).max().item()
        (127, 255)
    """
    return kernels_for(img).equalize(img)


def gaussian_blur(img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """Blur an image with a Gaussian kernel.

    Args:
        img: a PIL image, or a tensor of shape `(..., C, H, W)`.
        kernel_size: odd width and height of the kernel in pixels, or an int for both.
        sigma: standard deviation along x and y in pixels, or a number for both; None for `0.15 * kernel_size + 0.35`.

    Raises:
        ValueError: a size is even or negative, or a `sigma` is not positive.

    Example:
        >>> from flambeau_vision.transforms.functional import gaussian_blur
        >>> dot = torch.zeros(1, 5, 5)
        >>> dot[0, 2, 2] = 1.0
        >>> gaussian_blur(dot, 3, sigma=0.5)[0, 2]
        tensor([0.0000, 0.0838, 0.6193, 0.0838, 0.0000])
    """
    sizes = list(size_pair(kernel_size))
    for size in sizes:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else list(_float_pair("sigma", sigma))
    if any(value <= 0.0 for value in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigmas}")
    return apply_via_tensor(img, lambda image: kernels_for(image).gaussian_blur(image, sizes, sigmas))


def _float_pair(name: str, value: float | Sequence[float]) -> tuple[float, float]:
    if isinstance(value, int | float):
        return float(value), float(value)
    if not isinstance(value, tuple | list):
        raise TypeError(f"{name} should be either float or sequence of floats. Got {type(value)}")
    if len(value) not in (1, 2):
        raise ValueError(f"If {name} is a sequence, its length should be 2. Got {len(value)}")
    return float(value[0]), float(value[-1])


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """Overwrite a rectangle of an image.

    Args:
        img: a tensor of shape `(..., C, H, W)`.
        i, j: row and column of the upper left corner of the rectangle.
        h, w: height and width of the rectangle.
        v: the new values, a tensor that broadcasts to `(C, h, w)`.
        inplace: whether to modify `img` in place.

    Raises:
        TypeError: `img` is not a tensor.

    Example:
        >>> from flambeau_vision.transforms.functional import erase
        >>> erase(torch.ones(1, 2, 3), i=0, j=1, h=1, w=2, v=torch.tensor(0.0))
        tensor([[[1., 0., 0.],
                 [1., 1., 1.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return kernels_for(img).erase(img, i, j, h, w, v, inplace)
