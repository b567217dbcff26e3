"""Features from the middle of a network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import flambeau as torch
from flambeau import nn

__all__ = ["IntermediateLayerGetter"]


class IntermediateLayerGetter(nn.ModuleDict):
    """Returns the outputs of some children of a network, under new names; the children after the last of them are dropped.

    Children have to run in the order in which they are defined, each on the output of the one before.

    Args:
        model: the network.
        return_layers: from names of children to the names of their outputs.

    Raises:
        ValueError: if the network has no child of one of the names.
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
