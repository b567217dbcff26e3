"""The backward pass of a stage in two parts: first the gradients of its inputs, later those of its weights.

The graph of a stage is cut at the nodes that both parts need, such as the node of a linear layer. The first part computes
the gradients of the inputs and those that arrive at these nodes; the second continues from there to the weights.
See `Zero Bubble Pipeline Parallelism <https://arxiv.org/abs/2401.10241>`_.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau as torch
from flambeau import Tensor
from flambeau.autograd.graph import GradientEdge, get_gradient_edge

__all__ = ["input_gradients"]

Gradients = Sequence["Tensor | None"]
Split = tuple[Gradients, Callable[[], None]]


def input_gradients(outputs: Sequence[Tensor], grads: Gradients, inputs: Sequence[Tensor]) -> Split:
    """Compute the gradients of the inputs.

    Args:
        outputs: outputs of the stage that require gradients, or its loss.
        grads: gradients of the outputs; None for a loss.
        inputs: inputs of the stage that require gradients.

    Returns:
        the gradients, and a function without arguments that adds the gradients of weights to their attribute `grad`.
    """
    if not inputs:
        return [], lambda: torch.autograd.backward(outputs, grads)
    nodes = _nodes(outputs)
    to_inputs = _reaching(nodes, {get_gradient_edge(tensor).node for tensor in inputs})
    cuts = {node: weights for node in nodes if node in to_inputs and (weights := _weights_below(node, to_inputs))}
    all_weights = [id(weight) for weights in cuts.values() for weight in weights]
    if len(set(all_weights)) < len(all_weights) or any(tensor.grad_fn not in to_inputs for tensor in outputs):
        torch.autograd.backward(outputs, grads)  # a weight is used twice, or an output depends on no input
        return [tensor.grad for tensor in inputs], lambda: None
    edges = [edge for edge in _edges(outputs, nodes) if edge.node in cuts]
    found = torch.autograd.grad(outputs, [*inputs, *edges], grads, retain_graph=True, allow_unused=True)
    arrived = [(edge, grad) for edge, grad in zip(edges, found[len(inputs) :], strict=True) if grad is not None]

    def add_weight_gradients() -> None:
        for node, weights in cuts.items():
            parts = [(edge, grad) for edge, grad in arrived if edge.node is node]
            if parts:
                torch.autograd.backward([edge for edge, _ in parts], [grad for _, grad in parts], inputs=weights)

    return found[: len(inputs)], add_weight_gradients


def _nodes(outputs: Sequence[Tensor]) -> list[Any]:
    """Return the nodes of a graph, each after the nodes that its gradient goes to."""
    found: dict[Any, None] = {}
    stack = [(tensor.grad_fn, False) for tensor in outputs]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            found[node] = None
        elif node is not None and node not in found:
            stack.append((node, True))
            stack.extend((child, False) for child, _ in node.next_functions if child is not None and child not in found)
    return list(found)


def _edges(outputs: Sequence[Tensor], nodes: Sequence[Any]) -> list[GradientEdge]:
    """Return the edges of a graph: the outputs of its nodes that are used."""
    used = {(tensor.grad_fn, tensor.output_nr) for tensor in outputs}
    used.update((child, index) for node in nodes for child, index in node.next_functions)
    return [GradientEdge(node, index) for node, index in used if node is not None]


def _reaching(nodes: Sequence[Any], targets: set[Any]) -> set[Any]:
    """Return the nodes from which a target is reached."""
    found = set(targets)
    for node in nodes:
        if any(child in found for child, _ in node.next_functions):
            found.add(node)
    return found


def _weights_below(node: Any, to_inputs: set[Any]) -> list[Tensor]:
    """Return the leaves that are reached from a node without passing a node that leads to an input."""
    stack, seen, weights = [child for child, _ in node.next_functions], set[Any](), []
    while stack:
        child = stack.pop()
        if child is not None and child not in to_inputs and child not in seen:
            seen.add(child)
            if hasattr(child, "variable"):
                weights.append(child.variable)
            stack.extend(below for below, _ in child.next_functions)
    return weights
