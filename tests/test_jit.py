"""Scripted modules beside those that they were made of."""

from __future__ import annotations

import flambeau as torch
from flambeau import nn


class Whole(nn.Module):
    """Its state is its `__dict__`, as that of torchmetrics' metrics."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_scripting_leaves_the_module_as_it_is():
    module, x = Whole(), torch.randn(3, 2)
    scripted = torch.jit.script(module)
    assert [type(layer) for layer in (module.layers, *module.layers)] == [nn.ModuleList, nn.Linear, nn.ReLU]
    assert isinstance(scripted.layers[0], torch.jit.ScriptModule)
    assert scripted.layers[0].weight is module.layers[0].weight
    torch.testing.assert_close(scripted(x), module(x))
    scripted.extra = nn.Linear(2, 1)
    assert not hasattr(module, "extra")
