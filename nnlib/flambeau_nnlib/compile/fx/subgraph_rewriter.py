"""Replace subgraphs that match a pattern."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from flambeau import nn

from .graph import Graph
from .graph_module import GraphModule, _get_attr, _has_attr, symbolic_trace
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Pattern = Callable[..., Any] | Graph | GraphModule
MatchFilter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A subgraph that was replaced.

    Attributes:
        anchor: the node of the pattern where matching started.
        nodes_map: maps nodes of the pattern to nodes of the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """A subgraph that was replaced, and its replacement.

    Attributes:
        anchor: the node of the pattern where matching started.
        nodes_map: maps nodes of the pattern to nodes of the graph.
        replacements: the new nodes.
    """

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Replace all subgraphs that match a pattern.

    Subgraphs match by their operations and data flow, not by names. Matches are found in graph order; of overlapping matches,
    only the first is replaced.

    Args:
        gm: the module whose graph is modified.
        pattern: a function, graph or module. It must use all its parameters.
        replacement: a function, graph or module with the same number of parameters.

    Returns:
        The matches that were replaced.

    >>> traced = torch.fx.symbolic_trace(lambda x, y: torch.relu(x + y).sum())
    >>> matches = torch.fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.maximum(a, b))
    >>> print(traced.code.strip())
    def forward(self, x, y):
        maximum = torch.maximum(x, y);  x = y = None
        sum_1 = maximum.sum();  maximum = None
        return sum_1
    """
    return [Match(replaced.anchor, replaced.nodes_map) for replaced in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace all subgraphs that match a pattern and pass the filters.

    Args:
        gm: the module whose graph is modified.
        pattern, replacement: as for `replace_pattern`.
        match_filters: functions of the match, the graph and the pattern's graph that return whether to replace the match.
        ignore_literals: let numbers and strings in the pattern match any other literals.
        replacement_callback: returns the replacement for a match, instead of `replacement`.
        node_name_match: only match nodes whose name contains this string.

    Returns:
        The matches with their replacements.
    """
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    common = None if replacement is None else _graph_of(replacement)
    replaced: dict[Node, Node] = {}
    done = []
    found = matcher.match(graph, node_name_match)
    for match in [candidate for candidate in found if all(keep(candidate, graph, pattern_graph) for keep in match_filters or ())]:
        new = common if replacement_callback is None else replacement_callback(match, graph, pattern_graph)
        assert new is not None
        done.append(_replace(graph, match, pattern_graph, new, replaced))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _copy_missing_attributes(gm, replacement)
    return done


def _graph_of(given: Pattern) -> Graph:
    if isinstance(given, GraphModule):
        return given.graph
    return given if isinstance(given, Graph) else symbolic_trace(given).graph


def _replace(
    graph: Graph, match: InternalMatch, pattern: Graph, replacement: Graph, replaced: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    match.nodes_map = {
        key: replaced.get(value, value) if isinstance(value, Node) else value for key, value in match.nodes_map.items()
    }
    match.placeholder_nodes = [replaced.get(node, node) if isinstance(node, Node) else node for node in match.placeholder_nodes]
    copies: dict[Node, Any] = dict(zip(inputs, match.placeholder_nodes, strict=True))
    with graph.inserting_before(_first_user(graph, match.returning_nodes)):
        result = graph.graph_copy(replacement, copies)
    results = (result,) if isinstance(result, Node) else tuple(result)
    if len(match.returning_nodes) != len(results):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    for old, new in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(new)
        replaced[old] = new
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    added = [node for node in copies.values() if not any(node is placeholder for placeholder in match.placeholder_nodes)]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _first_user(graph: Graph, nodes: list[Node]) -> Node:
    """Return the first node that uses one of the given nodes, or else the node after the last of them."""
    users = {user for node in nodes for user in node.users}
    for node in graph.nodes:
        if node in users:
            return node
    return max(nodes).next


def _copy_missing_attributes(gm: GraphModule, replacement: nn.Module) -> None:
    """Copy the attributes that new nodes refer to from the replacement module."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, node.target):
            continue
        if not _has_attr(replacement, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                "referenced attribute does not exist in the replacement GraphModule"
            )
        value = copy.deepcopy(_get_attr(replacement, node.target))
        if isinstance(value, nn.Module):
            gm.add_submodule(node.target, value)
        else:
            setattr(gm, node.target, value)
    gm.graph.lint()
