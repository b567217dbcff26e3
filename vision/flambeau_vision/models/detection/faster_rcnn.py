"""Faster R-CNN: object detection in two stages, region proposals and their classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops.misc import Conv2dNormActivation, FrozenBatchNorm2d
from ...ops.poolers import MultiScaleRoIAlign
from .._api import WeightsEnum, register_model
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ..resnet import ResNet50_Weights, resnet50
from ._build import coco, load_weights, resolve_weights
from .anchor_utils import AnchorGenerator
from .backbone_utils import mobilenet_extractor, resnet_extractor
from .generalized_rcnn import GeneralizedRCNN
from .roi_heads import RoIHeads
from .rpn import RegionProposalNetwork, RPNHead
from .transform import GeneralizedRCNNTransform

__all__ = [
    "FasterRCNN",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]

Tensor = torch.Tensor


class TwoMLPHead(nn.Module):
    """Head with two linear layers on the flattened features of a region."""

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Head with convolutions, then linear layers, on region features of shape `(C, H, W)`."""

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: Sequence[int],
        fc_layers: Sequence[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, height, width = input_size
        layers: list[nn.Module] = []
        for size in conv_layers:
            layers.append(Conv2dNormActivation(channels, size, norm_layer=norm_layer))
            channels = size
        layers.append(nn.Flatten())
        channels *= height * width
        for size in fc_layers:
            layers += [nn.Linear(channels, size), nn.ReLU(inplace=True)]
            channels = size
        super().__init__(*layers)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


class FastRCNNPredictor(nn.Module):
    """Predict class scores, and four box deltas per class, from a feature vector."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


class FasterRCNN(GeneralizedRCNN):
    """[Faster R-CNN](https://arxiv.org/abs/1506.01497): propose regions, then classify them and refine their boxes.

    In training, the model is called with a list of images (floating, shape `(C, H, W)`, values from 0 to 1) and a list of
    targets (dicts of `boxes` and `labels`), and returns a dict of losses. In evaluation, it is called with images only, and
    returns a dict of `boxes`, `labels` and `scores` for each image.

    Args:
        backbone: maps a batch of images to a dict of features; has the attribute `out_channels`.
        num_classes: number of classes, including the background (class 0).
        min_size: the shorter side of images is resized to this length.
        max_size: limit of the longer side.
        image_mean: mean of each channel.
        image_std: standard deviation of each channel.
        rpn_anchor_generator: generates the anchors; by default one size per level and three aspect ratios, for five levels.
        rpn_head: scores the anchors and predicts box deltas.
        rpn_pre_nms_top_n_train: this and the other `rpn_` arguments are passed to `RegionProposalNetwork`.
        box_roi_pool: pools region features; by default `MultiScaleRoIAlign` to 7 x 7.
        box_head: computes a vector from the features of a region.
        box_predictor: computes scores and box deltas from vectors; specify either this or `num_classes`.
        box_score_thresh: this and the other `box_` arguments are passed to `RoIHeads`.
        **kwargs: further arguments of `GeneralizedRCNNTransform`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        rpn_anchor_generator: nn.Module | None = None,
        rpn_head: nn.Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: nn.Module | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        if not hasattr(backbone, "out_channels"):
            raise ValueError(
                "backbone should contain an attribute out_channels specifying the number of output channels "
                "(assumed to be the same for all the levels)"
            )
        if (num_classes is None) == (box_predictor is None):
            raise ValueError("num_classes should be specified when box_predictor is not, and None when it is")
        channels = backbone.out_channels
        anchors = rpn_anchor_generator or AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)
        rpn = RegionProposalNetwork(
            anchors,
            rpn_head or RPNHead(channels, anchors.num_anchors_per_location()[0]),
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh,
            rpn_score_thresh,
        )
        pool = box_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
        head = box_head or TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
        roi_heads = RoIHeads(
            pool,
            head,
            box_predictor or FastRCNNPredictor(1024, num_classes),
            box_fg_iou_thresh,
            box_bg_iou_thresh,
            box_batch_size_per_image,
            box_positive_fraction,
            bbox_reg_weights,
            box_score_thresh,
            box_nms_thresh,
            box_detections_per_img,
        )
        mean, std = image_mean or [0.485, 0.456, 0.406], image_std or [0.229, 0.224, 0.225]
        super().__init__(backbone, rpn, roi_heads, GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs))


class FasterRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_resnet50_fpn_coco-258fb6c6", 41755286)
    DEFAULT = COCO_V1


class FasterRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_resnet50_fpn_v2_coco-dd69338a", 43712278)
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7", 19386354)
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_320_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9", 19386354)
    DEFAULT = COCO_V1


@register_model(FasterRCNN_ResNet50_FPN_Weights, loads_weights=True)
def fasterrcnn_resnet50_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> FasterRCNN:
    """Build Faster R-CNN on ResNet-50; further arguments are passed to `FasterRCNN`.

    `weights_backbone` are weights of the ResNet, and `trainable_backbone_layers` is the number of its trained stages, from
    0 to 5.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    backbone = resnet_extractor(resnet50(weights=backbone_weights, progress=progress, norm_layer=norm), trained)
    return load_weights(FasterRCNN(backbone, **kwargs), weights, progress, zero_norm_eps=True)


@register_model(FasterRCNN_ResNet50_FPN_V2_Weights, loads_weights=True)
def fasterrcnn_resnet50_fpn_v2(*, weights: Any, progress: bool, **kwargs: Any) -> FasterRCNN:
    """Build Faster R-CNN on ResNet-50, with more convolutions in its heads.

    It takes the same arguments as `fasterrcnn_resnet50_fpn`.

    Li, Xie, Chen, Dollár, He and Girshick, [Benchmarking Detection Transfer Learning with Vision
    Transformers](https://arxiv.org/abs/2111.11429), 2021.
    """
    backbone_weights, trained = resolve_weights(kwargs, weights, ResNet50_Weights.IMAGENET1K_V1, largest=5, usual=3)
    network = resnet50(weights=backbone_weights, progress=progress)
    backbone = resnet_extractor(network, trained, norm_layer=nn.BatchNorm2d)
    head = FastRCNNConvFCHead((256, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d)
    parts = {"rpn_head": RPNHead(256, 3, conv_depth=2), "box_head": head, **kwargs}
    return load_weights(FasterRCNN(backbone, **parts), weights, progress)


def _on_mobilenet(weights: Any, progress: bool, kwargs: dict[str, Any]) -> FasterRCNN:
    backbone_weights, trained = resolve_weights(kwargs, weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, largest=6, usual=3)
    norm = FrozenBatchNorm2d if weights is not None or backbone_weights is not None else nn.BatchNorm2d
    backbone = mobilenet_extractor(mobilenet_v3_large(weights=backbone_weights, progress=progress, norm_layer=norm), trained)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    options = {"rpn_anchor_generator": anchors, "rpn_score_thresh": 0.05, **kwargs}
    return load_weights(FasterRCNN(backbone, **options), weights, progress)


@register_model(FasterRCNN_MobileNet_V3_Large_FPN_Weights, loads_weights=True)
def fasterrcnn_mobilenet_v3_large_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> FasterRCNN:
    """Build Faster R-CNN on MobileNet v3.

    It takes the same arguments as `fasterrcnn_resnet50_fpn`, except that 0 to 6 stages of the backbone can be trained.
    """
    return _on_mobilenet(weights, progress, kwargs)


@register_model(FasterRCNN_MobileNet_V3_Large_320_FPN_Weights, loads_weights=True)
def fasterrcnn_mobilenet_v3_large_320_fpn(*, weights: Any, progress: bool, **kwargs: Any) -> FasterRCNN:
    """Build Faster R-CNN on MobileNet v3 for small images, with the arguments of `fasterrcnn_mobilenet_v3_large_fpn`."""
    small = {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150}
    return _on_mobilenet(weights, progress, {**small, **kwargs})
