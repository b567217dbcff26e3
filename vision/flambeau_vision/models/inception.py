"""Inception v3 (Szegedy et al., 2015): blocks of parallel branches; large kernels are factorized, 7 x 7 into 1 x 7 and 7 x 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ._api import WeightsEnum, fix_argument, register_model
from ._meta import imagenet
from .googlenet import BasicConv2d, to_tensorflow_normalization

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "inception_v3"]

Tensor = torch.Tensor


class InceptionOutputs(NamedTuple):
    """Training output of an `Inception3` with an auxiliary classifier.

    Args:
        logits: the class scores, of shape `(N, num_classes)`.
        aux_logits: logits of the auxiliary classifier.

    Example:
        >>> from flambeau_vision import models
        >>> outputs = models.InceptionOutputs(logits=torch.zeros(2, 10), aux_logits=torch.ones(2, 10))
        >>> (outputs.logits + 0.4 * outputs.aux_logits).max()
        tensor(0.4000)
    """

    logits: Tensor
    aux_logits: Tensor


class InceptionA(nn.Module):
    """Concatenate four branches: a 1 x 1 convolution; a 5 x 5 convolution; two 3 x 3 convolutions; average pooling."""

    def __init__(self, in_channels: int, pool_features: int) -> None:
        super().__init__()
        self.branch1x1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = BasicConv2d(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = BasicConv2d(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, padding=1)
        self.branch_pool = BasicConv2d(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(
            [
                self.branch1x1(x),
                self.branch5x5_2(self.branch5x5_1(x)),
                self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
                self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)),
            ],
            1,
        )


class InceptionB(nn.Module):
    """Concatenate three branches that halve the resolution: a 3 x 3 convolution; two 3 x 3 convolutions; max pooling."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3 = BasicConv2d(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch3x3(x)
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([single, double, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(nn.Module):
    """Concatenate four branches of convolutions: 1 x 1; 1 x 7 and 7 x 1; 7 x 1 and 1 x 7, twice; average pooling."""

    def __init__(self, in_channels: int, channels_7x7: int) -> None:
        super().__init__()
        narrow = channels_7x7
        wide, high = {"kernel_size": (1, 7), "padding": (0, 3)}, {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = BasicConv2d(in_channels, narrow, kernel_size=1)
        self.branch7x7_2 = BasicConv2d(narrow, narrow, **wide)
        self.branch7x7_3 = BasicConv2d(narrow, 192, **high)
        self.branch7x7dbl_1 = BasicConv2d(in_channels, narrow, kernel_size=1)
        self.branch7x7dbl_2 = BasicConv2d(narrow, narrow, **high)
        self.branch7x7dbl_3 = BasicConv2d(narrow, narrow, **wide)
        self.branch7x7dbl_4 = BasicConv2d(narrow, narrow, **high)
        self.branch7x7dbl_5 = BasicConv2d(narrow, 192, **wide)
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        direct = self.branch1x1(x)
        single = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return torch.cat([direct, single, double, pooled], 1)


class InceptionD(nn.Module):
    """Concatenate three branches that halve the resolution: a 3 x 3 convolution; 1 x 7, 7 x 1 and 3 x 3; max pooling."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = BasicConv2d(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = BasicConv2d(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = BasicConv2d(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = BasicConv2d(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return torch.cat([three, seven, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(nn.Module):
    """Concatenate four branches: a 1 x 1 convolution; `[1 x 3, 3 x 1]`; 3 x 3, then `[1 x 3, 3 x 1]`; average pooling.

    Here `[1 x 3, 3 x 1]` are two convolutions of the same input, whose outputs are concatenated.
    """

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        wide, high = {"kernel_size": (1, 3), "padding": (0, 1)}, {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = BasicConv2d(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = BasicConv2d(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = BasicConv2d(384, 384, **wide)
        self.branch3x3_2b = BasicConv2d(384, 384, **high)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = BasicConv2d(384, 384, **wide)
        self.branch3x3dbl_3b = BasicConv2d(384, 384, **high)
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        direct = self.branch1x1(x)
        single = self.branch3x3_1(x)
        single = torch.cat([self.branch3x3_2a(single), self.branch3x3_2b(single)], 1)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        double = torch.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        pooled = self.branch_pool(F.avg_pool2d(x, kernel_size=3, stride=1, padding=1))
        return torch.cat([direct, single, double, pooled], 1)


class InceptionAux(nn.Module):
    """Auxiliary classifier of intermediate features; its logits are an additional output in training."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv0 = BasicConv2d(in_channels, 128, kernel_size=1)
        self.conv1 = BasicConv2d(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Inception v3, for images of 299 x 299: large convolutions are factorized into small ones.

    Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, [Rethinking the Inception Architecture for Computer
    Vision](https://arxiv.org/abs/1512.00567), 2015.

    Args:
        num_classes: number of classes, the size of the output.
        aux_logits: add an auxiliary classifier; the output in training is then an `InceptionOutputs`.
        transform_input: convert images with the ImageNet normalization to that of weights from TensorFlow.
        inception_blocks: the classes of convolutions, blocks A to E and auxiliary classifier, in this order; None for the
            classes of this module.
        init_weights: initialize with truncated normal distributions; None means True.
        dropout: dropout probability before the last layer.

    Shape:
        - Input: `(N, 3, H, W)`, of 75 x 75 pixels or more.
        - Output: `(N, num_classes)`; in training with `aux_logits`, two tensors of this shape.

    Example:
        >>> from flambeau_vision import models
        >>> network = models.Inception3(num_classes=10, aux_logits=False, init_weights=False)
        >>> network.eval()(torch.rand(1, 3, 75, 75)).shape
        torch.Size([1, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        inception_blocks: Sequence[Callable[..., nn.Module]] | None = None,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        default_blocks = (BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux)
        conv, block_a, block_b, block_c, block_d, block_e, aux = inception_blocks or default_blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = block_a(192, pool_features=32)
        self.Mixed_5c = block_a(256, pool_features=64)
        self.Mixed_5d = block_a(288, pool_features=64)
        self.Mixed_6a = block_b(288)
        self.Mixed_6b = block_c(768, channels_7x7=128)
        self.Mixed_6c = block_c(768, channels_7x7=160)
        self.Mixed_6d = block_c(768, channels_7x7=160)
        self.Mixed_6e = block_c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = block_d(768)
        self.Mixed_7b = block_e(1280)
        self.Mixed_7c = block_e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            self._initialize_weights()

    def _initialize_weights(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                std = float(getattr(module, "stddev", 0.1))
                nn.init.trunc_normal_(module.weight, mean=0.0, std=std, a=-2, b=2)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor | InceptionOutputs:
        if self.transform_input:
            x = to_tensorflow_normalization(x)
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6a(x)
        middle = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(x))))
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(middle)))
        aux = self.AuxLogits(middle) if self.training and self.aux_logits else None
        logits = self.fc(torch.flatten(self.dropout(self.avgpool(x)), 1))
        return logits if aux is None else InceptionOutputs(logits, aux)


class Inception_V3_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("inception_v3_google-0cc3c7bd", 27161264, crop_size=299, resize_size=342)
    DEFAULT = IMAGENET1K_V1


@register_model(Inception_V3_Weights, loads_weights=True)
def inception_v3(*, weights: Inception_V3_Weights | None, progress: bool, **kwargs: Any) -> Inception3:
    """Build Inception v3; further arguments are passed to `Inception3`. The input must have at least 75 x 75 pixels."""
    if weights is None:
        return Inception3(**kwargs)
    keep_aux = kwargs.get("aux_logits", True)
    kwargs.setdefault("transform_input", True)
    fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
    model = Inception3(**{**kwargs, "aux_logits": True, "init_weights": False})
    model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    if not keep_aux:
        model.aux_logits, model.AuxLogits = False, None
    return model
