"""Video Swin transformers (Liu et al., 2021): attention inside windows of time and space, shifted in every second block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from .._api import WeightsEnum, register_model
from ..swin_transformer import PatchMerging, SwinTransformerBlock
from ._meta import kinetics

__all__ = [
    "Swin3D_B_Weights",
    "Swin3D_S_Weights",
    "Swin3D_T_Weights",
    "SwinTransformer3d",
    "swin3d_b",
    "swin3d_s",
    "swin3d_t",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


def _split_windows(x: Tensor, window: Sequence[int]) -> Tensor:
    """Divide videos `(N, T, H, W, C)` into windows of shape `(N, windows, pixels, C)`."""
    count, *sides, channels = x.shape
    counts = [side // part for side, part in zip(sides, window, strict=True)]
    split = [size for pair in zip(counts, window, strict=True) for size in pair]
    parts = x.reshape(count, *split, channels).permute(0, 1, 3, 5, 2, 4, 6, 7)
    return parts.reshape(count, counts[0] * counts[1] * counts[2], window[0] * window[1] * window[2], channels)


def _merge_windows(windows: Tensor, window: Sequence[int], sides: Sequence[int]) -> Tensor:
    """Join the windows from `_split_windows` to videos of shape `(N, *sides, C)`."""
    counts = [side // part for side, part in zip(sides, window, strict=True)]
    parts = windows.reshape(windows.shape[0], *counts, *window, windows.shape[-1])
    return parts.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(windows.shape[0], *sides, windows.shape[-1])


def _region_indices(length: int, window: int, shift: int) -> Tensor:
    """Number the regions of an axis of `length` that was rolled by `shift`.

    Positions of one window have different numbers if they come from opposite ends of the axis.
    """
    index = torch.arange(length)
    return (index >= length - window).long() + (index >= length - shift).long() if shift else torch.zeros_like(index)


class ShiftedWindowAttention3d(nn.Module):
    """Self-attention among the pixels of each space-time window, with a learned bias for each relative position of two pixels.

    Args:
        dim: channels.
        window_size: length, height and width of the windows; smaller videos use smaller windows.
        shift_size: shift of the windows along time, height and width.
        num_heads: number of attention heads; must divide `dim`.
        qkv_bias: whether the projection to queries, keys and values has a bias.
        proj_bias: whether the output projection has a bias.
        attention_dropout: dropout probability of the attention weights.
        dropout: dropout probability after the output projection.

    Shape:
        - Input: `(N, T, H, W, dim)`.
        - Output: the same.

    Raises:
        ValueError: `window_size` or `shift_size` are not three numbers.
    """

    def __init__(
        self,
        dim: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 3 or len(shift_size) != 3:
            raise ValueError("window_size and shift_size must be of length 3")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        spans = [2 * side - 1 for side in window_size]
        table = torch.empty(spans[0] * spans[1] * spans[2], num_heads)
        self.relative_position_bias_table = nn.Parameter(nn.init.trunc_normal_(table, std=0.02))
        sides = torch.meshgrid(*(torch.arange(side) for side in window_size), indexing="ij")
        index = torch.zeros((), dtype=torch.int64)
        for coordinates, side, span in zip(sides, window_size, spans, strict=True):
            coordinates = coordinates.flatten()
            index = index * span + (coordinates[:, None] - coordinates + side - 1)
        self.register_buffer("relative_position_index", index)

    def get_relative_position_bias(self, window_size: Sequence[int]) -> Tensor:
        """Return the attention bias of each head for each pair of pixels of a window, as `(1, num_heads, pixels, pixels)`."""
        pixels = window_size[0] * window_size[1] * window_size[2]
        index = self.relative_position_index[:pixels, :pixels].flatten()
        return self.relative_position_bias_table[index].reshape(pixels, pixels, -1).permute(2, 0, 1)[None]

    def _attend(self, windows: Tensor, bias: Tensor, masked: Tensor | None) -> Tensor:
        """Compute the attention in each window. Pairs of pixels where `masked` is True do not attend to each other."""
        *batch, pixels, channels = windows.shape
        heads = self.qkv(windows).reshape(*batch, pixels, 3, self.num_heads, channels // self.num_heads)
        queries, keys, values = heads.permute(3, 0, 1, 4, 2, 5)
        weights = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(-2, -1) + bias
        if masked is not None:
            weights = weights + masked[:, None].to(weights.dtype) * -100.0
        weights = F.dropout(F.softmax(weights, dim=-1), self.attention_dropout, self.training)
        mixed = (weights @ values).transpose(-3, -2).reshape(windows.shape)
        return F.dropout(self.proj(mixed), self.dropout, self.training)

    def forward(self, x: Tensor) -> Tensor:
        sides = x.shape[1:4]
        fits = [side > part for side, part in zip(sides, self.window_size, strict=True)]
        window = [part if fit else side for side, part, fit in zip(sides, self.window_size, fits, strict=True)]
        shift = [by if fit else 0 for by, fit in zip(self.shift_size, fits, strict=True)]
        missing = [-side % part for side, part in zip(sides, window, strict=True)]
        x = F.pad(x, (0, 0, 0, missing[2], 0, missing[1], 0, missing[0]))
        padded = x.shape[1:4]
        masked = None
        if any(shift):
            x = x.roll([-by for by in shift], (1, 2, 3))
            times, rows, columns = (_region_indices(*side) for side in zip(padded, window, shift, strict=True))
            regions = 9 * times[:, None, None] + 3 * rows[:, None] + columns
            regions = _split_windows(regions[None, ..., None], window)[0, :, :, 0]
            masked = (regions[:, None] != regions[:, :, None]).to(x.device)
        bias = self.get_relative_position_bias(window)
        x = _merge_windows(self._attend(_split_windows(x, window), bias, masked), window, padded)
        if any(shift):
            x = x.roll(shift, (1, 2, 3))
        return x[:, : sides[0], : sides[1], : sides[2]].contiguous()


class PatchEmbed3d(nn.Module):
    """Convert patches of a video to vectors by a strided convolution. Videos are padded to a multiple of the patch size."""

    def __init__(
        self, patch_size: Sequence[int], in_channels: int = 3, embed_dim: int = 96, norm_layer: Layer | None = None
    ) -> None:
        super().__init__()
        self.patch_size = tuple(patch_size)
        self.proj = nn.Conv3d(in_channels, embed_dim, kernel_size=self.patch_size, stride=self.patch_size)
        self.norm = nn.Identity() if norm_layer is None else norm_layer(embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        missing = [-side % part for side, part in zip(x.shape[2:], self.patch_size, strict=True)]
        x = self.proj(F.pad(x, (0, missing[2], 0, missing[1], 0, missing[0])))
        return self.norm(x.permute(0, 2, 3, 4, 1))


class SwinTransformer3d(nn.Module):
    """Swin transformer for videos: attention inside windows, which are shifted in every second block.

    Liu et al., [Video Swin Transformer](https://arxiv.org/abs/2106.13230), 2021.

    Args:
        patch_size: length, height and width of the patches of the first layer.
        embed_dim: channels of the first stage; each further stage has twice as many.
        depths: number of blocks of each stage.
        num_heads: number of attention heads of each stage.
        window_size: length, height and width of the windows.
        mlp_ratio: hidden size between the two linear layers of a block, divided by the channels.
        dropout: dropout probability of the patch embedding, the attention outputs and the linear layers.
        attention_dropout: dropout probability of the attention weights.
        stochastic_depth_prob: probability of skipping the last block in training; it decreases linearly for earlier blocks.
        num_classes: number of classes, the size of the output.
        norm_layer: called with the number of channels to create a normalization; None for `LayerNorm` with an eps of 1e-5.
        block: class of the blocks; None for `SwinTransformerBlock` with `ShiftedWindowAttention3d`.
        downsample_layer: called with the channels and `norm_layer` to create the layer between stages.
        patch_embed: called to create the patch embedding; None for `PatchEmbed3d`.

    Shape:
        - Input: `(N, 3, T, H, W)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision.models import video
        >>> tiny = video.SwinTransformer3d([2, 4, 4], 8, [2, 2], [2, 4], window_size=[2, 4, 4], num_classes=10)
        >>> tiny(torch.rand(2, 3, 4, 32, 48)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        patch_size: Sequence[int],
        embed_dim: int,
        depths: Sequence[int],
        num_heads: Sequence[int],
        window_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 400,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
        patch_embed: Layer | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block = block or partial(SwinTransformerBlock, attn_layer=ShiftedWindowAttention3d)
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        self.patch_embed = (patch_embed or PatchEmbed3d)(patch_size=patch_size, embed_dim=embed_dim, norm_layer=norm_layer)
        self.pos_drop = nn.Dropout(p=dropout)
        options = {"mlp_ratio": mlp_ratio, "dropout": dropout, "attention_dropout": attention_dropout}
        shifted = [side // 2 for side in window_size]
        layers: list[nn.Module] = []
        last_block, blocks_before, dim = sum(depths) - 1, 0, embed_dim
        for depth, heads in zip(depths, num_heads, strict=True):
            if blocks_before:
                layers.append(downsample_layer(dim, norm_layer))
                dim *= 2
            stage = [
                block(
                    dim,
                    heads,
                    window_size=window_size,
                    shift_size=shifted if index % 2 else [0] * len(window_size),
                    stochastic_depth_prob=stochastic_depth_prob * (blocks_before + index) / last_block,
                    norm_layer=norm_layer,
                    **options,
                )
                for index in range(depth)
            ]
            layers.append(nn.Sequential(*stage))
            blocks_before += depth
        self.features = nn.Sequential(*layers)
        self.num_features = dim
        self.norm = norm_layer(dim)
        self.avgpool = nn.AdaptiveAvgPool3d(1)
        self.head = nn.Linear(dim, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.features(self.pos_drop(self.patch_embed(x))))
        return self.head(torch.flatten(self.avgpool(x.permute(0, 4, 1, 2, 3)), 1))


def _weights(file: str, num_params: int) -> Any:
    colours = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
    return kinetics(file, num_params, (224, 224), (256,), **colours)


class Swin3D_T_Weights(WeightsEnum):
    KINETICS400_V1 = _weights("swin3d_t-7615ae03", 28158070)
    DEFAULT = KINETICS400_V1


class Swin3D_S_Weights(WeightsEnum):
    KINETICS400_V1 = _weights("swin3d_s-da41c237", 49816678)
    DEFAULT = KINETICS400_V1


class Swin3D_B_Weights(WeightsEnum):
    KINETICS400_V1 = _weights("swin3d_b_1k-24f7c7c6", 88048984)
    KINETICS400_IMAGENET22K_V1 = _weights("swin3d_b_22k-7c6ae6fa", 88048984)
    DEFAULT = KINETICS400_IMAGENET22K_V1


def _swin3d(width: int, third: int, heads: int, **kwargs: Any) -> SwinTransformer3d:
    num_heads = [heads * 2**stage for stage in range(4)]
    return SwinTransformer3d([2, 4, 4], width, [2, 2, third, 2], num_heads, [8, 7, 7], **kwargs)


@register_model(Swin3D_T_Weights)
def swin3d_t(**kwargs: Any) -> SwinTransformer3d:
    """Build the tiny Swin transformer for videos; further arguments are passed to `SwinTransformer3d`."""
    return _swin3d(96, 6, 3, **kwargs)


@register_model(Swin3D_S_Weights)
def swin3d_s(**kwargs: Any) -> SwinTransformer3d:
    """Build the small Swin transformer for videos; further arguments are passed to `SwinTransformer3d`."""
    return _swin3d(96, 18, 3, **kwargs)


@register_model(Swin3D_B_Weights)
def swin3d_b(**kwargs: Any) -> SwinTransformer3d:
    """Build the base Swin transformer for videos; further arguments are passed to `SwinTransformer3d`."""
    return _swin3d(128, 18, 4, **kwargs)
