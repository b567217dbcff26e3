"""Base classes of the transforms."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from . import functional as F

__all__ = ["RandomApplyTransform", "Transform", "channel_fill", "fill_for", "uniform"]


class Transform(nn.Module):
    """Base class of transforms: draw the parameters, then apply them.

    Subclasses define `transform`, and `make_params` if parameters are random or depend on the image. The two methods
    are separate so that the same parameters can be applied to an image and to its boxes and masks.
    """

    #: The module of the functions that `transform` calls.
    functions: Any = F

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Draw the parameters of one call; `flat_inputs` are the images, boxes and masks to transform."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Apply the transform to `inpt` with the parameters of `make_params`."""
        raise NotImplementedError(f"{type(self).__name__} has to define transform()")

    def should_apply(self) -> bool:
        """Draw whether this call applies the transform."""
        return True

    def forward(self, img: Any) -> Any:
        return self.transform(img, self.make_params([img])) if self.should_apply() else img


class RandomApplyTransform(Transform):
    """A transform that is applied with probability `p`."""

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
    """Return `fill`, or if it is a dict, its value for the type of `img` (`"others"` for missing types)."""
    return fill.get(type(img), fill.get("others")) if isinstance(fill, dict) else fill


def channel_fill(img: Any, fill: Any) -> Any:
    """Return `fill` as a list of one float per channel if `img` is a tensor."""
    fill = fill_for(img, fill)
    if fill is None or not isinstance(img, torch.Tensor):
        return fill
    if isinstance(fill, int | float):
        fill = [fill] * F.get_image_num_channels(img)
    return [float(value) for value in fill]
