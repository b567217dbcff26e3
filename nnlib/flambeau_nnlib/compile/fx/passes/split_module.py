"""`torch.fx.passes.split_module`: partition a graph into submodules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from flambeau import nn

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["split_module"]


class _Partition:
    """A partition: its graph, its inputs from other partitions, and its outputs."""

    def __init__(self, name: str) -> None:
        self.name, self.graph = name, Graph()
        self.copies: dict[Node, Node] = {}
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[str, None] = {}  # names of the partitions that must run before this one
        self.targets: dict[str, Any] = {}


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    partition_affix: str | None = None,
) -> GraphModule:
    """Partition a graph; each partition becomes a submodule. Parameters and buffers remain in the module, and become inputs.

    Args:
        m: the module with the graph.
        root_m: the module with the attributes that the graph refers to.
        split_callback: returns the number of a node's partition.
        qualname_map: a dictionary that receives the old path of each called module, with its new path as key.
        keep_original_order: order partitions by first appearance, instead of topologically.
        partition_affix: part of the names of the partitions: `submod_{affix}_{number}`.

    Returns:
        an equivalent module with the partitions as submodules `submod_0`, `submod_1`, ...

    Raises:
        RuntimeError: partitions depend on each other cyclically.

    Example:
        >>> from flambeau.fx.passes.split_module import split_module
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        >>> traced = torch.fx.symbolic_trace(net)
        >>> split = split_module(traced, net, lambda node: int(node.name == "_2"))
        >>> [name for name, _ in split.named_children()]
        ['submod_0', 'submod_1']
        >>> x = torch.randn(4, 2)
        >>> torch.equal(split(x), net(x))
        True
    """
    prefix = "submod_" if partition_affix is None else f"submod_{partition_affix}_"
    parts: dict[str, _Partition] = {}
    part_of: dict[Node, _Partition] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            number = str(split_callback(node))
            part_of[node] = parts.setdefault(number, _Partition(f"{prefix}{number}"))
    for node, part in part_of.items():
        for source in node.all_input_nodes:
            before = part_of.get(source)
            if before is part:
                continue
            part.inputs[source] = None
            if before is not None:
                before.outputs[source] = None
                part.needs[before.name] = None
    last = m.graph.output_node()
    for source in last.all_input_nodes:
        if source in part_of:
            part_of[source].outputs[source] = None
    order = list(parts.values()) if keep_original_order else _sort_partitions(list(parts.values()))

    for part in parts.values():
        for source in part.inputs:
            copied = part.copies[source] = part.graph.placeholder(source.name, type_expr=source.type)
            copied.meta = source.meta.copy()
    for node, part in part_of.items():
        part.copies[node] = _copy_node(part, node, root_m, qualname_map)

    whole, values, attributes = Graph(), dict[Node, Any](), dict[str, Any]()
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = whole.node_copy(node, lambda source: values[source])
        if node.op == "get_attr":
            attributes[str(node.target)] = _attribute(root_m, str(node.target))
    for part in order:
        results = tuple(part.copies[source] for source in part.outputs)
        part.graph.output(results[0] if len(results) == 1 else results)
        attributes[part.name] = GraphModule(part.targets, part.graph)
        called = whole.call_module(part.name, tuple(values[source] for source in part.inputs))
        for place, source in enumerate(part.outputs):
            values[source] = called if len(results) == 1 else whole.call_function(operator.getitem, (called, place))
    whole.output(map_arg(last.args[0], values.__getitem__))
    return GraphModule(attributes, whole)


def _copy_node(part: _Partition, node: Node, root: nn.Module, names: dict[str, str] | None) -> Node:
    """Copy a node to a partition, together with the module that it calls."""
    copied = part.graph.node_copy(node, part.copies.__getitem__)
    if node.op == "call_module":
        target = str(node.target)
        copied.target = target.replace(".", "_")
        part.targets[str(copied.target)] = _attribute(root, target)
        if names is not None:
            names[f"{part.name}.{copied.target}"] = target
    return copied


def _attribute(root: nn.Module, target: str) -> Any:
    value: Any = root
    for name in target.split("."):
        value = getattr(value, name)
    return value


def _sort_partitions(parts: list[_Partition]) -> list[_Partition]:
    """Sort the partitions topologically."""
    done: dict[str, _Partition] = {}
    while len(done) < len(parts):
        ready = next((part for part in parts if part.name not in done and all(name in done for name in part.needs)), None)
        if ready is None:
            raise RuntimeError("cycle exists between partitions!")
        done[ready.name] = ready
    return list(done.values())
