"""`torch.ao.pruning`: sparsifiers and schedulers. The expected values are PyTorch's."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from flambeau.ao import pruning
from flambeau.ao.pruning import CubicSL, FakeSparsity, LambdaSL, NearlyDiagonalSparsifier, WeightNormSparsifier

import flambeau as torch
from flambeau import nn


def model() -> nn.Sequential:
    """Return a linear layer whose weight is ``[[0, 1, 2, 3], [4, 5, 6, 7], [-8, -9, 10, 11]]``, and an activation."""
    layer = nn.Linear(4, 3)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.0, 1, 2, 3], [4, 5, 6, 7], [-8, -9, 10, 11]]))
    return nn.Sequential(layer, nn.ReLU())


MASKS: list[tuple[dict[str, Any], list[list[int]]]] = [
    ({}, [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]),
    ({"sparsity_level": 0.3}, [[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]),
    ({"sparsity_level": 0.0}, [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]),
    ({"sparsity_level": 1.0}, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    ({"sparsity_level": 1.0, "zeros_per_block": 2}, [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]]),
    ({"zeros_per_block": 3}, [[0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1]]),
    ({"sparse_block_shape": (2, 2)}, [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]),
    ({"norm": 1, "sparse_block_shape": (1, 1)}, [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]),
    ({"norm": torch.Tensor.neg, "sparse_block_shape": (1, 2)}, [[1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]]),
]


@pytest.mark.parametrize(("options", "expected"), MASKS)
def test_weight_norm_masks_the_smallest_blocks(options: dict[str, Any], expected: list[list[int]]) -> None:
    network, sparsifier = model(), WeightNormSparsifier(**options)
    dense = network[0].weight.detach().clone()
    sparsifier.prepare(network, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    assert sparsifier.state["0.weight"]["mask"].int().tolist() == expected
    assert torch.equal(network[0].weight, dense * torch.tensor(expected))
    sparsifier.squash_mask(params_to_keep=("sparsity_level",))
    assert sorted(network.state_dict()) == ["0.bias", "0.weight"]
    assert torch.equal(network[0].weight, dense * torch.tensor(expected))
    assert network[0].sparse_params == {"sparsity_level": options.get("sparsity_level", 0.5)}


@pytest.mark.parametrize(
    ("nearliness", "expected"),
    [
        (0, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
        (1, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
        (3, [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]),
    ],
)
def test_nearly_diagonal_keeps_a_band(nearliness: int, expected: list[list[int]]) -> None:
    network, sparsifier = model(), NearlyDiagonalSparsifier(nearliness)
    sparsifier.prepare(network, None)
    sparsifier.step()
    assert network[0].parametrizations.weight[0].mask.int().tolist() == expected


@pytest.mark.parametrize(
    ("nearliness", "message"),
    [(2, "nearliness can only be an odd number"), (7, "nearliness cannot be larger than the dimensions")],
)
def test_nearly_diagonal_rejects(nearliness: int, message: str) -> None:
    sparsifier = NearlyDiagonalSparsifier(nearliness)
    sparsifier.prepare(model(), None)
    with pytest.raises(ValueError, match=message):
        sparsifier.step()


def test_masked_weights_are_trained() -> None:
    network, sparsifier = model(), WeightNormSparsifier()
    sparsifier.prepare(network, None)
    sparsifier.step()
    network(torch.ones(2, 4)).sum().backward()
    gradient = network[0].parametrizations.weight.original.grad
    assert gradient.tolist() == [[0.0] * 4, [0.0] * 4, [2.0] * 4]


def test_state_is_saved_and_loaded() -> None:
    network, sparsifier = model(), WeightNormSparsifier(sparsity_level=0.3)
    sparsifier.prepare(network, None)
    sparsifier.step()
    state = sparsifier.state_dict()
    options = {"sparsity_level": 0.3, "sparse_block_shape": (1, 4), "zeros_per_block": 4, "tensor_fqn": "0.weight"}
    assert state["groups"] == [options]
    other, loaded = model(), WeightNormSparsifier()
    loaded.prepare(other, [])
    loaded.load_state_dict(state)
    assert torch.equal(loaded.state["0.weight"]["mask"], state["state"]["0.weight"]["mask"])
    assert torch.equal(other[0].weight, network[0].weight)
    assert loaded.groups[0]["module"] is other[0]
    assert pickle.loads(pickle.dumps(WeightNormSparsifier())).defaults == WeightNormSparsifier().defaults
    with pytest.raises(RuntimeError, match=r"Error loading 7\.weight into the model"):
        loaded.load_state_dict({"groups": [], "state": {"7.weight": {}}})
    loaded.load_state_dict({"groups": [], "state": {"7.weight": {}}}, strict=False)


def test_masked_modules_are_converted() -> None:
    class Sparse(nn.Linear):
        @classmethod
        def from_dense(cls, dense: nn.Linear) -> Sparse:
            return cls(dense.in_features, dense.out_features)

    network, sparsifier = nn.Sequential(model(), nn.Linear(3, 3)), WeightNormSparsifier()
    sparsifier.prepare(network, [{"tensor_fqn": "0.0.weight"}])
    converted = sparsifier.convert(network, {nn.Linear: Sparse})
    assert type(converted[0][0]) is Sparse
    assert type(converted[1]) is nn.Linear
    assert network[0][0].parametrizations
    with pytest.raises(NotImplementedError):
        sparsifier.convert(network)


@pytest.mark.parametrize("config", [[nn.ReLU()], [{}], [{"tensor_fqn": "0.weight", "module_fqn": "1"}]], ids=str)
def test_invalid_configurations_are_rejected(config: list[Any]) -> None:
    with pytest.raises(AssertionError):
        WeightNormSparsifier().prepare(model(), config)


def test_cubic_schedule_raises_the_level() -> None:
    sparsifier = WeightNormSparsifier(sparsity_level=0.5)
    sparsifier.prepare(model(), None)
    schedule = CubicSL(sparsifier, init_sl=0.1, init_t=1, delta_t=1, total_t=4, initially_zero=True)
    levels = schedule.get_last_sl()
    for _ in range(5):
        sparsifier.step()
        schedule.step()
        levels += schedule.get_last_sl()
    assert levels == pytest.approx([0, 0.1, 0.33125, 0.45, 0.49375, 0.5])


def test_lambda_schedule_multiplies_the_level(capsys: pytest.CaptureFixture[str]) -> None:
    sparsifier = WeightNormSparsifier(sparsity_level=0.8)
    sparsifier.prepare(model(), None)
    schedule = LambdaSL(sparsifier, lambda epoch: epoch / 4, verbose=True)
    with pytest.warns(UserWarning, match=r"Detected call of `scheduler.step\(\)` before `sparsifier.step\(\)`"):
        schedule.step()
    assert schedule.get_last_sl() == [pytest.approx(0.2)]
    assert capsys.readouterr().out.splitlines()[-1] == "Adjusting sparsity level of group 0 to 2.0000e-01."
    assert "sparsifier" not in schedule.state_dict()
    with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
        LambdaSL(sparsifier, [abs, abs])
    with pytest.raises(TypeError, match="int is not an instance of"):
        pruning.BaseScheduler(3)  # type: ignore[arg-type]


def test_names_of_modules() -> None:
    network = nn.Sequential(model(), nn.Tanh())
    assert pruning.module_to_fqn(network, network) == ""
    assert pruning.module_to_fqn(network, network[0][1]) == "0.1"
    assert pruning.module_to_fqn(network, nn.Tanh()) is None
    assert pruning.fqn_to_module(network, "0.0.bias") is network[0][0].bias
    assert pruning.fqn_to_module(network, "3.bias") is None
    with pytest.raises(AssertionError, match="mask shape"):
        FakeSparsity(torch.ones(2))(torch.ones(3))
