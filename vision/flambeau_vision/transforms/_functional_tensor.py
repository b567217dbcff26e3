"""`torchvision.transforms._functional_tensor`: the functions on tensors that programs use by this private name."""

from __future__ import annotations

from .functional import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    convert_image_dtype,
    crop,
    equalize,
    erase,
    gaussian_blur,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
    hflip,
    invert,
    normalize,
    pad,
    posterize,
    resize,
    rgb_to_grayscale,
    solarize,
    vflip,
)

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "adjust_sharpness", "autocontrast",
    "convert_image_dtype", "crop", "equalize", "erase", "gaussian_blur", "get_dimensions", "get_image_num_channels",
    "get_image_size", "hflip", "invert", "normalize", "pad", "posterize", "resize", "rgb_to_grayscale", "solarize", "vflip",
]  # fmt: skip
