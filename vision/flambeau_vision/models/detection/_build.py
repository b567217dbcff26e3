"""Helpers for the functions that build detectors."""

from __future__ import annotations

from typing import Any

from flambeau import nn

from ...ops.misc import FrozenBatchNorm2d
from ...transforms._presets import ObjectDetection
from .._api import SITE, Weights, WeightsEnum, fix_argument
from .._meta import COCO_CATEGORIES

__all__ = ["coco", "load_weights", "resolve_weights"]


def coco(file: str, num_params: int) -> Weights:
    """Return the weights of a detector of the 91 classes of COCO, published as `{file}.pth`."""
    return Weights(f"{SITE}{file}.pth", ObjectDetection, {"categories": COCO_CATEGORIES, "num_params": num_params})


def resolve_weights(
    kwargs: dict[str, Any],
    weights: WeightsEnum | None,
    backbone_default: WeightsEnum,
    largest: int,
    usual: int,
) -> tuple[WeightsEnum | None, int]:
    """Return the weights of the backbone and the number of its trained stages, from arguments that are removed from `kwargs`.

    With weights for the whole detector, no backbone weights are loaded. Without any weights, all stages are trained.
    """
    backbone_weights = type(backbone_default).verify(kwargs.pop("weights_backbone", backbone_default))
    if weights is not None:
        backbone_weights = None
        fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
    kwargs.setdefault("num_classes", 91)
    trained = kwargs.pop("trainable_backbone_layers", None)
    if weights is None and backbone_weights is None:
        return None, largest
    return backbone_weights, usual if trained is None else trained


def load_weights(model: nn.Module, weights: WeightsEnum | None, progress: bool, zero_norm_eps: bool = False) -> nn.Module:
    """Load the weights, if given. With `zero_norm_eps`, also set the eps of `FrozenBatchNorm2d` layers to 0."""
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
        if zero_norm_eps:
            for module in model.modules():
                if isinstance(module, FrozenBatchNorm2d):
                    module.eps = 0.0
    return model
