"""MaxViT (Tu et al., 2022): each layer has a convolution, attention inside windows, and attention on a grid across windows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ..ops.dropping import StochasticDepth
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..transforms import InterpolationMode
from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


def _halved(sides: tuple[int, int]) -> tuple[int, int]:
    """Return the height and width of the output of a convolution with stride 2, given those of its input."""
    return (sides[0] - 1) // 2 + 1, (sides[1] - 1) // 2 + 1


class MBConv(nn.Module):
    """Residual block: 1 x 1 expansion, depthwise convolution, squeeze-and-excitation, 1 x 1 projection."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Layer,
        norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(kernel_size=3, stride=2, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, kernel_size=1))
        self.stochastic_depth = StochasticDepth(p_stochastic_dropout, "row") if p_stochastic_dropout else nn.Identity()
        wide = int(out_channels * expansion_ratio)
        conv = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential(
            OrderedDict(
                pre_norm=norm_layer(in_channels),
                conv_a=conv(in_channels, wide, kernel_size=1),
                conv_b=conv(wide, wide, kernel_size=3, stride=stride, groups=wide),
                squeeze_excitation=SqueezeExcitation(wide, int(out_channels * squeeze_ratio), activation=nn.SiLU),
                conv_c=nn.Conv2d(wide, out_channels, kernel_size=1),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Self-attention among the pixels of a square, with a learned bias for each relative position of two pixels.

    Shape:
        - Input: `(N, squares, max_seq_len, feat_dim)`, where `max_seq_len` is the number of pixels of a square.
        - Output: the same.

    Raises:
        ValueError: `head_dim` does not divide `feat_dim`.
    """

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads = feat_dim // head_dim
        self.scale_factor = feat_dim**-0.5
        side = round(max_seq_len**0.5)
        self.to_qkv = nn.Linear(feat_dim, 3 * feat_dim)
        self.merge = nn.Linear(feat_dim, feat_dim)
        table = torch.empty((2 * side - 1) ** 2, self.n_heads)
        self.relative_position_bias_table = nn.Parameter(nn.init.trunc_normal_(table, std=0.02))
        y, x = torch.arange(side).repeat_interleave(side), torch.arange(side).repeat(side)
        down, right = y[:, None] - y + side - 1, x[:, None] - x + side - 1
        self.register_buffer("relative_position_index", down * (2 * side - 1) + right)

    def get_relative_positional_bias(self) -> Tensor:
        """Return the attention bias of each head for each pair of pixels, of shape `(1, heads, pixels, pixels)`."""
        return self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)[None]

    def forward(self, x: Tensor) -> Tensor:
        *batch, pixels, channels = x.shape
        heads = self.to_qkv(x).reshape(*batch, pixels, 3, self.n_heads, channels // self.n_heads)
        queries, keys, values = heads.permute(3, 0, 1, 4, 2, 5)
        weights = queries @ (keys * self.scale_factor).transpose(-2, -1) + self.get_relative_positional_bias()
        mixed = F.softmax(weights, dim=-1) @ values
        return self.merge(mixed.transpose(-3, -2).reshape(x.shape))


class PartitionAttentionLayer(nn.Module):
    """Self-attention inside each partition of an image, then two linear layers for each pixel; both are residual.

    Each partition has `partition_size x partition_size` pixels: neighbours for the type `"window"`, or pixels at equal
    distances over the image for the type `"grid"`.
    """

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Layer,
        norm_layer: Layer,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.is_grid = partition_type == "grid"
        self.partition_size = partition_size
        self.grid_size = grid_size
        wide = in_channels * mlp_ratio
        attention = RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2)
        self.attn_layer = nn.Sequential(norm_layer(in_channels), attention, nn.Dropout(attention_dropout))
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, wide),
            activation_layer(),
            nn.Linear(wide, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Tensor) -> Tensor:
        count, channels, height, width = x.shape
        if height % self.partition_size or width % self.partition_size:
            raise ValueError(f"The sides {height} x {width} are not divisible by the partition size {self.partition_size}")
        rows, columns = height // self.partition_size, width // self.partition_size
        if self.is_grid:  # each partition has one pixel of each `rows x columns` window
            split = (count, channels, self.partition_size, rows, self.partition_size, columns)
            order, back = (0, 3, 5, 2, 4, 1), (0, 5, 3, 1, 4, 2)
        else:
            split = (count, channels, rows, self.partition_size, columns, self.partition_size)
            order, back = (0, 2, 4, 3, 5, 1), (0, 5, 1, 3, 2, 4)
        parts = x.reshape(split).permute(order)
        shape = parts.shape
        parts = parts.reshape(count, rows * columns, self.partition_size**2, channels)
        parts = parts + self.stochastic_dropout(self.attn_layer(parts))
        parts = parts + self.stochastic_dropout(self.mlp_layer(parts))
        return parts.reshape(shape).permute(back).reshape(x.shape)


class MaxVitLayer(nn.Module):
    """MaxViT layer: an `MBConv`, attention inside windows, and attention on a grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        attend = partial(
            PartitionAttentionLayer,
            in_channels=out_channels,
            head_dim=head_dim,
            partition_size=partition_size,
            grid_size=grid_size,
            mlp_ratio=mlp_ratio,
            activation_layer=activation_layer,
            norm_layer=nn.LayerNorm,
            attention_dropout=attention_dropout,
            mlp_dropout=mlp_dropout,
            p_stochastic_dropout=p_stochastic_dropout,
        )
        convolve = MBConv(
            in_channels,
            out_channels,
            expansion_ratio,
            squeeze_ratio,
            stride,
            activation_layer,
            norm_layer,
            p_stochastic_dropout,
        )
        self.layers = nn.Sequential(
            OrderedDict(
                MBconv=convolve,
                window_attention=attend(partition_type="window"),
                grid_attention=attend(partition_type="grid"),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """MaxViT stage: layers with the same number of output channels; the first layer halves height and width."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: Sequence[float],
        **options: Any,
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.grid_size = _halved(input_grid_size)
        self.layers = nn.ModuleList(
            MaxVitLayer(
                out_channels if index else in_channels,
                out_channels,
                stride=1 if index else 2,
                grid_size=self.grid_size,
                p_stochastic_dropout=skipped,
                **options,
            )
            for index, skipped in enumerate(p_stochastic)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """MaxViT: layers of a convolution, attention inside windows, and attention on a grid across windows.

    Tu et al., [MaxViT: Multi-Axis Vision Transformer](https://arxiv.org/abs/2204.01697), 2022.

    Args:
        input_size: height and width of the images.
        stem_channels: channels of the first two convolutions.
        partition_size: number of pixels along a side of a window or grid. It must divide the height and width of the features
            in each block.
        block_channels: channels of each block.
        block_layers: number of layers of each block.
        head_dim: channels of an attention head.
        stochastic_depth_prob: probability of skipping the last layer in training; it decreases linearly for earlier layers.
        norm_layer: called with the number of channels to create a normalization; None for `BatchNorm2d` with an eps of
            0.001 and a momentum of 0.01.
        activation_layer: called to create an activation.
        squeeze_ratio: channels of the squeeze-and-excitation bottleneck, divided by the output channels.
        expansion_ratio: channels of the depthwise convolutions, divided by the output channels.
        mlp_ratio: hidden size between the two linear layers that follow the attention, divided by the channels.
        mlp_dropout: dropout probability after the linear layers.
        attention_dropout: dropout probability after the attention.
        num_classes: number of classes, the size of the output.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `partition_size` does not divide height and width of the features.

    Example:
        >>> from flambeau_vision import models
        >>> tiny = models.MaxVit((32, 32), 8, 4, [8, 16], [1, 1], head_dim=8, stochastic_depth_prob=0.0, num_classes=10)
        >>> tiny(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: Sequence[int],
        block_layers: Sequence[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        self.partition_size = partition_size
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3,
                stem_channels,
                stride=2,
                norm_layer=norm_layer,
                activation_layer=activation_layer,
                bias=False,
                inplace=None,
            ),
            Conv2dNormActivation(stem_channels, stem_channels, norm_layer=None, activation_layer=None, bias=True),
        )
        count = sum(block_layers)
        skipped = [stochastic_depth_prob * index / max(count - 1, 1) for index in range(count)]
        sides, before, layers_before = _halved(input_size), stem_channels, 0
        self.blocks = nn.ModuleList()
        for index, (channels, layers) in enumerate(zip(block_channels, block_layers, strict=True)):
            if any(side % partition_size for side in _halved(sides)):
                raise ValueError(
                    f"Input size {_halved(sides)} of block {index} is not divisible by partition size {partition_size}. "
                    "Consider changing the partition size or the input size."
                )
            self.blocks.append(
                MaxVitBlock(
                    before,
                    channels,
                    sides,
                    layers,
                    skipped[layers_before : layers_before + layers],
                    squeeze_ratio=squeeze_ratio,
                    expansion_ratio=expansion_ratio,
                    norm_layer=norm_layer,
                    activation_layer=activation_layer,
                    head_dim=head_dim,
                    mlp_ratio=mlp_ratio,
                    mlp_dropout=mlp_dropout,
                    attention_dropout=attention_dropout,
                    partition_size=partition_size,
                )
            )
            sides, before, layers_before = _halved(sides), channels, layers_before + layers
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(before),
            nn.Linear(before, before),
            nn.Tanh(),
            nn.Linear(before, num_classes, bias=False),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


class MaxVit_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("maxvit_t-bc5ab103", 30919624, 224, 224, interpolation=InterpolationMode.BICUBIC)
    DEFAULT = IMAGENET1K_V1


@register_model(MaxVit_T_Weights)
def maxvit_t(**kwargs: Any) -> MaxVit:
    """Build the tiny MaxViT for 224 x 224 images; `input_size` and further arguments are passed to `MaxVit`."""
    options = {"input_size": (224, 224), "stochastic_depth_prob": 0.2, **kwargs}
    return MaxVit(
        stem_channels=64, partition_size=7, block_channels=[64, 128, 256, 512], block_layers=[2, 2, 5, 2], head_dim=32, **options
    )
