"""`SubgraphMatcher`: find subgraphs that match a pattern."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import flambeau as torch
from flambeau.utils import pytree

from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node
from .fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A match of a pattern in a graph.

    Attributes:
        anchors: the nodes of the pattern where matching starts: the inputs of its output node.
        nodes_map: maps nodes of the pattern to nodes of the graph.
        placeholder_nodes: the nodes of the graph that match the inputs of the pattern.
        returning_nodes: the nodes of the graph that match the outputs of the pattern.
        name_node_map: maps names to nodes of the graph.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes), dict(self.name_node_map)
        )


class SubgraphMatcher:
    """Find subgraphs that perform the same operations as a pattern.

    Args:
        pattern: the pattern, as a graph. Each input matches any value, but the same one wherever it is used.
        match_output: also match the output node, so that only the end of a graph matches.
        match_placeholder: let inputs of the pattern match only inputs of the graph.
        remove_overlapping_matches: drop matches that share nodes with an earlier match.
        ignore_literals: let numbers and strings in the pattern match any other literals.

    >>> pattern = torch.fx.symbolic_trace(lambda a: torch.relu(a + 1)).graph
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(torch.relu(x + 1) + 1)).graph
    >>> len(SubgraphMatcher(pattern).match(graph))
    2
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be used with a pattern that has unused nodes: every parameter has to be used, "
                    f"but {node} is not"
                )
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        ends = [node for node in output.all_input_nodes if len(node.users) == 1]
        self.pattern_anchors = [output] if match_output else ends

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the matches in a graph, in graph order.

        Args:
            graph: the graph.
            node_name_match: only start at nodes whose name contains this string.
        """
        partial = [InternalMatch(anchors=self.pattern_anchors)]
        for anchor in self.pattern_anchors:
            starts = [
                node for node in graph.nodes if node_name_match in node.name and self._same_operation(anchor, node)
            ]  # fmt: skip
            extended = []
            for start in starts:
                for match in partial:
                    candidate = copy.copy(match)
                    if self._match_nodes(anchor, start, candidate):
                        extended.append(candidate)
            partial = extended
        matches = [self._finished(match) for match in partial if self._can_be_replaced(match.nodes_map)]
        return _drop_overlapping(matches) if self.remove_overlapping_matches else matches

    def _finished(self, match: InternalMatch) -> InternalMatch:
        match.placeholder_nodes = [match.nodes_map[node] for node in self.pattern_placeholder_nodes if node in match.nodes_map]
        match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]
        return match

    def _can_be_replaced(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether nodes outside the match use only values that the pattern returns, and inputs do not depend on these."""
        computed = [node for pattern_node, node in nodes_map.items() if pattern_node.op not in ("placeholder", "output")]
        if not validate_partition(computed):
            return False
        returned = {nodes_map[node] for node in self.pattern_returning_nodes if node in nodes_map}
        inputs = {id(nodes_map[node]) for node in self.pattern_placeholder_nodes if node in nodes_map}
        inside = {node for node in nodes_map.values() if isinstance(node, Node)}
        return all(
            node in returned or id(node) in inputs or all(user in inside for user in node.users)
            for pattern_node, node in nodes_map.items()
            if isinstance(node, Node) and pattern_node.op != "output"
        )

    def _same_operation(self, pattern_node: Node, node: Node) -> bool:
        """Whether two nodes perform the same operation, regardless of their arguments."""
        if not self.match_placeholder and pattern_node.op == "placeholder":
            return True
        if pattern_node.op != node.op:
            return False
        if pattern_node.op in ("placeholder", "output"):
            return True
        if pattern_node.op == "get_attr":
            return self._same_attribute(pattern_node, node)
        if (
            pattern_node.op == "call_module"
            and pattern_node.graph.owning_module is not None
            and node.graph.owning_module is not None
        ):
            roots = pattern_node.graph.owning_module, node.graph.owning_module
            kinds = [type(_get_attr(root, call.target)) for root, call in zip(roots, (pattern_node, node), strict=True)]
            return kinds[0] is kinds[1]
        return bool(pattern_node.target == node.target)

    @staticmethod
    def _same_attribute(pattern_node: Node, node: Node) -> bool:
        roots = pattern_node.graph.owning_module, node.graph.owning_module
        if roots[0] is None or roots[1] is None:
            return bool(pattern_node.target == node.target)
        ours, theirs = _get_attr(roots[0], pattern_node.target), _get_attr(roots[1], node.target)
        return isinstance(ours, torch.Tensor) and isinstance(theirs, torch.Tensor)

    def _match_nodes(self, pattern_node: Node, node: Node, match: InternalMatch) -> bool:
        if pattern_node in match.nodes_map:
            return match.nodes_map[pattern_node] is node
        if any(matched is node for matched in match.nodes_map.values()) and pattern_node.op != "placeholder":
            return False
        if not self._same_operation(pattern_node, node):
            return False
        saved = dict(match.nodes_map)
        match.nodes_map[pattern_node] = node
        if pattern_node.op == "placeholder" or self._match_arguments(pattern_node, node, match):
            return True
        match.nodes_map = saved
        return False

    def _match_arguments(self, pattern_node: Node, node: Node, match: InternalMatch) -> bool:
        args, kwargs = pattern_node.args, pattern_node.kwargs
        other_args, other_kwargs = node.args, node.kwargs
        if len(args) != len(other_args) or list(kwargs) != list(other_kwargs):
            normalized = [call.normalized_arguments(call.graph.owning_module, None, None, True) for call in (pattern_node, node)]
            if None in normalized:
                return False
            (args, kwargs), (other_args, other_kwargs) = normalized  # type: ignore[misc]
        ours, our_spec = pytree.tree_flatten([_to_mutable(list(args)), _to_mutable(dict(kwargs))])
        theirs, their_spec = pytree.tree_flatten([_to_mutable(list(other_args)), _to_mutable(dict(other_kwargs))])
        if our_spec != their_spec or len(ours) != len(theirs):
            return False
        return all(self._match_argument(one, other, match) for one, other in zip(ours, theirs, strict=True))

    def _match_argument(self, pattern_arg: Any, arg: Any, match: InternalMatch) -> bool:
        if isinstance(pattern_arg, Node):
            if isinstance(arg, Node):
                return self._match_nodes(pattern_arg, arg, match)
            return self._match_literal(pattern_arg, arg, match)
        if isinstance(arg, Node):
            return False
        return self.ignore_literals or (type(pattern_arg) is type(arg) and pattern_arg == arg)

    @staticmethod
    def _match_literal(pattern_node: Node, value: Any, match: InternalMatch) -> bool:
        """Match an input of the pattern with a literal value."""
        if pattern_node.op != "placeholder":
            return False
        if pattern_node in match.nodes_map:
            return bool(match.nodes_map[pattern_node] == value)
        match.nodes_map[pattern_node] = value
        return True


def _to_mutable(value: Any) -> Any:
    """Convert immutable lists and dictionaries in arguments to ordinary ones, which pytrees support."""
    if isinstance(value, list):
        return [_to_mutable(element) for element in value]
    if isinstance(value, tuple):
        return tuple(_to_mutable(element) for element in value)
    if isinstance(value, dict):
        return {key: _to_mutable(element) for key, element in value.items()}
    return value


def _drop_overlapping(matches: Iterable[InternalMatch]) -> list[InternalMatch]:
    """Drop matches that share nodes other than inputs with an earlier match."""
    taken: set[Node] = set()
    kept = []
    for match in matches:
        own = {
            node
            for pattern_node, node in match.nodes_map.items()
            if pattern_node.op not in ("placeholder", "output") and isinstance(node, Node)
        }
        if not own & taken:
            kept.append(match)
            taken |= own
    return kept
