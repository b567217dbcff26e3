"""Tensor types for images, videos, bounding boxes, key points and masks.

The transforms of `flambeau_vision.transforms.v2` dispatch on these types.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import flambeau as torch

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]


class BoundingBoxFormat(Enum):
    """The meaning of the numbers of a box. Axis-aligned boxes have four numbers, rotated boxes have five or eight."""

    XYXY = "XYXY"  # left, top, right, bottom
    XYWH = "XYWH"  # left, top, width, height
    CXCYWH = "CXCYWH"  # centre x, centre y, width, height
    XYWHR = "XYWHR"  # the corner that is upper left before the rotation, width, height, angle in degrees counterclockwise
    CXCYWHR = "CXCYWHR"  # centre x, centre y, width, height, angle in degrees counterclockwise
    XYXYXYXY = "XYXYXYXY"  # four corners; the side between the first two is the upper side before the rotation


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Return whether a format is for rotated boxes.

    Raises:
        ValueError: `format` is neither a `BoundingBoxFormat` nor its name.

    Example:
        >>> from flambeau_vision.tv_tensors import is_rotated_bounding_format
        >>> is_rotated_bounding_format("CXCYWHR"), is_rotated_bounding_format("CXCYWH")
        (True, False)
    """
    if not isinstance(format, BoundingBoxFormat | str):
        raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")
    name = format.value if isinstance(format, BoundingBoxFormat) else format
    return name in ("XYWHR", "CXCYWHR", "XYXYXYXY")


_keeps_type = False  # set by `set_return_type`


class set_return_type:
    """Set the type that operations on `TVTensor`s return. When used as a context manager, restore the previous setting on exit.

    Args:
        return_type: `"Tensor"`, the initial setting, or `"TVTensor"` for the type of the first operand that is a `TVTensor`.

    Raises:
        ValueError: if `return_type` is another string.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> image = tv_tensors.Image(torch.zeros(3, 4, 5))
        >>> with tv_tensors.set_return_type("TVTensor"):
        ...     type(image + 1).__name__
        'Image'
    """

    def __init__(self, return_type: str) -> None:
        global _keeps_type
        if return_type.lower() not in ("tensor", "tvtensor"):
            raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
        self.before, _keeps_type = _keeps_type, return_type.lower() == "tvtensor"

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        global _keeps_type
        _keeps_type = self.before


class TVTensor(torch.Tensor):
    """Base class of the tensor types in this module.

    `clone`, `to`, `detach` and `copy.deepcopy` keep the type. Other operations return plain tensors, unless
    `set_return_type("TVTensor")` is active.
    """

    @classmethod
    def _from(cls, data: Any, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Any:
        from ._extras import is_pil_image

        if is_pil_image(data):
            from .transforms.functional import pil_to_tensor

            data = pil_to_tensor(data)
        if requires_grad is None:
            requires_grad = isinstance(data, torch.Tensor) and data.requires_grad
        tensor = torch.as_tensor(data, dtype=dtype, device=device)
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
        return tensor.requires_grad_(requires_grad).as_subclass(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = torch.Tensor.__torch_function__.__func__(torch.Tensor, func, (), args, kwargs or {})
        if _keeps_type and not getattr(func, "__name__", "").startswith("__get"):
            like = next((value for value in (*args, *(kwargs or {}).values()) if isinstance(value, TVTensor)), None)
            if like is not None:
                parts = result if isinstance(result, tuple | list) else [result]
                typed = [wrap(part, like=like) if type(part) is torch.Tensor else part for part in parts]
                return type(result)(typed) if isinstance(result, tuple | list) else typed[0]
        return result

    @classmethod
    def wrap(cls, tensor: torch.Tensor, like: Any, **kwargs: Any) -> Any:
        """Convert a plain tensor to this class. Subclasses copy their metadata from `like`; `kwargs` replace it.

        The function `tv_tensors.wrap` calls this method.
        """
        return tensor.as_subclass(cls)

    def _plain(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy that has the same type."""
        return wrap(self._plain().clone(*args, **kwargs), like=self)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert the dtype or the device; the result has the same type."""
        return wrap(self._plain().to(*args, **kwargs), like=self)

    def detach(self) -> Any:
        """Return a tensor of the same type that shares the values but is not connected to the autograd graph."""
        return wrap(self._plain().detach(), like=self)

    def __deepcopy__(self, memo: dict) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)


class Image(TVTensor):
    """An image of shape `(..., C, H, W)`, created from a PIL image or from any data that `flambeau.as_tensor` accepts.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> image = tv_tensors.Image(torch.zeros(3, 4, 5))
        >>> type(image).__name__, type(image + 1).__name__
        ('Image', 'Tensor')
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Image:
        image = cls._from(data, dtype, device, requires_grad)
        return image.unsqueeze(0).as_subclass(cls) if image.ndim == 2 else image


class Video(TVTensor):
    """A video of shape `(..., T, C, H, W)`.

    Raises:
        ValueError: if there are fewer than four dimensions.
    """

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Video:
        video = cls._from(data, dtype, device, requires_grad)
        if video.ndim < 4:
            raise ValueError(f"A video has at least 4 dimensions (T, C, H, W), got shape {tuple(video.shape)}")
        return video


class Mask(TVTensor):
    """Masks of shape `(..., H, W)`: a class index for each pixel, or a separate boolean mask for each object."""

    def __new__(cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None) -> Mask:
        return cls._from(data, dtype, device, requires_grad)


class BoundingBoxes(TVTensor):
    """Boxes in an image, of shape `(N, 4)`; rotated boxes have shape `(N, 5)`, or `(N, 8)` as corners.

    Args:
        data: the boxes; rotated boxes must be floating point.
        format: a `BoundingBoxFormat` or its name.
        canvas_size: `(height, width)` of the image.
        clamping_mode: None if transforms do not clamp boxes to the canvas. With `"soft"` and `"hard"`, they do. The two differ
            for rotated boxes, whose angle is kept: with `"soft"`, corners can remain outside of the canvas.

    Raises:
        ValueError: if `clamping_mode` is unknown, the last dimension has the wrong size, or rotated boxes are not floating point.
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> BoundingBoxes:
        boxes = cls._from(data, dtype, device, requires_grad)
        if boxes.ndim == 1:
            boxes = boxes.unsqueeze(0).as_subclass(cls)
        boxes.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        numbers = {"XYXYXYXY": 8, "XYWHR": 5, "CXCYWHR": 5}.get(boxes.format.value, 4)
        if boxes.ndim != 2 or boxes.shape[-1] != numbers:
            raise ValueError(f"Expected boxes of shape (N, {numbers}), got {tuple(boxes.shape)}")
        if numbers > 4 and not boxes.is_floating_point():
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {boxes.dtype}.")
        boxes.canvas_size = tuple(canvas_size)
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        boxes.clamping_mode = clamping_mode
        return boxes

    @classmethod
    def wrap(cls, tensor: torch.Tensor, like: BoundingBoxes, **kwargs: Any) -> BoundingBoxes:
        """Return boxes with the format, canvas size and clamping mode of `like`, unless these are given as arguments."""
        boxes = tensor.as_subclass(cls)
        boxes.format = kwargs.get("format", like.format)
        boxes.clamping_mode = kwargs.get("clamping_mode", like.clamping_mode)
        boxes.canvas_size = tuple(kwargs.get("canvas_size", like.canvas_size))
        return boxes

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        plain = repr(self._plain()).replace("tensor", "BoundingBoxes", 1)
        return f"{plain[:-1]}, format={self.format}, canvas_size={self.canvas_size}, clamping_mode={self.clamping_mode})"


class KeyPoints(TVTensor):
    """Points `(x, y)` in an image, of shape `(..., 2)`, for example the points of skeletons or polygons.

    Args:
        data: the points.
        canvas_size: `(height, width)` of the image.

    Raises:
        ValueError: if the last dimension does not have size 2.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[2, 1], [5, 3]], canvas_size=(4, 10))
        >>> v2.RandomHorizontalFlip(p=1.0)(points).tolist()
        [[7, 1], [4, 3]]
    """

    canvas_size: tuple[int, int]

    def __new__(
        cls, data: Any, *, canvas_size: tuple[int, int], dtype: Any = None, device: Any = None, requires_grad: bool | None = None
    ) -> KeyPoints:
        points = cls._from(data, dtype, device, requires_grad)
        if points.ndim == 1:
            points = points.unsqueeze(0).as_subclass(cls)
        elif points.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {points.shape}")
        points.canvas_size = tuple(canvas_size)
        return points

    @classmethod
    def wrap(cls, tensor: torch.Tensor, like: KeyPoints, **kwargs: Any) -> KeyPoints:
        """Return points with the canvas size of `like`, unless `canvas_size` is given."""
        points = tensor.as_subclass(cls)
        points.canvas_size = tuple(kwargs.get("canvas_size", like.canvas_size))
        return points

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        plain = repr(self._plain()).replace("tensor", "KeyPoints", 1)
        return f"{plain[:-1]}, canvas_size={self.canvas_size})"


def wrap(wrappee: torch.Tensor, *, like: TVTensor, **kwargs: Any) -> TVTensor:
    """Convert a plain tensor to the type of `like`. Boxes and points also get the metadata of `like`.

    User-defined types with metadata override the class method `wrap`.

    Args:
        wrappee: the plain tensor.
        like: a tensor with the type and metadata of the result.
        **kwargs: metadata that replaces that of `like`: `canvas_size`, and for boxes `format` and `clamping_mode`.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 5, 4]], format="XYXY", canvas_size=(6, 8))
        >>> tv_tensors.wrap(boxes + 1, like=boxes, canvas_size=(7, 9))
        BoundingBoxes([[2, 3, 6, 5]], format=BoundingBoxFormat.XYXY, canvas_size=(7, 9), clamping_mode=soft)
    """
    return type(like).wrap(wrappee, like, **kwargs)
