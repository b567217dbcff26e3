"""`torch.fx.experimental.const_fold`: compute the parts of a graph that do not depend on its inputs once."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import nn

from ..graph import Graph
from ..graph_module import GraphModule, symbolic_trace
from ..node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A `GraphModule` that computes the constants of its graph at the first call.

    Args:
        root, graph: see `GraphModule`.
        const_subgraph_module: the module that computes the constants, or None if there are no constants.
        fx_const_folded_attrs_name: the attribute that stores the constant; several constants are stored as `{name}_0`,
            `{name}_1`, ...
        device_for_folded_attrs: the device of the constants.

    Attributes:
        has_folding_been_run: whether the constants have been computed.
    """

    def __init__(
        self,
        root: nn.Module,
        graph: Graph,
        const_subgraph_module: nn.Module | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: Any = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = const_subgraph_module
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs
        self.has_folding_been_run = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants and store them as attributes."""
        self.has_folding_been_run = True
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        results = self.const_subgraph_module()
        for name, value in zip(_attribute_names(self.fx_const_folded_attrs_name, len(results)), results, strict=True):
            setattr(self, name, _as_parameter(value, self.device_for_folded_attrs))


def get_unique_attr_name_in_module(mod_traced: nn.Module, name: str) -> str:
    """Return a name that is not an attribute of the module: `name`, or `name` with a number.

    >>> from flambeau.fx.experimental.const_fold import get_unique_attr_name_in_module
    >>> get_unique_attr_name_in_module(torch.nn.Linear(2, 1), "weight")
    'weight_1'
    """
    candidates = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(1)))
    return next(candidate for candidate in candidates if not hasattr(mod_traced, candidate))


def split_const_subgraphs(
    module: nn.Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: Any = "cpu",
) -> FoldedGraphModule:
    """Move the nodes of a graph that depend only on attributes to a separate graph, which runs once.

    Args:
        module: a `GraphModule`, or a module to trace.
        skip_folding_node_fn: returns True for nodes that must not be moved.
        device_for_folded_attrs: the device of the computed constants.

    Example:
        >>> from flambeau.fx.experimental.const_fold import split_const_subgraphs
        >>> class Scale(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.log_scale = torch.nn.Parameter(torch.zeros(2))
        ...     def forward(self, x):
        ...         return x * self.log_scale.exp()
        >>> folded = split_const_subgraphs(Scale())
        >>> [node.op for node in folded.graph.nodes]
        ['placeholder', 'get_attr', 'call_function', 'output']
        >>> folded(torch.ones(2))
        tensor([1., 1.], grad_fn=<MulBackward0>)
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced.graph, skip_folding_node_fn)
    folded = [node for node in constant if node.op != "get_attr" and not constant.keys() >= node.users.keys()]
    if not folded:
        return FoldedGraphModule(traced, copy.deepcopy(traced.graph), device_for_folded_attrs=device_for_folded_attrs)
    prefix = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    names = dict(zip(folded, _attribute_names(prefix, len(folded)), strict=True))
    root = copy.copy(traced)
    for name in names.values():
        setattr(root, name, nn.Parameter(torch.empty(0), requires_grad=False))
    graph, copies = Graph(), dict[Node, Node]()
    graph._codegen = traced.graph._codegen
    for node in traced.graph.nodes:
        if node in names:
            copies[node] = graph.get_attr(names[node])
            copies[node].meta = node.meta.copy()
        elif node not in constant or not constant.keys() >= node.users.keys():
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return FoldedGraphModule(root, graph, _constant_module(traced, constant, folded), prefix, device_for_folded_attrs)


def _constant_nodes(graph: Graph, skip: Callable[[Node], bool] | None) -> dict[Node, None]:
    """Return the nodes that depend only on attributes and have no side effects."""
    constant: dict[Node, None] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or not constant.keys() >= set(node.all_input_nodes):
            continue
        if node.op == "get_attr" or not (node.is_impure() or (skip is not None and skip(node))):
            constant[node] = None
    return constant


def _constant_module(traced: GraphModule, constant: dict[Node, None], folded: list[Node]) -> GraphModule:
    """Return a module that computes the constants as a tuple."""
    graph, copies = Graph(), dict[Node, Node]()
    for node in constant:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in folded))
    graph.eliminate_dead_code()
    return GraphModule(traced, graph)


def _attribute_names(prefix: str, count: int) -> list[str]:
    return [prefix] if count == 1 else [f"{prefix}_{number}" for number in range(count)]


def _as_parameter(value: Any, device: Any) -> Any:
    """Return a tensor as a parameter on the device; other values remain as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    return nn.Parameter(value.detach().clone().to(device), requires_grad=value.requires_grad)
