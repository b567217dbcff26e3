"""RAFT (Teed and Deng, 2020): optical flow, refined iteratively from the correlations of all pairs of pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from ...ops.misc import Conv2dNormActivation
from ...transforms._presets import OpticalFlow
from .._api import SITE, Weights, WeightsEnum, register_model

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class ResidualBlock(nn.Module):
    """Residual block with two convolutions."""

    def __init__(self, in_channels: int, out_channels: int, *, norm_layer: Layer | None, stride: int = 1) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, bias=True)
        self.convnormrelu1 = conv(in_channels, out_channels, stride=stride)
        self.convnormrelu2 = conv(out_channels, out_channels)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            self.downsample = conv(in_channels, out_channels, kernel_size=1, stride=stride, activation_layer=None)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.downsample(x) + self.convnormrelu2(self.convnormrelu1(x)))


class BottleneckBlock(nn.Module):
    """Residual bottleneck block with three convolutions."""

    def __init__(self, in_channels: int, out_channels: int, *, norm_layer: Layer | None, stride: int = 1) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, bias=True)
        narrow = out_channels // 4
        self.convnormrelu1 = conv(in_channels, narrow, kernel_size=1)
        self.convnormrelu2 = conv(narrow, narrow, stride=stride)
        self.convnormrelu3 = conv(narrow, out_channels, kernel_size=1)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1:
            self.downsample = conv(in_channels, out_channels, kernel_size=1, stride=stride, activation_layer=None)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.downsample(x) + self.convnormrelu3(self.convnormrelu2(self.convnormrelu1(x))))


class FeatureEncoder(nn.Module):
    """Compute features of an image at 1/8 of its height and width."""

    def __init__(self, block: Layer, layers: Sequence[int], norm_layer: Layer | None) -> None:
        super().__init__()
        first, second, third, fourth, last = layers
        self.convnormrelu = Conv2dNormActivation(3, first, kernel_size=7, stride=2, norm_layer=norm_layer, bias=True)

        def two_blocks(before: int, after: int, stride: int) -> nn.Sequential:
            return nn.Sequential(
                block(before, after, norm_layer=norm_layer, stride=stride), block(after, after, norm_layer=norm_layer)
            )

        self.layer1 = two_blocks(first, second, 1)
        self.layer2 = two_blocks(second, third, 2)
        self.layer3 = two_blocks(third, fourth, 2)
        self.conv = nn.Conv2d(fourth, last, kernel_size=1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.layer3(self.layer2(self.layer1(self.convnormrelu(x)))))


class MotionEncoder(nn.Module):
    """Encode the current flow, and the correlations around the position that each pixel moves to."""

    def __init__(
        self, in_channels_corr: int, corr_layers: Sequence[int], flow_layers: Sequence[int], out_channels: int = 128
    ) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=None)
        self.convcorr1 = conv(in_channels_corr, corr_layers[0], kernel_size=1)
        self.convcorr2 = conv(*corr_layers) if len(corr_layers) == 2 else nn.Identity()
        self.convflow1 = conv(2, flow_layers[0], kernel_size=7)
        self.convflow2 = conv(*flow_layers)
        self.conv = conv(corr_layers[-1] + flow_layers[-1], out_channels - 2)
        self.out_channels = out_channels

    def forward(self, flow: Tensor, corr_features: Tensor) -> Tensor:
        correlations = self.convcorr2(self.convcorr1(corr_features))
        motion = self.convflow2(self.convflow1(flow))
        return torch.cat([self.conv(torch.cat([correlations, motion], dim=1)), flow], dim=1)


class ConvGRU(nn.Module):
    """Gated recurrent unit (GRU) with convolutions."""

    def __init__(self, input_size: int, hidden_size: int, kernel_size: Any, padding: Any) -> None:
        super().__init__()
        for gate in "zrq":
            conv = nn.Conv2d(hidden_size + input_size, hidden_size, kernel_size=kernel_size, padding=padding)
            setattr(self, f"conv{gate}", conv)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        both = torch.cat([h, x], dim=1)
        update, reset = torch.sigmoid(self.convz(both)), torch.sigmoid(self.convr(both))
        return (1 - update) * h + update * torch.tanh(self.convq(torch.cat([reset * h, x], dim=1)))


class RecurrentBlock(nn.Module):
    """Apply one `ConvGRU`, or two in sequence: one with kernels along rows and one with kernels along columns."""

    def __init__(self, input_size: int, hidden_size: int, kernel_size: Sequence[Any], padding: Sequence[Any]) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.convgru1 = ConvGRU(input_size, hidden_size, kernel_size[0], padding[0])
        if len(kernel_size) == 2:
            self.convgru2 = ConvGRU(input_size, hidden_size, kernel_size[1], padding[1])

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        h = self.convgru1(h, x)
        return self.convgru2(h, x) if hasattr(self, "convgru2") else h


class FlowHead(nn.Module):
    """Predict the change of the flow `(N, 2, H, W)` from the hidden state."""

    def __init__(self, in_channels: int, hidden_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, hidden_size, 3, padding=1)
        self.conv2 = nn.Conv2d(hidden_size, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(F.relu(self.conv1(x)))


class UpdateBlock(nn.Module):
    """Compute the next hidden state and the change of the flow, given hidden state, context, correlations and flow."""

    def __init__(self, motion_encoder: nn.Module, recurrent_block: nn.Module, flow_head: nn.Module) -> None:
        super().__init__()
        self.motion_encoder = motion_encoder
        self.recurrent_block = recurrent_block
        self.flow_head = flow_head
        self.hidden_state_size = recurrent_block.hidden_size

    def forward(self, hidden_state: Tensor, context: Tensor, corr_features: Tensor, flow: Tensor) -> tuple[Tensor, Tensor]:
        motion = self.motion_encoder(flow, corr_features)
        hidden_state = self.recurrent_block(hidden_state, torch.cat([context, motion], dim=1))
        return hidden_state, self.flow_head(hidden_state)


class MaskPredictor(nn.Module):
    """Predict the weights for upsampling the flow by 8.

    Each flow vector becomes 8 x 8 vectors, and each of these is a weighted mean of 3 x 3 neighbours: 8 * 8 * 9 weights.
    """

    def __init__(self, in_channels: int, hidden_size: int, multiplier: float = 0.25) -> None:
        super().__init__()
        self.convrelu = Conv2dNormActivation(in_channels, hidden_size, norm_layer=None)
        self.conv = nn.Conv2d(hidden_size, 8 * 8 * 9, 1)
        self.multiplier = multiplier  # 0.25 reduces the gradient of this layer, as in the code of the authors

    def forward(self, x: Tensor) -> Tensor:
        return self.multiplier * self.conv(self.convrelu(x))


class CorrBlock(nn.Module):
    """Correlate each pixel of one feature map with each pixel of another, at several resolutions, and sample the result.

    Raises:
        ValueError: from `build_pyramid`, if the features have different shapes or are too small.
    """

    def __init__(self, *, num_levels: int = 4, radius: int = 4) -> None:
        super().__init__()
        self.num_levels = num_levels
        self.radius = radius
        self.out_channels = num_levels * (2 * radius + 1) ** 2

    def build_pyramid(self, fmap1: Tensor, fmap2: Tensor) -> None:
        """Store the correlations of two feature maps `(N, C, H, W)` in `corr_pyramid`, at each resolution."""
        if fmap1.shape != fmap2.shape:
            raise ValueError(f"Input feature maps should have the same shape, instead got {fmap1.shape} != {fmap2.shape}")
        least = 2**self.num_levels
        count, channels, height, width = fmap1.shape
        if min(height, width) < least:
            raise ValueError(
                "Feature maps are too small to be down-sampled by the correlation pyramid. H and W of feature maps should be at "
                f"least {least}, those of images {8 * least}; got: {height} x {width} of features."
            )
        volume = fmap1.flatten(2).transpose(1, 2) @ fmap2.flatten(2) / channels**0.5
        self.corr_pyramid = [volume.reshape(count * height * width, 1, height, width)]
        for _ in range(self.num_levels - 1):
            self.corr_pyramid.append(F.avg_pool2d(self.corr_pyramid[-1], kernel_size=2))

    def index_pyramid(self, centroids_coords: Tensor) -> Tensor:
        """Return the correlations around the position that each pixel moves to.

        `centroids_coords` are these positions `(x, y)`, of shape `(N, 2, H, W)`.
        """
        count, _, height, width = centroids_coords.shape
        steps = torch.arange(-self.radius, self.radius + 1.0, device=centroids_coords.device)
        around = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1)
        centres = centroids_coords.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2)
        found = []
        for volume in self.corr_pyramid:
            size = torch.tensor([volume.shape[-1], volume.shape[-2]], device=centres.device) - 1
            grid = 2 * (centres + around) / size - 1
            found.append(F.grid_sample(volume, grid, align_corners=True).reshape(count, height, width, -1))
            centres = centres / 2
        return torch.cat(found, dim=-1).permute(0, 3, 1, 2)


def _upsample(flow: Tensor, mask: Tensor | None) -> Tensor:
    """Upsample the flow by 8, with the weights of a `MaskPredictor`; bilinearly if `mask` is None."""
    count, channels, height, width = flow.shape
    if mask is None:
        return 8 * F.interpolate(flow, size=(8 * height, 8 * width), mode="bilinear", align_corners=True)
    weights = mask.reshape(count, 1, 9, 8, 8, height, width).softmax(dim=2)
    neighbours = F.unfold(8 * flow, kernel_size=3, padding=1).reshape(count, channels, 9, 1, 1, height, width)
    mixed = (weights * neighbours).sum(dim=2)
    return mixed.permute(0, 1, 4, 2, 5, 3).reshape(count, channels, 8 * height, 8 * width)


class RAFT(nn.Module):
    """RAFT: compute the optical flow, which is how far each pixel moves to the right and down from one image to the next.

    Teed and Deng, [RAFT: Recurrent All-Pairs Field Transforms for Optical Flow](https://arxiv.org/abs/2003.12039), 2020.
    Use `raft_large` or `raft_small` to build the published networks.

    Args:
        feature_encoder: computes the features to compare, at 1/8 of the image size.
        context_encoder: computes the initial hidden state and the context from the first image, at 1/8 of its size.
        corr_block: computes and samples the correlations; see `CorrBlock`.
        update_block: computes one iteration. Its attribute `hidden_state_size` is the number of channels of the context encoder
            that are used as initial hidden state.
        mask_predictor: computes the weights for upsampling the flow; None to interpolate bilinearly.

    Shape:
        - Input: two batches of images `(N, 3, H, W)`, with H and W divisible by 8 and at least 128.
        - Output: a list of flows `(N, 2, H, W)`, one per iteration; the last one is the most accurate.

    Raises:
        ValueError: `update_block` has no `hidden_state_size`; from calls, if the image sizes differ or are not divisible by 8.

    Example:
        >>> from flambeau_vision.models import optical_flow
        >>> network = optical_flow.raft_small().eval()
        >>> first, second = torch.rand(2, 1, 3, 128, 128)
        >>> flows = network(first, second, num_flow_updates=2)
        >>> isinstance(network, optical_flow.RAFT), len(flows), flows[-1].shape
        (True, 2, torch.Size([1, 2, 128, 128]))
    """

    def __init__(
        self,
        *,
        feature_encoder: nn.Module,
        context_encoder: nn.Module,
        corr_block: nn.Module,
        update_block: nn.Module,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(update_block, "hidden_state_size"):
            raise ValueError("The update_block parameter should expose a 'hidden_state_size' attribute.")
        self.feature_encoder = feature_encoder
        self.context_encoder = context_encoder
        self.corr_block = corr_block
        self.update_block = update_block
        self.mask_predictor = mask_predictor

    def forward(self, image1: Tensor, image2: Tensor, num_flow_updates: int = 12) -> list[Tensor]:
        count, _, height, width = image1.shape
        if image2.shape[-2:] != (height, width):
            raise ValueError(f"input images should have the same shape, instead got ({height}, {width}) != {image2.shape[-2:]}")
        if height % 8 or width % 8:
            raise ValueError(f"input image H and W should be divisible by 8, instead got {height} (h) and {width} (w)")
        self.corr_block.build_pyramid(*self.feature_encoder(torch.cat([image1, image2])).chunk(2))
        context = self.context_encoder(image1)
        state, context = context.tensor_split([self.update_block.hidden_state_size], dim=1)
        state, context = torch.tanh(state), F.relu(context)
        rows, columns = (torch.arange(float(side // 8), device=image1.device) for side in (height, width))
        rows, columns = torch.meshgrid(rows, columns, indexing="ij")
        start = torch.stack([columns, rows]).expand(count, -1, -1, -1)
        positions, flows = start, []
        for _ in range(num_flow_updates):
            positions = positions.detach()
            state, change = self.update_block(state, context, self.corr_block.index_pyramid(positions), positions - start)
            positions = positions + change
            mask = None if self.mask_predictor is None else self.mask_predictor(state)
            flows.append(_upsample(positions - start, mask))
        return flows


def _weights(file: str, num_params: int) -> Weights:
    return Weights(f"{SITE}{file}.pth", OpticalFlow, {"categories": None, "num_params": num_params, "min_size": (128, 128)})


class Raft_Large_Weights(WeightsEnum):
    C_T_V1 = _weights("raft_large_C_T_V1-22a6c225", 5257536)
    C_T_V2 = _weights("raft_large_C_T_V2-1bb1363a", 5257536)
    C_T_SKHT_V1 = _weights("raft_large_C_T_SKHT_V1-0b8c9e55", 5257536)
    C_T_SKHT_V2 = _weights("raft_large_C_T_SKHT_V2-ff5fadd5", 5257536)
    C_T_SKHT_K_V1 = _weights("raft_large_C_T_SKHT_K_V1-4a6a5039", 5257536)
    C_T_SKHT_K_V2 = _weights("raft_large_C_T_SKHT_K_V2-b5c70766", 5257536)
    DEFAULT = C_T_SKHT_V2


class Raft_Small_Weights(WeightsEnum):
    C_T_V1 = _weights("raft_small_C_T_V1-ad48884c", 990162)
    C_T_V2 = _weights("raft_small_C_T_V2-01064c6d", 990162)
    DEFAULT = C_T_V2


def _raft(
    encoders: dict[str, nn.Module],
    radius: int,
    motion: dict[str, Any],
    recurrent: dict[str, Any],
    context_channels: int,
    head: int,
    **kwargs: Any,
) -> RAFT:
    corr_block = kwargs.pop("corr_block", None) or CorrBlock(num_levels=4, radius=radius)
    update_block = kwargs.pop("update_block", None)
    if update_block is None:
        hidden = recurrent["hidden_size"]
        motion_encoder = MotionEncoder(corr_block.out_channels, **motion)
        recurrent_block = RecurrentBlock(motion_encoder.out_channels + context_channels - hidden, **recurrent)
        update_block = UpdateBlock(motion_encoder, recurrent_block, FlowHead(hidden, head))
    return RAFT(corr_block=corr_block, update_block=update_block, **{**encoders, **kwargs})


@register_model(Raft_Large_Weights)
def raft_large(**kwargs: Any) -> RAFT:
    """Build the large RAFT; further arguments are passed to `RAFT`."""
    layers = (64, 64, 96, 128, 256)
    encoders = {
        "feature_encoder": FeatureEncoder(ResidualBlock, layers, nn.InstanceNorm2d),
        "context_encoder": FeatureEncoder(ResidualBlock, layers, nn.BatchNorm2d),
    }
    motion = {"corr_layers": (256, 192), "flow_layers": (128, 64), "out_channels": 128}
    recurrent = {"hidden_size": 128, "kernel_size": ((1, 5), (5, 1)), "padding": ((0, 2), (2, 0))}
    kwargs.setdefault("mask_predictor", MaskPredictor(128, 256))
    return _raft(encoders, 4, motion, recurrent, layers[-1], 256, **kwargs)


@register_model(Raft_Small_Weights)
def raft_small(**kwargs: Any) -> RAFT:
    """Build the small RAFT; further arguments are passed to `RAFT`."""
    encoders = {
        "feature_encoder": FeatureEncoder(BottleneckBlock, (32, 32, 64, 96, 128), nn.InstanceNorm2d),
        "context_encoder": FeatureEncoder(BottleneckBlock, (32, 32, 64, 96, 160), None),
    }
    motion = {"corr_layers": (96,), "flow_layers": (64, 32), "out_channels": 82}
    recurrent = {"hidden_size": 96, "kernel_size": (3,), "padding": (1,)}
    return _raft(encoders, 3, motion, recurrent, 160, 128, **kwargs)
