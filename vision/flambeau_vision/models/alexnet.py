"""AlexNet: image classification with five convolutions and three linear layers."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import nn

from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = ["AlexNet", "AlexNet2017", "AlexNet_Weights", "alexnet"]


class AlexNet(nn.Module):
    """AlexNet: five convolutions and three linear layers.

    Krizhevsky, [One weird trick for parallelizing convolutional neural networks](https://arxiv.org/abs/1404.5997), 2014.

    Args:
        num_classes: number of classes, the size of the output.
        dropout: dropout probability before the first two linear layers.

    Shape:
        - Input: `(N, 3, H, W)`, of 63 x 63 pixels or more.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision import models
        >>> models.AlexNet(num_classes=10).eval()(torch.rand(1, 3, 64, 64)).shape
        torch.Size([1, 10])
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


class AlexNet2017(AlexNet):
    """AlexNet as in torchvision of 2017: it lacks adaptive pooling, so images must have 224 x 224 pixels.

    The state dict is compatible with `AlexNet`.

    Args:
        num_classes: number of classes, the size of the output.
        dropout: dropout probability before the first two linear layers.

    Shape:
        - Input: `(N, 3, 224, 224)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision import models
        >>> models.AlexNet2017(num_classes=10).eval()(torch.rand(1, 3, 224, 224)).shape
        torch.Size([1, 10])
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__(num_classes, dropout)
        del self.avgpool

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        return self.classifier(x.view(x.size(0), 256 * 6 * 6))


class AlexNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("alexnet-owt-7be5be79", 61100840)
    DEFAULT = IMAGENET1K_V1


@register_model(AlexNet_Weights)
def alexnet(**kwargs: Any) -> AlexNet:
    """Build AlexNet; further arguments are passed to `AlexNet`."""
    return AlexNet(**kwargs)
