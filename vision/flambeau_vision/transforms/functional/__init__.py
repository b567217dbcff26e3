"""Deterministic transforms as functions, on PIL images and on tensors of shape `(..., C, H, W)`.

Each function calls the kernel registered for the type of its input. `flambeau_vision.transforms.v2` registers kernels for
boxes, points and masks.
"""

from __future__ import annotations

from .._geometry import InterpolationMode
from .color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    erase,
    gaussian_blur,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from .conversion import convert_image_dtype, normalize, pil_to_tensor, to_pil_image, to_tensor
from .geometry import (
    affine,
    center_crop,
    crop,
    elastic_transform,
    five_crop,
    hflip,
    pad,
    perspective,
    resize,
    resized_crop,
    rotate,
    ten_crop,
    vflip,
)
from .registry import get_dimensions, get_image_num_channels, get_image_size

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

pil_modes_mapping = dict(zip(InterpolationMode, (0, 0, 2, 3, 4, 5, 1), strict=True))
