"""Detectors in two stages: regions are proposed, then looked at one by one."""

from __future__ import annotations

from collections import OrderedDict

import flambeau as torch
from flambeau import nn

from .transform import check_targets, losses_or_detections

__all__ = ["GeneralizedRCNN"]

Tensor = torch.Tensor
Target = dict[str, Tensor]


class GeneralizedRCNN(nn.Module):
    """What detectors in two stages share; called as `flambeau_vision.models.detection.FasterRCNN`.

    Args:
        backbone: from a batch of images to features, or to features by name.
        rpn: from the batch, the features and the targets to proposals for each image, and in training losses.
        roi_heads: from the features, proposals, sizes of the images and targets to results, and in training losses.
        transform: makes a batch of images, and takes results back to their sizes.
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
