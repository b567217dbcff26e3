"""Vision transformers (Dosovitskiy et al., 2020): transformer encoders whose tokens are the patches of an image."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import nn

from ..ops.misc import MLP, Conv2dNormActivation
from ..transforms import InterpolationMode
from ._api import WeightsEnum, fix_argument, register_model
from ._meta import imagenet

__all__ = [
    "ViT_B_16_Weights",
    "ViT_B_32_Weights",
    "ViT_H_14_Weights",
    "ViT_L_16_Weights",
    "ViT_L_32_Weights",
    "VisionTransformer",
    "interpolate_embeddings",
    "vit_b_16",
    "vit_b_32",
    "vit_h_14",
    "vit_l_16",
    "vit_l_32",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class ConvStemConfig(NamedTuple):
    """Configuration of a convolution in `conv_stem_configs`; see `VisionTransformer`."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Layer = nn.BatchNorm2d
    activation_layer: Layer = nn.ReLU


class MLPBlock(MLP):
    """MLP of two linear layers, applied to each token."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Transformer block: self-attention, then two linear layers for each token. Both are residual and normalize their input."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Add position embeddings to the tokens, then apply the blocks."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Layer,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (
                    f"encoder_layer_{index}",
                    EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer),
                )
                for index in range(num_layers)
            )
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Vision transformer: a transformer encoder whose tokens are the patches of an image.

    Dosovitskiy et al., [An Image is Worth 16x16 Words](https://arxiv.org/abs/2010.11929), 2020.

    Args:
        image_size: height and width of the images, in pixels; a multiple of `patch_size`.
        patch_size: height and width, in pixels, of the patches that become tokens.
        num_layers: number of blocks.
        num_heads: number of attention heads; must divide `hidden_dim`.
        hidden_dim: size of the tokens.
        mlp_dim: hidden size between the two linear layers of a block.
        dropout: dropout probability of embeddings, attention outputs and linear layers.
        attention_dropout: dropout probability of the attention weights.
        num_classes: number of classes, the size of the output.
        representation_size: size of an additional layer before the last; None for no such layer.
        norm_layer: called with the token size to create a normalization.
        conv_stem_configs: the convolutions that compute the tokens, each with normalization and activation. Another convolution
            with kernel size 1 is added after them. The product of the strides must be `patch_size`. None for a single
            convolution with kernel size and stride `patch_size`. Xiao et al., [Early Convolutions Help Transformers See
            Better](https://arxiv.org/abs/2106.14881), 2021.

    Shape:
        - Input: `(N, 3, image_size, image_size)`.
        - Output: `(N, num_classes)`.

    Raises:
        ValueError: `image_size` is not divisible by `patch_size`.
        AssertionError: from calls, if the images do not have the size `image_size`.

    Example:
        >>> from flambeau_vision import models
        >>> tiny = models.VisionTransformer(
        ...     image_size=32, patch_size=8, num_layers=1, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=10)
        >>> tiny(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Layer = partial(nn.LayerNorm, eps=1e-6),  # noqa: B008
        conv_stem_configs: list[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size != 0:
            raise ValueError("Input shape indivisible by patch size!")
        self.image_size = image_size
        self.patch_size = patch_size
        self.hidden_dim = hidden_dim
        self.representation_size = representation_size
        if conv_stem_configs is None:
            self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        else:
            self.conv_proj = _convolutional_stem(conv_stem_configs, hidden_dim)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        shape = (self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim)
        self.encoder = Encoder(*shape, dropout, attention_dropout, norm_layer)
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize_weights()
        self.register_load_state_dict_pre_hook(_rename_old_keys)

    def _initialize_weights(self) -> None:
        if isinstance(self.conv_proj, nn.Conv2d):
            last = self.conv_proj
            nn.init.trunc_normal_(last.weight, std=math.sqrt(1 / (last.in_channels * self.patch_size**2)))
        else:
            last = self.conv_proj.conv_last
            nn.init.normal_(last.weight, std=math.sqrt(2 / last.out_channels))
        nn.init.zeros_(last.bias)
        if self.representation_size is not None:
            pre_logits = self.heads.pre_logits
            nn.init.trunc_normal_(pre_logits.weight, std=math.sqrt(1 / pre_logits.in_features))
            nn.init.zeros_(pre_logits.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        """Convert the patches of images to tokens `(N, patches, hidden_dim)`, row by row.

        The package lightly calls this private method.
        """
        count, _, height, width = (
            x.shape
        )  # the same operations as in torchvision, so that tracing gives nodes the same names, such as "getitem_5"
        torch._assert(height == self.image_size, f"Wrong image height! Expected {self.image_size} but got {height}!")
        torch._assert(width == self.image_size, f"Wrong image width! Expected {self.image_size} but got {width}!")
        rows, columns = height // self.patch_size, width // self.patch_size
        return self.conv_proj(x).reshape(count, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self._process_input(x)
        count = tokens.shape[0]
        class_token = self.class_token.expand(count, -1, -1)
        return self.heads(self.encoder(torch.cat([class_token, tokens], dim=1))[:, 0])


def _convolutional_stem(configs: list[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    stem, channels = nn.Sequential(), 3
    for index, config in enumerate(configs):
        norm, activation = config.norm_layer, config.activation_layer
        block = Conv2dNormActivation(
            channels, config.out_channels, config.kernel_size, config.stride, norm_layer=norm, activation_layer=activation
        )
        stem.add_module(f"conv_bn_relu_{index}", block)
        channels = config.out_channels
    stem.add_module("conv_last", nn.Conv2d(channels, hidden_dim, kernel_size=1))
    return stem


def _rename_old_keys(module: VisionTransformer, state_dict: dict, *args: object) -> None:
    # Published weights use the older names "mlp.linear_1" and "mlp.linear_2" instead of "mlp.0" and "mlp.3".
    for key in list(state_dict):
        new = re.sub(r"mlp\.linear_([12])\.", lambda match: f"mlp.{3 * int(match[1]) - 3}.", key)
        if new != key:
            state_dict[new] = state_dict.pop(key)


_BICUBIC = {"interpolation": InterpolationMode.BICUBIC}


class ViT_B_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_b_16-c867db91", 86567656)
    IMAGENET1K_SWAG_E2E_V1 = imagenet("vit_b_16_swag-9ac1b537", 86859496, 384, 384, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("vit_b_16_lc_swag-4e70ced5", 86567656, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class ViT_B_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_b_32-d86f8d99", 88224232)
    DEFAULT = IMAGENET1K_V1


class ViT_L_16_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_l_16-852ce7e3", 304326632, resize_size=242)
    IMAGENET1K_SWAG_E2E_V1 = imagenet("vit_l_16_swag-4f3808c9", 305174504, 512, 512, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("vit_l_16_lc_swag-4d563306", 304326632, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_V1


class ViT_L_32_Weights(WeightsEnum):
    IMAGENET1K_V1 = imagenet("vit_l_32-c7638314", 306535400)
    DEFAULT = IMAGENET1K_V1


class ViT_H_14_Weights(WeightsEnum):
    IMAGENET1K_SWAG_E2E_V1 = imagenet("vit_h_14_swag-80465313", 633470440, 518, 518, **_BICUBIC)
    IMAGENET1K_SWAG_LINEAR_V1 = imagenet("vit_h_14_lc_swag-c1eb923e", 632045800, 224, 224, **_BICUBIC)
    DEFAULT = IMAGENET1K_SWAG_E2E_V1


def _vit(shape: tuple[int, int, int, int, int], weights: WeightsEnum | None, progress: bool, **kwargs: Any) -> VisionTransformer:
    """Build a model from `shape`, which is `(patch_size, layers, heads, hidden_dim, mlp_dim)`.

    With `weights`, the image size is the one that the weights were trained for.
    """
    if weights is not None:
        fix_argument(kwargs, "num_classes", len(weights.meta["categories"]))
        fix_argument(kwargs, "image_size", weights.transforms.keywords["crop_size"])
    model = VisionTransformer(kwargs.pop("image_size", 224), *shape, **kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


@register_model(ViT_B_16_Weights, loads_weights=True)
def vit_b_16(**kwargs: Any) -> VisionTransformer:
    """Build the base vision transformer with patches of 16 x 16; further arguments are passed to `VisionTransformer`."""
    return _vit((16, 12, 12, 768, 3072), **kwargs)


@register_model(ViT_B_32_Weights, loads_weights=True)
def vit_b_32(**kwargs: Any) -> VisionTransformer:
    """Build the base vision transformer with patches of 32 x 32; further arguments are passed to `VisionTransformer`."""
    return _vit((32, 12, 12, 768, 3072), **kwargs)


@register_model(ViT_L_16_Weights, loads_weights=True)
def vit_l_16(**kwargs: Any) -> VisionTransformer:
    """Build the large vision transformer with patches of 16 x 16; further arguments are passed to `VisionTransformer`."""
    return _vit((16, 24, 16, 1024, 4096), **kwargs)


@register_model(ViT_L_32_Weights, loads_weights=True)
def vit_l_32(**kwargs: Any) -> VisionTransformer:
    """Build the large vision transformer with patches of 32 x 32; further arguments are passed to `VisionTransformer`."""
    return _vit((32, 24, 16, 1024, 4096), **kwargs)


@register_model(ViT_H_14_Weights, loads_weights=True)
def vit_h_14(**kwargs: Any) -> VisionTransformer:
    """Build the huge vision transformer with patches of 14 x 14; further arguments are passed to `VisionTransformer`."""
    return _vit((14, 32, 16, 1280, 5120), **kwargs)


def interpolate_embeddings(
    image_size: int,
    patch_size: int,
    model_state: OrderedDict[str, Tensor],
    interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> OrderedDict[str, Tensor]:
    """Interpolate the position embeddings in a state dict for images of another size.

    Args:
        image_size: new image size in pixels, a multiple of `patch_size`.
        patch_size: patch size in pixels.
        model_state: the state dict of a `VisionTransformer` for images of another size.
        interpolation_mode: mode of `flambeau.nn.functional.interpolate`.
        reset_heads: whether to remove the weights of the last layers, which are useless for other classes.

    Returns:
        the new state dict.

    Example:
        >>> from flambeau_vision import models
        >>> shape = {"patch_size": 8, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 32, "num_classes": 10}
        >>> small = models.VisionTransformer(image_size=32, **shape)
        >>> large = models.VisionTransformer(image_size=64, **shape)
        >>> large.load_state_dict(models.vision_transformer.interpolate_embeddings(64, 8, small.state_dict()))
        <All keys matched successfully>
    """
    name = "encoder.pos_embedding"
    class_position, positions = model_state[name][:, :1], model_state[name][:, 1:]
    old_side, new_side = math.isqrt(positions.shape[1]), image_size // patch_size
    if old_side**2 != positions.shape[1]:
        raise ValueError(f"the number of patches ({positions.shape[1]}) is not a square: the images were not square")
    if old_side == new_side:
        return model_state
    square = positions.permute(0, 2, 1).reshape(1, -1, old_side, old_side)
    resized = nn.functional.interpolate(square, size=new_side, mode=interpolation_mode, align_corners=True)
    state = model_state.copy()
    state[name] = torch.cat([class_position, resized.flatten(2).permute(0, 2, 1)], dim=1)
    if reset_heads:
        return OrderedDict((key, value) for key, value in state.items() if not key.startswith("heads"))
    return state
