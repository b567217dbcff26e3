"""Compiled functions depend on the containers that they read, whose subclasses may override how values are read."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

import flambeau as torch
from flambeau import nn


class Registry(OrderedDict):
    """Creates an object at each look-up, like transformers' `ACT2FN`."""

    def __getitem__(self, key):
        return super().__getitem__(key)()


REGISTRY = Registry(tanh=nn.Tanh, relu=nn.ReLU)


def test_registries_that_create_objects_are_unchanged():
    compiled = torch.compile(lambda x: REGISTRY["tanh"](x) + 1)
    for number in range(5):
        x = torch.arange(3.0) + number
        np.testing.assert_allclose(compiled(x).numpy(), np.tanh(x.numpy()) + 1, rtol=1e-6)
    assert compiled.compiled.reason is None, compiled.compiled.reason
    (entries,) = compiled.compiled.entries.values()
    assert len(entries) == 1 and entries[0].verified


def test_reordered_registries_are_captured_again():
    registry = OrderedDict(first=2.0, second=3.0)
    compiled = torch.compile(lambda x: x * next(iter(registry.values())))
    for factor in (2.0, 2.0, 2.0, 3.0, 3.0, 2.0):
        if next(iter(registry.values())) != factor:
            registry.move_to_end(next(iter(registry)))
        assert compiled(torch.ones(2)).tolist() == [factor, factor]
