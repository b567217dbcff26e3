"""Transforms that only samples have: of types, of boxes, and mixtures of batches."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as nnF

from ... import tv_tensors
from ..._extras import is_pil_image, pillow
from ...ops.boxes import box_iou
from .._base import MaybeTransform, uniform
from .._geometry import InterpolationMode
from . import functional as F
from ._samples import SampleTransform, Transform

__all__ = [
    "JPEG",
    "ClampBoundingBoxes",
    "ConvertBoundingBoxFormat",
    "CutMix",
    "GaussianNoise",
    "Identity",
    "Lambda",
    "MixUp",
    "PILToTensor",
    "RGB",
    "RandomChannelPermutation",
    "RandomIoUCrop",
    "RandomPhotometricDistort",
    "RandomResize",
    "RandomShortestSize",
    "RandomZoomOut",
    "SanitizeBoundingBoxes",
    "ScaleJitter",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
]

_BILINEAR = InterpolationMode.BILINEAR
_BOXES = tv_tensors.BoundingBoxes


class Identity(Transform):
    """Everything as it is."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class Lambda(Transform):
    """Apply a function of one's own to the inputs of the given types (all of them by default)."""

    def __init__(self, lambd: Callable, *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def forward(self, *inputs: Any) -> Any:
        results = tuple(self.lambd(inpt) if isinstance(inpt, self.types) else inpt for inpt in inputs)
        return results if len(results) > 1 else results[0]


# Types


class ToImage(Transform):
    """PIL images, arrays and plain tensors as :class:`~flambeau_vision.tv_tensors.Image`, their values unchanged."""

    kinds = ()

    def forward(self, *inputs: Any) -> Any:
        # Arrays are images here and nowhere else.
        converted = [F.to_image(inpt) if hasattr(inpt, "__array_interface__") else inpt for inpt in inputs]
        return super().forward(*converted)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_image(inpt)


class PILToTensor(Transform):
    """PIL images as plain tensors, their values unchanged."""

    kinds = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pil_to_tensor(inpt) if is_pil_image(inpt) else inpt


class ToPILImage(Transform):
    """Image tensors as PIL images, in ``mode`` where given."""

    kinds = ()

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if is_pil_image(inpt) else F.to_pil_image(F.to_pure_tensor(inpt), self.mode)

    def extra_repr(self) -> str:
        return "" if self.mode is None else f"mode={self.mode}"


class ToPureTensor(Transform):
    """Tensors with a meaning as plain tensors."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt

    def forward(self, *inputs: Any) -> Any:
        return _strip(inputs if len(inputs) > 1 else inputs[0])


def _strip(sample: Any) -> Any:
    if isinstance(sample, dict):
        return type(sample)((key, _strip(part)) for key, part in sample.items())
    if isinstance(sample, list | tuple):
        return type(sample)(_strip(part) for part in sample)
    return F.to_pure_tensor(sample) if isinstance(sample, tv_tensors.TVTensor) else sample


class ToDtype(Transform):
    """Change the dtype, and with ``scale`` the values of images.

    Args:
        dtype: the dtype of images and plain tensors; or a dict from type to dtype, with ``"others"`` for the rest and
            None for no change.
        scale: scale floats to 0 to 1, integers to 0 to their largest.
    """

    def __init__(self, dtype: torch.dtype | dict[Any, torch.dtype | None], scale: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(self.dtype, dict):
            dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
        else:
            dtype = None if isinstance(inpt, self.kinds) else self.dtype
        return inpt if dtype is None or is_pil_image(inpt) else F.to_dtype(inpt, dtype, self.scale)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, scale={self.scale}"


class ToTensor(Transform):
    """PIL images as plain floating tensors with values from 0 to 1, as the first version had it."""

    kinds = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not is_pil_image(inpt):
            return inpt
        return F.to_dtype(F.pil_to_tensor(inpt), torch.float32, scale=True)


# Colour


class RGB(Transform):
    """Images in three channels."""

    kinds = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if is_pil_image(inpt):
            return inpt.convert("RGB")
        return F.to_grayscale(inpt, 3) if inpt.shape[-3] == 1 else inpt[..., :3, :, :]


class RandomChannelPermutation(Transform):
    """The channels of images in random order."""

    kinds = ()

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"permutation": torch.randperm(F.get_num_channels(flat_inputs[0])).tolist()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.permute_channels(inpt, params["permutation"])


class RandomPhotometricDistort(Transform):
    """Change brightness, contrast, saturation, hue and the order of channels, each with probability ``p``: as for SSD."""

    kinds = ()

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
        def maybe(draw: Callable[[], Any]) -> Any:
            return draw() if torch.rand(1).item() < self.p else None

        names = ("brightness", "contrast", "saturation", "hue")
        params = {name: maybe(lambda limits=getattr(self, name): uniform(*limits)) for name in names}
        params["contrast_first"] = torch.rand(1).item() < 0.5
        channels = F.get_num_channels(flat_inputs[0])
        params["permutation"] = maybe(lambda: torch.randperm(channels).tolist())
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        order = ["brightness", "saturation", "hue"]
        order.insert(1 if params["contrast_first"] else 3, "contrast")
        for name in order:
            if params[name] is not None:
                inpt = getattr(F, f"adjust_{name}")(inpt, params[name])
        permutation = params["permutation"]
        return inpt if permutation is None else F.permute_channels(inpt, permutation)


class GaussianNoise(Transform):
    """Add normal noise to floating images; with ``clip``, keep the values between 0 and 1."""

    kinds = ()

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
    """Compress images and restore them; ``quality`` from 1 to 100, or a range to draw it from."""

    kinds = ()

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
        image = inpt if is_pil_image(inpt) else F.to_pil_image(F.to_pure_tensor(inpt))
        packed = io.BytesIO()
        image.save(packed, format="JPEG", quality=params["quality"])
        restored = pillow().open(packed)
        restored.load()
        return restored if is_pil_image(inpt) else F.pil_to_tensor(restored)

    def extra_repr(self) -> str:
        return f"quality={list(self.quality)}"


# Sizes


class RandomResize(Transform):
    """Scale the shorter side to a random length from ``min_size`` up to, but not including, ``max_size``."""

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
    """Scale the shorter side to one of the lengths in ``min_size``, the longer side to at most ``max_size``."""

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


class ScaleJitter(Transform):
    """Scale to fit ``target_size``, times a random factor from ``scale_range``."""

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


class RandomZoomOut(SampleTransform, MaybeTransform):
    """Put the image at a random place of a larger canvas, with probability ``p``.

    Args:
        fill: the value of the canvas, one per channel, or a dict by type.
        side_range: range of the factor by which the canvas is larger.
        p: probability.
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
        fill = self.fill.get(type(inpt), self.fill.get("others", 0)) if isinstance(self.fill, dict) else self.fill
        return F.pad(inpt, params["padding"], fill)


# Boxes


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format."""

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.convert_bounding_box_format(inpt, new_format=self.format) if isinstance(inpt, _BOXES) else inpt


class ClampBoundingBoxes(Transform):
    """Boxes cut off at the border of the canvas."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt) if isinstance(inpt, _BOXES) else inpt


class SanitizeBoundingBoxes(Transform):
    """Drop boxes that are too small or stick out of the canvas, and the labels and masks that belong to them.

    Args:
        min_size: the smallest width and height.
        min_area: the smallest area.
        labels_getter: a function from the sample to its labels (or a tuple of tensors to treat like labels); by default
            the value whose key contains "label" in a dict of the sample; None for no labels.
    """

    def __init__(
        self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: Callable | str | None = "default"
    ) -> None:
        super().__init__()
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter

    def _labels(self, inputs: Any) -> tuple[Any, ...]:
        if self.labels_getter is None:
            return ()
        labels = self.labels_getter(inputs) if callable(self.labels_getter) else _find_labels(inputs)
        return labels if isinstance(labels, tuple) else (labels,)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self._labels(sample)
        boxes = _find_boxes(sample)
        if boxes is None:
            return sample
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)
        return self._filter(sample, labels, valid)

    def _filter(self, part: Any, labels: tuple[Any, ...], valid: torch.Tensor) -> Any:
        if isinstance(part, dict):
            return type(part)((key, self._filter(value, labels, valid)) for key, value in part.items())
        if isinstance(part, list | tuple):
            return type(part)(self._filter(value, labels, valid) for value in part)
        belongs = isinstance(part, _BOXES) or any(part is label for label in labels)
        if belongs or (isinstance(part, tv_tensors.Mask) and part.ndim == 3 and len(part) == len(valid)):
            kept = part.as_subclass(torch.Tensor)[valid]
            return tv_tensors.wrap(kept, like=part) if isinstance(part, tv_tensors.TVTensor) else kept
        return part

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


def _find_boxes(sample: Any) -> Any:
    if isinstance(sample, dict):
        sample = list(sample.values())
    if isinstance(sample, list | tuple):
        return next((boxes for boxes in map(_find_boxes, sample) if boxes is not None), None)
    return sample if isinstance(sample, _BOXES) else None


def _find_labels(sample: Any) -> Any:
    """The first value whose key contains "label", in the sample or in the second of its parts."""
    if isinstance(sample, tuple) and len(sample) > 1:
        sample = sample[1]
    if isinstance(sample, torch.Tensor):
        return sample
    if isinstance(sample, dict):
        for key, value in sample.items():
            if "label" in str(key).lower():
                return value
    raise ValueError("Could not infer where the labels are in the sample. Try passing a callable as labels_getter.")


class RandomIoUCrop(Transform):
    """Cut out a random rectangle that overlaps some box enough: as for `SSD <https://arxiv.org/abs/1512.02325>`_.

    Boxes whose centre is cut off become empty; follow with :class:`SanitizeBoundingBoxes`.

    Args:
        min_scale: smallest side, as a share of the image.
        max_scale: largest side.
        min_aspect_ratio: smallest width divided by height.
        max_aspect_ratio: largest.
        sampler_options: overlaps to choose from; 1 or more means no crop.
        trials: tries before another overlap is drawn.
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: Sequence[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.scale = (min_scale, max_scale)
        self.ratio = (min_aspect_ratio, max_aspect_ratio)
        self.options = list(sampler_options or (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0))
        self.trials = trials

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        boxes = next((inpt for inpt in flat_inputs if isinstance(inpt, _BOXES)), None)
        if boxes is None:
            raise TypeError(f"{type(self).__name__}() requires input sample to contain bounding boxes")
        xyxy = F.to_pure_tensor(F.convert_bounding_box_format(boxes, new_format="XYXY")).float()
        while True:
            overlap = self.options[int(torch.randint(len(self.options), ()))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                params = self._try(xyxy, *boxes.canvas_size, overlap)
                if params is not None:
                    return params

    def _try(self, xyxy: torch.Tensor, height: int, width: int, overlap: float) -> dict[str, Any] | None:
        low, high = self.scale
        share_x, share_y = (low + (high - low) * torch.rand(2)).tolist()
        new_width, new_height = int(width * share_x), int(height * share_y)
        if not new_height or not self.ratio[0] <= new_width / new_height <= self.ratio[1]:
            return None
        place_x, place_y = torch.rand(2).tolist()
        left, top = int((width - new_width) * place_x), int((height - new_height) * place_y)
        right, bottom = left + new_width, top + new_height
        if left == right or top == bottom:
            return None
        x, y = (xyxy[:, 0] + xyxy[:, 2]) / 2, (xyxy[:, 1] + xyxy[:, 3]) / 2
        inside = (left < x) & (x < right) & (top < y) & (y < bottom)
        if not inside.any():
            return None
        window = torch.tensor([[left, top, right, bottom]], dtype=xyxy.dtype, device=xyxy.device)
        if box_iou(xyxy[inside], window).max() < overlap:
            return None
        return {"crop": (top, left, new_height, new_width), "inside": inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params:
            return inpt
        result = F.crop(inpt, *params["crop"])
        if isinstance(result, _BOXES):
            result = tv_tensors.wrap(F.to_pure_tensor(result) * params["inside"][:, None], like=result)
        return result


# Batches


class _MixBatch(Transform):
    """Mix each sample of a batch with the one before it, images and labels alike."""

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Callable | str = "default"
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.num_classes = num_classes
        self.labels_getter = labels_getter

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self.labels_getter(sample) if callable(self.labels_getter) else _find_labels(sample)
        self._images = [leaf for leaf in _flat(sample) if isinstance(leaf, torch.Tensor) and leaf.ndim >= 4]
        if not self._images:
            raise ValueError(f"Expected a batch of images of shape (B, C, H, W) for {type(self).__name__}()")
        mix = float(torch.distributions.Beta(torch.tensor([self.alpha]), torch.tensor([self.alpha])).sample(()))
        params = self.make_mix(mix, *self._images[0].shape[-2:])
        return self._apply(sample, labels, params)

    def _apply(self, part: Any, labels: torch.Tensor, params: dict[str, Any]) -> Any:
        if isinstance(part, dict):
            return type(part)((key, self._apply(value, labels, params)) for key, value in part.items())
        if isinstance(part, list | tuple):
            return type(part)(self._apply(value, labels, params) for value in part)
        if part is labels:
            return self._mix_labels(part, params["labels_share"])
        return self.transform(part, params) if any(part is image for image in self._images) else part

    def _mix_labels(self, labels: torch.Tensor, share: float) -> torch.Tensor:
        if labels.ndim == 1:
            if self.num_classes is None:
                raise ValueError("num_classes must be passed if the labels are index-based (1D)")
            labels = nnF.one_hot(labels, num_classes=self.num_classes)
        labels = labels if labels.is_floating_point() else labels.float()
        return labels.roll(1, 0) * (1.0 - share) + labels * share


def _flat(sample: Any) -> list[Any]:
    if isinstance(sample, dict):
        sample = list(sample.values())
    if isinstance(sample, list | tuple):
        return [leaf for part in sample for leaf in _flat(part)]
    return [sample]


class MixUp(_MixBatch):
    """Average each sample of a batch with the one before it: `mixup <https://arxiv.org/abs/1710.09412>`_.

    Args:
        alpha: parameter of the distribution of the weights.
        num_classes: needed where labels are class numbers.
        labels_getter: a function from the sample to its labels; found by name by default.
    """

    def make_mix(self, share: float, height: int, width: int) -> dict[str, Any]:
        return {"labels_share": share}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        share = params["labels_share"]
        return inpt.roll(1, 0) * (1.0 - share) + inpt * share


class CutMix(_MixBatch):
    """Paste a rectangle of the sample before into each sample of a batch: `CutMix <https://arxiv.org/abs/1905.04899>`_.

    Arguments as for :class:`MixUp`.
    """

    def make_mix(self, share: float, height: int, width: int) -> dict[str, Any]:
        x, y = int(torch.randint(width, ())), int(torch.randint(height, ()))
        radius = 0.5 * (1.0 - share) ** 0.5
        half_width, half_height = int(radius * width), int(radius * height)
        left, right = max(x - half_width, 0), min(x + half_width, width)
        top, bottom = max(y - half_height, 0), min(y + half_height, height)
        kept = 1.0 - (right - left) * (bottom - top) / (width * height)
        return {"box": (top, bottom, left, right), "labels_share": kept}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        top, bottom, left, right = params["box"]
        result = inpt.clone()
        result[..., top:bottom, left:right] = inpt.roll(1, 0)[..., top:bottom, left:right]
        return result
