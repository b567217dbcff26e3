"""Transforms of images that exist only in version 2, such as noise, JPEG artefacts and random resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

from ..._extras import is_pil_image
from .._base import RandomApplyTransform, fill_for, uniform
from .._geometry import InterpolationMode
from . import functional as F
from ._samples import SampleTransform, Transform

__all__ = [
    "JPEG",
    "RGB",
    "GaussianNoise",
    "RandomChannelPermutation",
    "RandomPhotometricDistort",
    "RandomResize",
    "RandomShortestSize",
    "RandomZoomOut",
    "ScaleJitter",
]

_BILINEAR = InterpolationMode.BILINEAR


class GaussianNoise(Transform):
    """Add normal noise to images.

    Args:
        mean: mean of the noise, in units where white is 1.
        sigma: standard deviation of the noise in the same units, not negative.
        clip: whether to clamp the result to the value range of the image.

    Raises:
        ValueError: from calls, if an image is neither floating-point nor uint8, or `sigma` is negative.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> noisy = v2.GaussianNoise(sigma=0.1)(torch.full((1, 64, 64), 0.5))
        >>> 0.09 < noisy.std().item() < 0.11
        True
    """

    annotation_types = ()

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.gaussian_noise(inpt, self.mean, self.sigma, self.clip)

    def extra_repr(self) -> str:
        return f"mean={self.mean}, sigma={self.sigma}, clip={self.clip}"


class JPEG(Transform):
    """Compress images as JPEG and decode them again, which adds artefacts; for PIL images and uint8 tensors.

    Args:
        quality: JPEG quality from 1 to 100, or a range `(low, high)` that it is drawn from.

    Raises:
        ValueError: `quality` is out of range.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.JPEG(quality=50)(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([3, 8, 8])
    """

    annotation_types = ()

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        low, high = (quality, quality) if isinstance(quality, int) else quality
        if not 1 <= low <= high <= 100:
            raise ValueError(f"quality must be an integer from 1 to 100, or a range of such integers, got {quality}")
        self.quality = (low, high)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        low, high = self.quality
        return {"quality": torch.randint(low, high + 1, ()).item()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.jpeg(inpt, params["quality"])

    def extra_repr(self) -> str:
        return f"quality={list(self.quality)}"


class RGB(Transform):
    """Convert images to three channels: a grey channel is repeated, an alpha channel is dropped.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RGB()(torch.rand(1, 8, 8)).shape, v2.RGB()(torch.rand(4, 8, 8)).shape
        (torch.Size([3, 8, 8]), torch.Size([3, 8, 8]))
    """

    annotation_types = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if is_pil_image(inpt):
            return inpt.convert("RGB")
        return F.to_grayscale(inpt, 3) if inpt.shape[-3] == 1 else inpt[..., :3, :, :]


class RandomChannelPermutation(Transform):
    """Permute the channels of images at random.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = torch.tensor([1.0, 2.0, 3.0]).reshape(3, 1, 1)
        >>> sorted(v2.RandomChannelPermutation()(image).flatten().tolist())
        [1.0, 2.0, 3.0]
    """

    annotation_types = ()

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"permutation": torch.randperm(F.get_num_channels(flat_inputs[0])).tolist()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.permute_channels(inpt, params["permutation"])


class RandomPhotometricDistort(Transform):
    """Change brightness, contrast, saturation, hue and the order of channels of images, each at random.

    Liu et al., [SSD: Single Shot MultiBox Detector](https://arxiv.org/abs/1512.02325), 2015.

    Args:
        brightness: smallest and largest factor of the brightness.
        contrast: smallest and largest factor of the contrast.
        saturation: smallest and largest factor of the saturation.
        hue: smallest and largest shift of the hue, from -0.5 to 0.5, as a fraction of the colour circle.
        p: the probability of each change, from 0 to 1.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomPhotometricDistort()(torch.rand(3, 8, 8)).shape
        torch.Size([3, 8, 8])
    """

    annotation_types = ()

    def __init__(
        self,
        brightness: Sequence[float] = (0.875, 1.125),
        contrast: Sequence[float] = (0.5, 1.5),
        saturation: Sequence[float] = (0.5, 1.5),
        hue: Sequence[float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        def should_apply(probability: float) -> bool:
            return torch.rand(1).item() < probability

        params: dict[str, Any] = {}
        for name in ("brightness", "contrast", "saturation", "hue"):
            params[name] = uniform(*getattr(self, name)) if should_apply(self.p) else None
        params["contrast_first"] = should_apply(0.5)
        channels = F.get_num_channels(flat_inputs[0])
        params["permutation"] = torch.randperm(channels).tolist() if should_apply(self.p) else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        order = ["brightness", "saturation", "hue"]
        order.insert(1 if params["contrast_first"] else 3, "contrast")
        for name in order:
            if params[name] is not None:
                inpt = getattr(F, f"adjust_{name}")(inpt, params[name])
        permutation = params["permutation"]
        return inpt if permutation is None else F.permute_channels(inpt, permutation)


class RandomResize(Transform):
    """Resize an image so that the shorter side has a random length. The aspect ratio stays the same.

    Args:
        min_size: the smallest length in pixels.
        max_size: upper limit of the length in pixels, not included.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> height, width = v2.RandomResize(8, 12)(torch.rand(3, 16, 32)).shape[-2:]
        >>> 8 <= height < 12, width == 2 * height
        (True, True)
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: InterpolationMode = _BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"size": [int(torch.randint(self.min_size, self.max_size, ()))]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)

    def extra_repr(self) -> str:
        return f"min_size={self.min_size}, max_size={self.max_size}, antialias={self.antialias}"


class RandomShortestSize(Transform):
    """Resize an image so that the shorter side has one of several lengths. The aspect ratio stays the same.

    Args:
        min_size: a length, or a list of lengths to choose from.
        max_size: largest length of the longer side; None for no limit.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomShortestSize([8, 8])(torch.rand(3, 16, 32)).shape
        torch.Size([3, 8, 16])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: InterpolationMode = _BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = F.get_size(flat_inputs[0])
        ratio = self.min_size[int(torch.randint(len(self.min_size), ()))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)


class RandomZoomOut(SampleTransform, RandomApplyTransform):
    """Place an image at a random position of a larger canvas, with probability `p`: objects become smaller relative to the image.

    Liu et al., [SSD: Single Shot MultiBox Detector](https://arxiv.org/abs/1512.02325), 2015.

    Args:
        fill: value of the canvas outside of the image, a number or one per channel, or a dict from type to such a value; the key
            `"others"` is for missing types.
        side_range: smallest and largest ratio of canvas size to image size, at least 1.
        p: probability of applying the transform, from 0 to 1.

    Raises:
        ValueError: `side_range` is out of range.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.RandomZoomOut(side_range=(2.0, 2.0), p=1.0)(torch.rand(3, 8, 8)).shape
        torch.Size([3, 16, 16])
    """

    def __init__(self, fill: Any = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p)
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")
        self.fill = fill
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = F.get_size(flat_inputs[0])
        low, high = self.side_range
        factor = low + torch.rand(1).item() * (high - low)
        room_x, room_y = int(width * factor) - width, int(height * factor) - height
        share_x, share_y = torch.rand(2).tolist()
        left, top = int(room_x * share_x), int(room_y * share_y)
        return {"padding": [left, top, room_x - left, room_y - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pad(inpt, params["padding"], fill_for(inpt, self.fill) or 0)


class ScaleJitter(Transform):
    """Resize images, boxes and masks so that they fit into a size multiplied by a random factor; the aspect ratio stays the same.

    Ghiasi et al., [Simple Copy-Paste is a Strong Data Augmentation Method for Instance
    Segmentation](https://arxiv.org/abs/2012.07177), 2020.

    Args:
        target_size: the size `(width, height)` that is multiplied by the factor.
        scale_range: smallest and largest random factor.
        interpolation: the interpolation mode. Tensors support `InterpolationMode.NEAREST`, `NEAREST_EXACT`,
            `BILINEAR` and `BICUBIC`; PIL images support all modes.
        antialias: whether to smooth tensors when downscaling with `BILINEAR` or `BICUBIC`; PIL images are always antialiased.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.ScaleJitter((8, 8), scale_range=(2.0, 2.0))(torch.rand(3, 16, 32)).shape
        torch.Size([3, 8, 16])
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: InterpolationMode = _BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size = target_size
        self.scale_range = scale_range
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = F.get_size(flat_inputs[0])
        low, high = self.scale_range
        factor = low + torch.rand(1).item() * (high - low)
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * factor
        return {"size": (int(height * ratio), int(width * ratio))}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)
