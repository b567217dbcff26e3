"""Backbones with feature pyramids, made from classification models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau as torch
from flambeau import nn

from ...ops.feature_pyramid_network import ExtraFPNBlock, FeaturePyramidNetwork, LastLevelMaxPool
from ...ops.misc import FrozenBatchNorm2d
from .. import mobilenetv3, resnet
from .._utils import IntermediateLayerGetter
from ..segmentation._base import mobilenet_stages

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class BackboneWithFPN(nn.Module):
    """Backbone with a feature pyramid on the outputs of some of its layers.

    Args:
        backbone: the network.
        return_layers: dict from child names to level names, fine to coarse.
        in_channels_list: input channels of the levels.
        out_channels: channels of the output levels.
        extra_blocks: a module that adds levels; by default `LastLevelMaxPool`, which takes every second pixel of the last one.
        norm_layer: normalization of the pyramid.
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: Mapping[str, str],
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra_blocks or LastLevelMaxPool(), norm_layer)
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return self.fpn(self.body(x))


def _freeze(backbone: nn.Module, trained: Sequence[str]) -> None:
    """Freeze all parameters except those whose names start with one of `trained`."""
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)


def resnet_extractor(
    backbone: resnet.ResNet,
    trainable_layers: int,
    returned_layers: Sequence[int] = (1, 2, 3, 4),
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Layer | None = None,
) -> BackboneWithFPN:
    """Return a ResNet with a feature pyramid. All stages of the ResNet but the last `trainable_layers` are frozen."""
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    _freeze(backbone, [*trained, "bn1"] if trainable_layers == 5 else trained)
    channels = [backbone.inplanes // 8 * 2 ** (layer - 1) for layer in returned_layers]
    names = {f"layer{layer}": str(index) for index, layer in enumerate(returned_layers)}
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: Any = None,
    norm_layer: Layer = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: Sequence[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """Build a ResNet, given by its name, with a feature pyramid."""
    backbone = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return resnet_extractor(backbone, trainable_layers, returned_layers or (1, 2, 3, 4), extra_blocks)


def mobilenet_extractor(backbone: mobilenetv3.MobileNetV3, trainable_layers: int) -> BackboneWithFPN:
    """Return a MobileNet with a feature pyramid on its last two stages. All stages but the last `trainable_layers` are frozen."""
    features = backbone.features
    stages = mobilenet_stages(features)
    if not 0 <= trainable_layers <= len(stages):
        raise ValueError(f"Trainable layers should be in the range [0,{len(stages)}], got {trainable_layers}")
    first = len(features) if trainable_layers == 0 else stages[len(stages) - trainable_layers]
    for layer in features[:first]:
        _freeze(layer, [])
    layers = stages[-2:]
    names = {str(layer): str(index) for index, layer in enumerate(layers)}
    return BackboneWithFPN(features, names, [features[layer].out_channels for layer in layers], 256)


def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: Any = None,
    norm_layer: Layer = FrozenBatchNorm2d,
    trainable_layers: int = 2,
) -> BackboneWithFPN:
    """Build a MobileNet v3, given by its name, with a feature pyramid."""
    backbone = getattr(mobilenetv3, backbone_name)(weights=weights, norm_layer=norm_layer)
    return mobilenet_extractor(backbone, trainable_layers)
