"""Markers of the places in a model where tensors are quantized and dequantized."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ...nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Mark where a model's tensors become quantized. It is the identity until the model is converted.

    Args:
        qconfig: the quantization configuration. None uses the configuration of the model.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Mark where a model's quantized tensors become floating-point tensors again."""


class QuantWrapper(Module):
    """Wrap a module between a `QuantStub` and a `DeQuantStub`.

    Args:
        module: a module that takes one tensor and returns one tensor.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant = QuantStub(qconfig), DeQuantStub(qconfig)
        self.module = module
        self.train(module.training)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.dequant(self.module(self.quant(x)))
        return result
