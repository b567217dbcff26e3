"""Two-stage detectors: propose regions, then classify each of them."""

from __future__ import annotations

from collections import OrderedDict

import flambeau as torch
from flambeau import nn

from .transform import check_targets, losses_or_detections

__all__ = ["GeneralizedRCNN"]

Tensor = torch.Tensor
Target = dict[str, Tensor]


class GeneralizedRCNN(nn.Module):
    """Base class of two-stage detectors; inputs and outputs are those of `flambeau_vision.models.detection.FasterRCNN`.

    Args:
        backbone: maps a batch of images to features, or to a dict of features.
        rpn: called with batch, features and targets; returns the proposals of each image, and losses in training.
        roi_heads: called with features, proposals, image sizes and targets; returns detections, and losses in training.
        transform: batches images, and maps detections back to the original image sizes.
    """

    def __init__(self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> dict[str, Tensor] | list[Target]:
        if self.training:
            check_targets(targets)
        sizes = [tuple(image.shape[-2:]) for image in images]
        batch, targets = self.transform(images, targets)
        features = self.backbone(batch.tensors)
        if isinstance(features, torch.Tensor):
            features = OrderedDict([("0", features)])
        proposals, losses = self.rpn(batch, features, targets)
        results, more_losses = self.roi_heads(features, proposals, batch.image_sizes, targets)
        if self.training:
            return losses_or_detections(self, {**more_losses, **losses}, results)
        return losses_or_detections(self, {}, self.transform.postprocess(results, batch.image_sizes, sizes))
