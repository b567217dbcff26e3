"""Feature pyramid networks (Lin et al., 2016): combine fine features with upsampled coarse features, for detectors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn

from .misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]

Tensor = torch.Tensor


class ExtraFPNBlock(nn.Module):
    """Base class of blocks that add levels to a feature pyramid.

    `forward` is called with the levels, the inputs of the pyramid and the names of the levels. It returns the levels and names
    including the added ones.
    """

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        return results, names


class LastLevelMaxPool(ExtraFPNBlock):
    """Add one level to a feature pyramid: every second pixel of the last level along both axes."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        return [*results, F.max_pool2d(results[-1], kernel_size=1, stride=2, padding=0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Add two levels to a feature pyramid, computed by convolutions of stride 2, as in
    [RetinaNet](https://arxiv.org/abs/1708.02002).
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]


class FeaturePyramidNetwork(nn.Module):
    """Add upsampled coarse features to finer ones, level by level (feature pyramid network, FPN).

    Lin et al., [Feature Pyramid Networks for Object Detection](https://arxiv.org/abs/1612.03144), 2016.

    Args:
        in_channels_list: channels of each level of the input, from fine to coarse.
        out_channels: channels of each level of the result.
        extra_blocks: an `ExtraFPNBlock` that adds coarser levels; None for no extra levels.
        norm_layer: called with the channels to create a normalization after each convolution; None for no normalization.

    Shape:
        - Input: a dict of features `(N, C, H, W)` by name, fine to coarse, with `in_channels_list` channels.
        - Output: a dict with the same names; all features have `out_channels` channels.

    Raises:
        ValueError: a level has 0 channels.

    Example:
        >>> from flambeau_vision.ops import FeaturePyramidNetwork
        >>> pyramid = FeaturePyramidNetwork([4, 8], out_channels=6)
        >>> levels = pyramid({"fine": torch.rand(1, 4, 16, 16), "coarse": torch.rand(1, 8, 8, 8)})
        >>> {name: tuple(level.shape) for name, level in levels.items()}
        {'fine': (1, 6, 16, 16), 'coarse': (1, 6, 8, 8)}
    """

    def __init__(
        self,
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            options = {"norm_layer": norm_layer, "activation_layer": None}
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **options))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **options))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        self.extra_blocks = extra_blocks
        self.register_load_state_dict_pre_hook(self._rename_old_keys)

    @staticmethod
    def _rename_old_keys(module: FeaturePyramidNetwork, state_dict: dict, prefix: str, *args: object) -> None:
        # In old checkpoints, the weights are named "inner_blocks.0.weight" instead of "inner_blocks.0.0.weight".
        for blocks in ("inner_blocks", "layer_blocks"):
            for index in range(len(module.inner_blocks)):
                for kind in ("weight", "bias"):
                    old, new = f"{prefix}{blocks}.{index}.{kind}", f"{prefix}{blocks}.{index}.0.{kind}"
                    if old in state_dict:
                        state_dict[new] = state_dict.pop(old)

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """Compute the pyramid from a dict of features, ordered from fine to coarse. The result has the same names."""
        names, features = list(x), list(x.values())
        top_down = self.inner_blocks[-1](features[-1])
        results = [self.layer_blocks[-1](top_down)]
        for index in range(len(features) - 2, -1, -1):
            inner = self.inner_blocks[index](features[index])
            top_down = inner + F.interpolate(top_down, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[index](top_down))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return OrderedDict(zip(names, results, strict=True))
