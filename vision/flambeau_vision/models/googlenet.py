"""GoogLeNet or Inception v1 (Szegedy et al., 2014): blocks of parallel convolutions of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ._api import WeightsEnum, fix_argument, register_model
from ._meta import imagenet

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "googlenet"]

Tensor = torch.Tensor


class GoogLeNetOutputs(NamedTuple):
    """Training output of a `GoogLeNet` with auxiliary classifiers.

    Args:
        logits: the class scores, of shape `(N, num_classes)`.
        aux_logits2: logits of the later auxiliary classifier.
        aux_logits1: logits of the earlier auxiliary classifier.

    Example:
        >>> from flambeau_vision import models
        >>> network = models.GoogLeNet(num_classes=10, init_weights=False)
        >>> logits, aux_logits2, aux_logits1 = network(torch.rand(2, 3, 64, 64))
        >>> logits.shape, aux_logits1.shape
        (torch.Size([2, 10]), torch.Size([2, 10]))
    """

    logits: Tensor
    aux_logits2: Tensor
    aux_logits1: Tensor


def to_tensorflow_normalization(x: Tensor) -> Tensor:
    """Convert images from the ImageNet normalization to `(image - 0.5) / 0.5`, which weights from TensorFlow expect."""
    std = torch.tensor([0.229, 0.224, 0.225], dtype=x.dtype, device=x.device)
    mean = torch.tensor([0.485, 0.456, 0.406], dtype=x.dtype, device=x.device)
    return x * (std / 0.5)[:, None, None] + ((mean - 0.5) / 0.5)[:, None, None]


class BasicConv2d(nn.Module):
    """Convolution, batch normalization, ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Concatenate four branches of convolutions: 1 x 1; 1 x 1 and 3 x 3; again 1 x 1 and 3 x 3; max pooling and 1 x 1."""

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
    ) -> None:
        super().__init__()
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv_block(in_channels, ch3x3red, kernel_size=1),
            conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        # The kernels of this branch are 5 x 5 in the paper, but 3 x 3 in the published weights.
        self.branch3 = nn.Sequential(
            conv_block(in_channels, ch5x5red, kernel_size=1),
            conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv_block(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """Auxiliary classifier of intermediate features; its logits are an additional output in training."""

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        self.conv = conv_block(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


class GoogLeNet(nn.Module):
    """GoogLeNet (Inception v1): parallel branches of convolutions of several sizes.

    Szegedy et al., [Going Deeper with Convolutions](https://arxiv.org/abs/1409.4842), 2014.

    Args:
        num_classes: number of classes, the size of the output.
        aux_logits: add two auxiliary classifiers; the output in training is then a `GoogLeNetOutputs`.
        transform_input: convert images with the ImageNet normalization to that of weights from TensorFlow.
        init_weights: initialize with truncated normal distributions; None means True.
        blocks: the classes of convolutions, inception blocks and auxiliary classifiers, in this order; None for the classes
            of this module.
        dropout: dropout probability before the last layer.
        dropout_aux: dropout probability in the auxiliary classifiers.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`; in training with `aux_logits`, three tensors of this shape.

    Example:
        >>> from flambeau_vision import models
        >>> network = models.GoogLeNet(num_classes=10, aux_logits=False, init_weights=False)
        >>> network(torch.rand(2, 3, 64, 64)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        conv, inception, aux = blocks or (BasicConv2d, Inception, InceptionAux)
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = inception(256, 128, 128, 192, 32, 96, 64)
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = inception(528, 256, 160, 320, 32, 128, 128)
        self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.inception5a = inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            self._initialize_weights()

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.trunc_normal_(module.weight, mean=0.0, std=0.01, a=-2, b=2)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor | GoogLeNetOutputs:
        if self.transform_input:
            x = to_tensorflow_normalization(x)
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        first = self.inception4a(x)
        second = self.inception4d(self.inception4c(self.inception4b(first)))
        x = self.maxpool4(self.inception4e(second))
        x = self.avgpool(self.inception5b(self.inception5a(x)))
        logits = self.fc(self.dropout(torch.flatten(x, 1)))
        if self.training and self.aux_logits:
            aux1 = self.aux1(first)
            return GoogLeNetOutputs(logits, self.aux2(second), aux1)
        return logits


class GoogLeNet_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("googlenet-1378be20", 6624904)
    DEFAULT = IMAGENET1K_V1


@register_model(GoogLeNet_Weights, loads_weights=True)
def googlenet(*, weights: GoogLeNet_Weights | None, progress: bool, **kwargs: Any) -> GoogLeNet:
    """Build GoogLeNet; further arguments are passed to `GoogLeNet`. With weights, the model has no auxiliary classifiers."""
    if weights is None:
        return GoogLeNet(**kwargs)
    keep_aux = kwargs.get("aux_logits", False)
    kwargs.setdefault("transform_input", True)
    fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
    model = GoogLeNet(**{**kwargs, "aux_logits": True, "init_weights": False})
    model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    if not keep_aux:
        model.aux_logits, model.aux1, model.aux2 = False, None, None
    return model
