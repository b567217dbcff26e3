"""Applying transforms to whole samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ..._extras import is_pil_image
from .. import _base

__all__ = [
    "FOLLOWERS",
    "SampleTransform",
    "Transform",
    "find_labels",
    "keep_type",
    "labels_of",
    "leaves_of",
    "map_sample",
    "typed",
]

_IMAGES = (tv_tensors.Image, tv_tensors.Video)
FOLLOWERS = (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)


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
        chosen.append(plain or _is_image(leaf) or isinstance(leaf, kinds))
    return chosen


def keep_type(original: Any, result: Any) -> Any:
    """Give a result the type of its input, if that is a `TVTensor`."""
    is_typed = isinstance(original, tv_tensors.TVTensor) and type(result) is torch.Tensor
    return tv_tensors.wrap(result, like=original) if is_typed else result


def typed(function: Callable) -> Callable:
    """A function of an image whose result has the type of its input."""

    @wraps(function)
    def call(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return keep_type(inpt, function(inpt, *args, **kwargs))

    return call


class SampleTransform:
    """Makes a transform of images one of whole samples: put before it among the base classes.

    A sample is any nesting of dicts, lists and tuples. Images, videos, boxes, points and masks in it are transformed, all with
    the same parameters; a plain tensor is taken for an image if there is no other; the rest is passed through.
    """

    #: What is transformed besides images.
    kinds: tuple[type, ...] = FOLLOWERS

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        if not self.happens():
            return sample
        if type(sample) is torch.Tensor:  # one image, as most often
            return self.transform(sample, self.make_params([sample]))
        leaves = leaves_of(sample)
        chosen = _transformable(leaves, self.kinds)
        flat_inputs = [leaf for leaf, yes in zip(leaves, chosen, strict=True) if yes]
        if not flat_inputs:
            return sample
        flat_inputs.sort(key=lambda leaf: isinstance(leaf, FOLLOWERS))  # images first
        params = self.make_params(flat_inputs)
        is_chosen = iter(chosen)
        return map_sample(lambda leaf: keep_type(leaf, self.transform(leaf, params)) if next(is_chosen) else leaf, sample)


class Transform(SampleTransform, _base.Transform):
    """The base of transforms of one's own for whole samples: define `transform`, and `make_params` where chance has a part.

    `make_params(flat_inputs)` draws the parameters once for a sample, `transform(inpt, params)` is called for each image,
    box and mask in it. The rest of the sample is passed through.

    Example:
        >>> import flambeau as torch
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
