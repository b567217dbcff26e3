"""Groups of nodes that become submodules: each test passes on PyTorch and on flambeau."""

from __future__ import annotations

import importlib
import operator

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(params=["torch", "flambeau"])
def library(request):
    """Return a function that imports a module of PyTorch or flambeau, given its name without the first part."""
    name = request.param
    return lambda module="": importlib.import_module(f"{name}.{module}".rstrip("."))


def two_chains(a, b):
    first = (a + 1) + b
    second = first.relu() + first
    return second + 2, b + 3


def partitioner(library, function, support=None, **options):
    """Return a graph and its partitioner, for which additions are supported, or other nodes."""
    traced = library().fx.symbolic_trace(function)
    create = library("fx.passes.operator_support").create_op_support
    support = support or create(lambda modules, node: node.target is operator.add)
    return traced, library("fx.passes.infra.partitioner").CapabilityBasedPartitioner(traced, support, **options)


def names(partitions):
    return [[node.name for node in partition.nodes] for partition in partitions]


def test_supported_nodes_are_grouped(library):
    traced, found = partitioner(library, two_chains)
    proposed = found.propose_partitions()
    assert names(proposed) == [["add_2", "add_3", "add_4"], ["add", "add_1"]]
    fused = found.fuse_partitions(proposed)
    assert [node.op for node in fused.graph.nodes].count("call_module") == 2
    a, b = library().randn(3), library().randn(3)
    for one, other in zip(fused(a, b), two_chains(a, b), strict=True):
        assert library().equal(one, other)
    assert {name for name, _ in fused.named_children()} == {"fused_0", "fused_1"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [["add", "add_1"]]),
        ({"allows_single_node_partition": True}, [["add_2"], ["add", "add_1"]]),
        ({"non_compute_ops": ["_operator.add"]}, []),
        ({"allowed_single_node_partition_ops": ["_operator.add"]}, [["add_2"], ["add", "add_1"]]),
    ],
)
def test_groups_of_one_operation(library, options, expected):
    _, found = partitioner(library, lambda x: ((x + 1) + 2).relu() + 3, **options)
    assert names(found.propose_partitions()) == expected


@pytest.mark.parametrize("skip", [False, True])
def test_independent_nodes(library, skip):
    _, found = partitioner(library, lambda a, b: (a + 1, b + 2), allows_single_node_partition=True, skip_horizontal_fusion=skip)
    assert names(found.propose_partitions()) == ([["add_1"], ["add"]] if skip else [["add", "add_1"]])


def test_groups_that_would_depend_on_each_other(library):
    """`first` and `third` may be grouped, or `second` and `fourth`, but not both pairs."""

    def function(a, b):
        first, second = a + 1, b + 2
        third, fourth = second.relu() + 3, first.relu() + 4
        return third, fourth

    _, found = partitioner(library, function, allows_single_node_partition=True)
    fused = found.partition_and_fuse()
    a, b = library().randn(2), library().randn(2)
    assert all(library().equal(one, other) for one, other in zip(fused(a, b), function(a, b), strict=True))


def test_items_stay_with_their_tuple(library):
    create = library("fx.passes.operator_support").create_op_support
    support = create(lambda modules, node: node.name == "split" or node.target is operator.add)

    def function(x):
        first, second = x.split(2)
        return first + second.relu()

    _, found = partitioner(library, function, support, allows_single_node_partition=True)
    assert sorted(names(found.propose_partitions())) == [["add"], ["split", "getitem", "getitem_1"]]


def test_operations_at_the_ends_of_groups_are_removed(library):
    create = library("fx.passes.operator_support").create_op_support
    support = create(lambda modules, node: node.op == "call_function")
    relu = library().relu
    _, found = partitioner(library, lambda x: relu(relu(relu(relu(x) + 1) + 2)), support, non_compute_ops=["torch.relu"])
    proposed = found.propose_partitions()
    found.remove_bookend_non_compute_ops(proposed)
    assert names(proposed) == [["add", "relu_1", "add_1"]]


def test_nodes_become_submodules(library):
    fuser, nn = library("fx.passes.utils.fuser_utils"), library("nn")
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    traced, x = library().fx.symbolic_trace(module), library().randn(4, 2)
    _, first, relu, last, _ = traced.graph.nodes
    assert fuser.topo_sort([last, first, relu]) == [first, relu, last]
    assert fuser.validate_partition([first, relu]) and not fuser.validate_partition([first, last])
    fused, inputs, outputs = fuser.fuse_as_graphmodule(traced, [first, relu], "Part")
    assert type(fused).__name__ == "Part" and ([node.name for node in inputs], outputs) == (["input_1"], (relu,))
    assert library().equal(fused(x), module[:2](x))
    in_tuple, _, _ = fuser.fuse_as_graphmodule(traced, [first], "Part", always_return_tuple=True)
    assert isinstance(in_tuple(x), tuple)
    with pytest.raises(AssertionError, match="cycles"):
        fuser.fuse_by_partitions(traced, [[first, last]])
    result = fuser.fuse_by_partitions(traced, [[last, relu]], prefix="part_")
    assert result is traced and [str(node) for node in result.graph.nodes] == ["input_1", "_0", "part_0", "output"]
    assert library().equal(result(x), module(x))
    with pytest.raises(AssertionError):
        fuser.fuse_by_partitions(traced, [[last]])


def test_supported_operators(library):
    torch, support = library(), library("fx.passes.operator_support")
    traced = torch.fx.symbolic_trace(lambda x, y: torch.relu(torch.add(x, y)))
    library("fx.passes.shape_prop").ShapeProp(traced).propagate(torch.ones(2), torch.ones(2, dtype=torch.int64))
    x, y, add, relu, output = traced.graph.nodes
    everything, floats = [torch.float32, torch.int64], [torch.float32]

    def supported(description):
        return support.OperatorSupport(description).is_node_supported({}, add)

    assert [supported(each) for each in (
        {}, {"torch.add": None}, {"torch.add": ((floats, everything), {})}, {"torch.add": ((None, floats), {})},
        {"torch.add": ((floats,), {"other": floats})},
    )] == [False, True, True, False, True]  # fmt: skip
    assert support.OperatorSupport().is_node_supported({}, x) and support.OperatorSupport().is_node_supported({}, output)
    named, integers = (
        support.OpSupports.decline_if_node_in_names({"relu"}),
        support.OpSupports.decline_if_input_dtype(torch.int64),
    )
    for combine, expected in [(support.chain, [False, False]), (support.any_chain, [True, True])]:
        assert [combine(named, integers).is_node_supported({}, node) for node in (add, relu)] == expected


def test_matches_whose_inputs_depend_on_their_results(library):
    matcher = library("fx.passes.utils.matcher_utils").SubgraphMatcher

    def pattern(a, c):
        first = a.sin()
        return first, first * c

    graphs = [
        library().fx.symbolic_trace(function).graph
        for function in (pattern, lambda x: x.sin() * x.sin().sigmoid(), lambda x, y: x.sin() * y.sigmoid())
    ]
    dependent = library().fx.symbolic_trace(lambda x: (lambda y: y * y.sigmoid())(x.sin())).graph
    assert [len(matcher(graphs[0]).match(graph)) for graph in (*graphs, dependent)] == [1, 1, 1, 0]


def test_checks_of_a_pass_manager_take_one_argument(library):
    manager = library("fx.passes.infra.pass_manager").PassManager()
    manager.add_checks(lambda module: None)
    with pytest.raises(TypeError, match="should only take in one variable"):
        manager.add_checks(lambda module, other: None)
