"""Feature extraction returns the same outputs of inner layers as they have in the full network."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn
from flambeau_vision.models import get_weight, resnet18
from flambeau_vision.models.feature_extraction import create_feature_extractor, get_graph_node_names


class Branches(nn.Module):
    """A network that calls a layer twice, applies a function (`relu`), and multiplies by 2 in evaluation mode only."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.layer(x))
        x = self.layer(x) + x
        return self.dropout(x) if self.training else x * 2


def test_node_names():
    train, evaluation = get_graph_node_names(Branches())
    assert train == ["x", "layer", "relu", "layer_1", "add", "dropout"]
    assert evaluation == ["x", "layer", "relu", "layer_1", "add", "mul"]


def test_features_are_those_of_the_layers():
    torch.manual_seed(0)
    network = resnet18(num_classes=10).eval()
    kept = {}
    middle = network.layer2.register_forward_hook(lambda module, inputs, output: kept.update(middle=output))
    late = network.layer4[1].conv2.register_forward_hook(lambda module, inputs, output: kept.update(late=output))
    x = torch.rand(2, 3, 32, 32)
    network(x)
    middle.remove()
    late.remove()
    extractor = create_feature_extractor(network, {"layer2": "middle", "layer4.1.conv2": "late"}).eval()
    features = extractor(x)
    assert list(features) == ["middle", "late"]
    for name, value in features.items():
        assert torch.allclose(value, kept[name], atol=1e-5)
    assert "fc.weight" not in extractor.state_dict()  # layers after the last requested node are removed


def test_each_mode_has_its_nodes():
    network = Branches()
    extractor = create_feature_extractor(network, train_return_nodes={"dropout": "out"}, eval_return_nodes={"mul": "out"})
    x = torch.rand(3, 4)
    extractor.eval()
    network.eval()
    assert torch.allclose(extractor(x)["out"], network(x))
    extractor.train()
    out = extractor(x)["out"]
    assert out.requires_grad and out.shape == (3, 4)


@pytest.mark.parametrize("nodes", [["layer9"], {"layer2.7": "x"}])
def test_unknown_nodes(nodes):
    with pytest.raises(ValueError, match="layer"):
        create_feature_extractor(resnet18(num_classes=2), nodes)


def test_weights_by_name():
    assert get_weight("ResNet18_Weights.DEFAULT").meta["num_params"] == 11689512
    with pytest.raises(ValueError, match="Unable to find"):
        get_weight("ResNet18_Weights.IMAGENET9K")
