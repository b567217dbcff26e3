"""Conversions between tensor classes keep the autograd history: gradients reach the leaf that was converted."""

from __future__ import annotations

import pytest

import flambeau as torch


class Labelled(torch.Tensor):
    """A subclass without behaviour of its own."""


class WithLabels(torch.Tensor):
    """A subclass whose constructor takes labels in addition to the data."""

    @staticmethod
    def __new__(cls, x, labels):
        return super().__new__(cls, x)

    def __init__(self, x, labels):
        super().__init__()
        self.labels = labels


CONVERSIONS = {
    "to a subclass": lambda x: x.as_subclass(Labelled),
    "Tensor": torch.Tensor,
    "FloatTensor": torch.FloatTensor,
    "constructor of a subclass": lambda x: WithLabels(x, ["u"]),
}


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("enabled", [True, False])
def test_conversion_of_a_leaf(name, enabled):
    x = torch.ones(3, requires_grad=True)
    with torch.set_grad_enabled(enabled):
        converted = CONVERSIONS[name](x)
    assert converted.requires_grad and not converted.is_leaf and converted.data_ptr() == x.data_ptr()
    (converted * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversion_in_inference_mode(name):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        converted = CONVERSIONS[name](x)
    assert converted.requires_grad and not converted.is_inference()


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversion_of_a_result(name):
    x = torch.ones(3, requires_grad=True)
    CONVERSIONS[name](x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "leaf",
    [
        lambda: torch.ones(3).as_subclass(Labelled).requires_grad_(),
        lambda: torch.Tensor._make_subclass(Labelled, torch.ones(3), True),
        lambda: torch.nn.Parameter(torch.ones(3)),
    ],
)
def test_conversion_to_the_base_class(leaf):
    x = leaf()
    assert x.is_leaf
    (x.as_subclass(torch.Tensor) * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
