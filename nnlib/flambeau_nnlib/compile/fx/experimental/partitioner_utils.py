"""`torch.fx.experimental.partitioner_utils`: partitions of a graph, and the cost model that estimates how long they run.

Sizes of nodes are those that `torch.fx.passes.graph_manipulation.get_size_of_all_nodes` stores.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

from ..node import Node
from ..passes.graph_manipulation import size_bytes

__all__ = [
    "Device", "NodeLatency", "Partition", "PartitionLatency", "PartitionMode", "PartitionerConfig", "get_comm_latency_between",
    "get_extra_size_of", "get_latency_of_one_partition", "get_latency_of_partitioned_graph",
    "get_partition_to_latency_mapping",
]  # fmt: skip

_VALUES = ("placeholder", "get_attr")  # nodes without computation, which belong to every partition that reads them


class Partition:
    """A part of a graph that runs on one device, or on several devices in copies.

    Attributes:
        nodes: its nodes, including the inputs and attributes that they read.
        partition_id: its number.
        parents, children: the partitions whose values it reads, and that read its values.
        bfs_level: the length of the longest path from a partition without parents.
        used_mem_bytes: the memory of its nodes and of the values that they read.
        logical_device_ids: the devices that it runs on.
    """

    def __init__(self, partition_id: int) -> None:
        self.nodes: set[Node] = set()
        self.partition_id = partition_id
        self.parents: set[Partition] = set()
        self.children: set[Partition] = set()
        self.bfs_level = -1
        self.used_mem_bytes = 0
        self.logical_device_ids: list[int] = []

    def __str__(self) -> str:
        return str(self.partition_id)

    def recalculate_mem_size(self) -> None:
        """Compute `used_mem_bytes`."""
        self.used_mem_bytes = sum(get_extra_size_of(node, self.nodes) for node in self.nodes)

    def add_node(self, node: Node) -> None:
        """Add a node, and the inputs and attributes that it reads."""
        self.nodes |= {node, *(source for source in node.all_input_nodes if source.op in _VALUES)}
        self.recalculate_mem_size()

    def remove_node(self, node: Node) -> None:
        """Remove a node, and the inputs and attributes that no other node of the partition reads."""
        if node in self.nodes:
            self.nodes.remove(node)
            for source in node.all_input_nodes:
                if source.op in _VALUES and self.nodes.isdisjoint(source.users):
                    self.nodes.discard(source)
            self.recalculate_mem_size()


class Device(NamedTuple):
    """A device.

    Attributes:
        name: its name.
        available_mem_bytes: its memory.
        logical_id: its number.
    """

    name: str
    available_mem_bytes: int
    logical_id: int


class NodeLatency(NamedTuple):
    """How long a node runs.

    Attributes:
        mem_latency_sec: the time to move its data.
        computer_latency_sec: the time to compute. The longer of the two counts.
    """

    mem_latency_sec: float
    computer_latency_sec: float


class PartitionLatency(NamedTuple):
    """How long a partition runs: the sums over the nodes on its slowest path.

    Attributes:
        mem_latency_sec, computer_latency_sec: see `NodeLatency`.
        overall_latency_sec: the sum of the longer of the two.
    """

    mem_latency_sec: float
    computer_latency_sec: float
    overall_latency_sec: float


class PartitionMode(Enum):
    """How `Partitioner` partitions a graph; see its methods `{mode}_partition`."""

    size_based = 0
    sparse_nn = 1
    cost_aware = 2
    kl_based = 3
    aot_based = 4


class PartitionerConfig(NamedTuple):
    """The options of `Partitioner`.

    Attributes:
        devices: the devices.
        mode: how to partition.
        transfer_rate_bytes_per_sec, node_to_latency_mapping: the cost model of `cost_aware` and `kl_based`.
        node_to_partition_mapping, partition_to_logical_device_mapping: the partitions of `aot_based`.
        saturate_host: run copies of the partitions on unused devices.
    """

    devices: list[Device]
    mode: PartitionMode = PartitionMode.size_based
    transfer_rate_bytes_per_sec: float = 0.0
    node_to_latency_mapping: dict[Node, NodeLatency] = {}
    node_to_partition_mapping: dict[Node, int] = {}
    partition_to_logical_device_mapping: dict[int, list[int]] = {}
    saturate_host: bool = False


def get_extra_size_of(node: Node, nodes: Collection[Node]) -> int:
    """Return the memory that a node adds to a set of nodes: its own, and its arguments' that are not in the set.

    Raises:
        RuntimeError: a node has no `size_bytes`.
    """
    inputs = sum(_size(source).output_size for source in node.all_input_nodes if source not in nodes)
    return inputs + _size(node).total_size


def _size(node: Node) -> size_bytes:
    size: size_bytes | None = getattr(node, "size_bytes", None)
    if size is None:
        raise RuntimeError("node has no size_bytes attr")
    return size


def get_latency_of_one_partition(partition: Partition, node_to_latency_mapping: dict[Node, NodeLatency]) -> PartitionLatency:
    """Return how long a partition runs: the time of its slowest path.

    Args:
        partition: the partition.
        node_to_latency_mapping: how long each of its calls runs.
    """
    slowest = PartitionLatency(0.0, 0.0, 0.0)
    ends: dict[Node, PartitionLatency] = {}  # {node: the slowest path that ends with it}
    for node in sorted(partition.nodes):
        if node.op in _VALUES:
            continue
        before = [ends[source] for source in node.all_input_nodes if source in ends]
        memory, compute, overall = max(before, key=_overall, default=PartitionLatency(0.0, 0.0, 0.0))
        own = node_to_latency_mapping[node]
        ends[node] = PartitionLatency(memory + own.mem_latency_sec, compute + own.computer_latency_sec, overall + max(own))
        slowest = max(slowest, ends[node], key=_overall)
    return slowest


def _overall(latency: PartitionLatency) -> float:
    return latency.overall_latency_sec


def get_partition_to_latency_mapping(
    partitions: list[Partition], node_to_latency_mapping: dict[Node, NodeLatency]
) -> dict[Partition, PartitionLatency]:
    """Return how long each partition runs; see `get_latency_of_one_partition`."""
    return {partition: get_latency_of_one_partition(partition, node_to_latency_mapping) for partition in partitions}


def get_comm_latency_between(
    parent_partition: Partition, child_partition: Partition, transfer_rate_bytes_per_sec: float
) -> float:
    """Return how long the values that a partition reads from another one are transferred. 0 on the same devices."""
    if parent_partition.logical_device_ids == child_partition.logical_device_ids != []:
        return 0.0
    sources = {source for node in child_partition.nodes for source in node.all_input_nodes}
    return sum(_size(source).output_size for source in sources & parent_partition.nodes) / transfer_rate_bytes_per_sec


def get_latency_of_partitioned_graph(
    partitions: list[Partition],
    partition_to_latency_mapping: dict[Partition, PartitionLatency],
    transfer_rate_bytes_per_sec: float,
) -> float:
    """Return how long a graph runs: the time of the slowest path of partitions, with the transfers between them.

    Args:
        partitions: the partitions, without cycles.
        partition_to_latency_mapping: how long each partition runs.
        transfer_rate_bytes_per_sec: how fast values are transferred between devices.
    """
    remaining: dict[Partition, float] = {}  # {partition: the slowest path that begins with it}

    def time_from(partition: Partition) -> float:
        if partition not in remaining:
            after = (
                get_comm_latency_between(partition, child, transfer_rate_bytes_per_sec) + time_from(child)
                for child in partition.children
            )
            remaining[partition] = partition_to_latency_mapping[partition].overall_latency_sec + max(after, default=0.0)
        return remaining[partition]

    return max((time_from(partition) for partition in partitions if not partition.parents), default=0.0)
