"""Preprocessing of images for models with published weights; `weights.transforms()` returns it."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from .._extras import is_pil_image
from . import functional as F
from ._geometry import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "OpticalFlow", "SemanticSegmentation", "VideoClassification"]

_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # channel means and standard deviations of ImageNet


def _as_float(img: Any) -> torch.Tensor:
    img = F.pil_to_tensor(img) if is_pil_image(img) else img
    return F.convert_image_dtype(img, torch.float)


class ObjectDetection(nn.Module):
    """Convert an image to a floating-point tensor with values from 0 to 1."""

    def forward(self, img: Any) -> torch.Tensor:
        return _as_float(img)


class ImageClassification(nn.Module):
    """Resize an image so that the shorter side is `resize_size`, crop the central square of `crop_size`, and normalize it."""

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = _MEAN,
        std: tuple[float, ...] = _STD,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> torch.Tensor:
        img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        return F.normalize(_as_float(F.center_crop(img, self.crop_size)), self.mean, self.std)

    def extra_repr(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        return "\n".join(f"{name}={getattr(self, name)}" for name in names)


class SemanticSegmentation(nn.Module):
    """Resize an image so that the shorter side is `resize_size`, and normalize it."""

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = _MEAN,
        std: tuple[float, ...] = _STD,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> torch.Tensor:
        if self.resize_size is not None:
            img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        return F.normalize(_as_float(img), self.mean, self.std)

    def extra_repr(self) -> str:
        names = ("resize_size", "mean", "std", "interpolation")
        return "\n".join(f"{name}={getattr(self, name)}" for name in names)


class VideoClassification(nn.Module):
    """Resize the frames of a video to `resize_size`, crop their centre to `crop_size`, and normalize them.

    Videos of shape `(..., T, C, H, W)` become `(..., C, T, H, W)`.
    """

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size = list(crop_size)
        self.resize_size = list(resize_size)
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation

    def forward(self, vid: torch.Tensor) -> torch.Tensor:
        # Without antialiasing, since the published weights were trained on such frames.
        vid = F.resize(vid, self.resize_size, self.interpolation, antialias=False)
        vid = F.normalize(_as_float(F.center_crop(vid, self.crop_size)), self.mean, self.std)
        return vid.transpose(-4, -3)

    def extra_repr(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        return "\n".join(f"{name}={getattr(self, name)}" for name in names)


class OpticalFlow(nn.Module):
    """Convert two images to floating-point tensors with values from -1 to 1."""

    def forward(self, img1: Any, img2: Any) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = ((_as_float(img) - 0.5) / 0.5 for img in (img1, img2))
        return first.contiguous(), second.contiguous()
