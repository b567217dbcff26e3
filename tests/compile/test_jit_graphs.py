"""The printed graphs of scripted and traced code."""

from __future__ import annotations

import inspect
import io
from typing import Any

import pytest

import flambeau as torch
from flambeau import nn


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.rest = nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x, times: int = 2):
        x = self.rest(self.linear(x))
        if x.sum() > 0:
            x = x + 1
        else:
            x = x * 2
        for i in range(times):
            x = x + i
        return x, [x, x]


def kinds(graph):
    return [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]


def test_a_graph_of_a_script():
    graph = torch.jit.script(Branching()).graph
    assert kinds(graph) == [
        "prim::GetAttr", "prim::GetAttr", "prim::CallMethod", "prim::CallMethod", "aten::sum", "aten::gt", "aten::Bool", "prim::If",
        "prim::Loop", "prim::ListConstruct", "prim::TupleConstruct",
    ]  # fmt: skip
    assert [str(value.type()) for value in graph.inputs()][1:] == ["Tensor", "int"]
    (output,) = graph.outputs()
    assert str(output.type()) == "(Tensor, Tensor[])" and output.type().kind() == "TupleType"
    branch = graph.findNode("prim::If")
    assert [[node.kind() for node in block.nodes()] for block in branch.blocks()] == [["aten::add"], ["aten::mul"]]
    assert branch.input().node().kind() == "aten::Bool" and branch.output().uses()[0].user.kind() == "prim::Loop"
    loop = graph.findNode("prim::Loop")
    assert loop.inputsAt(0).debugName() == "times.1" and loop.inputsAt(1).toIValue() is True
    assert len(graph.findAllNodes("aten::add")) == 2 and graph.findNode("aten::relu") is None


def test_an_inlined_graph():
    graph = torch.jit.script(Branching()).inlined_graph
    assert (
        len(graph.findAllNodes("aten::linear")) == 2 and graph.findNode("aten::relu") and not graph.findNode("prim::CallMethod")
    )
    names = [node.s("name") for node in graph.findAllNodes("prim::GetAttr")]
    assert sorted(names) == sorted(["rest", "linear", "weight", "bias", "0", "1", "weight", "bias"])


def test_a_graph_of_a_trace_knows_the_sizes_of_the_examples():
    network = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU()))
    graph = torch.jit.trace(network, torch.ones(2, 4)).graph
    linear, relu = graph.findNode("aten::linear"), graph.findNode("aten::relu")
    assert relu.input() is linear.output() and relu.scopeName() == "__module.1/__module.1.0"
    kind = relu.output().type()
    assert kind.sizes() == [2, 3] and kind.dtype() is torch.float32 and kind.requires_grad() and kind.scalarType() == "Float"
    assert list(graph.inputs())[1].type().sizes() == [2, 4]
    assert "%relu : Float(2, 3, requires_grad=1, device=cpu) = aten::relu(%linear), scope: __module.1/__module.1.0" in str(graph)
    assert "linear.py" in linear.sourceRange()


def test_one_tensor_as_several_arguments_of_a_trace():
    shared = torch.ones(2)
    traced = torch.jit.trace(lambda x, factors, shift: x * factors[0] + shift, (torch.zeros(2), [shared, shared], shared))
    assert kinds(traced.graph)[-2:] == ["aten::mul", "aten::add"]
    result = traced(torch.tensor([1.0, 2.0]), [torch.tensor(3.0), torch.tensor(0.0)], torch.tensor([5.0, 7.0]))
    assert result.tolist() == [8, 13]


def test_an_early_return_takes_the_rest_into_the_other_branch():
    def function(x, flag: bool):
        if flag:
            return x
        y = x + 1
        return y * 2

    graph = torch.jit.script(function).graph
    assert kinds(graph) == ["prim::If"]
    taken, other = graph.findNode("prim::If").blocks()
    assert not list(taken.nodes()) and [node.kind() for node in other.nodes()] == ["aten::add", "aten::mul"]
    assert [value.debugName() for value in graph.inputs()] == ["x.1", "flag.1"]


def test_values_of_other_types():
    def function(x):
        a, b = x.size(0), x.shape[1]
        parts = x.split(1)
        first, (second, third) = parts[0], (a + b, a / b)
        return {"a": first[:, None, 1:]}, second, third, a != b and a > 2, x[0, ..., x.sum(0) > 1]

    graph = torch.jit.script(function).graph
    (output,) = graph.outputs()
    assert str(output.type()) == "(Dict(str, Tensor), int, float, bool, Tensor)"
    assert {"aten::slice", "aten::unsqueeze", "aten::select", "aten::index", "aten::__getitem__"} <= set(kinds(graph))


def test_graphs_of_what_was_saved_and_frozen(tmp_path):
    scripted = torch.jit.script(Branching().eval())
    scripted.save(tmp_path / "net.pt")
    assert kinds(torch.jit.load(tmp_path / "net.pt").inlined_graph) == kinds(scripted.inlined_graph)
    frozen = torch.jit.freeze(scripted).inlined_graph
    assert not frozen.findNode("prim::GetAttr") and frozen.findNode("aten::linear").inputsAt(1).toIValue().shape == (3, 4)


def test_code_is_what_is_saved():
    # a lambda cannot be saved: its `code` is the source as written
    assert torch.jit.script(lambda x: x).code.startswith("assert torch.jit.script(lambda")

    @torch.jit.script
    def twice(x, n: int):
        return x * n

    assert twice.code == "def twice(x: Tensor, n: int):\n  return x * n\n"
    with pytest.raises(RuntimeError, match="expected a function defined with def"):
        torch.jit.script(lambda x: x).graph


def test_operations_of_a_recorded_graph_are_in_the_scopes_that_hooks_push() -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU())
    assert torch._C._get_tracing_state() is None

    def push(name: str) -> None:
        state = torch._C._get_tracing_state()
        if state is not None:
            state.push_scope(name)

    def pop() -> None:
        state = torch._C._get_tracing_state()
        if state is not None:
            state.pop_scope()

    for name, module in network.named_modules():
        module.register_forward_pre_hook(lambda module, inputs, name=name: push("all" + name))
        module.register_forward_hook(lambda module, inputs, output: pop())
    graph, output = torch.jit._get_trace_graph(network, (torch.ones(1, 1, 5, 5),))
    assert output.shape == (1, 2, 3, 3) and torch._C._get_tracing_state() is None
    assert isinstance(graph, torch._C.Graph)
    scopes = {node.kind(): node.scopeName() for node in graph.nodes() if node.kind().startswith("aten::")}
    assert scopes == {"aten::_convolution": "all/all0", "aten::relu": "all/all1"}


@pytest.mark.parametrize(
    ("layer", "size", "settings"),
    [
        (lambda: torch.nn.Conv1d(2, 4, 3, stride=2), (1, 2, 9), ([2], [0], [1], False, [0], 1)),
        (
            lambda: torch.nn.ConvTranspose2d(4, 2, 3, groups=2, bias=False),
            (1, 4, 5, 5),
            ([1, 1], [0, 0], [1, 1], True, [0, 0], 2),
        ),
    ],
)
def test_convolutions_of_a_recorded_graph_are_one_operator(layer: Any, size: Any, settings: Any) -> None:
    graph, _ = torch.jit._get_trace_graph(layer(), (torch.ones(size),))
    node = graph.findNode("aten::_convolution")
    found = [_constant(value) for value in list(node.inputs())[3:9]]
    assert tuple(found) == settings and node.inputsSize() == 13


def test_tensors_that_a_recorded_graph_takes() -> None:
    layer = torch.nn.Linear(2, 3)
    _, output, inputs = torch.jit._get_trace_graph(layer, torch.ones(1, 2), return_inputs=True)
    assert output.shape == (1, 3)
    assert [tuple(each.shape) for each in inputs] == [(1, 2), (3, 2), (3,)]


def _constant(value: Any) -> Any:
    node = value.node()
    return [_constant(item) for item in node.inputs()] if node.kind() == "prim::ListConstruct" else value.toIValue()


@pytest.mark.parametrize(("function", "random"), [
    (torch.bernoulli, True), (torch.rand_like, True), (torch.relu, False), (lambda x: torch.dropout(x, 0.5, True), True),
    (lambda x: torch.dropout(x, 0.5, False), False),
])  # fmt: skip
def test_nodes_that_draw_random_numbers(function: Any, random: bool) -> None:
    graph = torch.jit.trace(function, torch.full((3,), 0.5), check_trace=False).graph
    assert any(node.isNondeterministic() for node in graph.nodes()) is random


def test_elements_of_tuple_types() -> None:
    def pair(x: tuple[list[int], tuple[int, float]]) -> int:
        return x[1][0]

    kind = next(torch.jit.script(pair).graph.inputs()).type()
    assert [str(each) for each in kind.elements()] == ["int[]", "(int, float)"]
    with pytest.raises(RuntimeError, match="not a tuple"):
        kind.elements()[0].elements()


class Halved(nn.Module):
    def forward(self, x):
        return torch.abs(2 * x)

    @torch.jit.export
    def other(self, x: int) -> int:
        return x + 1


def test_methods_of_scripted_modules_have_a_graph_and_code():
    scripted, traced = torch.jit.script(Halved()), torch.jit.trace(Halved(), torch.rand(3))
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert type(loaded).__name__ == type(scripted).__name__ == "RecursiveScriptModule" and loaded.original_name == "Halved"
    for module in (scripted, traced, loaded, torch.jit.freeze(torch.jit.script(Halved().eval()))):
        assert kinds(module.forward.graph) == kinds(module.forward.inlined_graph) == ["aten::mul", "aten::abs"]
        assert "torch.abs(" in module.forward.code and module.forward.owner is module and module.forward.name == "forward"
        assert str(module.forward.schema).partition(" self, ")[2] == "Tensor x) -> Tensor"
        assert module.forward(torch.tensor([-1.0])).tolist() == [2]
    for module in (scripted, loaded):
        assert kinds(module.other.graph) == ["aten::add"] and module.other(3) == 4 and "def other" in module.other.code
    assert kinds(traced.__getattr__("forward").graph) == ["aten::mul", "aten::abs"]
    assert list(inspect.signature(scripted.forward).parameters) == ["x"]


def test_operators_have_all_inputs_of_their_schemas():
    class Model(torch.nn.Module):
        def forward(self, x, factor):
            x = torch.nn.functional.group_norm(x * factor, 2, None, None)
            return torch.nn.functional.max_pool2d(x, 2) + x.sum((2, 3), keepdim=True), torch.cat([x, x])

    graph, _ = torch.jit._get_trace_graph(Model(), (torch.ones(1, 2, 4, 4), 2.5))
    counts = {node.kind(): len(list(node.inputs())) for node in graph.nodes()}
    expected = {"aten::group_norm": 6, "aten::max_pool2d": 6, "aten::sum": 4, "aten::add": 3, "aten::cat": 2, "aten::mul": 2}
    assert {kind: counts[kind] for kind in expected} == expected


def test_trace_graphs_have_no_unused_operators():
    class Model(torch.nn.Module):
        def forward(self, x):
            if (x * 3).exp().sum().item() > 0:
                x = x.relu()
            return x.clone().add_(1)

    graph, _ = torch.jit._get_trace_graph(Model(), torch.ones(2))
    assert [node.kind() for node in graph.nodes() if node.kind().startswith("aten::")] == [
        "aten::relu",
        "aten::clone",
        "aten::add_",
    ]


def test_a_call_of_getitem_is_an_index():
    graph = torch.jit.script(rows).graph
    assert "aten::index(" in str(graph) and "__getitem__" not in str(graph)


def rows(x: torch.Tensor):
    return x.__getitem__(torch.tensor([0, 2]))
