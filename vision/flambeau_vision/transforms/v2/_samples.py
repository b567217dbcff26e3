"""Applying transforms to whole samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flambeau as torch

from ... import tv_tensors
from ..._extras import is_pil_image
from .. import _base

__all__ = ["SampleTransform", "Transform", "keep_type"]

_IMAGES = (tv_tensors.Image, tv_tensors.Video)


def _leaves(sample: Any) -> Iterator[Any]:
    if isinstance(sample, dict):
        sample = list(sample.values())
    if isinstance(sample, list | tuple):
        for part in sample:
            yield from _leaves(part)
    else:
        yield sample


def _rebuild(sample: Any, leaves: Iterator[Any]) -> Any:
    """The same nesting with other leaves."""
    if isinstance(sample, dict):
        return type(sample)((key, _rebuild(part, leaves)) for key, part in sample.items())
    if isinstance(sample, list | tuple):
        parts = [_rebuild(part, leaves) for part in sample]
        return type(sample)(*parts) if hasattr(sample, "_fields") else type(sample)(parts)
    return next(leaves)


def _is_image(leaf: Any) -> bool:
    return isinstance(leaf, _IMAGES) or is_pil_image(leaf)


def _transformable(leaves: list[Any], kinds: tuple[type, ...]) -> list[bool]:
    """Which leaves to transform: those with a meaning, and the first plain tensor if nothing else is an image."""
    plain_may_be_image = not any(_is_image(leaf) for leaf in leaves)
    chosen = []
    for leaf in leaves:
        plain = type(leaf) is torch.Tensor and plain_may_be_image
        plain_may_be_image = plain_may_be_image and not plain
        chosen.append(plain or _is_image(leaf) or isinstance(leaf, kinds))
    return chosen


def keep_type(before: Any, after: Any) -> Any:
    """Give a result the type of what it was made from, where that is a tensor with a meaning."""
    typed = isinstance(before, tv_tensors.TVTensor) and type(after) is torch.Tensor
    return tv_tensors.wrap(after, like=before) if typed else after


class SampleTransform:
    """Makes a transform of images one of whole samples: put before it among the base classes.

    A sample is any nesting of dicts, lists and tuples. Images, videos, boxes and masks in it are transformed, all with
    the same parameters; a plain tensor is taken for an image if there is no other; the rest is passed through.
    """

    #: What is transformed besides images.
    kinds: tuple[type, ...] = (tv_tensors.BoundingBoxes, tv_tensors.Mask)

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        if not self.happens():
            return sample
        leaves = list(_leaves(sample))
        chosen = _transformable(leaves, self.kinds)
        inputs_first_image = sorted(
            (leaf for leaf, yes in zip(leaves, chosen, strict=True) if yes),
            key=lambda leaf: isinstance(leaf, tv_tensors.BoundingBoxes | tv_tensors.Mask),
        )
        if not inputs_first_image:
            return sample
        params = self.make_params(inputs_first_image)
        results = (
            keep_type(leaf, self.transform(leaf, params)) if yes else leaf
            for leaf, yes in zip(leaves, chosen, strict=True)
        )
        return _rebuild(sample, results)


class Transform(SampleTransform, _base.Transform):
    """The base of transforms of one's own: define ``transform(inpt, params)``, and ``make_params(flat_inputs)``."""


def typed(function: Callable) -> Callable:
    """A function of an image whose result has the type of its input."""

    def call(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        return keep_type(inpt, function(inpt, *args, **kwargs))

    call.__name__, call.__doc__, call.__wrapped__ = function.__name__, function.__doc__, function
    return call
