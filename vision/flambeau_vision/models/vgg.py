"""VGG (Simonyan and Zisserman, 2014): deep stacks of 3 x 3 convolutions."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from ..transforms._presets import ImageClassification
from ._api import SITE, Weights, WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# Maps the number of layers of a network to the channels of each convolution; "M" is max pooling.
_LAYERS = {
    11: [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    13: [64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    16: [64, 64, "M", 128, 128, "M", *[256] * 3, "M", *[512] * 3, "M", *[512] * 3, "M"],
    19: [64, 64, "M", 128, 128, "M", *[256] * 4, "M", *[512] * 4, "M", *[512] * 4, "M"],
}


def make_layers(cfg: list[int | str], batch_norm: bool = False) -> nn.Sequential:
    """Return a sequence of 3 x 3 convolutions with ReLU, and of max poolings.

    Args:
        cfg: output channels of each convolution, or `"M"` for a max pooling that halves height and width.
        batch_norm: whether to add a batch normalization after each convolution.
    """
    layers: list[nn.Module] = []
    channels = 3
    for entry in cfg:
        if entry == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, entry, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(entry))
        layers.append(nn.ReLU(inplace=True))
        channels = entry
    return nn.Sequential(*layers)


class VGG(nn.Module):
    """VGG: stacks of 3 x 3 convolutions, then three linear layers, which hold most of the parameters.

    Simonyan and Zisserman, [Very Deep Convolutional Networks for Large-Scale Image
    Recognition](https://arxiv.org/abs/1409.1556), 2014.

    Args:
        features: the convolutions, for example from `make_layers`; the last one must have 512 output channels.
        num_classes: number of classes, the size of the output.
        init_weights: initialize convolutions with Kaiming normal and linear layers with small normal weights.
        dropout: dropout probability after the first two linear layers.

    Shape:
        - Input: `(N, 3, H, W)`, of 32 x 32 pixels or more for the usual features.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision.models import VGG11_Weights
        >>> from flambeau_vision.models.vgg import make_layers
        >>> features = make_layers([16, "M", 32, "M", 512])  # what VGG(features) begins with
        >>> features(torch.rand(1, 3, 32, 32)).shape, VGG11_Weights.DEFAULT.meta["num_params"]
        (torch.Size([1, 512, 8, 8]), 132863336)
    """

    def __init__(self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialize_weights()

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def _vgg(depth: int, batch_norm: bool, **kwargs: Any) -> VGG:
    return VGG(make_layers(_LAYERS[depth], batch_norm), **kwargs)


class VGG11_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg11-8a719046", 132863336)
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg11_bn-6002323d", 132868840)
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg13-19584684", 133047848)
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg13_bn-abd245e5", 133053736)
    DEFAULT = IMAGENET1K_V1


def _features_only() -> ImageClassification:
    # These weights, from Caffe, expect values from 0 to 255 minus the mean of each channel: `(image - mean) / (1 / 255)`.
    mean, std = (0.48235, 0.45882, 0.40784), (1.0 / 255.0,) * 3
    return ImageClassification(crop_size=224, mean=mean, std=std)


class VGG16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg16-397923af", 138357544)
    # The linear layers of these weights are NaN; only the convolutions are usable, as the backbone of detectors.
    IMAGENET1K_FEATURES = Weights(
        f"{SITE}vgg16_features-amdegroot-88682ab5.pth",
        _features_only,
        {"categories": None, "num_params": 138357544},
    )
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg16_bn-6c64b313", 138365992)
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg19-dcbb9e9d", 143667240)
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vgg19_bn-c79401a0", 143678248)
    DEFAULT = IMAGENET1K_V1


@register_model(VGG11_Weights)
def vgg11(**kwargs: Any) -> VGG:
    """Build a VGG of 11 layers; further arguments are passed to `VGG`."""
    return _vgg(11, False, **kwargs)


@register_model(VGG11_BN_Weights)
def vgg11_bn(**kwargs: Any) -> VGG:
    """Build a VGG of 11 layers with batch normalization; further arguments are passed to `VGG`."""
    return _vgg(11, True, **kwargs)


@register_model(VGG13_Weights)
def vgg13(**kwargs: Any) -> VGG:
    """Build a VGG of 13 layers; further arguments are passed to `VGG`."""
    return _vgg(13, False, **kwargs)


@register_model(VGG13_BN_Weights)
def vgg13_bn(**kwargs: Any) -> VGG:
    """Build a VGG of 13 layers with batch normalization; further arguments are passed to `VGG`."""
    return _vgg(13, True, **kwargs)


@register_model(VGG16_Weights)
def vgg16(**kwargs: Any) -> VGG:
    """Build a VGG of 16 layers; further arguments are passed to `VGG`."""
    return _vgg(16, False, **kwargs)


@register_model(VGG16_BN_Weights)
def vgg16_bn(**kwargs: Any) -> VGG:
    """Build a VGG of 16 layers with batch normalization; further arguments are passed to `VGG`."""
    return _vgg(16, True, **kwargs)


@register_model(VGG19_Weights)
def vgg19(**kwargs: Any) -> VGG:
    """Build a VGG of 19 layers; further arguments are passed to `VGG`."""
    return _vgg(19, False, **kwargs)


@register_model(VGG19_BN_Weights)
def vgg19_bn(**kwargs: Any) -> VGG:
    """Build a VGG of 19 layers with batch normalization; further arguments are passed to `VGG`."""
    return _vgg(19, True, **kwargs)
