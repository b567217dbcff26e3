"""`torch.fx.experimental` and `torch.fx.passes`: each test passes on PyTorch and on flambeau."""

from __future__ import annotations

import importlib
import numbers
import operator
from typing import List, Optional, Union  # noqa: UP035  (annotations of programs)

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(params=["torch", "flambeau"])
def library(request):
    """Return a function that imports a module of PyTorch or flambeau, given its name without the first part."""
    name = request.param
    return lambda module="": importlib.import_module(f"{name}.{module}".rstrip("."))


@pytest.fixture
def chain(library):
    """Return a module of four layers, its graph with sizes, and a sample input.

    The layers need 112, 112, 16 and 112 bytes: 16 for the result, 80 for the parameters of a linear layer, and 16 for the
    argument, unless it is in the same partition.
    """
    torch, nn = library(), library().nn
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    traced, x = torch.fx.symbolic_trace(module), torch.randn(1, 4)
    library("fx.passes.graph_manipulation").get_size_of_all_nodes(traced, [x])
    return module, traced, x


def calls(module):
    return [node for node in module.graph.nodes if node.op.startswith("call_")]


def test_sizes_of_nodes(library, chain):
    sizes = library("fx.passes.graph_manipulation")
    _, traced, _ = chain
    assert [tuple(node.size_bytes) for node in calls(traced)] == [(16, 96), (16, 96), (16, 16), (16, 96)]
    node = calls(library().fx.symbolic_trace(lambda x: x.sin()))[0]
    with pytest.raises(RuntimeError, match="has no tensor metadata"):
        sizes.get_tensor_meta(node)


def test_targets_are_replaced(library):
    traced = library().fx.symbolic_trace(lambda a, b: (a + b) * b)
    replace = library("fx.passes.graph_manipulation").replace_target_nodes_with
    replace(traced, "call_function", operator.add, "call_function", operator.sub)
    assert traced(5, 3) == 6


@pytest.mark.parametrize(
    ("memory", "partitions"),
    [
        ([400], [([0], 320)]),
        ([130, 250], [([0], 112), ([1], 224)]),
        ([130, 200, 200], [([0], 112), ([1], 128), ([2], 112)]),
    ],
)
def test_partitions_by_size(library, chain, memory, partitions):
    utils = library("fx.experimental.partitioner_utils")
    module, traced, x = chain
    devices = [utils.Device(f"device {number}", size, number) for number, size in enumerate(memory)]
    partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
    result = partitioner.partition_graph(traced, module, utils.PartitionerConfig(devices))
    assert [(node.logical_device_ids, node.size_bytes) for node in result.dag.nodes] == partitions
    assert [str(node) for node in result.dag.nodes] == [f"submod_{number}" for number in range(len(partitions))]
    assert library().equal(result.module_with_submodules(x), module(x))


def test_errors_of_the_partitioner(library, chain):
    utils = library("fx.experimental.partitioner_utils")
    module, traced, _ = chain

    def partition(sizes, mode=utils.PartitionMode.size_based):
        devices = [utils.Device(f"device {number}", size, number) for number, size in enumerate(sizes)]
        partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
        partitioner.partition_graph(traced, module, utils.PartitionerConfig(devices, mode))

    for sizes, message in [([], "No devices"), ([100, 100], "enough memory"), ([100] * 4, "_0 is too large to fit any device")]:
        with pytest.raises(RuntimeError, match=message):
            partition(sizes)
    with pytest.raises(RuntimeError, match="same memory size"):
        partition([200, 201], utils.PartitionMode.sparse_nn)


def test_partitions_are_copied_to_unused_devices(library, chain):
    utils = library("fx.experimental.partitioner_utils")
    module, traced, _ = chain
    sizes = [130, 250, 100, 300, 120, 250]
    devices = [utils.Device(f"device {number}", size, number) for number, size in enumerate(sizes)]
    devices[3] = devices[3]._replace(available_mem_bytes=260)
    partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
    partitioner.partition_graph(traced, module, utils.PartitionerConfig(devices, saturate_host=True))
    assert [partition.logical_device_ids for partition in partitioner.partitions] == [[0, 4], [1, 5]]


def test_given_partitions(library, chain):
    utils = library("fx.experimental.partitioner_utils")
    module, traced, x = chain
    numbers = {node: int(place > 0) for place, node in enumerate(calls(traced))}
    config = utils.PartitionerConfig(
        [utils.Device("first", 500, 0), utils.Device("second", 500, 1)],
        utils.PartitionMode.aot_based,
        node_to_partition_mapping=numbers,
        partition_to_logical_device_mapping={0: [1], 1: [0]},
    )
    partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
    result = partitioner.partition_graph(traced, module, config)
    assert [node.logical_device_ids for node in result.dag.nodes] == [[1], [0]]
    assert library().equal(result.module_with_submodules(x), module(x))


def test_a_partition_counts_the_values_that_it_reads(library, chain):
    partition = library("fx.experimental.partitioner_utils").Partition(0)
    first, second, third, _ = calls(chain[1])
    partition.add_node(first)
    assert len(partition.nodes) == 2 and partition.used_mem_bytes == 16 + 96
    partition.add_node(third)
    assert partition.used_mem_bytes == 16 + 96 + 16 + 16  # and the result of `second`
    partition.add_node(second)
    assert partition.used_mem_bytes == 16 + 96 + 96 + 16
    partition.remove_node(first)
    assert partition.nodes == {second, third} and partition.used_mem_bytes == 16 + 96 + 16


def test_the_cost_model(library, chain):
    utils = library("fx.experimental.partitioner_utils")
    functions = library("fx.experimental.accelerator_partitioner")
    nodes = calls(chain[1])
    latencies = {node: utils.NodeLatency(memory, 10.0) for node, memory in zip(nodes, [5.0, 20.0, 30.0, 1.0], strict=True)}
    partitions = [utils.Partition(0), utils.Partition(1)]
    for node in nodes:
        partitions[node is nodes[3]].add_node(node)
    functions.set_parents_and_children(partitions)
    functions.get_bfs_level_partition(partitions)
    assert [partition.bfs_level for partition in partitions] == [0, 1]
    assert partitions[0].children == {partitions[1]} and partitions[1].parents == {partitions[0]}
    times = utils.get_partition_to_latency_mapping(partitions, latencies)
    assert list(times.values()) == [(55.0, 30.0, 60.0), (1.0, 10.0, 10.0)]
    assert utils.get_comm_latency_between(*partitions, 2.0) == 8.0
    assert utils.get_latency_of_partitioned_graph(partitions, times, 2.0) == 78.0
    for partition in partitions:
        partition.logical_device_ids = [3]
    assert utils.get_latency_of_partitioned_graph(partitions, times, 2.0) == 70.0
    assert not functions.check_dependency(partitions[0])
    functions.combine_two_partitions(*list(partitions), partitions)
    assert len(partitions) == 1 and not partitions[0].children and partitions[0].used_mem_bytes == 320


@pytest.mark.parametrize("mode", ["cost_aware", "kl_based"])
def test_partitions_by_running_time(library, mode):
    """Two independent chains: transfers are slow, so that each chain remains on one device."""
    torch, utils = library(), library("fx.experimental.partitioner_utils")
    traced = torch.fx.symbolic_trace(lambda x: (x.sin().sin(), x.cos().cos()))
    x = torch.randn(4)
    library("fx.passes.graph_manipulation").get_size_of_all_nodes(traced, [x])
    latencies = {node: utils.NodeLatency(1.0, 2.0) for node in calls(traced)}
    devices = [utils.Device("first", 60, 0), utils.Device("second", 60, 1)]
    config = utils.PartitionerConfig(devices, utils.PartitionMode[mode], 1.0, latencies)
    partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
    result = partitioner.partition_graph(traced, torch.nn.Module(), config)
    names = [{node.name for node in partition.nodes if node.op != "placeholder"} for partition in partitioner.partitions]
    assert sorted(names, key=min) == [{"cos", "cos_1"}, {"sin", "sin_1"}]
    assert all(torch.equal(one, other) for one, other in zip(result.module_with_submodules(x), traced(x), strict=True))


def test_embeddings_are_distributed_and_other_layers_copied(library):
    torch, utils = library(), library("fx.experimental.partitioner_utils")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(1000, 2, mode="sum") for _ in range(3))
            self.before, self.after = torch.nn.Linear(2, 2), torch.nn.Linear(8, 1)

        def forward(self, x, ids, offsets):
            return self.after(torch.cat([self.before(x), *(table(ids, offsets) for table in self.tables)], dim=1))

    model, x, ids = Model(), torch.randn(2, 2), torch.randint(1000, (5,))
    inputs = x, ids, torch.tensor([0, 2])
    traced = torch.fx.symbolic_trace(model)
    library("fx.passes.graph_manipulation").get_size_of_all_nodes(traced, list(inputs))
    devices = [utils.Device(f"device {number}", 20_000, number) for number in range(2)]
    partitioner = library("fx.experimental.accelerator_partitioner").Partitioner()
    config = utils.PartitionerConfig(devices, utils.PartitionMode.sparse_nn)
    result = partitioner.partition_graph(traced, model, config)
    tables = [node for node in result.dag.nodes if node.size_bytes > 8000]
    assert sorted(node.logical_device_ids for node in tables) == [[0], [1]]
    assert all(node.logical_device_ids == [0, 1] for node in result.dag.nodes if node not in tables)
    assert torch.equal(result.module_with_submodules(*inputs), model(*inputs))


def test_attributes_for_other_runtimes(library):
    nn, fetch = library("nn"), library("fx.passes.param_fetch")
    traced = library().fx.symbolic_trace(nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.BatchNorm2d(2), nn.ReLU()))
    fetch.lift_lowering_attrs_to_nodes(traced)
    conv, norm, relu = (node.attrs_for_lowering for node in calls(traced))
    assert conv["name"] == "torch.nn.modules.conv.Conv2d" and conv["stride"] == (2, 2) and conv["padding_mode"] == "zeros"
    assert norm["running_mean"].shape == (2,) and norm["eps"] == 1e-5
    assert relu == {"name": "torch.nn.modules.activation.ReLU", "inplace": False}
    with pytest.raises(RuntimeError, match="not in the module_fetch_book"):
        fetch.extract_attrs_for_lowering(nn.Tanh())


def test_graphs_are_sorted(library):
    traced = library().fx.symbolic_trace(lambda x: x.sin().cos())
    tools = library("fx.passes.tools_common")
    for function, error in [(tools.stable_topological_sort, AssertionError), (tools.legalize_graph, RuntimeError)]:
        _, sin, cos, output = traced.graph.nodes
        output.append(sin)
        assert function(traced) is traced
        traced.graph.lint()
        assert [node.name for node in traced.graph.nodes] == ["x", "sin", "cos", "output"]
        _, sin, cos, output = traced.graph.nodes
        sin.args = (cos,)
        with pytest.raises(error, match="cycles"):
            function(traced)
        sin.args = (next(iter(traced.graph.nodes)),)


def test_names_of_targets(library):
    torch, tools = library(), library("fx.passes.tools_common")
    traced = torch.fx.Tracer().trace(torch.nn.Sequential(torch.nn.ReLU()))
    modules = {"0": torch.nn.ReLU()}
    assert tools.get_node_target(modules, list(traced.nodes)[1]) == "torch.nn.modules.activation.ReLU"
    functions = torch.fx.symbolic_trace(lambda x: torch.add(x.sin(), torch.nn.functional.relu(x)))
    names = [tools.get_node_target({}, node) for node in calls(functions)]
    assert names == ["sin", "torch.nn.functional.relu", "torch.add"]
    with pytest.raises(AssertionError, match="but found placeholder"):
        tools.get_node_target({}, next(iter(functions.graph.nodes)))


def test_products_with_the_same_right_operand_are_merged(library):
    torch, merge = library(), library("fx.experimental.merge_matmul")

    class Products(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.right = torch.nn.Parameter(torch.randn(3, 4))

        def forward(self, a, b, c):
            return torch.matmul(a, self.right).sum(0) + torch.matmul(b, self.right).sum(0) + torch.matmul(a, c).mean()

    def count(module):
        return sum(node.target is torch.matmul for node in module.graph.nodes)

    module, inputs = Products(), (torch.randn(2, 3), torch.randn(5, 3), torch.randn(3, 3))
    merged = merge.merge_matmul(module)
    assert count(merged) == 2
    assert torch.allclose(merged(*inputs), module(*inputs), atol=1e-5)
    dependent = merge.merge_matmul(torch.fx.symbolic_trace(lambda x, y: torch.matmul(torch.matmul(x, y).abs(), y)))
    assert count(dependent) == 2


def test_nodes_that_may_depend_on_others(library):
    merge = library("fx.experimental.merge_matmul")
    traced = library().fx.symbolic_trace(lambda x, y: (x.sin().cos().tan(), y.sin()))
    x, y, sin, cos, tan, other, _ = traced.graph.nodes
    assert merge.may_depend_on(tan, sin) and merge.may_depend_on(tan, x) and merge.may_depend_on(sin, sin)
    assert not merge.may_depend_on(sin, tan) and not merge.may_depend_on(tan, y)
    assert merge.may_depend_on(tan, y, search_depth=1)
    assert merge.are_nodes_independent([tan, other]) and not merge.are_nodes_independent([tan, cos])


def test_functions_become_operators(library):
    torch, normalize = library(), library("fx.experimental.normalize")
    x, y = torch.randn(3), torch.rand(3) + 1
    for function, target in [(torch.add, operator.add), (torch.div, operator.truediv), (torch.le, operator.le)]:
        for program, inputs in [(lambda x, y: function(x, y), (x, y)), (lambda x: function(x, 2), (x,))]:  # noqa: B023
            traced = torch.fx.symbolic_trace(program)
            normalized = normalize.NormalizeOperators(traced).transform()
            assert [node.target for node in calls(normalized)] == [target]
            assert torch.equal(normalized(*inputs), traced(*inputs))


def test_arguments_become_keywords(library):
    torch, normalize = library(), library("fx.experimental.normalize")
    functional = torch.nn.functional

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            return torch.add(functional.relu(self.linear(x[0])), x[1])

    model, x = Model(), [torch.randn(2), torch.randn(2)]
    traced = torch.fx.symbolic_trace(model)
    library("fx.passes.shape_prop").ShapeProp(traced).propagate(x)
    calls(traced)[-1].meta["mark"] = 7
    next(iter(traced.graph.nodes)).type = list[int]
    normalized = normalize.NormalizeArgs(traced).transform()
    by_name = {node.name: node for node in normalized.graph.nodes}
    assert by_name["x"].type == list[int] and by_name["add"].meta["mark"] == 7
    assert list(by_name["linear"].kwargs) == ["input"] and not by_name["linear"].args
    assert by_name["relu"].kwargs == {"input": by_name["linear"], "inplace": False}
    assert torch.equal(normalized(x), model(x))


def test_nodes_are_annotated_with_types(library):
    torch = library()
    annotation = library("fx.experimental.schema_type_annotation")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.weight = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return torch.nn.functional.relu(self.linear(x)) * self.weight

    traced = torch.fx.symbolic_trace(Model())
    types = {node.name: node.type for node in annotation.AnnotateTypesWithSchema(traced).transform().graph.nodes}
    assert {types[name] for name in ("relu", "linear", "weight")} == {torch.Tensor}
    assert {types[name] for name in ("x", "mul", "output")} == {None}
    without = annotation.AnnotateTypesWithSchema(traced, False, False, False).transform()
    assert {node.type for node in without.graph.nodes} == {None}


def test_types_of_arguments(library):
    torch, schemas = library(), library("fx.operator_schemas")
    hint, matches = schemas.create_type_hint, schemas.type_matches
    assert [hint([int, bool]), hint((int, int)), hint([int, str]), hint(()), hint(int)] == [
        list[int], tuple[int, ...], list[__import__("typing").Any], tuple[__import__("typing").Any, ...], int,
    ]  # fmt: skip
    tensors = List[torch.Tensor]  # noqa: UP006
    fitting = [
        (int, bool), (int, torch.dtype), (numbers.Number, float), (Union[int, float], float), (Optional[int], int),  # noqa: UP007, UP045
        (List[int], hint((int, int))), (List[int], int), (tensors, hint([torch.nn.Parameter, torch.Tensor])),  # noqa: UP006
        (Optional[tensors], tensors), (torch.Tensor, torch.nn.Parameter),  # noqa: UP045
    ]  # fmt: skip
    assert all(matches(*pair) for pair in fitting)
    different = [(int, float), (Union[int, float], str), (tensors, List[int]), (List[int], float), (torch.Tensor, int)]  # noqa: UP006, UP007
    assert not any(matches(*pair) for pair in different)


def test_arguments_of_operators(library):
    torch, schemas = library(), library("fx.operator_schemas")
    normalize, x, y = schemas.normalize_function, torch.ones(1), torch.ones(4)
    for target in (torch.ops.aten.resize_as_.default, torch.ops.aten.resize_as_):
        args, kwargs = normalize(target, (x,), {"the_template": y}, normalize_to_only_use_kwargs=True)
        assert args == () and list(kwargs) == ["input", "the_template", "memory_format"]
        assert kwargs["input"] is x and kwargs["the_template"] is y and kwargs["memory_format"] is None
    assert normalize(torch.ops.aten.add.Tensor, (x, y)).kwargs == {"alpha": 1}
    add = torch.ops.aten.add
    with pytest.raises(RuntimeError, match="ambiguous"):
        normalize(add, (x, y))
    assert normalize(add, (x, 2), {}, (torch.Tensor, int), {}).args == (x, 2)
    assert normalize(add, (1, 2, 3, 4)) is None
    (signature,) = schemas.get_signature_for_torch_op(torch.ops.aten.topk.default)
    assert list(signature.parameters) == ["input", "k", "dim", "largest", "sorted"]
    assert signature.parameters["k"].annotation is int and signature.return_annotation == (torch.Tensor, torch.Tensor)
    _, (schema,) = schemas.get_signature_for_torch_op(torch.ops.aten.add_.Scalar, return_schemas=True)
    assert schema.is_mutable


def test_the_meta_tracer_leaves_weights_where_they_are(library):
    torch, tracing = library(), library("fx.experimental.meta_tracer")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.norm = torch.nn.Embedding(10, 4), torch.nn.LayerNorm(4)

        def forward(self, ids):
            x = self.embedding(ids)
            x = self.norm(x + torch.arange(x.shape[-1], device=x.device))
            return torch.relu(x) if x.shape[0] < 4 else torch.sigmoid(x)

    model = Model()
    for size in (3, 5):
        ids = torch.arange(size)
        traced = tracing.symbolic_trace(model, {"ids": ids.to("meta")})
        assert torch.equal(traced(ids), model(ids))
    assert model.embedding.weight.device.type == "cpu"
