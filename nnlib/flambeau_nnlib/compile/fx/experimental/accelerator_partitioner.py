"""`torch.fx.experimental.accelerator_partitioner`: distribute a graph over devices with limited memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from flambeau import nn

from ..graph_module import GraphModule
from ..node import Node
from ..passes.graph_manipulation import get_size_of_all_nodes, get_size_of_node
from ..passes.split_module import split_module
from ..passes.tools_common import CALLABLE_NODE_OPS
from .partitioner_utils import (
    Device,
    NodeLatency,
    Partition,
    PartitionerConfig,
    PartitionMode,
    get_extra_size_of,
    get_latency_of_partitioned_graph,
    get_partition_to_latency_mapping,
)

__all__ = [
    "DAG", "DAGNode", "PartitionResult", "Partitioner", "check_dependency", "combine_two_partitions", "get_bfs_level_partition",
    "get_device_partition_stats", "get_device_to_partitions_mapping", "get_logical_id_to_device",
    "get_node_to_partition_mapping", "reorganize_partitions", "reset_partition_device", "set_parents_and_children",
]  # fmt: skip


class DAGNode:
    """A partition in the graph of partitions.

    Args:
        submodule_node: the node that calls the partition.
        input_nodes: the nodes that it reads.
        output_nodes: the nodes with its results: itself, or one `getitem` for each of several results.
        logical_device_ids: the devices that it runs on.
        size_bytes: its memory.
    """

    def __init__(
        self,
        submodule_node: Node,
        input_nodes: list[Node],
        output_nodes: list[Node],
        logical_device_ids: list[int],
        size_bytes: int,
    ) -> None:
        self.submodule_node, self.input_nodes, self.output_nodes = submodule_node, input_nodes, output_nodes
        self.logical_device_ids, self.size_bytes = logical_device_ids, size_bytes

    def __str__(self) -> str:
        return str(self.submodule_node)


class DAG:
    """The graph of partitions: a list of `DAGNode` in the order in which they run."""

    def __init__(self) -> None:
        self.nodes: list[DAGNode] = []

    def create_node(
        self,
        submodule_node: Node,
        input_nodes: list[Node],
        output_nodes: list[Node],
        logical_devices: list[int],
        size_bytes: int,
    ) -> None:
        """Append a partition; see `DAGNode`."""
        self.nodes.append(DAGNode(submodule_node, input_nodes, output_nodes, logical_devices, size_bytes))


class PartitionResult(NamedTuple):
    """The result of `Partitioner.partition_graph`.

    Attributes:
        dag: the graph of partitions.
        module_with_submodules: a module with a submodule for each partition.
    """

    dag: DAG
    module_with_submodules: GraphModule


def reset_partition_device(partitions: list[Partition]) -> None:
    """Remove the devices of all partitions."""
    for partition in partitions:
        partition.logical_device_ids = []


def combine_two_partitions(partition_0: Partition, partition_1: Partition, partitions: list[Partition]) -> None:
    """Replace two partitions in a list by one with the nodes of both, at the end, and number all partitions again."""
    combined = Partition(len(partitions))
    combined.nodes = partition_0.nodes | partition_1.nodes
    combined.recalculate_mem_size()
    partitions.append(combined)
    partitions.remove(partition_0)
    partitions.remove(partition_1)
    reorganize_partitions(partitions)


def set_parents_and_children(partitions: list[Partition]) -> None:
    """Set the parents and children of all partitions."""
    holders: dict[Node, list[Partition]] = {}
    for partition in partitions:
        partition.parents, partition.children = set(), set()
        for node in partition.nodes:
            holders.setdefault(node, []).append(partition)
    for partition in partitions:
        for node in partition.nodes:
            for child in itertools.chain.from_iterable(holders.get(user, ()) for user in node.users):
                if node not in child.nodes:
                    partition.children.add(child)
                    child.parents.add(partition)


def reorganize_partitions(partitions: list[Partition]) -> None:
    """Number partitions by their place in a list, and set their parents and children."""
    for number, partition in enumerate(partitions):
        partition.partition_id = number
    set_parents_and_children(partitions)


def get_bfs_level_partition(partitions: list[Partition]) -> None:
    """Set `bfs_level` of all partitions: the length of the longest path from a partition without parents."""
    current = {partition for partition in partitions if not partition.parents}
    for level in range(len(partitions)):  # no path without cycles is longer
        for partition in current:
            partition.bfs_level = level
        current = {child for partition in current for child in partition.children}


def get_node_to_partition_mapping(partitions: list[Partition]) -> dict[Node, int]:
    """Return the number of the partition of each node."""
    return {node: partition.partition_id for partition in partitions for node in partition.nodes}


def get_logical_id_to_device(devices: list[Device]) -> dict[int, Device]:
    """Return devices by their number."""
    return {device.logical_id: device for device in devices}


def get_device_partition_stats(
    partitions: list[Partition], devices: list[Device]
) -> tuple[dict[Device, list[Partition]], dict[Device, int], list[Partition]]:
    """Return the partitions on each device, the free memory of each device, and the partitions without a device."""
    by_id = get_logical_id_to_device(devices)
    held: dict[Device, list[Partition]] = {device: [] for device in devices}
    for partition in partitions:
        for number in partition.logical_device_ids:
            held[by_id[number]].append(partition)
    free = {
        device: device.available_mem_bytes - sum(partition.used_mem_bytes for partition in held[device]) for device in devices
    }
    return held, free, [partition for partition in partitions if not partition.logical_device_ids]


def get_device_to_partitions_mapping(partitions: list[Partition], devices: list[Device]) -> bool:
    """Assign each partition without a device to the device with the least free memory that suffices.

    Returns:
        Whether all partitions have devices.
    """
    held, free, homeless = get_device_partition_stats(partitions, devices)
    for partition in homeless:
        for device in sorted(devices, key=lambda device: free[device]):
            shared = set[Node]().union(*(other.nodes for other in held[device]))
            together = shared | partition.nodes
            needed = sum(get_extra_size_of(node, together) for node in partition.nodes) if shared else partition.used_mem_bytes
            if needed < free[device]:
                held[device].append(partition)
                partition.logical_device_ids.append(device.logical_id)
                free[device] -= needed
                break
        else:
            return False
    return True


def check_dependency(partition: Partition) -> bool:
    """Whether a partition depends on itself through other partitions."""
    seen, waiting = set[Partition](), [partition]
    while waiting:
        new = waiting.pop().children - seen
        if partition in new:
            return True
        seen |= new
        waiting.extend(new)
    return False


class Partitioner:
    """Partition a graph, so that each part fits into the memory of a device.

    Attributes:
        partitions: the partitions.
        node_to_partition: the number of the partition of each node.
        devices: the devices.

    Example:
        >>> from flambeau.fx.experimental.accelerator_partitioner import Partitioner
        >>> from flambeau.fx.experimental.partitioner_utils import Device, PartitionerConfig
        >>> from flambeau.fx.passes.graph_manipulation import get_size_of_all_nodes
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        >>> traced = torch.fx.symbolic_trace(net)
        >>> get_size_of_all_nodes(traced, [torch.ones(1, 4)])
        >>> devices = [Device("first", 150, 0), Device("second", 150, 1)]
        >>> dag, module = Partitioner().partition_graph(traced, net, PartitionerConfig(devices))
        >>> [(str(node), node.logical_device_ids, node.size_bytes) for node in dag.nodes]
        [('submod_0', [0], 112), ('submod_1', [1], 112)]
        >>> torch.equal(module(torch.ones(1, 4)), net(torch.ones(1, 4)))
        True
    """

    def __init__(self) -> None:
        self.partitions: list[Partition] = []
        self.node_to_partition: dict[Node, int] = {}
        self.devices: list[Device] = []

    def partition_graph(
        self, fx_module: GraphModule, torch_module: nn.Module, partitioner_config: PartitionerConfig
    ) -> PartitionResult:
        """Partition a graph. A graph that fits into one device becomes one partition, except with `aot_based`.

        Args:
            fx_module: the module with the graph. `ShapeProp` must have computed the shapes of its values.
            torch_module: the module with the attributes that the graph refers to.
            partitioner_config: the devices and the options.

        Raises:
            RuntimeError: the graph has no operations, or does not fit into the memory of the devices.
        """
        self.graph_module, self.torch_module, self.devices = fx_module, torch_module, partitioner_config.devices
        if not self.devices:
            raise RuntimeError("No devices")
        get_size_of_all_nodes(fx_module)
        if not any(self._calls()):
            raise RuntimeError("No Partition since no operations in the module")
        total = sum(get_size_of_node(fx_module, node).total_size for node in fx_module.graph.nodes if node.op != "output")
        largest = max(self.devices, key=lambda device: device.available_mem_bytes)
        mode, costs = partitioner_config.mode, partitioner_config[2:4]
        if mode == PartitionMode.aot_based:
            self.aot_based_partition(*partitioner_config[4:6])
        elif total <= largest.available_mem_bytes:
            self.find_single_partition(total, largest.logical_id)
        elif total > sum(device.available_mem_bytes for device in self.devices):
            raise RuntimeError("Devices do not have enough memory for the module")
        elif mode == PartitionMode.sparse_nn:
            if len({device.available_mem_bytes for device in self.devices}) > 1:
                raise RuntimeError("All devices must have same memory size!")
            self.sparse_nn_partition(largest.available_mem_bytes)
        elif mode == PartitionMode.cost_aware:
            self.cost_aware_partition(*costs)
        elif mode == PartitionMode.kl_based:
            self.kl_based_partition(*costs)
        else:
            self.size_based_partition()
        if partitioner_config.saturate_host:
            self.saturate_host()
        module = self.do_partition()
        return PartitionResult(self.dump_dag(module), module)

    def _calls(self) -> Iterator[Node]:
        """Return the nodes that call functions, methods or modules."""
        return (node for node in self.graph_module.graph.nodes if node.op in CALLABLE_NODE_OPS)

    def create_partition(self) -> Partition:
        """Append an empty partition, and return it."""
        self.partitions.append(Partition(len(self.partitions)))
        return self.partitions[-1]

    def create_single_node_partition(self, node: Node) -> None:
        """Append a partition with one node."""
        self.create_partition().add_node(node)

    def find_single_partition(self, total_size_of_graph: int, logical_device_id: int = 0) -> None:
        """Put all nodes into one partition.

        Args:
            total_size_of_graph: the memory of all nodes.
            logical_device_id: the device that it runs on.
        """
        partition = self.create_partition()
        partition.nodes = {node for node in self.graph_module.graph.nodes if node.op != "output"}
        partition.used_mem_bytes = total_size_of_graph
        partition.logical_device_ids = [logical_device_id]
        self._number_nodes()

    def size_based_partition(self) -> None:
        """Fill one device after the other with nodes in order.

        Nodes that remain when all devices are used become separate partitions, which use the memory that is left.

        Raises:
            RuntimeError: a node is larger than all unused devices, or the remaining nodes do not fit.
        """
        unused, partition, free = list(self.devices), None, 0
        nodes = self._calls()
        for node in nodes:
            extra = get_extra_size_of(node, partition.nodes if partition else ())
            if partition is None or extra > free:
                if not unused:
                    nodes = itertools.chain([node], nodes)
                    break
                extra = get_extra_size_of(node, ())
                device = next((device for device in unused if device.available_mem_bytes >= extra), None)
                if device is None:
                    raise RuntimeError(f"{node} is too large to fit any device")
                unused.remove(device)
                partition, free = self.create_partition(), device.available_mem_bytes
                partition.logical_device_ids = [device.logical_id]
            partition.add_node(node)
            free -= extra
        for node in nodes:
            self.create_single_node_partition(node)
        reorganize_partitions(self.partitions)
        self._number_nodes()
        if not get_device_to_partitions_mapping(self.partitions, self.devices):
            raise RuntimeError("Cannot Get a Valid Partition to Logical Device Mapping")

    def saturate_host(self) -> None:
        """Assign copies of all partitions to unused devices, as often as the memory suffices."""
        held, free, _ = get_device_partition_stats(self.partitions, self.devices)
        used = [device for device in self.devices if held[device]]
        unused = [device for device in self.devices if not held[device]]
        while len(unused) >= len(used):
            copies: dict[Device, Device] = {}
            for device in used:
                needed = device.available_mem_bytes - free[device]
                fitting = [other for other in unused if other not in copies and other.available_mem_bytes >= needed]
                if not fitting:
                    return
                copies[min(fitting, key=lambda other: other.available_mem_bytes)] = device
            for copy, device in copies.items():
                unused.remove(copy)
                for partition in held[device]:
                    partition.logical_device_ids.append(copy.logical_id)

    def do_partition(self) -> GraphModule:
        """Return a module with a submodule for each partition."""
        return split_module(self.graph_module, self.torch_module, self.node_to_partition.__getitem__)

    def dump_dag(self, module_with_submodules: GraphModule) -> DAG:
        """Return the graph of partitions.

        Args:
            module_with_submodules: the result of `do_partition`.
        """
        dag, partitions = DAG(), {partition.partition_id: partition for partition in self.partitions}
        for node in module_with_submodules.graph.nodes:
            if node.op == "call_module":
                partition = partitions[int(node.name.rpartition("_")[2])]
                results = list(node.users) if len(node.users) > 1 else [node]
                dag.create_node(node, node.all_input_nodes, results, partition.logical_device_ids, partition.used_mem_bytes)
        return dag

    def sparse_nn_partition(self, available_mem_bytes: int) -> None:
        """Partition a recommendation model: embeddings are distributed over devices, and other layers are copied to all.

        Args:
            available_mem_bytes: the memory of each device.

        Raises:
            RuntimeError: a node is larger than a device, or the partitions do not fit.
        """
        kinds: dict[bool, list[Partition]] = {False: [], True: []}  # {whether its nodes are embeddings: partitions}
        for is_embedding, nodes in itertools.groupby(self._calls(), self._is_embedding):
            partition = None
            for node in nodes:
                extra = get_extra_size_of(node, partition.nodes if partition else ())
                if partition is None or extra + partition.used_mem_bytes > available_mem_bytes:
                    if get_extra_size_of(node, ()) > available_mem_bytes:
                        raise RuntimeError(f"{node.target} is too large to fit into a device")
                    partition = self.create_partition()
                    kinds[is_embedding].append(partition)
                partition.add_node(node)
        set_parents_and_children(self.partitions)
        for partitions in kinds.values():
            while self._combine_smallest(partitions, available_mem_bytes):
                pass
        embeddings, others = kinds[True], kinds[False]
        if len(embeddings) > len(self.devices):
            raise RuntimeError(f"Need {len(embeddings)} devices, but only {len(self.devices)} provided")
        for partition, device in zip(embeddings, self.devices, strict=False):
            if partition.used_mem_bytes + sum(other.used_mem_bytes for other in others) > available_mem_bytes:
                raise RuntimeError(
                    f"partition_{partition}(embedding partition) and non embedding partitions can not fit into one device"
                )
            partition.logical_device_ids = [device.logical_id]
        for partition in others:
            partition.logical_device_ids = [device.logical_id for device in self.devices[: len(embeddings)]]
        self._number_nodes()

    def _is_embedding(self, node: Node) -> bool:
        """Whether a node calls a module that contains an embedding."""
        modules = self.graph_module.get_submodule(str(node.target)).modules() if node.op == "call_module" else ()
        return any("Embedding" in type(module).__name__ for module in modules)

    def _combine_smallest(self, partitions: list[Partition], available_mem_bytes: int) -> bool:
        """Combine the smallest of some partitions with the largest one that fits; return whether there is any."""
        get_bfs_level_partition(self.partitions)
        by_size = sorted(partitions, key=lambda partition: partition.used_mem_bytes)
        for smallest, other in itertools.product(by_size[:1], by_size[:0:-1]):
            nodes = smallest.nodes | other.nodes
            is_near = abs(smallest.bfs_level - other.bfs_level) <= 1
            if is_near and sum(get_extra_size_of(node, nodes) for node in nodes) <= available_mem_bytes:
                combine_two_partitions(other, smallest, self.partitions)
                partitions.remove(smallest)
                partitions.remove(other)
                partitions.append(self.partitions[-1])
                return True
        return False

    def cost_aware_partition(self, transfer_rate_bytes_per_sec: float, node_to_latency_mapping: dict[Node, NodeLatency]) -> None:
        """Begin with a partition for each node, and combine the two that reduce the running time most, as long as any do.

        Args:
            transfer_rate_bytes_per_sec: how fast values are transferred between devices.
            node_to_latency_mapping: how long each node runs.
        """
        costs = transfer_rate_bytes_per_sec, node_to_latency_mapping
        for node in self._calls():
            self.create_single_node_partition(node)
        set_parents_and_children(self.partitions)
        pair: tuple[Partition, Partition] | None
        while True:
            get_bfs_level_partition(self.partitions)
            lowest, pair = _running_time(self.partitions, *costs), None
            for first, second in itertools.combinations(self.partitions, 2):
                time = self._time_if_combined(first, second, *costs)
                if time <= lowest:
                    lowest, pair = time, (first, second)
            if pair is not None:
                combine_two_partitions(*pair, self.partitions)
            self._assign_devices()
            if pair is None:
                break
        self._number_nodes()

    def _time_if_combined(
        self, first: Partition, second: Partition, transfer_rate: float, latencies: dict[Node, NodeLatency]
    ) -> float:
        """Return how long the graph would run with two partitions combined; infinity if they cannot be combined."""
        is_near = abs(first.bfs_level - second.bfs_level) <= 1 or first in second.parents or first in second.children
        if not is_near:
            return float("inf")
        partitions = list(self.partitions)
        combine_two_partitions(first, second, partitions)
        time = float("inf")
        if not check_dependency(partitions[-1]):
            reset_partition_device(partitions)
            if get_device_to_partitions_mapping(partitions, self.devices):
                time = _running_time(partitions, transfer_rate, latencies)
        reorganize_partitions(self.partitions)
        return time

    def kl_based_partition(self, transfer_rate_bytes_per_sec: float, node_to_latency_mapping: dict[Node, NodeLatency]) -> None:
        """Improve the result of `size_based_partition`: exchange nodes between partitions, as Kernighan and Lin do.

        Each node in turn is moved to the partition, or exchanged with the node, that reduces the running time most.

        Args:
            transfer_rate_bytes_per_sec: how fast values are transferred between devices.
            node_to_latency_mapping: how long each node runs.
        """
        costs = transfer_rate_bytes_per_sec, node_to_latency_mapping
        self.size_based_partition()
        lowest = _running_time(self.partitions, *costs)
        for node in self._calls():
            source = next(partition for partition in self.partitions if node in partition.nodes)
            best: tuple[Partition, Node | None] | None = None
            for target in self.partitions:
                others = [other for other in sorted(target.nodes) if other.op in CALLABLE_NODE_OPS]
                for other in [*others, None] if target is not source else ():
                    time = self._time_if_swapped(node, other, source, target, *costs)
                    if time < lowest:
                        lowest, best = time, (target, other)
            if best is not None:
                _swap(node, best[1], source, best[0])
                reorganize_partitions(self.partitions)
        self.partitions = [partition for partition in self.partitions if partition.nodes]
        reorganize_partitions(self.partitions)
        self._assign_devices()
        self._number_nodes()

    def _time_if_swapped(
        self,
        node: Node,
        other: Node | None,
        source: Partition,
        target: Partition,
        transfer_rate: float,
        latencies: dict[Node, NodeLatency],
    ) -> float:
        """Return how long the graph would run with two nodes exchanged; infinity if they cannot be exchanged."""
        before = [(partition, set(partition.nodes)) for partition in (source, target)]
        _swap(node, other, source, target)
        reorganize_partitions(self.partitions)
        time = float("inf")
        if not check_dependency(source) and not check_dependency(target) and self._assign_devices():
            time = _running_time(self.partitions, transfer_rate, latencies)
        for partition, nodes in before:
            partition.nodes = nodes
            partition.recalculate_mem_size()
        reorganize_partitions(self.partitions)
        return time

    def _assign_devices(self) -> bool:
        """Assign all partitions to devices again; return whether they fit."""
        reset_partition_device(self.partitions)
        return get_device_to_partitions_mapping(self.partitions, self.devices)

    def aot_based_partition(
        self, node_to_partition_mapping: dict[Node, int], partition_to_logical_device_mapping: dict[int, list[int]]
    ) -> None:
        """Create given partitions.

        Args:
            node_to_partition_mapping: the number of the partition of each node that is a call.
            partition_to_logical_device_mapping: the devices of each partition.
        """
        self.node_to_partition = node_to_partition_mapping
        for number in dict.fromkeys(node_to_partition_mapping.values()):
            partition = self.create_partition()
            partition.partition_id = number
            partition.logical_device_ids = partition_to_logical_device_mapping[number]
            for node, of in node_to_partition_mapping.items():
                if of == number:
                    partition.add_node(node)

    def _number_nodes(self) -> None:
        self.node_to_partition = get_node_to_partition_mapping(self.partitions)


def _running_time(partitions: list[Partition], transfer_rate: float, latencies: dict[Node, NodeLatency]) -> float:
    times = get_partition_to_latency_mapping(partitions, latencies)
    return get_latency_of_partitioned_graph(partitions, times, transfer_rate)


def _swap(node: Node, other: Node | None, source: Partition, target: Partition) -> None:
    """Move a node to another partition, and a node of that partition, if any, to its own."""
    source.remove_node(node)
    target.add_node(node)
    if other is not None:
        target.remove_node(other)
        source.add_node(other)
