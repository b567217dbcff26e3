"""Common subexpression elimination."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.extension import names

from ....graph import Graph
from ....graph_module import GraphModule
from ....node import Node
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]


def get_CSE_banned_ops() -> set[Any]:  # PyTorch's name
    """Return the operators whose calls may differ although their arguments are equal: those that draw random numbers."""
    return {getattr(torch.ops.aten, name) for name in names(random=True) if hasattr(torch.ops.aten, name)}


class CSEPass(PassBase):
    """Merge calls of the same function with equal arguments. A graph with in-place operators remains unchanged.

    Args:
        banned_ops: operators whose calls are never merged; random operators never are.

    >>> from flambeau.fx.passes.dialect.common.cse_pass import CSEPass
    >>> result = CSEPass()(torch.fx.symbolic_trace(lambda x: torch.sin(x) + torch.sin(x)))
    >>> [node.name for node in result.graph_module.graph.nodes]
    ['x', 'sin', 'add', 'output']
    """

    def __init__(self, banned_ops: Iterable[Any] | None = None) -> None:
        self.banned_ops = set(banned_ops or ())

    def call(self, graph_module: nn.Module) -> PassResult:
        """Return a module with a graph in which equal calls are merged.

        Args:
            graph_module: the module with the graph.
        """
        original: Any = graph_module.graph
        if any(node.op.startswith("call") and node.is_impure(impure_random=False) for node in original.nodes):
            return PassResult(graph_module, False)  # writing to one of two merged tensors would change the other
        graph, copies, calls = Graph(), dict[Node, Node](), dict[Any, Node]()
        for node in original.nodes:
            key = self._key(node, copies)
            if key in calls:
                copies[node] = calls[key]
                continue
            copies[node] = graph.node_copy(node, copies.__getitem__)
            if key is not None:
                calls[key] = copies[node]
        graph._codegen, graph._tracer_cls = original._codegen, original._tracer_cls
        return PassResult(GraphModule(graph_module, graph), len(graph.nodes) < len(original.nodes))

    def _key(self, node: Node, copies: dict[Node, Node]) -> Any:
        """Return a value that two nodes share if they can be merged, or None if the node must be kept."""
        if node.op not in ("call_function", "call_method", "get_attr") or node.is_impure():
            return None
        if getattr(node.target, "overloadpacket", node.target) in self.banned_ops:
            return None
        key = (node.op, node.target, _hashable(node.args, copies), _hashable(node.kwargs, copies))
        try:
            hash(key)
        except TypeError:  # a constant that cannot be hashed
            return None
        return key


def _hashable(value: Any, copies: dict[Node, Node]) -> Any:
    """Return an argument as nested tuples with the types of constants, since 1, 1.0 and True are equal."""
    if isinstance(value, Node):
        return copies[value]
    if isinstance(value, (list, tuple)):
        return type(value), *(_hashable(element, copies) for element in value)
    if isinstance(value, dict):
        return dict, *((key, _hashable(element, copies)) for key, element in value.items())
    if isinstance(value, slice):
        return slice, *(_hashable(element, copies) for element in (value.start, value.stop, value.step))
    return type(value), value
