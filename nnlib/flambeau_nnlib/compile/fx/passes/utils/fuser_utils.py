"""`torch.fx.passes.utils.fuser_utils`: replace groups of nodes by submodules."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ..tools_common import stable_topological_sort, topologically_sorted

__all__ = [
    "erase_nodes", "forms_cycle", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort",
    "validate_partition",
]  # fmt: skip


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Sort nodes so that each one follows its arguments. Otherwise the order remains.

    Raises:
        AssertionError: the nodes depend on each other cyclically.
    """
    nodes = list(nodes)
    found = topologically_sorted(nodes)
    if len(found) < len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return found


def forms_cycle(nodes: Collection[Node], groups: Mapping[Node, Collection[Node]] | None = None) -> bool:
    """Whether a path of a graph leaves a group of nodes and returns to it, so that the group cannot become one node.

    Args:
        nodes: the group; a set or dictionary.
        groups: the group of each node that will become part of another single node.
    """
    seen: set[Node] = set()
    waiting = [user for node in nodes for user in node.users if user not in nodes]
    while waiting:
        node = waiting.pop()
        if node in nodes:
            return True
        if node not in seen:
            together = (groups or {}).get(node, (node,))
            seen.update(together)
            waiting.extend(user for each in together for user in each.users if user not in seen)
    return False


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether nodes can become one submodule, because no path leaves the group of nodes and returns to it.

    >>> from flambeau.fx.passes.utils.fuser_utils import validate_partition
    >>> x, sin, cos, add, output = torch.fx.symbolic_trace(lambda x: x.sin().cos() + 1).graph.nodes
    >>> validate_partition([sin, cos]), validate_partition([sin, add])
    (True, False)
    """
    return not forms_cycle(set(partition))


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: Collection[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Copy nodes of a graph to a new module.

    Args:
        gm: the module with the graph.
        nodes: the nodes, sorted topologically.
        module_name: the name of the class of the new module.
        partition_lookup_table: the nodes as a set or dictionary.
        always_return_tuple: return a single result as a tuple as well.

    Returns:
        The new module, the nodes whose values it takes as arguments, and the nodes whose values it returns.

    Raises:
        AssertionError: a node is not in the graph, or a path of the graph leaves the nodes and returns to them.
    """
    present, inside = set(gm.graph.nodes), nodes if partition_lookup_table is None else partition_lookup_table
    for node in nodes:
        if node not in present:
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph, inputs, copies = Graph(), dict[Node, Node](), dict[Node, Node]()

    def copied(source: Node) -> Node:
        if source in copies:
            return copies[source]
        if source not in inputs:
            inputs[source] = graph.placeholder(source.name, type_expr=source.type)
            inputs[source].meta = source.meta.copy()
        return inputs[source]

    for node in nodes:
        copies[node] = graph.node_copy(node, copied)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    results: Any = tuple(copies[node] for node in outputs)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    return GraphModule(gm, graph, module_name), tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Add a module to a graph, and use its results instead of those of other nodes.

    Args:
        gm: the module with the graph.
        sub_gm: the new submodule. Its name is the name of its class.
        orig_inputs, orig_outputs: the nodes whose values it takes, and whose values it returns.
        insertion_point: the node to insert it after, by default the last of `orig_outputs`.

    Returns:
        `gm`.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    with gm.graph.inserting_after(insertion_point or max(orig_outputs)):
        called = gm.graph.call_module(name, orig_inputs)
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(called, propagate_meta=True)
        return gm
    with gm.graph.inserting_before(called.next):
        for place, node in enumerate(orig_outputs):
            node.replace_all_uses_with(gm.graph.call_function(operator.getitem, (called, place)), propagate_meta=True)
    called.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Erase nodes, which are sorted topologically, from a graph."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: list[Any], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Replace groups of nodes by submodules.

    Args:
        gm: the module with the graph; it is modified.
        partitions: the groups; each is a list of nodes, or a dictionary with nodes as keys.
        prefix: the names of the submodules are `{prefix}0`, `{prefix}1`, ...
        always_return_tuple: whether submodules return a single result as a tuple as well.

    Returns:
        `gm`.

    Raises:
        AssertionError: see `fuse_as_graphmodule`.

    >>> from flambeau.fx.passes.utils.fuser_utils import fuse_by_partitions
    >>> traced = torch.fx.symbolic_trace(lambda x: x.sin().cos() + 1)
    >>> [node.name for node in fuse_by_partitions(traced, [list(traced.graph.nodes)[1:3]]).graph.nodes]
    ['x', 'fused_0', 'add', 'output']
    """
    for number, partition in enumerate(partitions):
        nodes = topo_sort(partition)
        fused, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
