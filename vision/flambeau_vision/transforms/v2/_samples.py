"""Applying transforms to whole samples."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ..._extras import is_pil_image
from .. import _base
from . import functional
from ._typed import FOLLOWERS, MissingKernel, is_own_type, keep_type

__all__ = [
    "SampleTransform",
    "Transform",
    "WithoutBoxes",
    "find_labels",
    "labels_of",
    "leaves_of",
    "map_sample",
]

_SHOWN = (bool, int, float, str, tuple, list, Enum)  # attributes that belong to the printed form of a transform
_IMAGES = (tv_tensors.Image, tv_tensors.Video)


def map_sample(function: Callable[[Any], Any], sample: Any) -> Any:
    """Apply a function to everything in a nesting of dicts, lists and tuples."""
    if isinstance(sample, dict):
        return type(sample)((key, map_sample(function, part)) for key, part in sample.items())
    if isinstance(sample, list | tuple):
        parts = [map_sample(function, part) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else type(sample)(parts)
    return function(sample)


def leaves_of(sample: Any) -> list[Any]:
    """Everything in a nesting of dicts, lists and tuples."""
    leaves: list[Any] = []
    map_sample(leaves.append, sample)
    return leaves


def find_labels(sample: Any) -> Any:
    """The labels of a sample: its second part, or the first value there whose key contains "label"."""
    part = sample[1] if isinstance(sample, tuple) and len(sample) > 1 else sample
    if isinstance(part, torch.Tensor):
        return part
    if isinstance(part, dict):
        for key, value in part.items():
            if "label" in str(key).lower():
                return value
    raise ValueError("Could not infer where the labels are in the sample. Try passing a callable as labels_getter.")


def labels_of(sample: Any, getter: Callable | str | None) -> tuple[Any, ...]:
    """The labels of a sample, by a function of the user's or by `find_labels`; none where `getter` is None."""
    if getter is None:
        return ()
    labels = getter(sample) if callable(getter) else find_labels(sample)
    return tuple(labels) if isinstance(labels, tuple | list) else (labels,)


def _is_image(leaf: Any) -> bool:
    return isinstance(leaf, _IMAGES) or is_pil_image(leaf)


def _transformable(leaves: list[Any], kinds: tuple[type, ...]) -> list[bool]:
    """Which leaves to transform: images, boxes and masks by type, and the first plain tensor if there is no other image."""
    plain_may_be_image = not any(_is_image(leaf) for leaf in leaves)
    chosen = []
    for leaf in leaves:
        plain = type(leaf) is torch.Tensor and plain_may_be_image
        plain_may_be_image = plain_may_be_image and not plain
        chosen.append(plain or _is_image(leaf) or isinstance(leaf, kinds) or is_own_type(leaf))
    return chosen


class SampleTransform:
    """Makes a transform of images one of whole samples: put before it among the base classes.

    A sample is any nesting of dicts, lists and tuples. Images, videos, boxes, points and masks in it are transformed, all with
    the same parameters; a plain tensor is taken for an image if there is no other; the rest is passed through. Tensors of types
    of one's own are transformed where a kernel has been registered for them (`v2.functional.register_kernel`).
    """

    functions = functional

    #: What is transformed besides images.
    kinds: tuple[type, ...] = FOLLOWERS

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error where this transform cannot have a sample of these parts; before anything is drawn."""

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        leaves = [sample] if type(sample) is torch.Tensor else leaves_of(sample)
        self.check_inputs(leaves)
        if not self.happens():
            return sample
        if type(sample) is torch.Tensor:  # one image, as most often
            return self.transform(sample, self.make_params(leaves))
        chosen = _transformable(leaves, self.kinds)
        flat_inputs = [leaf for leaf, yes in zip(leaves, chosen, strict=True) if yes]
        if not flat_inputs:
            return sample
        flat_inputs.sort(key=lambda leaf: isinstance(leaf, FOLLOWERS) or is_own_type(leaf))  # images first
        params = self.make_params(flat_inputs)
        is_chosen = iter(chosen)
        return map_sample(lambda leaf: self._transformed(leaf, params) if next(is_chosen) else leaf, sample)

    def _transformed(self, leaf: Any, params: dict[str, Any]) -> Any:
        try:
            return keep_type(leaf, self.transform(leaf, params))
        except MissingKernel:
            return leaf


class WithoutBoxes(SampleTransform):
    """Transforms that raise an error for samples with boxes, points or masks."""

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        for part in flat_inputs:
            if isinstance(part, self.kinds):
                raise TypeError(f"Inputs of type {type(part).__name__} are not supported by {type(self).__name__}()")


class Transform(SampleTransform, _base.Transform):
    """The base of transforms of one's own for whole samples: define `transform`, and `make_params` where chance has a part.

    `check_inputs(flat_inputs)` may refuse a sample, `make_params(flat_inputs)` draws the parameters once for it, and
    `transform(inpt, params)` is called for each image, box and mask in it. The rest of the sample is passed through.

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
        return ", ".join(f"{name}={value}" for name, value in shown.items() if isinstance(value, _SHOWN))
