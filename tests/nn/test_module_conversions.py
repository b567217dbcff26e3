"""Conversions of modules to other dtypes, devices and layouts, and memory after loading."""

import gc

import pytest

import flambeau as torch
from flambeau import nn


def test_modules_are_not_copied_by_to():
    for call in (lambda module: module.to("cpu", copy=True), lambda module: module.to("cpu", torch.float32, False, True)):
        with pytest.raises(RuntimeError, match="does not accept copy argument"):
            call(nn.Linear(1, 1))


def test_loading_leaves_no_reference_cycles():
    net = nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2))
    state = net.state_dict()
    gc.collect()
    net.load_state_dict(state)
    assert gc.collect() == 0


def test_conversions_to_another_layout_replace_parameters():
    layer = nn.Linear(3, 2)
    weight = layer.weight
    layer._apply(lambda tensor: tensor.to_sparse())
    assert layer.weight.layout is torch.sparse_coo and weight.layout is torch.strided
