"""Helpers of several models: outputs of inner layers, rounding of channel counts, and initialization."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import flambeau as torch
from flambeau import nn

__all__ = ["IntermediateLayerGetter", "initialize_conv_net", "make_divisible"]


class IntermediateLayerGetter(nn.ModuleDict):
    """Run a network, and return the outputs of some of its children under new names.

    The children must run in the order of their definition, each on the output of the previous one. Children after the last
    requested one are left out.

    Args:
        model: the network.
        return_layers: a dict from child names to output names.

    Raises:
        ValueError: if the network has no child with one of the names.
    """

    def __init__(self, model: nn.Module, return_layers: Mapping[str, str]) -> None:
        names = [name for name, _ in model.named_children()]
        if not set(return_layers) <= set(names):
            raise ValueError(f"return_layers are not present in model: {sorted(set(return_layers) - set(names))}")
        last = max(names.index(name) for name in return_layers)
        super().__init__(dict(list(model.named_children())[: last + 1]))
        self.return_layers = {str(name): str(new) for name, new in return_layers.items()}

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        outputs = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                outputs[self.return_layers[name]] = x
        return outputs


def make_divisible(value: float, divisor: int = 8, least: int | None = None) -> int:
    """Round `value` to a multiple of `divisor` that is at least 90 % of `value`."""
    rounded = max(divisor if least is None else least, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


_make_divisible = make_divisible  # the name in torchvision, imported by other packages


def initialize_conv_net(model: nn.Module) -> None:
    """Initialize convolutions with Kaiming normal (fan-out), linear layers with small normal weights, and biases with 0."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
            nn.init.zeros_(module.bias)
