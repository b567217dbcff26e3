"""Swin transformers 1 and 2 (Liu et al., 2021): attention inside windows, which are shifted in every second block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ..ops.dropping import StochasticDepth
from ..ops.misc import MLP, Permute
from ..transforms import InterpolationMode
from ._api import WeightsEnum, register_model
from ._meta import imagenet

__all__ = [
    "SwinTransformer",
    "Swin_B_Weights",
    "Swin_S_Weights",
    "Swin_T_Weights",
    "Swin_V2_B_Weights",
    "Swin_V2_S_Weights",
    "Swin_V2_T_Weights",
    "swin_b",
    "swin_s",
    "swin_t",
    "swin_v2_b",
    "swin_v2_s",
    "swin_v2_t",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


def _concat_2x2(x: Tensor) -> Tensor:
    """Concatenate the channels of each 2 x 2 square: `(..., H, W, C)` becomes `(..., ceil(H / 2), ceil(W / 2), 4 * C)`."""
    height, width, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return torch.cat([x[..., row::2, column::2, :] for column in (0, 1) for row in (0, 1)], dim=-1)


class PatchMerging(nn.Module):
    """Halve height and width and double the channels: project the concatenated channels of each 2 x 2 square."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.reduction(self.norm(_concat_2x2(x)))


class PatchMergingV2(nn.Module):
    """`PatchMerging` that normalizes after the projection instead of before."""

    def __init__(self, dim: int, norm_layer: Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(_concat_2x2(x)))


def _split_windows(x: Tensor, window: Sequence[int]) -> Tensor:
    """Divide images `(N, H, W, C)` into windows of shape `(N, windows, pixels, C)`."""
    count, height, width, channels = x.shape
    rows, columns = height // window[0], width // window[1]
    parts = x.reshape(count, rows, window[0], columns, window[1], channels).permute(0, 1, 3, 2, 4, 5)
    return parts.reshape(count, rows * columns, window[0] * window[1], channels)


def _merge_windows(windows: Tensor, window: Sequence[int], height: int, width: int) -> Tensor:
    """Join the windows from `_split_windows` to images of shape `(N, height, width, C)`."""
    shape = (windows.shape[0], height // window[0], width // window[1], *window, windows.shape[-1])
    return windows.reshape(shape).permute(0, 1, 3, 2, 4, 5).reshape(-1, height, width, windows.shape[-1])


def _region_indices(length: int, window: int, shift: int) -> Tensor:
    """Number the regions of an axis of `length` that was rolled by `shift`.

    Positions of one window have different numbers if they come from opposite ends of the axis.
    """
    index = torch.arange(length)
    return (index >= length - window).long() + (index >= length - shift).long() if shift else torch.zeros_like(index)


class ShiftedWindowAttention(nn.Module):
    """Self-attention among the pixels of each window, with a learned bias for each relative position of two pixels.

    Args:
        dim: channels.
        window_size: height and width of the windows.
        shift_size: shift of the windows down and to the right. The shift is cyclic. Pixels of a window that come from
            opposite borders of the image do not attend to each other.
        num_heads: number of attention heads; must divide `dim`.
        qkv_bias: whether the projection to queries, keys and values has a bias.
        proj_bias: whether the output projection has a bias.
        attention_dropout: dropout probability of the attention weights.
        dropout: dropout probability after the output projection.

    Shape:
        - Input: `(N, H, W, dim)`.
        - Output: the same.

    Raises:
        ValueError: `window_size` or `shift_size` are not two numbers.
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
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """Create the parameter `relative_position_bias_table`, with a bias for each relative position and head."""
        high, wide = self.window_size
        table = torch.empty((2 * high - 1) * (2 * wide - 1), self.num_heads)
        self.relative_position_bias_table = nn.Parameter(nn.init.trunc_normal_(table, std=0.02))

    def define_relative_position_index(self) -> None:
        """Create the buffer `relative_position_index`, with the row of the bias table for each pair of pixels."""
        high, wide = self.window_size
        y = torch.arange(high).repeat_interleave(wide)
        x = torch.arange(wide).repeat(high)
        down, right = y[:, None] - y + high - 1, x[:, None] - x + wide - 1
        self.register_buffer("relative_position_index", (down * (2 * wide - 1) + right).flatten())

    def _bias_table(self) -> Tensor:
        return self.relative_position_bias_table

    def get_relative_position_bias(self) -> Tensor:
        """Return the attention bias of each head for each pair of pixels, of shape `(1, num_heads, pixels, pixels)`."""
        pixels = self.window_size[0] * self.window_size[1]
        return self._bias_table()[self.relative_position_index].reshape(pixels, pixels, -1).permute(2, 0, 1)[None]

    def _projected(self, windows: Tensor) -> Tensor:
        return self.qkv(windows)

    def _similarity(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries * queries.shape[-1] ** -0.5) @ keys.transpose(-2, -1)

    def _attend(self, windows: Tensor, masked: Tensor | None) -> Tensor:
        """Compute the attention in each window. Pairs of pixels where `masked` is True do not attend to each other."""
        *batch, pixels, channels = windows.shape
        heads = self._projected(windows).reshape(*batch, pixels, 3, self.num_heads, channels // self.num_heads)
        queries, keys, values = heads.permute(3, 0, 1, 4, 2, 5)
        weights = self._similarity(queries, keys) + self.get_relative_position_bias()
        if masked is not None:
            weights = weights + masked[:, None].to(weights.dtype) * -100.0
        weights = F.dropout(F.softmax(weights, dim=-1), self.attention_dropout, self.training)
        mixed = (weights @ values).transpose(-3, -2).reshape(windows.shape)
        return F.dropout(self.proj(mixed), self.dropout, self.training)

    def forward(self, x: Tensor) -> Tensor:
        _, height, width, _ = x.shape
        window = self.window_size
        x = F.pad(x, (0, 0, 0, -width % window[1], 0, -height % window[0]))
        padded = x.shape[1:3]
        shift = [0 if side <= part else by for side, part, by in zip(padded, window, self.shift_size, strict=True)]
        masked = None
        if any(shift):
            x = x.roll((-shift[0], -shift[1]), (1, 2))
            rows, columns = (_region_indices(*sides) for sides in zip(padded, window, shift, strict=True))
            regions = _split_windows((3 * rows[:, None] + columns)[None, :, :, None], window)[0, :, :, 0]
            masked = (regions[:, None] != regions[:, :, None]).to(x.device)
        x = _merge_windows(self._attend(_split_windows(x, window), masked), window, *padded)
        if any(shift):
            x = x.roll(shift, (1, 2))
        return x[:, :height, :width].contiguous()


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """`ShiftedWindowAttention` that uses the cosine similarity of queries and keys. An MLP computes the position bias."""

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
        super().__init__(dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout)
        self.logit_scale = nn.Parameter(torch.full((num_heads, 1, 1), math.log(10)))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False))
        if qkv_bias:
            nn.init.zeros_(self.qkv.bias[dim : 2 * dim])

    def define_relative_position_bias_table(self) -> None:
        """Create the buffer `relative_coords_table`: the relative positions on a logarithmic scale, as input of the MLP."""
        sides = [torch.arange(1.0 - side, side) / (side - 1) * 8 for side in self.window_size]
        distances = torch.stack(torch.meshgrid(*sides, indexing="ij"), dim=-1)[None]
        table = distances.sign() * torch.log2(distances.abs() + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def _bias_table(self) -> Tensor:
        return 16 * torch.sigmoid(self.cpb_mlp(self.relative_coords_table).reshape(-1, self.num_heads))

    def _projected(self, windows: Tensor) -> Tensor:
        if self.qkv.bias is None:
            return self.qkv(windows)
        queries, keys, values = self.qkv.bias.chunk(3)
        return F.linear(windows, self.qkv.weight, torch.cat([queries, torch.zeros_like(keys), values]))

    def _similarity(self, queries: Tensor, keys: Tensor) -> Tensor:
        cosines = F.normalize(queries, dim=-1) @ F.normalize(keys, dim=-1).transpose(-2, -1)
        return cosines * self.logit_scale.clamp(max=math.log(100.0)).exp()


class SwinTransformerBlock(nn.Module):
    """Transformer block: window attention, then two linear layers for each pixel. Both are residual and normalize their input."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
        attn_layer: Layer = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        rates = {"attention_dropout": attention_dropout, "dropout": dropout}
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, **rates)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """`SwinTransformerBlock` that normalizes the outputs of the attention and of the linear layers instead of their inputs."""

    def __init__(self, *args: Any, attn_layer: Layer = ShiftedWindowAttentionV2, **kwargs: Any) -> None:
        super().__init__(*args, attn_layer=attn_layer, **kwargs)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Swin transformer: attention inside windows, which are shifted in every second block.

    Liu et al., [Swin Transformer: Hierarchical Vision Transformer using Shifted Windows](https://arxiv.org/abs/2103.14030), 2021,
    and [Swin Transformer V2: Scaling Up Capacity and Resolution](https://arxiv.org/abs/2111.09883), 2021.

    Args:
        patch_size: height and width of the patches of the first layer.
        embed_dim: channels of the first stage; each further stage has twice as many.
        depths: number of blocks of each stage.
        num_heads: number of attention heads of each stage.
        window_size: height and width of the windows.
        mlp_ratio: hidden size between the two linear layers of a block, divided by the channels.
        dropout: dropout probability of the attention outputs and the linear layers.
        attention_dropout: dropout probability of the attention weights.
        stochastic_depth_prob: probability of skipping the last block in training; it decreases linearly for earlier blocks.
        num_classes: number of classes, the size of the output.
        norm_layer: called with the number of channels to create a normalization; None for `LayerNorm` with an eps of 1e-5.
        block: class of the blocks; None for `SwinTransformerBlock`.
        downsample_layer: called with the channels and `norm_layer` to create the layer between stages.

    Shape:
        - Input: `(N, 3, H, W)`.
        - Output: `(N, num_classes)`.

    Example:
        >>> from flambeau_vision import models
        >>> tiny = models.SwinTransformer([4, 4], 8, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10)
        >>> tiny(torch.rand(2, 3, 32, 48)).shape
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
        num_classes: int = 1000,
        norm_layer: Layer | None = None,
        block: Layer | None = None,
        downsample_layer: Layer = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block = block or SwinTransformerBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-5)
        patches = nn.Conv2d(3, embed_dim, kernel_size=tuple(patch_size), stride=tuple(patch_size))
        layers: list[nn.Module] = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm_layer(embed_dim))]
        shifted = [side // 2 for side in window_size]
        last_block, blocks_before, dim = sum(depths) - 1, 0, embed_dim
        for depth, heads in zip(depths, num_heads, strict=True):
            if blocks_before:
                layers.append(downsample_layer(dim, norm_layer))
                dim *= 2
            stage = []
            for index in range(depth):
                skipped = stochastic_depth_prob * (blocks_before + index) / last_block
                shift = shifted if index % 2 else [0] * len(window_size)
                stage.append(
                    block(
                        dim,
                        heads,
                        window_size=window_size,
                        shift_size=shift,
                        mlp_ratio=mlp_ratio,
                        dropout=dropout,
                        attention_dropout=attention_dropout,
                        stochastic_depth_prob=skipped,
                        norm_layer=norm_layer,
                    )
                )
            layers.append(nn.Sequential(*stage))
            blocks_before += depth
        self.features = nn.Sequential(*layers)
        self.norm = norm_layer(dim)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(dim, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _weights(file: str, num_params: int, crop_size: int, resize_size: int) -> Any:
    return imagenet(file, num_params, crop_size, resize_size, interpolation=InterpolationMode.BICUBIC)


class Swin_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_t-704ceda3", 28288354, 224, 232)
    DEFAULT = IMAGENET1K_V1


class Swin_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_s-5e29d889", 49606258, 224, 246)
    DEFAULT = IMAGENET1K_V1


class Swin_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_b-68c6b09e", 87768224, 224, 238)
    DEFAULT = IMAGENET1K_V1


class Swin_V2_T_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_v2_t-b137f0e2", 28351570, 256, 260)
    DEFAULT = IMAGENET1K_V1


class Swin_V2_S_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_v2_s-637d8ceb", 49737442, 256, 260)
    DEFAULT = IMAGENET1K_V1


class Swin_V2_B_Weights(WeightsEnum):
    IMAGENET1K_V1 = _weights("swin_v2_b-781e5279", 87930848, 256, 272)
    DEFAULT = IMAGENET1K_V1


_V2_LAYERS = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}


def _swin(width: int, third: int, heads: int, window: int, skipped: float, **kwargs: Any) -> SwinTransformer:
    num_heads = [heads * 2**stage for stage in range(4)]
    options = {"stochastic_depth_prob": skipped, **kwargs}
    return SwinTransformer([4, 4], width, [2, 2, third, 2], num_heads, [window, window], **options)


@register_model(Swin_T_Weights)
def swin_t(**kwargs: Any) -> SwinTransformer:
    """Build the tiny Swin transformer; further arguments are passed to `SwinTransformer`."""
    return _swin(96, 6, 3, 7, 0.2, **kwargs)


@register_model(Swin_S_Weights)
def swin_s(**kwargs: Any) -> SwinTransformer:
    """Build the small Swin transformer; further arguments are passed to `SwinTransformer`."""
    return _swin(96, 18, 3, 7, 0.3, **kwargs)


@register_model(Swin_B_Weights)
def swin_b(**kwargs: Any) -> SwinTransformer:
    """Build the base Swin transformer; further arguments are passed to `SwinTransformer`."""
    return _swin(128, 18, 4, 7, 0.5, **kwargs)


@register_model(Swin_V2_T_Weights)
def swin_v2_t(**kwargs: Any) -> SwinTransformer:
    """Build the tiny Swin transformer v2; further arguments are passed to `SwinTransformer`."""
    return _swin(96, 6, 3, 8, 0.2, **{**_V2_LAYERS, **kwargs})


@register_model(Swin_V2_S_Weights)
def swin_v2_s(**kwargs: Any) -> SwinTransformer:
    """Build the small Swin transformer v2; further arguments are passed to `SwinTransformer`."""
    return _swin(96, 18, 3, 8, 0.3, **{**_V2_LAYERS, **kwargs})


@register_model(Swin_V2_B_Weights)
def swin_v2_b(**kwargs: Any) -> SwinTransformer:
    """Build the base Swin transformer v2; further arguments are passed to `SwinTransformer`."""
    return _swin(128, 18, 4, 8, 0.5, **{**_V2_LAYERS, **kwargs})
