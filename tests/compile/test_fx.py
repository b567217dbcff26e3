"""`torch.fx`: tracing, graph transformations and generated code; and its use with `torch.jit`."""

from __future__ import annotations

import copy
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


def test_traces_inside_function_modes():
    class Names(torch.overrides.TorchFunctionMode):
        def __init__(self):
            self.received = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.received.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Names() as mode:
        traced = torch.fx.symbolic_trace(lambda x: x.view(2, 3) + torch.arange(6.0).view(2, 3))
    assert {"arange", "view"} <= set(mode.received)
    assert traced(torch.ones(6)).tolist() == [[1, 2, 3], [4, 5, 6]]


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


# --- graphs cut into parts, and layers folded --------------------------------------------------------------------------------


class Branches(nn.Module):
    """A module with layers, a tensor attribute and values with several users."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        self.scale = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x, y):
        hidden = self.first(x).relu()
        low, high = (hidden * self.scale).split([1, 2], dim=1)
        return self.second(hidden + y), low.sum() + high.mean() * x.sum()


@pytest.mark.parametrize("affix", [None, "part"])
def test_graphs_cut_into_parts(affix):
    from flambeau.fx.passes.split_module import split_module

    module = Branches().eval()
    traced, names, numbers = torch.fx.symbolic_trace(module), {}, {}

    def part_of(node):
        return numbers.setdefault(node, 0 if len(numbers) < 3 else 1 if len(numbers) < 7 else 2)

    split = split_module(traced, module, part_of, names, partition_affix=affix)
    inputs = torch.randn(4, 3), torch.randn(4, 3)
    for one, other in zip(split(*inputs), module(*inputs), strict=True):
        assert torch.equal(one, other)
    prefix = "submod_" if affix is None else "submod_part_"
    assert [name for name, _ in split.named_children()] == [f"{prefix}{number}" for number in range(3)]
    assert set(names.values()) == {"first", "second.0", "second.1"} and "scale" in split.state_dict()
    assert [node.op for node in split.graph.nodes if node.op == "call_module"] == ["call_module"] * 3
    with pytest.raises(RuntimeError, match="cycle"):
        split_module(traced, module, lambda node: numbers[node] % 2)


def test_layers_folded_for_inference():
    from flambeau.fx.experimental import optimization

    module = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 4), nn.BatchNorm1d(4)
    ).eval()
    for layer in module:
        if hasattr(layer, "running_mean"):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    x = torch.randn(3, 1, 5, 5)
    fused = optimization.fuse(module)
    assert torch.allclose(fused(x), module(x), atol=1e-5)
    assert [str(node.target) for node in fused.graph.nodes if node.op == "call_module"] == ["0", "2", "3", "4", "5"]
    assert isinstance(module[1], nn.BatchNorm2d)
    dropping = nn.Sequential(nn.Dropout(0.9), nn.ReLU(), nn.Sequential(nn.Dropout(0.9)))
    assert torch.equal(optimization.remove_dropout(dropping)(x), x.relu())


def test_einsum_is_recorded_with_its_operands_one_by_one():
    for program in (lambda a, b: torch.einsum("ij,jk->ik", [a, b]), lambda a, b: torch.einsum("ij,jk->ik", a, b)):
        traced = torch.fx.symbolic_trace(program)
        (call,) = (node for node in traced.graph.nodes if node.op == "call_function")
        assert call.target is torch.functional.einsum
        assert [str(arg) for arg in call.args] == ["ij,jk->ik", "a", "b"]
        a = torch.rand(2, 3)
        assert torch.equal(traced(a, a.T), a @ a.T)


def test_what_takes_tensors_in_a_sequence_is_recorded_alone():
    traced = torch.fx.symbolic_trace(lambda a, b: torch.meshgrid([a, b], indexing="ij"))
    assert [node.op for node in traced.graph.nodes] == ["placeholder", "placeholder", "call_function", "output"]


def test_a_printed_graph_has_no_return_type():
    assert str(torch.fx.symbolic_trace(Typed()).graph).splitlines()[0] == "graph():"


def test_immutable_collections_are_containers_of_trees():
    collections = torch.fx.immutable_collections
    for tree in (collections.immutable_list([3, 4]), collections.immutable_dict(a=3, b=4)):
        leaves, spec = torch.utils._pytree.tree_flatten(tree)
        restored = torch.utils._pytree.tree_unflatten(leaves, spec)
        assert leaves == [3, 4] and restored == tree and type(restored) is type(tree)


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        if bool(x.sum() > 0):
            return self.linear(x)
        return x


def test_graphs_call_scripted_modules_whose_control_flow_depends_on_values():
    net, x = nn.Sequential(torch.jit.script(Conditional())), torch.ones(1, 2)
    traced = torch.fx.symbolic_trace(net)
    assert [node.op for node in traced.graph.nodes] == ["placeholder", "get_attr", "call_method", "output"]
    for given in (x, -x):
        assert torch.equal(traced(given), net(given)) and torch.equal(copy.deepcopy(traced)(given), net(given))


def multiline_message(a):
    def function(b):
        message = """
A line without indentation.
        """
        assert b == 1, message
        return b + a

    return function


def test_sources_with_strings_of_several_lines():
    from flambeau.fx.experimental.rewriter import RewritingTracer

    graph = RewritingTracer().trace(multiline_message(1))
    assert [node.name for node in graph.nodes] == ["b", "eq", "_assert", "add", "output"]
