"""Where numbers become integers in a network that is to be quantized, and where they become numbers again."""

from __future__ import annotations

from typing import Any

from flambeau import Tensor

from ...nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Marks where a network's numbers are to become integers; until it is quantized, they pass.

    Args:
        qconfig: how; by default as the network.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Marks where a network's integers are to become numbers again."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`.

    Args:
        module: takes one tensor and returns one.
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
