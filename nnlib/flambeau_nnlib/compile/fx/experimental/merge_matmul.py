"""`torch.fx.experimental.merge_matmul`: compute matrix products with the same right operand in one call."""

from __future__ import annotations

import itertools
import operator

import flambeau as torch
from flambeau import nn

from ..graph_module import GraphModule, symbolic_trace
from ..node import Node
from ..passes.tools_common import legalize_graph

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: torch.Tensor, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Split a tensor along its first dimension, into parts with the sizes of other tensors.

    Args:
        result: a tensor of shape ``(N_1 + ... + N_k, ...)``.
        inputs: tensors of shapes ``(N_i, ...)``.

    >>> from flambeau.fx.experimental.merge_matmul import split_result_tensors
    >>> split_result_tensors(torch.arange(3), [torch.ones(1), torch.ones(2)])
    (tensor([0]), tensor([1, 2]))
    """
    return torch.split(result, [tensor.shape[0] for tensor in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node is another node, or depends on it.

    Args:
        a, b: nodes of a graph.
        search_depth: the longest path to follow. The result is True if a longer path remains.
    """
    if a is b:
        return True
    if search_depth == 0:
        return bool(a.all_input_nodes)
    return any(may_depend_on(source, b, search_depth - 1) for source in a.all_input_nodes)


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether no node may depend on another one; see `may_depend_on`."""
    return not any(may_depend_on(first, second) for first, second in itertools.permutations(nodes, 2))


def merge_matmul(in_mod: nn.Module) -> GraphModule:
    """Trace a module and merge calls of `torch.matmul` that have the same right operand.

    The left operands are concatenated along the first dimension: ``cat([a, b]) @ c`` replaces ``a @ c`` and ``b @ c``.

    Args:
        in_mod: the module. The left operands of its products must be matrices.

    Example:
        >>> from flambeau.fx.experimental.merge_matmul import merge_matmul
        >>> class Products(torch.nn.Module):
        ...     def forward(self, a, b, c):
        ...         return torch.matmul(a, c).sum() + torch.matmul(b, c).sum()
        >>> merged = merge_matmul(Products())
        >>> sum(node.target is torch.matmul for node in merged.graph.nodes)
        1
        >>> merged(torch.ones(2, 2), torch.ones(1, 2), torch.ones(2, 1))
        tensor(6.)
    """
    traced: GraphModule = symbolic_trace(in_mod)
    graph, products = traced.graph, dict[object, list[Node]]()
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul and len(node.args) == 2:
            right = node.args[1]
            key = right.target if right.op == "get_attr" else right  # the program may read an attribute several times
            products.setdefault(key, []).append(node)
    with graph.inserting_before(graph.output_node()):
        for nodes in products.values():
            if len(nodes) > 1 and are_nodes_independent(nodes):
                _merge(nodes)
    legalize_graph(traced)  # users of a product may be earlier than the other left operands
    traced.recompile()
    return traced


def _merge(nodes: list[Node]) -> None:
    """Replace matrix products with the same right operand by parts of one product."""
    graph, lefts = nodes[0].graph, [node.args[0] for node in nodes]
    product = graph.call_function(torch.matmul, (graph.call_function(torch.cat, (lefts,)), nodes[0].args[1]))
    parts = graph.call_function(split_result_tensors, (product, lefts))
    for number, node in enumerate(nodes):
        node.replace_all_uses_with(graph.call_function(operator.getitem, (parts, number)))
        graph.erase_node(node)
