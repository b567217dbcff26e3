"""Networks call the operators that torchvision's call, in its order; tools that draw networks show them."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.overrides import TorchFunctionMode
from flambeau_vision import models


class CalledOperators(TorchFunctionMode):
    """Record the names of the functions called, as tools that draw a network do."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("channels", "block"),
    [
        (4, lambda: models.resnet.BasicBlock(4, 4)),
        (16, lambda: models.resnet.Bottleneck(16, 4)),
        (
            16,
            lambda: models.mobilenetv3.InvertedResidual(
                models.mobilenetv3.InvertedResidualConfig(16, 3, 16, 16, False, "RE", 1, 1, 1), nn.BatchNorm2d
            ),
        ),
        (24, lambda: models.efficientnet_b0(num_classes=2).features[2][1]),
        (16, lambda: models.convnext.CNBlock(16, 1e-6, 0.0)),
    ],
    ids=["resnet", "bottleneck", "mobilenet", "efficientnet", "convnext"],
)
def test_residuals_are_added_in_place(channels, block):
    network = block().eval()
    with CalledOperators() as called:
        network(torch.ones(2, channels, 5, 5))
    assert called.names.count("add_") == 1 and "add" not in called.names


def test_branches_of_inception_are_computed_in_order_of_the_output():
    channels = []
    block = models.inception.InceptionB(8)
    for conv in (block.branch3x3, block.branch3x3dbl_1, block.branch3x3dbl_2, block.branch3x3dbl_3):
        conv.register_forward_hook(lambda module, inputs, output: channels.append(output.shape[1]))
    assert block(torch.ones(2, 8, 5, 5)).shape == (2, 488, 2, 2) and channels == [384, 64, 96, 96]
