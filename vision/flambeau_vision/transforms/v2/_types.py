"""Transforms that convert types, dtypes and value ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..._extras import is_pil_image
from . import functional as F
from ._samples import Transform, map_sample

__all__ = [
    "ConvertImageDtype",
    "Identity",
    "Lambda",
    "PILToTensor",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "UniformTemporalSubsample",
]


class Identity(Transform):
    """Return the input unchanged. Use it where a transform is required.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.Identity()(torch.tensor([1.0]))
        tensor([1.])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt


class ConvertImageDtype(Transform):
    """Convert the dtype of images and scale their values, like `ToDtype` with `scale=True`.

    Args:
        dtype: the new dtype. Floats range from 0 to 1, integers from 0 to their maximum.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.ConvertImageDtype(torch.float32)(torch.tensor([[[0, 51, 255]]], dtype=torch.uint8))
        tensor([[[0.0000, 0.2000, 1.0000]]])
    """

    annotation_types = ()

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if is_pil_image(inpt) else F.to_dtype(inpt, self.dtype, scale=True)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}"


class UniformTemporalSubsample(Transform):
    """Select frames of a video at equal distances, including the first and the last.

    Args:
        num_samples: number of frames to return; frames of shorter videos are repeated.

    Shape:
        - Input: `(..., T, C, H, W)`.
        - Output: `(..., num_samples, C, H, W)`.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> video = torch.arange(5).reshape(5, 1, 1, 1)
        >>> v2.UniformTemporalSubsample(3)(video).flatten()
        tensor([0, 2, 4])
    """

    annotation_types = ()

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.uniform_temporal_subsample(inpt, self.num_samples)

    def extra_repr(self) -> str:
        return f"num_samples={self.num_samples}"


class Lambda(Transform):
    """Apply a user-defined function to the parts of a sample.

    Args:
        lambd: a function of one part of the sample.
        *types: types of the parts to transform; all parts if no type is given.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.Lambda(lambda part: 2 * part, torch.Tensor)(torch.tensor([1.0]), "label")
        (tensor([2.]), 'label')
    """

    def __init__(self, lambd: Callable, *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        return map_sample(lambda leaf: self.lambd(leaf) if isinstance(leaf, self.types) else leaf, sample)


class PILToTensor(Transform):
    """Convert PIL images to plain tensors of shape `(C, H, W)` with the same values.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision.transforms import v2
        >>> v2.PILToTensor()(Image.new("RGB", (2, 1), color=(255, 0, 51)))[2]
        tensor([[51, 51]], dtype=torch.uint8)
    """

    annotation_types = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.pil_to_tensor(inpt) if is_pil_image(inpt) else inpt


class ToDtype(Transform):
    """Convert the dtype, and scale the values of images if `scale` is True.

    Args:
        dtype: the dtype of images and plain tensors; or a dict from types to dtypes. The key `"others"` is for missing types.
            The value None means no change.
        scale: whether to scale the values of images: floats range from 0 to 1, integers from 0 to their maximum.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[0, 51, 255]]], dtype=torch.uint8))
        tensor([[[0.0000, 0.2000, 1.0000]]])
    """

    def __init__(self, dtype: torch.dtype | dict[Any, torch.dtype | None], scale: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(self.dtype, dict):
            dtype = self.dtype.get(type(inpt), self.dtype.get("others"))
        else:
            dtype = None if isinstance(inpt, self.annotation_types) else self.dtype
        return inpt if dtype is None or is_pil_image(inpt) else F.to_dtype(inpt, dtype, self.scale)

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, scale={self.scale}"


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array_interface__") and not isinstance(value, torch.Tensor) and not is_pil_image(value)


class ToImage(Transform):
    """Convert PIL images, NumPy arrays `(H, W, C)` and plain tensors to `flambeau_vision.tv_tensors.Image`.

    The values stay the same.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision.transforms import v2
        >>> image = v2.ToImage()(Image.new("RGB", (2, 1)))
        >>> type(image).__name__, image.shape, image.dtype
        ('Image', torch.Size([3, 1, 2]), torch.uint8)
    """

    annotation_types = ()

    def forward(self, *inputs: Any) -> Any:
        # Other transforms return arrays unchanged; this transform treats them as images.
        converted = map_sample(lambda leaf: F.to_image(leaf) if _is_array(leaf) else leaf, inputs)
        return super().forward(*converted)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Convert image tensors of shape `(C, H, W)` to PIL images; floats must be in `[0, 1]`.

    Args:
        mode: the mode of the PIL image, such as `"RGB"` or `"CMYK"`; None to infer it from the channels and the dtype.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> image = v2.ToPILImage()(torch.ones(3, 4, 5))
        >>> image.mode, image.size
        ('RGB', (5, 4))
    """

    annotation_types = ()

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt if is_pil_image(inpt) else F.to_pil_image(F.to_pure_tensor(inpt), self.mode)

    def extra_repr(self) -> str:
        return "" if self.mode is None else f"mode={self.mode}"


class ToPureTensor(Transform):
    """Convert images, boxes, points and masks to plain tensors, usually as the last transform of a sequence.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> type(v2.ToPureTensor()(tv_tensors.Image(torch.rand(3, 4, 4)))).__name__
        'Tensor'
    """

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        return map_sample(lambda leaf: F.to_pure_tensor(leaf) if isinstance(leaf, torch.Tensor) else leaf, sample)


class ToTensor(Transform):
    """Convert PIL images to plain floating-point tensors with values in `[0, 1]`, like `ToTensor` of version 1.

    `ToImage` followed by `ToDtype(torch.float32, scale=True)` does the same, but returns an `Image`.

    Example:
        >>> from PIL import Image
        >>> from flambeau_vision.transforms import v2
        >>> v2.ToTensor()(Image.new("RGB", (2, 1), color=(255, 0, 51)))[2]
        tensor([[0.2000, 0.2000]])
    """

    annotation_types = ()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not is_pil_image(inpt):
            return inpt
        return F.to_dtype(F.pil_to_tensor(inpt), torch.float32, scale=True)
