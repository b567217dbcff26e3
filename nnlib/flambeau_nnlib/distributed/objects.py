"""Collectives of Python objects. No other collectives use pickle. All participating processes hold the job's secret."""

from __future__ import annotations

import pickle
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .collectives import all_gather, all_to_all, broadcast, check_list, root_in
from .point_to_point import recv, send
from .world import group_of

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _packed(obj: Any) -> Tensor:
    return torch.frombuffer(bytearray(pickle.dumps(obj)), dtype=torch.uint8)


def _unpacked(data: Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Overwrite every process's list with the objects of rank `src`. Objects are pickled: trust all processes of the
    job.

    Raises:
        TypeError: `object_list` is not a list.
    """
    if not isinstance(object_list, list):
        raise TypeError(f"object_list must be a list, not {type(object_list).__name__}")
    process_group, root = group_of(group), root_in(group, src, group_src)
    if process_group is None:
        return
    here = process_group.rank() == root
    data = _packed(object_list) if here else torch.empty(0, dtype=torch.uint8)
    size = torch.tensor([data.numel()])
    broadcast(size, group=process_group, group_src=root)
    data = data if here else torch.empty(int(size), dtype=torch.uint8)
    broadcast(data, group=process_group, group_src=root)
    if not here:
        object_list[:] = _unpacked(data)


def _all_sizes(data: Tensor, process_group: Any) -> list[int]:
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(process_group.size())]
    all_gather(sizes, torch.tensor([data.numel()]), process_group)
    return [int(size) for size in sizes]


def _exchanged(sent: list[Tensor], sizes: list[int], process_group: Any) -> list[Tensor]:
    """Send `sent[i]` to rank i; return the tensors received, of the given sizes."""
    received = [torch.empty(size, dtype=torch.uint8) for size in sizes]
    all_to_all(received, sent, process_group)
    return received


def _nothing() -> Tensor:
    return torch.empty(0, dtype=torch.uint8)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill the list, in every process, with the objects of all processes."""
    process_group = group_of(group)
    if process_group is not None:
        data = _packed(obj)
        sizes = _all_sizes(data, process_group)
        object_list[:] = map(_unpacked, _exchanged([data] * len(sizes), sizes, process_group))


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Fill the list of rank `dst` with the objects of all processes."""
    process_group, root = group_of(group), root_in(group, dst, group_dst)
    check_list("object_gather_list", object_gather_list, group, root)
    if process_group is None:
        return
    data, here = _packed(obj), process_group.rank() == root
    sizes = _all_sizes(data, process_group)
    sent = [data if rank == root else _nothing() for rank in range(len(sizes))]
    received = _exchanged(sent, sizes if here else [0] * len(sizes), process_group)
    if here and object_gather_list is not None:
        object_gather_list[:] = map(_unpacked, received)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Send `scatter_object_input_list[i]` of rank `src` to element 0 of rank i's output list."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    process_group, root = group_of(group), root_in(group, src, group_src)
    if process_group is None:
        return
    ranks, here = range(process_group.size()), process_group.rank() == root
    sent = [_packed(obj) for obj in scatter_object_input_list or ()] if here else [_nothing() for _ in ranks]
    sizes = torch.tensor([data.numel() for data in sent])
    broadcast(sizes, group=process_group, group_src=root)
    expected = [int(sizes[process_group.rank()]) if rank == root else 0 for rank in ranks]
    scatter_object_output_list[0] = _unpacked(_exchanged(sent, expected, process_group)[root])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a process."""
    data = _packed(object_list)
    send(torch.tensor([data.numel()]), dst, group, group_dst=group_dst)
    send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Overwrite the list with objects from process `src`, or from any process if None; return the sender's global rank."""
    size = torch.zeros(1, dtype=torch.int64)
    sender = recv(size, src, group, group_src=group_src)
    data = torch.empty(int(size), dtype=torch.uint8)
    recv(data, sender, group)
    object_list[:] = _unpacked(data)
    return sender
