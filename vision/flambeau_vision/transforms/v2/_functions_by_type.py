"""Create functions of plain tensors whose name contains the input type, such as `crop_mask` and `crop_bounding_boxes`.

The functions return plain tensors. Functions that change the canvas of boxes or points return `(tensor, canvas_size)`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

import flambeau as torch

from ... import tv_tensors

__all__ = ["function_for_type"]

_KINDS = ("image", "video", "mask", "bounding_boxes", "keypoints")
# For each type, the parameters that its functions do not have. Only `resize_mask` has `interpolation`, for `NEAREST_EXACT`.
_PIXEL_PARAMETERS = {"mask": ("interpolation", "antialias"), "bounding_boxes": ("interpolation", "antialias", "fill")}
_PIXEL_PARAMETERS["keypoints"] = _PIXEL_PARAMETERS["bounding_boxes"]
_GEOMETRY = (
    *("affine", "center_crop", "crop", "elastic", "horizontal_flip", "pad", "perspective", "resize", "resized_crop", "rotate"),
    "vertical_flip",
)
_CHANGES_CANVAS = ("center_crop", "crop", "pad", "resize", "resized_crop", "rotate")
_CROPS = ("crop", "resized_crop")  # functions without `canvas_size`: the crop is the new canvas
_TENSORS = {"mask": tv_tensors.Mask, "video": tv_tensors.Video}


def function_for_type(name: str, functions: dict[str, Any]) -> Callable | None:
    """Create the function with a name such as `resize_mask`; return None if it does not exist.

    Args:
        name: the name: that of a function in `functions`, an underscore, and a type, such as `mask`.
        functions: maps names to the functions for all types, such as `resize`.
    """
    kind = next((kind for kind in _KINDS if name.endswith(f"_{kind}")), None)
    base = name.removesuffix(f"_{kind}")
    function = functions.get(base)
    if kind is None or base not in functions.get("__all__", ()) or not callable(function):
        return None
    if kind in ("mask", "bounding_boxes", "keypoints") and base not in (*_GEOMETRY, "get_size"):
        return None
    if base in ("get_size", "get_dimensions", "get_num_channels", "get_num_frames"):
        return function

    changing = (*_CHANGES_CANVAS, "affine") if kind == "keypoints" else _CHANGES_CANVAS
    call_signature = Signature(_parameters(base, kind, function))

    def call(*args: Any, **kwargs: Any) -> Any:
        given = call_signature.bind(*args, **kwargs)
        given.apply_defaults()
        (_, tensor), *rest = given.arguments.items()
        options = dict(rest)
        if kind in ("bounding_boxes", "keypoints"):
            annotation = _typed(kind, tensor, options)
            result = function(annotation, **options)
            plain = result.as_subclass(torch.Tensor)
            return (plain, result.canvas_size) if base in changing else plain
        result = function(tensor.as_subclass(_TENSORS.get(kind, torch.Tensor)), **options)
        return tuple(map(_plain, result)) if isinstance(result, tuple | list) else _plain(result)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{base}` of a plain tensor that holds {kind.replace('_', ' ')}."
    call.__signature__ = call_signature  # type: ignore[attr-defined]
    return call


def _plain(result: Any) -> Any:
    return result.as_subclass(torch.Tensor) if isinstance(result, torch.Tensor) else result


def _typed(kind: str, tensor: Any, options: dict[str, Any]) -> Any:
    """Convert a plain tensor to boxes or points. Their metadata, such as `canvas_size`, is removed from `options`."""
    canvas_size = options.pop("canvas_size", (0, 0))
    if kind == "keypoints":
        return tv_tensors.KeyPoints(tensor, canvas_size=canvas_size)
    mode = options.pop("clamping_mode", "soft")
    return tv_tensors.BoundingBoxes(tensor, format=options.pop("format"), canvas_size=canvas_size, clamping_mode=mode)


def _parameters(base: str, kind: str, function: Callable) -> list[Parameter]:
    """Return the parameters of the function for plain tensors.

    They are the parameters of `function` without `_PIXEL_PARAMETERS`, and with the metadata of boxes or points.
    """
    left_out = () if (base, kind) == ("resize", "mask") else _PIXEL_PARAMETERS.get(kind, ())
    if kind == "mask":
        left_out = (*left_out, "antialias")
    rest = [parameter for name, parameter in signature(function).parameters.items() if name not in left_out][1:]
    first = Parameter(kind, Parameter.POSITIONAL_OR_KEYWORD)
    canvas = first.replace(name="canvas_size")
    form, mode = first.replace(name="format"), first.replace(name="clamping_mode", default="soft")
    if kind == "keypoints":
        if base == "resize":
            return [first, rest[0], canvas, *rest[1:]]
        return [first, *rest] if base in _CROPS else [first, canvas, *rest]
    if kind == "bounding_boxes":
        if base == "resize":
            return [first, canvas, *rest, form.replace(default=tv_tensors.BoundingBoxFormat.XYXY), mode]
        needed = [first, form] if base in _CROPS else [first, form, canvas]
        return [*needed, *rest] if base.endswith("flip") else [*needed, *rest, mode]
    return [first, *rest]
