"""`torch.fx.passes.infra.partitioner`: find the parts of a graph that a compiler supports."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Sequence

from ..._names import qualified_name
from ...graph_module import GraphModule
from ...node import Node
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import forms_cycle, fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A group of nodes.

    Args:
        id: its number.
        nodes: its nodes.
        node_orders: a number for each node.
    """

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = (
            dict.fromkeys(nodes or ()) if node_orders is None else dict(zip(nodes or (), node_orders, strict=True))
        )

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node."""
        del self.nodes[node]

    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Group the nodes that a compiler supports, and replace each group by a submodule.

    Args:
        graph_module: the module with the graph.
        operator_support: decides whether a node is supported.
        allows_single_node_partition: allow groups with only one operation.
        non_compute_ops: the names of functions that do not count as operations, in addition to `view` and `getitem`.
        allowed_single_node_partition_ops: the names of functions that may be the only operation of a group.
        skip_horizontal_fusion: group only nodes that use each other's values.

    Example:
        >>> from flambeau.fx.passes.infra.partitioner import CapabilityBasedPartitioner
        >>> from flambeau.fx.passes.operator_support import create_op_support
        >>> traced = torch.fx.symbolic_trace(lambda x: (x.sin() + x.cos()).tan())
        >>> support = create_op_support(lambda modules, node: node.op == "call_method" and node.name != "tan")
        >>> partitioner = CapabilityBasedPartitioner(traced, support, allows_single_node_partition=True)
        >>> [node.name for node in partitioner.partition_and_fuse().graph.nodes]
        ['x', 'fused_0', 'getitem', 'getitem_1', 'add', 'tan', 'output']
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """Return groups of supported nodes that can become submodules. The group with the last supported node comes first."""
        groups: dict[int, set[Node]] = {}
        group_of: dict[Node, set[Node]] = {}
        modules, nodes = dict(self.graph_module.named_modules()), list(self.graph_module.graph.nodes)
        for number, node in enumerate(reversed(nodes)):
            if not self.operator_support.is_node_supported(modules, node):
                continue
            group = {node}
            for other in sorted(groups):
                merged = group | groups[other]
                is_related = not self.skip_horizontal_fusion or not groups[other].isdisjoint(node.users)
                if is_related and not forms_cycle(merged, group_of):
                    del groups[other]
                    group, number = merged, min(number, other)
            groups[number] = group
            group_of.update(dict.fromkeys(group, group))
        _move_items(nodes, group_of)
        proposed = [[node for node in nodes if node in groups[number]] for number in sorted(groups)]
        if not self.allows_single_node_partition:
            proposed = [members for members in proposed if self._has_several_operations(members)]
        position = {node: number for number, node in enumerate(reversed(nodes))}
        return [
            Partition(number, members, [position[node] for node in members])
            for number, members in enumerate(filter(None, proposed))
        ]

    def _has_several_operations(self, nodes: list[Node]) -> bool:
        """Whether a group has more than one operation, or one that may be the only one."""
        ignored = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        names = [qualified_name(node.target) for node in nodes if node.op == "call_function"]
        is_allowed = not set(self.allowed_single_node_partition_ops).isdisjoint(names)
        return is_allowed or sum(name not in ignored for name in names) > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Replace groups of nodes by submodules; see `fuse_by_partitions`."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Remove calls of `non_compute_ops` from the start and the end of groups."""
        for partition in partitions:
            ignored = [
                node for node in partition.nodes
                if node.op == "call_function" and qualified_name(node.target) in self.non_compute_ops
            ]  # fmt: skip
            for node in itertools.chain(ignored, reversed(ignored)):
                neighbours = (node.all_input_nodes, node.users)
                if node in partition.nodes and any(partition.nodes.keys().isdisjoint(side) for side in neighbours):
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Replace the groups of `propose_partitions` by submodules."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _move_items(nodes: list[Node], group_of: dict[Node, set[Node]]) -> None:
    """Move `getitem` nodes to the group of the tuple that they index, so that no submodule returns a tuple in a tuple."""
    for node in nodes:
        if not all(user.op == "call_function" and user.target is operator.getitem for user in node.users):
            continue
        for user in node.users:
            group_of.pop(user, set()).discard(user)
            if node in group_of:
                group_of[node].add(user)
                group_of[user] = group_of[node]
