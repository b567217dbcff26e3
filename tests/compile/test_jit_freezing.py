"""`torch.jit.freeze`: modules with constant parameters, in memory and in archives."""

from __future__ import annotations

import io

import pytest

import flambeau as torch
from flambeau import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm, self.dropout = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout()
        self.heads = nn.ModuleList([nn.Linear(2, 3)])
        self.weight = nn.Parameter(torch.rand(3))
        self.register_buffer("shift", torch.rand(3))
        self.factor, self.sizes = 2.0, [1, 2]

    def forward(self, x):
        if self.training:
            x = x + 1
        x = self.dropout(self.norm(self.convolution(x))) * self.factor
        return self.heads[0](x.mean((2, 3))) * self.weight + self.shift + self.sizes[1]

    @torch.jit.export
    def scaled(self, x):
        return x * self.factor


class Counting(nn.Module):
    """A module that changes an attribute in `forward`."""

    def __init__(self):
        super().__init__()
        self.calls, self.linear = 0, nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        self.count += 1
        return self.linear(x) * self.calls


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.counting, self.other = Counting(), nn.Linear(2, 1)

    def forward(self, x):
        return self.other(self.counting(x))


def saved(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.mark.parametrize("how", ["script", "trace", "load"])
def test_parameters_are_constants(how):
    network, x = Network().eval(), torch.randn(2, 1, 5, 5)
    scripted = torch.jit.trace(network, x) if how == "trace" else torch.jit.script(network)
    frozen = torch.jit.freeze(saved(scripted) if how == "load" else scripted)
    expected = network(x).detach()
    for module in (frozen, saved(frozen), saved(saved(frozen))):
        assert torch.allclose(module(x), expected) and not module(x).requires_grad
        assert not module.state_dict() and not list(module.parameters()) and len(list(module.modules())) == 1
        for name in ("training", "weight", "convolution", "factor", "scaled", "heads"):
            with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
                getattr(module, name)
        assert torch.allclose(module.train()(x), expected)
        assert "CONSTANTS.c" in module.code
    with torch.no_grad():
        network.weight.zero_()
    assert torch.allclose(frozen(x), expected)
    assert network.weight.requires_grad


def test_attributes_that_are_preserved():
    frozen = torch.jit.freeze(torch.jit.script(Network().eval()), ["weight", "factor", "scaled", "norm"])
    x = torch.randn(2, 1, 5, 5)
    for module in (frozen, saved(frozen)):
        assert "weight" in module.state_dict() and "shift" not in module.state_dict()
        assert module.norm.running_mean.shape == (2,)
        module.factor = 0.0
        assert torch.equal(module.scaled(x), torch.zeros_like(x))
        before = module(x)
        with torch.no_grad():
            module.weight.zero_()
        assert module(x).requires_grad and not torch.equal(module(x), before)
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        torch.jit.freeze(torch.jit.script(Network().eval()), ["nothing"])


def test_what_the_code_changes_stays_an_attribute():
    network, x = Outer().eval(), torch.randn(1, 2)
    loaded = saved(torch.jit.freeze(torch.jit.script(network)))
    assert list(loaded.state_dict()) == ["counting.count"]
    assert torch.equal(loaded(x), network(x).detach()) and torch.equal(loaded(x), network(x).detach())
    assert loaded.counting.calls == 2 and loaded.counting.count.item() == 2.0
    assert not hasattr(loaded, "other") and not hasattr(loaded.counting, "linear")


def test_branches_that_constants_decide_are_gone():
    assert "if" not in torch.jit.freeze(torch.jit.script(Network().eval())).code


def test_optimize_for_inference():
    network = torch.jit.script(Network())
    frozen = torch.jit.optimize_for_inference(network, ["scaled"])
    assert not network.training and not frozen.state_dict()
    assert torch.equal(frozen.scaled(torch.ones(2)), torch.full((2,), 2.0))
    assert torch.jit.optimize_for_inference(frozen) is frozen


def test_wrong_input():
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule"):
        torch.jit.freeze(Network())
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        torch.jit.optimize_for_inference(Network().eval())
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(torch.jit.script(Network()), ["training"])
    frozen = torch.jit.freeze(torch.jit.script(Network().eval()))
    with pytest.raises(AttributeError):
        torch.jit.freeze(frozen)
