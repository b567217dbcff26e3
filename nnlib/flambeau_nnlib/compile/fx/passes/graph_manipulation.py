"""`torch.fx.passes.graph_manipulation`: replace the targets of nodes, and compute the memory that nodes need."""

from __future__ import annotations

from typing import NamedTuple

import flambeau as torch

from ..graph_module import GraphModule
from ..node import Node, Target
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with", "size_bytes"]


class size_bytes(NamedTuple):
    """The memory of a node in bytes.

    Attributes:
        output_size: the size of its result.
        total_size: the size of its result and, for a module, its parameters.
    """

    output_size: int
    total_size: int


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target) -> None:
    """Replace the kind and the target of all nodes that have a given kind and target.

    Args:
        fx_module: the module with the graph; it is modified.
        old_op, old_target: the kind and target to replace.
        new_op, new_target: the new kind and target.

    >>> import operator
    >>> from flambeau.fx.passes.graph_manipulation import replace_target_nodes_with
    >>> traced = torch.fx.symbolic_trace(lambda a, b: a + b)
    >>> replace_target_nodes_with(traced, "call_function", operator.add, "call_function", operator.mul)
    >>> traced(2, 5)
    10
    """
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Store the memory of each node as its attribute `size_bytes`.

    Args:
        fx_module: the module with the graph.
        args: sample inputs, from which shapes are computed. None if `ShapeProp` has computed the shapes.

    >>> from flambeau.fx.passes.graph_manipulation import get_size_of_all_nodes
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4)))
    >>> get_size_of_all_nodes(traced, [torch.ones(1, 4)])
    >>> [tuple(node.size_bytes) for node in traced.graph.nodes if node.op != "output"]
    [(16, 16), (16, 96)]
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]  # PyTorch's name


def get_tensor_meta(node: Node) -> TensorMetadata:
    """Return the metadata that `ShapeProp` has stored in a node.

    Raises:
        RuntimeError: the node has no metadata.
    """
    metadata: TensorMetadata | None = node.meta.get("tensor_meta")
    if not metadata:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return metadata


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """Return the memory of a node. Parameters are counted with the item size of the result.

    Args:
        fx_module: the module with the graph.
        node: a node that `ShapeProp` has visited.
    """
    metadata = get_tensor_meta(node)
    parameters = fx_module.get_submodule(str(node.target)).parameters() if node.op == "call_module" else ()
    output = metadata.shape.numel() * metadata.dtype.itemsize
    return size_bytes(output, output + sum(parameter.numel() for parameter in parameters) * metadata.dtype.itemsize)
