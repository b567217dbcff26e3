"""`torch.fx` and `torch.jit`: graphs of programs, what can be done with them, and scripted code."""

from __future__ import annotations

import operator
import pickle

import pytest
from flambeau.fx.passes.shape_prop import ShapeProp

import flambeau as torch
from flambeau import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.weight + 1


def test_a_traced_module_computes_the_same_and_trains():
    net, x = Net(), torch.randn(2, 3)
    traced = torch.fx.symbolic_trace(net)
    assert torch.equal(traced(x), net(x))
    assert [node.op for node in traced.graph.nodes] == [
        "placeholder", "call_module", "call_function", "get_attr", "call_function", "call_function", "output",
    ]  # fmt: skip
    traced(x).sum().backward()
    assert net.weight.grad is not None
    traced.graph.lint()


def test_graphs_are_edited():
    traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    (node,) = [node for node in traced.graph.nodes if node.target is torch.relu]
    with traced.graph.inserting_after(node):
        doubled = traced.graph.call_function(operator.mul, (node, 2))
    node.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    traced.recompile()
    assert traced(torch.tensor([-1.0, 3.0])).tolist() == [1, 7]
    assert "* 2" in traced.code


def test_patterns_are_replaced():
    traced = torch.fx.symbolic_trace(lambda x: torch.neg(torch.neg(x)) + 1)
    matches = torch.fx.replace_pattern(traced, lambda x: torch.neg(torch.neg(x)), lambda x: torch.abs(x))
    assert len(matches) == 1 and traced(torch.tensor([-2.0])).tolist() == [3]


def test_interpreters_and_shapes():
    net, x = Net(), torch.randn(2, 3)
    traced = torch.fx.symbolic_trace(net)
    assert torch.equal(torch.fx.Interpreter(traced).run(x), net(x))
    ShapeProp(traced).propagate(x)
    shapes = [node.meta["tensor_meta"].shape for node in traced.graph.nodes if node.op == "call_module"]
    assert shapes == [torch.Size([2, 4])]


def test_graph_modules_are_pickled():
    traced, x = torch.fx.symbolic_trace(Net()), torch.randn(2, 3)
    assert torch.equal(pickle.loads(pickle.dumps(traced))(x), traced(x))


def test_control_flow_on_values_is_refused():
    def choose(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(choose)


def test_scripted_code_runs_as_python():
    @torch.jit.script
    def clipped(x, bound: float):
        if bool(x.sum() > bound):
            return x * 0
        return x

    assert clipped(torch.ones(2), 1.0).tolist() == [0, 0]
    net, x = Net(), torch.randn(2, 3)
    assert torch.equal(torch.jit.script(net)(x), net(x)) and torch.equal(torch.jit.trace(net, x)(x), net(x))
    assert not torch.jit.is_scripting()


class Typed(nn.Module):
    def forward(self, x: torch.Tensor, times: int = 2) -> torch.Tensor:
        return x * times


def test_annotations_that_are_strings_become_types():
    traced = torch.fx.symbolic_trace(Typed())
    assert "def forward(self, x : torch.Tensor, times : int = 2) -> torch.Tensor:" in traced.code
    assert pickle.loads(pickle.dumps(traced)).code == traced.code
