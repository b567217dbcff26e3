"""Passes over `torch.fx` graphs: folding of constants, common subexpressions, and rewriting of `assert` before tracing."""

from __future__ import annotations

import operator

import pytest
from flambeau.fx.experimental.const_fold import split_const_subgraphs
from flambeau.fx.experimental.merge_matmul import merge_matmul
from flambeau.fx.experimental.normalize import NormalizeOperators
from flambeau.fx.experimental.proxy_tensor import make_fx
from flambeau.fx.experimental.rewriter import RewritingTracer
from flambeau.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops

import flambeau as torch
from flambeau import nn
from flambeau.fx import GraphModule, symbolic_trace
from flambeau.nn import functional as F


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.shift = nn.Parameter(torch.tensor([1.0, 1.0]))

    def forward(self, x):
        scale = self.weight * self.weight
        return x * scale + self.shift.sum() * scale


def test_constants_are_computed_once():
    folded = split_const_subgraphs(Affine())
    assert [node.target for node in folded.graph.nodes if node.op == "call_function"] == [operator.mul, operator.add]
    assert not folded.has_folding_been_run
    assert folded(torch.tensor([1.0, 10.0])).tolist() == [2 * 2 + 2 * 2 * 2, 10 * 9 + 2 * 9]
    assert folded.has_folding_been_run and folded._FX_CONST_FOLDED_ATTRS_0.tolist() == [4, 9]
    assert torch.equal(folded(x=torch.ones(2)), Affine()(torch.ones(2)))
    kept = split_const_subgraphs(Affine(), skip_folding_node_fn=lambda node: True)
    assert kept.const_subgraph_module is None
    assert torch.equal(kept(torch.ones(2)), Affine()(torch.ones(2)))


def test_equal_calls_are_merged():
    x = torch.tensor([1.0, 2.0])
    assert CSEPass()(symbolic_trace(lambda x: x.sin() + x.sin() + torch.ones(2))).modified
    for function, fewer in [
        (lambda x: x.cos().sin() + x.cos().sin(), 2),
        (lambda x: x.sum(0) + x.sum(0, keepdim=True), 0),
        (lambda x: (x + 1) * (x + 1.5), 0),
        (lambda x: (x + 1) * (x + True), 0),
    ]:
        traced = make_fx(function)(x)
        result = CSEPass()(traced)
        assert len(traced.graph.nodes) - len(result.graph_module.graph.nodes) == fewer
        assert torch.equal(result.graph_module(x), function(x))
    banned = CSEPass([torch.ops.aten.add])(make_fx(lambda x: (x + 1) * (x + 1))(x))
    assert not banned.modified


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.rand_like(x) + torch.rand_like(x),
        lambda x: torch.full_like(x, 3).add_(1) + torch.full_like(x, 3),
    ],
)
def test_random_and_written_values_are_not_merged(function):
    traced = make_fx(function)(torch.ones(2))
    result = CSEPass(get_CSE_banned_ops())(traced)
    assert not result.modified and len(result.graph_module.graph.nodes) == len(traced.graph.nodes)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.bernoulli() + x.bernoulli(),
        lambda x: F.dropout(x) + F.dropout(x),
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5) + F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
        lambda x: F.fractional_max_pool2d(x, 2, 1) + F.fractional_max_pool2d(x, 2, 1),
    ],
)
def test_random_functions_and_methods_are_not_merged(function):
    assert not CSEPass()(symbolic_trace(function)).modified
    weight = nn.Parameter(torch.ones(1))

    class Random(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = weight

        def forward(self, x):
            return x * function(self.weight)

    assert split_const_subgraphs(Random()).const_subgraph_module is None


def test_in_place_and_profiler_operators_stay_without_users():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(torch.ops.aten.add_.Tensor, (x, 1))
    graph.call_function(torch.ops.aten.add.Tensor, (x, 1))
    graph.call_function(torch.ops.profiler._record_function_enter, ("range",))
    graph.output(x)
    graph.eliminate_dead_code()
    targets = [node.target for node in graph.nodes if node.op == "call_function"]
    assert targets == [torch.ops.aten.add_.Tensor, torch.ops.profiler._record_function_enter]


def test_rewritten_asserts_become_nodes():
    limit = 3

    class Checked(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 1)

        def forward(self, x, *, size=limit):
            assert size < limit, "too large"
            y: int = self.linear(x)
            return y + limit

    module = Checked()
    tracer = RewritingTracer()
    graph = tracer.trace(module)
    traced = GraphModule(tracer.root, graph)
    assert torch.equal(traced(torch.ones(2), size=2), module(torch.ones(2), size=2))
    assert [node.type for node in graph.nodes if node.op == "call_module"] == [int]
    with pytest.raises(AssertionError, match="too large"):
        traced(torch.ones(2))


def test_operators_of_proxies_are_recorded():
    traced = symbolic_trace(lambda x: torch.ops.aten.add.Tensor(x, x))
    (node,) = (node for node in traced.graph.nodes if node.op == "call_function")
    assert node.target is torch.ops.aten.add.Tensor
    assert traced(torch.ones(2)).tolist() == [2, 2]


def test_a_subclass_receives_the_operator():
    seen = []

    class Watching(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    result = torch.ops.aten.add.Tensor(torch.ones(2).as_subclass(Watching), 1)
    assert result.tolist() == [2, 2] and type(result) is Watching
    assert seen[0] is torch.ops.aten.add.Tensor


def test_containers_are_flattened_by_structure_also_as_proxies():
    traced = symbolic_trace(
        lambda a, b: a["x"] if b else a["y"], concrete_args={"a": {"x": torch.fx.PH, "y": torch.fx.PH}, "b": True}
    )
    given = {"x": torch.ones(2), "y": torch.zeros(2)}
    assert torch.equal(traced(given, True), given["x"])
    assert torch.equal(symbolic_trace(traced)(given, True), given["x"])


def test_graph_modules_are_replicated_and_scripted():
    traced = symbolic_trace(nn.Sequential(nn.Linear(2, 1), nn.ReLU()))
    x = torch.ones(1, 2)
    replica = traced._replicate_for_data_parallel()
    assert torch.equal(replica(x), traced(x)) and not list(replica.parameters(recurse=False))
    nested = symbolic_trace(nn.Sequential(nn.Sequential(nn.Linear(2, 1))))
    assert torch.equal(torch.jit.script(nested)(x), nested(x))


def test_an_error_of_an_operation_names_the_generated_line(capsys):
    traced = symbolic_trace(lambda x: torch.dot(x, x))
    with pytest.raises(TypeError):
        traced(5)
    assert "line 5 of the traced Module's generated forward function" in capsys.readouterr().err


def _with_gradient(weight, x):
    weight = weight.detach().requires_grad_()
    return torch.autograd.grad((x @ weight).softmax(-1).log().sum(), weight)[0]


@pytest.mark.parametrize("function", [
    torch.func.grad(lambda w, x: (x @ w).relu().pow(2).mean()),
    torch.func.grad(lambda w, x: torch.nn.functional.layer_norm(x @ w, (3,)).pow(3).sum()),
    torch.func.grad(lambda w, x: torch.nn.functional.conv1d(x[None], w[None]).sin().sum()),
    lambda w, x: torch.func.vjp(torch.tanh, w)[1](x)[0],
    _with_gradient,
], ids=["layers", "norm", "convolution", "vjp", "autograd.grad"])  # fmt: skip
def test_graphs_of_gradients(function):
    w, x = torch.randn(3, 3), torch.randn(3, 3)
    traced = make_fx(function)(w, x)
    w, x = torch.randn(3, 3), torch.randn(3, 3)
    torch.testing.assert_close(traced(w, x), function(w, x))


def test_forward_mode_is_not_traced():
    with pytest.raises(RuntimeError, match="jvp cannot be traced"):
        make_fx(lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones(2),))[1])(torch.zeros(2))


def test_products_are_merged_by_right_operand():
    class Products(nn.Module):
        def forward(self, a, b, c, d):
            first, second = torch.matmul(a, c), torch.matmul(b, d)
            return first.sum(0) + torch.matmul(b, c).sum(0) * torch.matmul(a, d).mean() + second.mean()

    inputs = torch.randn(2, 3), torch.randn(5, 3), torch.randn(3, 3), torch.randn(3, 1)
    merged = merge_matmul(Products())
    assert [node.target for node in merged.graph.nodes].count(torch.matmul) == 2
    assert torch.allclose(merged(*inputs), Products()(*inputs), atol=1e-5)
    chained = merge_matmul(GraphModule(nn.Module(), symbolic_trace(lambda x, y: torch.matmul(torch.matmul(x, y), y)).graph))
    assert [node.target for node in chained.graph.nodes].count(torch.matmul) == 2


def test_operators_keep_keyword_arguments():
    def program(x, y):
        return torch.add(x, y, alpha=2) + torch.div(x, y, rounding_mode="floor")

    normalized = NormalizeOperators(symbolic_trace(program)).transform()
    x, y = torch.tensor([3.0]), torch.tensor([2.0])
    assert torch.equal(normalized(x, y), program(x, y))
