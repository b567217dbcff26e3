"""Functions for user-defined transforms that look for certain types in the parts of a sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tv_tensors
from ..._extras import is_pil_image
from .functional import get_dimensions, get_size, is_pure_tensor

__all__ = ["check_type", "get_bounding_boxes", "get_keypoints", "has_all", "has_any", "query_chw", "query_size"]

Check = type | Callable[[Any], bool]

_IMAGES = (is_pure_tensor, tv_tensors.Image, is_pil_image, tv_tensors.Video)
_SIZED = (*_IMAGES, tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)


def check_type(obj: Any, types_or_checks: tuple[Check, ...]) -> bool:
    """Return whether an object is an instance of one of the types, or passes one of the checks.

    Args:
        obj: the object.
        types_or_checks: types, and functions of an object that return a bool.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.check_type(3, (str, lambda number: number > 2))
        True
    """
    return any(isinstance(obj, check) if isinstance(check, type) else check(obj) for check in types_or_checks)


def has_any(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Return whether any part of a sample is an instance of one of the types, or passes one of the checks.

    Args:
        flat_inputs: a list of the parts of the sample.
        *types_or_checks: types, and functions of a part that return a bool.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.has_any([1, "two"], str, list)
        True
    """
    return any(check_type(part, types_or_checks) for part in flat_inputs)


def has_all(flat_inputs: list[Any], *types_or_checks: Check) -> bool:
    """Return whether each of the types and checks matches at least one part of a sample.

    Args:
        flat_inputs: a list of the parts of the sample.
        *types_or_checks: types, and functions of a part that return a bool.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.has_all([1, "two"], str, list)
        False
    """
    return all(any(check_type(part, (check,)) for part in flat_inputs) for check in types_or_checks)


def _first(flat_inputs: list[Any], kind: type, name: str) -> Any:
    found = next((part for part in flat_inputs if isinstance(part, kind)), None)
    if found is None:
        raise ValueError(f"No {name} were found in the sample")
    return found


def get_bounding_boxes(flat_inputs: list[Any]) -> tv_tensors.BoundingBoxes:
    """Return the bounding boxes of a sample.

    Args:
        flat_inputs: a list of the parts of the sample.

    Raises:
        ValueError: the sample has no bounding boxes.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> boxes = tv_tensors.BoundingBoxes([[2, 1, 5, 3]], format="XYXY", canvas_size=(4, 10))
        >>> v2.get_bounding_boxes(["a name", boxes]) is boxes
        True
    """
    return _first(flat_inputs, tv_tensors.BoundingBoxes, "bounding boxes")


def get_keypoints(flat_inputs: list[Any]) -> tv_tensors.KeyPoints:
    """Return the key points of a sample.

    Args:
        flat_inputs: a list of the parts of the sample.

    Raises:
        ValueError: the sample has no key points.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> points = tv_tensors.KeyPoints([[2, 1]], canvas_size=(4, 10))
        >>> v2.get_keypoints(["a name", points]) is points
        True
    """
    return _first(flat_inputs, tv_tensors.KeyPoints, "keypoints")


def _common(flat_inputs: list[Any], checks: tuple[Check, ...], measure: Callable[[Any], list[int]], names: str, what: str) -> Any:
    sizes = {tuple(measure(part)) for part in flat_inputs if check_type(part, checks)}
    if not sizes:
        raise TypeError(f"No {names} was found in the sample")
    if len(sizes) > 1:
        raise ValueError(
            f"Found multiple {what} dimensions in the sample: {', '.join(repr(str(size)) for size in sorted(sizes))}"
        )
    return sizes.pop()


def query_chw(flat_inputs: list[Any]) -> tuple[int, int, int]:
    """Return `(channels, height, width)` of the images and videos of a sample, which must be the same for all.

    Args:
        flat_inputs: a list of the parts of the sample.

    Raises:
        TypeError: the sample has no image or video.
        ValueError: the sizes differ.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> v2.query_chw(["a name", torch.zeros(3, 4, 10)])
        (3, 4, 10)
    """
    return _common(flat_inputs, _IMAGES, get_dimensions, "image or video", "CxHxW")


def query_size(flat_inputs: list[Any]) -> tuple[int, int]:
    """Return `(height, width)` of the images, videos, masks, boxes and points of a sample, which must be the same for all.

    Args:
        flat_inputs: a list of the parts of the sample.

    Raises:
        TypeError: no part of the sample has a size.
        ValueError: the sizes differ.

    Example:
        >>> from flambeau_vision import tv_tensors
        >>> from flambeau_vision.transforms import v2
        >>> v2.query_size([tv_tensors.KeyPoints([[2, 1]], canvas_size=(4, 10))])
        (4, 10)
    """
    return _common(flat_inputs, _SIZED, get_size, "image, video, mask, bounding box of keypoint", "HxW")
