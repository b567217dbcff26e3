"""`torch.fx.passes.tools_common`: sort graphs topologically, and describe the targets of nodes."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import flambeau as torch
from flambeau import nn

from .._names import public_module, qualified_name
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = [
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
    "topologically_sorted",
]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: str | type) -> str:
    """Return the path of a class or function, such as `torch.nn.modules.linear.Linear`, or a string unchanged."""
    if isinstance(k, str):
        return k
    module = public_module(k.__module__ or "")
    return f"{'acc_ops' if 'acc_ops' in module else module}.{k.__name__}"


def get_node_target(submodules: Mapping[str, nn.Module], node: Node) -> str:
    """Return the name of a node's target: the name of a method, the path of a function, or the path of a module's class.

    Args:
        submodules: the modules of the graph by path.
        node: a node that calls a function, a method or a module.

    Raises:
        AssertionError: the node is not a call.

    >>> from flambeau.fx.passes.tools_common import get_node_target
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> get_node_target(dict(traced.named_modules()), list(traced.graph.nodes)[1])
    'torch.nn.modules.activation.ReLU'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    target: Any = node.target
    if node.op == "call_module":
        module = submodules[target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_method":
        return str(target)
    return get_acc_ops_name(target) if "acc_ops" in (target.__module__ or "") else qualified_name(target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether the value of a node is a tensor. False if `ShapeProp` has not visited the node."""
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, torch.Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Sort the nodes of a graph topologically; see `stable_topological_sort`.

    Raises:
        RuntimeError: nodes depend on each other cyclically.
    """
    return _sort(gm, RuntimeError)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Sort the nodes of a graph so that each one follows its arguments. Otherwise the order remains.

    Args:
        gm: the module with the graph. Its graph is replaced.

    Returns:
        The same module.

    Raises:
        AssertionError: nodes depend on each other cyclically.

    >>> from flambeau.fx.passes.tools_common import stable_topological_sort
    >>> traced = torch.fx.symbolic_trace(lambda x: x.sin().cos())
    >>> x, sin, cos, output = traced.graph.nodes
    >>> output.append(sin)
    >>> list(stable_topological_sort(traced).graph.nodes)
    [x, sin, cos, output]
    """
    return _sort(gm, AssertionError)


def _sort(gm: GraphModule, error: type[Exception]) -> GraphModule:
    nodes = list(gm.graph.nodes)
    ordered = topologically_sorted(nodes)
    if len(ordered) < len(nodes):
        raise error(f"Input graph has cycles, unable to add {[node for node in nodes if node not in set(ordered)]}")
    graph, copies = Graph(), dict[Node, Node]()
    graph.set_codegen(gm.graph._codegen)
    for node in ordered:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    gm.graph = graph
    return gm


def topologically_sorted(nodes: list[Node]) -> list[Node]:
    """Return nodes in an order in which each follows its arguments; nodes that depend on each other cyclically are missing."""
    position = {node: number for number, node in enumerate(nodes)}
    missing = {node: sum(source in position for source in node.all_input_nodes) for node in nodes}
    ready = [number for number, node in enumerate(nodes) if not missing[node]]  # sorted, hence a heap
    ordered = []
    while ready:
        ordered.append(nodes[heapq.heappop(ready)])
        for user in ordered[-1].users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, position[user])
    return ordered
