"""Base classes of the transforms, and helpers that draw random numbers and choose fill values."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from . import functional as F

__all__ = ["RandomApplyTransform", "Transform", "channel_fill", "fill_for", "uniform"]


class Transform(nn.Module):
    """Base class of transforms: draw the parameters, then apply them.

    Subclasses define `transform`. They define `make_params` if parameters are random or depend on the image. The two methods
    are separate so that the same parameters can be applied to an image and to its boxes and masks.
    """

    #: The module whose functions `transform` calls; version 2 replaces it.
    functions: Any = F

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw or compute the parameters of one call. `flat_inputs` is a list of the images, boxes and masks to transform."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Transform `inpt` with the parameters that `make_params` returned."""
        raise NotImplementedError(f"{type(self).__name__} has to define transform()")

    def should_apply(self) -> bool:
        """Decide, at random in some subclasses, whether this call applies the transform."""
        return True

    def forward(self, img: Any) -> Any:
        return self.transform(img, self.make_params([img])) if self.should_apply() else img


class RandomApplyTransform(Transform):
    """Base class of transforms that are applied with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def should_apply(self) -> bool:
        return torch.rand(1).item() < self.p

    def extra_repr(self) -> str:
        return f"p={self.p}"


def uniform(low: float, high: float) -> float:
    """Draw a uniform random number in `[low, high)` from the default generator."""
    return torch.empty(1).uniform_(float(low), float(high)).item()


def fill_for(img: Any, fill: Any) -> Any:
    """Return `fill`. If `fill` is a dict, return the value for the type of `img`; missing types use the key `"others"`."""
    return fill.get(type(img), fill.get("others")) if isinstance(fill, dict) else fill


def channel_fill(img: Any, fill: Any) -> Any:
    """Return the fill value for `img`. If `img` is a tensor, convert the value to a list of floats, one per channel."""
    fill = fill_for(img, fill)
    if fill is None or not isinstance(img, torch.Tensor):
        return fill
    if isinstance(fill, int | float):
        fill = [fill] * F.get_image_num_channels(img)
    return [float(value) for value in fill]
