"""MViT 1 and 2 (Fan et al. and Li et al., 2021): video transformers that pool pixels and widen channels stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops.dropping import StochasticDepth
from ...ops.misc import MLP
from .._api import WeightsEnum, register_model
from ._meta import kinetics

__all__ = ["MViT", "MViT_V1_B_Weights", "MViT_V2_S_Weights", "mvit_v1_b", "mvit_v2_s"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]
Sides = tuple[int, int, int]


@dataclass
class MSBlockConfig:
    """Configuration of a block. Kernels and strides of the poolings are `[time, height, width]`, or empty for no pooling."""

    num_heads: int
    input_channels: int
    output_channels: int
    kernel_q: list[int]
    kernel_kv: list[int]
    stride_q: list[int]
    stride_kv: list[int]


class Pool(nn.Module):
    """Pool the pixels of a sequence. The first element, which is the class token, is not pooled."""

    def __init__(self, pool: nn.Module, norm: nn.Module | None) -> None:
        super().__init__()
        self.pool = pool
        self.norm_act = None if norm is None else nn.Sequential(norm)

    def forward(self, x: Tensor, sides: Sides) -> tuple[Tensor, Sides]:
        *groups, _, channels = x.shape
        token, pixels = x[..., :1, :], x[..., 1:, :]
        pooled = self.pool(pixels.transpose(-2, -1).reshape(-1, channels, *sides))
        sides = tuple(pooled.shape[2:])
        x = torch.cat([token, pooled.reshape(*groups, channels, -1).transpose(-2, -1)], dim=-2)
        return (x if self.norm_act is None else self.norm_act(x)), sides


def _relative_indices(queries: int, keys: int) -> Tensor:
    """Return the relative position of each query and key along an axis, as an index from 0 to `2 * max(queries, keys) - 2`."""
    query = torch.arange(queries)[:, None] * max(keys / queries, 1.0)
    key = (torch.arange(keys) + (1.0 - keys)) * max(queries / keys, 1.0)
    return (query - key).long()


def _lookup_pairs(table: Tensor, queries: int, keys: int) -> Tensor:
    """Return the embedding of the relative position of each query and key, of shape `(queries, keys, channels)`."""
    count = 2 * max(queries, keys) - 1
    if len(table) != count:
        table = F.interpolate(table.T[None], size=count, mode="linear")[0].T
    return table[_relative_indices(queries, keys).to(table.device)]


class MultiscaleAttention(nn.Module):
    """Self-attention that pools the pixels of queries, keys and values with strided convolutions."""

    def __init__(
        self,
        input_size: Sequence[int],
        embed_dim: int,
        output_dim: int,
        num_heads: int,
        kernel_q: Sequence[int],
        kernel_kv: Sequence[int],
        stride_q: Sequence[int],
        stride_kv: Sequence[int],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        dropout: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.residual_pool = residual_pool
        self.residual_with_cls_embed = residual_with_cls_embed
        self.qkv = nn.Linear(embed_dim, 3 * output_dim)
        layers: list[nn.Module] = [nn.Linear(output_dim, output_dim)]
        if dropout > 0.0:
            layers.append(nn.Dropout(dropout, inplace=True))
        self.project = nn.Sequential(*layers)
        self.pool_q = self._pool(kernel_q, stride_q, norm_layer)
        self.pool_k = self._pool(kernel_kv, stride_kv, norm_layer)
        self.pool_v = self._pool(kernel_kv, stride_kv, norm_layer)
        self.rel_pos_h = self.rel_pos_w = self.rel_pos_t = None
        if rel_pos_embed:
            size = max(input_size[1:])
            pooled = [size // stride[1] if len(stride) else size for stride in (stride_q, stride_kv)]
            for side, length in (("h", max(pooled)), ("w", max(pooled)), ("t", input_size[0])):
                table = nn.init.trunc_normal_(torch.zeros(2 * length - 1, self.head_dim), std=0.02)
                setattr(self, f"rel_pos_{side}", nn.Parameter(table))

    def _pool(self, kernel: Sequence[int], stride: Sequence[int], norm_layer: Layer) -> Pool | None:
        if prod(kernel) <= 1 and prod(stride) <= 1:
            return None
        padding = [size // 2 for size in kernel]
        channels = self.head_dim
        conv = nn.Conv3d(channels, channels, tuple(kernel), tuple(stride), tuple(padding), groups=channels, bias=False)
        return Pool(conv, norm_layer(channels))

    def _relative_position_bias(self, queries: Tensor, sides: Sides, key_sides: Sides) -> Tensor:
        """Return the attention bias from the relative positions in time and space, of each query and key except class tokens."""
        tables = (self.rel_pos_t, self.rel_pos_h, self.rel_pos_w)
        time, rows, columns = (_lookup_pairs(*side) for side in zip(tables, sides, key_sides, strict=True))
        batch, heads, _, channels = queries.shape
        pixels = queries[:, :, 1:].reshape(batch, heads, *sides, channels)
        by_time = torch.einsum("bythwc,tkc->bythwk", pixels, time)[..., :, None, None]
        by_row = torch.einsum("bythwc,hkc->bythwk", pixels, rows)[..., None, :, None]
        by_column = torch.einsum("bythwc,wkc->bythwk", pixels, columns)[..., None, None, :]
        return (by_row + by_column + by_time).reshape(batch, heads, prod(sides), prod(key_sides))

    def forward(self, x: Tensor, sides: Sides) -> tuple[Tensor, Sides]:
        count, length, _ = x.shape
        heads = self.qkv(x).reshape(count, length, 3, self.num_heads, self.head_dim)
        queries, keys, values = heads.permute(2, 0, 3, 1, 4)
        key_sides = sides
        if self.pool_k is not None:
            keys, key_sides = self.pool_k(keys, sides)
            values, _ = self.pool_v(values, sides)
        if self.pool_q is not None:
            queries, sides = self.pool_q(queries, sides)
        weights = (self.head_dim**-0.5 * queries) @ keys.transpose(2, 3)
        if self.rel_pos_h is not None:
            weights = weights + F.pad(self._relative_position_bias(queries, sides, key_sides), (1, 0, 1, 0))
        x = weights.softmax(dim=-1) @ values
        if self.residual_pool:
            kept = queries if self.residual_with_cls_embed else F.pad(queries[:, :, 1:], (0, 0, 1, 0))
            x = x + kept
        return self.project(x.transpose(1, 2).reshape(count, -1, self.output_dim)), sides


class MultiscaleBlock(nn.Module):
    """Transformer block: attention, then two linear layers for each pixel.

    Both are residual; the shortcuts are pooled and projected to the output shape.
    """

    def __init__(
        self,
        input_size: Sequence[int],
        cnf: MSBlockConfig,
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Layer = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.proj_after_attn = proj_after_attn
        self.pool_skip = None
        if prod(cnf.stride_q) > 1:
            kernel = tuple(stride + 1 if stride > 1 else stride for stride in cnf.stride_q)
            padding = tuple(size // 2 for size in kernel)
            self.pool_skip = Pool(nn.MaxPool3d(kernel, stride=tuple(cnf.stride_q), padding=padding), None)
        width = cnf.output_channels if proj_after_attn else cnf.input_channels
        self.norm1 = norm_layer(cnf.input_channels)
        self.norm2 = norm_layer(width)
        self.attn = MultiscaleAttention(
            input_size,
            cnf.input_channels,
            width,
            cnf.num_heads,
            cnf.kernel_q,
            cnf.kernel_kv,
            cnf.stride_q,
            cnf.stride_kv,
            residual_pool,
            residual_with_cls_embed,
            rel_pos_embed,
            dropout,
            norm_layer,
        )
        self.mlp = MLP(width, [4 * width, cnf.output_channels], activation_layer=nn.GELU, dropout=dropout, inplace=None)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.project = None
        if cnf.input_channels != cnf.output_channels:
            self.project = nn.Linear(cnf.input_channels, cnf.output_channels)

    def forward(self, x: Tensor, sides: Sides) -> tuple[Tensor, Sides]:
        normal = self.norm1(x)
        attended, new_sides = self.attn(normal, sides)
        if self.project is not None and self.proj_after_attn:
            x = self.project(normal)
        if self.pool_skip is not None:
            x, _ = self.pool_skip(x, sides)
        x = x + self.stochastic_depth(attended)
        normal = self.norm2(x)
        if self.project is not None and not self.proj_after_attn:
            x = self.project(normal)
        return x + self.stochastic_depth(self.mlp(normal)), new_sides


class PositionalEncoding(nn.Module):
    """Prepend the class token. Add position embeddings if `rel_pos_embed` is False: the attention then has no position bias."""

    def __init__(self, embed_size: int, spatial_size: tuple[int, int], temporal_size: int, rel_pos_embed: bool) -> None:
        super().__init__()
        self.spatial_size = spatial_size
        self.temporal_size = temporal_size
        self.class_token = nn.Parameter(torch.zeros(embed_size))
        self.spatial_pos = self.temporal_pos = self.class_pos = None
        if not rel_pos_embed:
            self.spatial_pos = nn.Parameter(torch.zeros(spatial_size[0] * spatial_size[1], embed_size))
            self.temporal_pos = nn.Parameter(torch.zeros(temporal_size, embed_size))
            self.class_pos = nn.Parameter(torch.zeros(embed_size))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.class_token.expand(x.shape[0], 1, -1), x], dim=1)
        if self.spatial_pos is None:
            return x
        positions = (self.temporal_pos[:, None] + self.spatial_pos).flatten(0, 1)
        return x + torch.cat([self.class_pos[None], positions])


class MViT(nn.Module):
    """Multiscale vision transformer for videos: each stage has fewer pixels and more channels.

    Fan et al., [Multiscale Vision Transformers](https://arxiv.org/abs/2104.11227), 2021, and Li et al., [MViTv2: Improved
    Multiscale Vision Transformers for Classification and Detection](https://arxiv.org/abs/2112.01526), 2021. Use
    `mvit_v1_b` or `mvit_v2_s` to build it with the published blocks.

    Args:
        spatial_size: height and width of the videos, in pixels.
        temporal_size: number of frames of the videos.
        block_setting: configuration of each block, an `MSBlockConfig`.
        residual_pool: whether to add the pooled queries to the attention output.
        residual_with_cls_embed: whether to add the query of the class token also.
        rel_pos_embed: whether to use relative positions in the attention; otherwise position embeddings are added to the pixels.
        proj_after_attn: whether the attention changes the number of channels; if False, the linear layers after it do.
        dropout: dropout probability before the last layer.
        attention_dropout: dropout probability of the attention outputs and of the linear layers in the blocks.
        stochastic_depth_prob: probability of skipping the last block in training; it decreases linearly for earlier blocks.
        num_classes: number of classes, the size of the output.
        block: class of the blocks; None for `MultiscaleBlock`.
        norm_layer: called with the number of channels to create a normalization; None for `LayerNorm` with an eps of 1e-6.
        patch_embed_kernel: length, height and width of the first convolution kernel.
        patch_embed_stride: stride of the first convolution.
        patch_embed_padding: padding of the first convolution.

    Shape:
        - Input: `(N, 3, T, H, W)`, of size `(temporal_size, *spatial_size)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `block_setting` is empty.

    Example:
        >>> from flambeau_vision.models import video
        >>> network = video.mvit_v2_s(num_classes=10, spatial_size=(32, 32), temporal_size=4).eval()
        >>> isinstance(network, video.MViT), network(torch.rand(1, 3, 4, 32, 32)).shape
        (True, torch.Size([1, 10]))
    """

    def __init__(
        self,
        spatial_size: tuple[int, int],
        temporal_size: int,
        block_setting: Sequence[MSBlockConfig],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        proj_after_attn: bool,
        dropout: float = 0.5,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        num_classes: int = 400,
        block: Layer | None = None,
        norm_layer: Layer | None = None,
        patch_embed_kernel: Sides = (3, 7, 7),
        patch_embed_stride: Sides = (2, 4, 4),
        patch_embed_padding: Sides = (1, 3, 3),
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The configuration parameter can't be empty.")
        block = block or MultiscaleBlock
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        width = block_setting[0].input_channels
        self.conv_proj = nn.Conv3d(3, width, patch_embed_kernel, patch_embed_stride, patch_embed_padding)
        sides = [side // by for side, by in zip((temporal_size, *spatial_size), patch_embed_stride, strict=True)]
        self.pos_encoding = PositionalEncoding(width, (sides[1], sides[2]), sides[0], rel_pos_embed)
        self.blocks = nn.ModuleList()
        for index, cnf in enumerate(block_setting):
            self.blocks.append(
                block(
                    input_size=sides,
                    cnf=cnf,
                    residual_pool=residual_pool,
                    residual_with_cls_embed=residual_with_cls_embed,
                    rel_pos_embed=rel_pos_embed,
                    proj_after_attn=proj_after_attn,
                    dropout=attention_dropout,
                    stochastic_depth_prob=stochastic_depth_prob * index / max(len(block_setting) - 1, 1),
                    norm_layer=norm_layer,
                )
            )
            if cnf.stride_q:
                sides = [side // by for side, by in zip(sides, cnf.stride_q, strict=True)]
        last = block_setting[-1].output_channels
        self.norm = norm_layer(last)
        self.head = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)
            elif isinstance(module, PositionalEncoding):
                for parameter in module.parameters():
                    nn.init.trunc_normal_(parameter, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_proj(x.unsqueeze(2) if x.ndim == 4 else x).flatten(2).transpose(1, 2)
        x = self.pos_encoding(x)
        sides = (self.pos_encoding.temporal_size, *self.pos_encoding.spatial_size)
        for block in self.blocks:
            x, sides = block(x, sides)
        return self.head(self.norm(x)[:, 0])


_GREY = {"mean": (0.45, 0.45, 0.45), "std": (0.225, 0.225, 0.225)}


class MViT_V1_B_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("mvit_v1_b-dbeb1030", 36610672, (224, 224), (256,), **_GREY)
    DEFAULT = KINETICS400_V1


class MViT_V2_S_Weights(WeightsEnum):
    KINETICS400_V1 = kinetics("mvit_v2_s-ae3be167", 34537744, (224, 224), (256,), **_GREY)
    DEFAULT = KINETICS400_V1


_STAGES = (0,) + (1,) * 2 + (2,) * 11 + (3,) * 2  # for each of the sixteen blocks, the number of its stage
_KEY_STRIDES = (8,) + (4,) * 2 + (2,) * 11 + (1,) * 2  # for each block, the spatial stride that pools keys and values


def _mvit(block_setting: list[MSBlockConfig], **kwargs: Any) -> MViT:
    defaults = {"spatial_size": (224, 224), "temporal_size": 16, "residual_with_cls_embed": False, "stochastic_depth_prob": 0.2}
    return MViT(block_setting=block_setting, **{**defaults, **kwargs})


@register_model(MViT_V1_B_Weights)
def mvit_v1_b(**kwargs: Any) -> MViT:
    """Build the base MViT v1 for 16 frames of 224 x 224; further arguments are passed to `MViT`."""
    blocks = []
    for index, (stage, keys) in enumerate(zip(_STAGES, _KEY_STRIDES, strict=True)):
        first = index > 0 and _STAGES[index - 1] != stage
        next_stage = _STAGES[min(index + 1, 15)]
        stride, kernel = ([1, 2, 2], [3, 3, 3]) if first else ([], [])
        blocks.append(MSBlockConfig(2**stage, 96 * 2**stage, 96 * 2**next_stage, kernel, [3, 3, 3], stride, [1, keys, keys]))
    options = {"residual_pool": False, "rel_pos_embed": False, "proj_after_attn": False}
    return _mvit(blocks, **{**options, **kwargs})


@register_model(MViT_V2_S_Weights)
def mvit_v2_s(**kwargs: Any) -> MViT:
    """Build the small MViT v2 for 16 frames of 224 x 224; further arguments are passed to `MViT`."""
    blocks = []
    for index, (stage, keys) in enumerate(zip(_STAGES, _KEY_STRIDES, strict=True)):
        before = _STAGES[max(index - 1, 0)]
        by = 1 if before == stage else 2
        blocks.append(MSBlockConfig(2**stage, 96 * 2**before, 96 * 2**stage, [3, 3, 3], [3, 3, 3], [1, by, by], [1, keys, keys]))
    options = {"residual_pool": True, "rel_pos_embed": True, "proj_after_attn": True}
    return _mvit(blocks, **{**options, **kwargs})
