"""Apply transforms to samples: nested dicts, lists and tuples that contain images, boxes and masks."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ..._extras import is_pil_image
from .. import _base
from . import functional
from ._typed import ANNOTATIONS, MissingKernel, is_user_type, keep_type

__all__ = [
    "SampleTransform",
    "Transform",
    "WithoutBoxes",
    "find_labels",
    "get_labels",
    "get_leaves",
    "map_sample",
]

_REPR_TYPES = (bool, int, float, str, tuple, list, Enum)  # `repr` of a transform shows attributes of these types
_IMAGES = (tv_tensors.Image, tv_tensors.Video)


def map_sample(function: Callable[[Any], Any], sample: Any) -> Any:
    """Apply a function to all leaves of nested dicts, lists and tuples, and return the results in the same structure."""
    if isinstance(sample, dict):
        return type(sample)((key, map_sample(function, part)) for key, part in sample.items())
    if isinstance(sample, list | tuple):
        parts = [map_sample(function, part) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else type(sample)(parts)
    return function(sample)


def get_leaves(sample: Any) -> list[Any]:
    """Return a list of all leaves of nested dicts, lists and tuples."""
    leaves: list[Any] = []
    map_sample(leaves.append, sample)
    return leaves


def find_labels(sample: Any) -> Any:
    """Return the labels of a sample: the second element of a tuple, or the first value of a dict whose key contains "label"."""
    part = sample[1] if isinstance(sample, tuple) and len(sample) > 1 else sample
    if isinstance(part, torch.Tensor):
        return part
    if isinstance(part, dict):
        for key, value in part.items():
            if "label" in str(key).lower():
                return value
    raise ValueError("Could not infer where the labels are in the sample. Try passing a callable as labels_getter.")


def get_labels(sample: Any, getter: Callable | str | None) -> tuple[Any, ...]:
    """Return the labels of a sample, found by a user-defined `getter` or by `find_labels`; `()` if `getter` is None."""
    if getter is None:
        return ()
    labels = getter(sample) if callable(getter) else find_labels(sample)
    return tuple(labels) if isinstance(labels, tuple | list) else (labels,)


def _is_image(leaf: Any) -> bool:
    return isinstance(leaf, _IMAGES) or is_pil_image(leaf)


def _transformable(leaves: list[Any], annotation_types: tuple[type, ...]) -> list[bool]:
    """Return for each leaf whether it is transformed: images, annotations and user-defined types are.

    If no leaf has an image type, the first plain tensor is treated as an image.
    """
    plain_may_be_image = not any(_is_image(leaf) for leaf in leaves)
    selected = []
    for leaf in leaves:
        plain = type(leaf) is torch.Tensor and plain_may_be_image
        plain_may_be_image = plain_may_be_image and not plain
        selected.append(plain or _is_image(leaf) or isinstance(leaf, annotation_types) or is_user_type(leaf))
    return selected


class SampleTransform:
    """Mixin that applies a transform of images to samples. It comes before the image transform in the list of base classes.

    A sample consists of nested dicts, lists and tuples. All images, videos, boxes, points and masks in a sample are transformed
    with the same parameters. If no part has an image type, the first plain tensor is treated as an image. Tensors of user-defined
    types are transformed if a kernel is registered for them (`v2.functional.register_kernel`). Other parts stay unchanged.
    """

    functions = functional

    #: The types that the transform supports in addition to images.
    annotation_types: tuple[type, ...] = ANNOTATIONS

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error if the transform does not support the parts of a sample. It is called before parameters are drawn."""

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        leaves = [sample] if type(sample) is torch.Tensor else get_leaves(sample)
        self.check_inputs(leaves)
        if not self.should_apply():
            return sample
        if type(sample) is torch.Tensor:  # fast path for a single image
            return self.transform(sample, self.make_params(leaves))
        selected = _transformable(leaves, self.annotation_types)
        flat_inputs = [leaf for leaf, yes in zip(leaves, selected, strict=True) if yes]
        if not flat_inputs:
            return sample
        flat_inputs.sort(key=lambda leaf: isinstance(leaf, ANNOTATIONS) or is_user_type(leaf))  # images first, for `make_params`
        params = self.make_params(flat_inputs)
        is_selected = iter(selected)
        return map_sample(lambda leaf: self._transformed(leaf, params) if next(is_selected) else leaf, sample)

    def _transformed(self, leaf: Any, params: dict[str, Any]) -> Any:
        try:
            return keep_type(leaf, self.transform(leaf, params))
        except MissingKernel:
            return leaf


class WithoutBoxes(SampleTransform):
    """Base class of transforms that raise an error for samples with boxes, points or masks."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        for part in flat_inputs:
            if isinstance(part, self.annotation_types):
                raise TypeError(f"Inputs of type {type(part).__name__} are not supported by {type(self).__name__}()")


class Transform(SampleTransform, _base.Transform):
    """Base class of user-defined transforms of samples. Define `transform`, and `make_params` if parameters are random.

    For each sample, `check_inputs(flat_inputs)` may raise an error, and `make_params(flat_inputs)` draws the parameters. Then
    `transform(inpt, params)` is called for each image, box and mask. Other parts of the sample are returned unchanged.

    Example:
        >>> from flambeau_vision.transforms import v2
        >>> class RandomBrightness(v2.Transform):
        ...     def make_params(self, flat_inputs):
        ...         return {"factor": 0.5 + torch.rand(1).item()}
        ...     def transform(self, inpt, params):
        ...         return v2.functional.adjust_brightness(inpt, params["factor"])
        >>> image, label = RandomBrightness()(torch.rand(3, 4, 4), 7)
        >>> image.shape, label
        (torch.Size([3, 4, 4]), 7)
    """

    def extra_repr(self) -> str:
        shown = {name: value for name, value in vars(self).items() if not name.startswith("_") and name != "training"}
        return ", ".join(f"{name}={value}" for name, value in shown.items() if isinstance(value, _REPR_TYPES))
