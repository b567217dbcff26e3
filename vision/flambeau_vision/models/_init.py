"""What the builders of several models share."""

from __future__ import annotations

from flambeau import nn

__all__ = ["initialize_conv_net", "make_divisible"]


def make_divisible(value: float, divisor: int = 8, least: int | None = None) -> int:
    """The multiple of `divisor` nearest to `value`, but not less than nine tenths of it."""
    rounded = max(divisor if least is None else least, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def initialize_conv_net(model: nn.Module) -> None:
    """Kaiming initialization (fan-out) of convolutions, small normal weights for linear layers, zero biases."""
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
