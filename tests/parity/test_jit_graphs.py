"""Graphs of scripted and traced code have the same operators as PyTorch's."""

import pytest
import torch as pytorch

import flambeau as torch


def functions(torch):
    def arithmetic(x, y):
        return (x + y) * 2 - torch.relu(x) / y

    def branch(x, flag: bool):
        if flag:
            x = torch.tanh(x)
        else:
            x = x.sigmoid()
        return x.view(2, -1).sum(dim=[1])

    def loop(x, n: int):
        parts = [x]
        for i in range(n):
            x = x * i
            parts.append(x)
        return torch.cat(parts), len(parts)

    def indices(x):
        y = x[0]
        return y[1:], x[:, 1]

    def returns(x, flag: bool):
        if flag:
            return torch.neg(x)
        return torch.exp(x)

    return arithmetic, branch, loop, indices, returns


def counted(graph, block=None):
    """Count the nodes of each kind. Constants are not counted, because the libraries fold them differently."""
    counts = {}
    for node in (block or graph).nodes():
        if node.kind() != "prim::Constant":
            counts[node.kind()] = counts.get(node.kind(), 0) + 1
        for inner in node.blocks():
            for kind, number in counted(graph, inner).items():
                counts[kind] = counts.get(kind, 0) + number
    return counts


@pytest.mark.parametrize("place", range(5))
def test_graphs_of_functions(place):
    ours, theirs = (torch.jit.script(functions(torch)[place]).graph, pytorch.jit.script(functions(pytorch)[place]).graph)
    assert counted(ours) == counted(theirs)
    assert [str(value.type()) for value in ours.inputs()] == [str(value.type()) for value in theirs.inputs()]
    assert [value.type().kind() for value in ours.outputs()] == [value.type().kind() for value in theirs.outputs()]


@pytest.mark.parametrize("how", ["script", "trace"])
def test_graphs_of_modules(how):
    graphs = []
    for library in (torch, pytorch):
        nn = library.nn
        network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2), nn.Softmax(dim=-1)).eval()
        made = library.jit.script(network) if how == "script" else library.jit.trace(network, library.ones(1, 1, 4, 4))
        graphs.append(made.inlined_graph)
    ours, theirs = ([node.kind() for node in graph.nodes() if node.kind().startswith("aten::")] for graph in graphs)
    assert [kind.replace("_convolution", "conv2d") for kind in theirs] == ours
    if how == "trace":
        sizes = [[node.output().type().sizes() for node in graph.nodes() if node.kind() == "aten::linear"] for graph in graphs]
        assert sizes[0] == sizes[1]


@pytest.mark.parametrize("how", ["script", "trace"])
def test_methods_that_scripted_modules_refuse(how):
    """Compare the errors of the `nn.Module` methods that a scripted module rejects. A traced module rejects none."""
    refusals = []
    for library in (torch, pytorch):
        module = library.nn.Linear(2, 1)
        made = library.jit.script(module) if how == "script" else library.jit.trace(module, library.ones(1, 2))
        refused = {}
        for name in dir(pytorch.nn.Module):
            if not name.startswith("_") and callable(getattr(pytorch.nn.Module, name)):
                try:
                    getattr(made, name)()
                except Exception as error:  # ignored: errors about missing arguments or devices
                    if "ScriptModules" in str(error):
                        refused[name] = str(error)
        refusals.append(refused)
        made.weight.requires_grad_(False)
        assert not module.weight.requires_grad
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("library", [torch, pytorch], ids=["flambeau", "torch"])
def test_graphs_contain_calls_of_ignored_functions(library, tmp_path):
    @library.jit.ignore
    def function(x, y: int | None):
        return x

    class Module(library.nn.Module):
        def forward(self, x):
            found = self.method(x, 3)
            return function(x, None) + found[0]

        @library.jit.ignore
        def method(self, x, number: int) -> list[int]:
            return [number]

    scripted = library.jit.script(Module())
    nodes = scripted.graph.findAllNodes("prim::PythonOp")
    assert [(node.pyname(), node.inputsSize(), str(node.output().type())) for node in nodes] == [
        ("method", 3, "List[int]" if library is pytorch else "int[]"), ("function", 2, "Tensor"),
    ]  # fmt: skip
    assert "^method" in str(scripted.graph)
    with pytest.raises(RuntimeError, match="Could not export Python function call"):
        scripted.save(str(tmp_path / "net.pt"))
