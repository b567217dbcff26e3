"""Collectives, which all processes of a group call together, and point-to-point messages."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .group import Exchange, ProcessGroup, ReduceOp, Work, fill, pack, unpack
from .world import get_group_rank, group_of

__all__ = [
    "P2POp",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "irecv",
    "isend",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "supports_complex",
]


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether this operation can reduce complex tensors."""
    return reduceOp.name in ("SUM", "AVG", "PREMUL_SUM")


def _run(group: Any, async_op: bool, collective: Callable[[Exchange], Any]) -> Work | None:
    """Run a collective in a group, and wait for it unless `async_op`.  Does nothing if this process is not in the group."""
    process_group = group_of(group)
    if process_group is None:
        return None
    work = process_group.run(collective)
    if async_op:
        return work
    work.wait()
    return None


def _root(group: Any, rank: int | None, group_rank: int | None, default: int = 0) -> int:
    """The rank in the group of a process given by its global rank or its rank in the group."""
    process_group = group_of(group)
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_src/group_dst and src/dst")
    if process_group is None:
        return -1
    return (
        group_rank
        if group_rank is not None
        else get_group_rank(process_group, process_group.ranks[default] if rank is None else rank)
    )


# --- collectives ------------------------------------------------------------------------------------------------------


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Overwrite the tensor of every process with that of `src`."""
    root = _root(group, src, group_src)

    def collective(exchange: Exchange) -> Tensor:
        if exchange.rank == root:
            for rank in range(exchange.size):
                if rank != root:
                    exchange.send(rank, pack(tensor))
            return tensor
        return fill(tensor, exchange.receive(root))

    return _run(group, async_op, collective)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all processes, and write the result to every process's tensor: bit for bit the same everywhere."""
    return _run(group, async_op, lambda exchange: tensor.copy_(exchange.reduced(tensor, op)))


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors."""
    return _run(group, async_op, lambda exchange: [tensor.copy_(exchange.reduced(tensor, op)) for tensor in tensors])


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all processes, and write the result to the tensor of `dst`."""
    root = _root(group, dst, group_dst)

    def collective(exchange: Exchange) -> Tensor:
        exchange.send(root, pack(tensor))
        if exchange.rank == root:
            tensor.copy_(op([unpack(exchange.receive(rank), tensor) for rank in range(exchange.size)]))
        return tensor

    return _run(group, async_op, collective)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Fill the list with the tensors of all processes, in every process."""
    return _run(group, async_op, lambda exchange: _fill_all(tensor_list, exchange.gather_all(pack(tensor))))


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_gather` of several tensors; `output_tensor_lists[rank]` takes those of a rank."""

    def collective(exchange: Exchange) -> None:
        for position, tensor in enumerate(input_tensor_list):
            _fill_all([tensors[position] for tensors in output_tensor_lists], exchange.gather_all(pack(tensor)))

    return _run(group, async_op, collective)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Fill a tensor with those of all processes, one after the other or stacked."""
    return _run(group, async_op, lambda exchange: fill(output_tensor, b"".join(exchange.gather_all(pack(input_tensor)))))


all_gather_single = all_gather_into_tensor


def _fill_all(targets: Sequence[Tensor], messages: Sequence[bytes]) -> None:
    for target, data in zip(targets, messages, strict=True):
        fill(target, data)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill the list of `dst` with the tensors of all processes."""
    root = _root(group, dst, group_dst)
    _check_list("gather_list", gather_list, group, root)

    def collective(exchange: Exchange) -> None:
        exchange.send(root, pack(tensor))
        if exchange.rank == root:
            _fill_all(gather_list or (), [exchange.receive(rank) for rank in range(exchange.size)])

    return _run(group, async_op, collective)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Overwrite each process's tensor with its own from the list of `src`."""
    root = _root(group, src, group_src)
    _check_list("scatter_list", scatter_list, group, root)

    def collective(exchange: Exchange) -> Tensor:
        if exchange.rank == root:
            for rank, part in enumerate(scatter_list or ()):
                exchange.send(rank, pack(part))
        return fill(tensor, exchange.receive(root))

    return _run(group, async_op, collective)


def _check_list(name: str, tensors: Any, group: Any, root: int) -> None:
    process_group = group_of(group)
    if process_group is None:
        return
    if process_group.rank() == root and not tensors:
        raise ValueError(f"Argument ``{name}`` must be specified on the root rank.")
    if process_group.rank() != root and tensors:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-root ranks.")


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the lists of all processes tensor by tensor, and write to each process's output the result of its rank."""

    def collective(exchange: Exchange) -> Tensor:
        return output.copy_(op([unpack(data, output) for data in exchange.swap([pack(part) for part in input_list])]))

    return _run(group, async_op, collective)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`reduce_scatter` of one tensor in equal parts."""
    process_group = group_of(group)
    parts = input.reshape(-1).chunk(process_group.size()) if process_group is not None else ()
    return reduce_scatter(output, parts, op, group, async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each process its tensor of the input list, and fill the output list with the tensors received from each."""
    return _run(
        group,
        async_op,
        lambda exchange: _fill_all(output_tensor_list, exchange.swap([pack(tensor) for tensor in input_tensor_list])),
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_to_all` of one tensor split along its first dimension, into equal parts or by the given sizes."""
    process_group = group_of(group)
    if process_group is None:
        return None

    def parts(tensor: Tensor, sizes: Sequence[int] | None) -> Sequence[Tensor]:
        return tensor.split(list(sizes)) if sizes else tensor.chunk(process_group.size())

    return all_to_all(parts(output, output_split_sizes), parts(input, input_split_sizes), process_group, async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Work | None:
    """Wait until all processes have called this."""
    return _run(group, async_op, lambda exchange: exchange.gather_all(b""))


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """`barrier` with an error that names a rank that did not call it in time."""
    process_group = group_of(group)
    if process_group is None:
        return
    before, process_group.timeout = process_group.timeout, timeout or process_group.timeout
    try:
        barrier(process_group)
    finally:
        process_group.timeout = before


# --- point to point ---------------------------------------------------------------------------------------------------


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None) -> int | None:
    return group_rank if rank is None else get_group_rank(group, rank)


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Start to send a tensor to a process; returns Work to wait for."""
    process_group = group_of(group)
    if process_group is None:
        return None
    peer = _peer(process_group, dst, group_dst)
    if peer is None:
        raise ValueError("Must specify dst or group_dst")
    if peer == process_group.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")
    return process_group.send(tensor, peer, tag)


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Start to receive a tensor from a process, or from any; returns Work to wait for."""
    process_group = group_of(group)
    return None if process_group is None else process_group.recv(tensor, _peer(process_group, src, group_src), tag)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a process."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a process, or from any; returns its rank in the job."""
    process_group, work = group_of(group), irecv(tensor, src, group, tag, group_src)
    if process_group is None or work is None:
        return -1
    work.wait()
    return process_group.ranks[work.source_rank()]


class P2POp:
    """`isend` or `irecv` with its arguments, for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start all of these operations; returns the Work of each."""
    works = [p2p_op.op(p2p_op.tensor, p2p_op.peer, p2p_op.group, p2p_op.tag, p2p_op.group_peer) for p2p_op in p2p_op_list]
    return [work for work in works if work is not None]


# --- objects ----------------------------------------------------------------------------------------------------------


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Overwrite the objects in every process's list with those of `src`.  They are pickled: trust the job's processes."""
    root = _root(group, src, group_src)

    def collective(exchange: Exchange) -> None:
        if exchange.rank == root:
            for rank in range(exchange.size):
                exchange.send(rank, pickle.dumps(object_list))
        object_list[:] = pickle.loads(exchange.receive(root))

    _run(group, False, collective)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill the list with the objects of all processes, in every process."""

    def collective(exchange: Exchange) -> None:
        object_list[:] = map(pickle.loads, exchange.gather_all(pickle.dumps(obj)))

    _run(group, False, collective)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """Fill the list of `dst` with the objects of all processes."""
    root = _root(group, dst, group_dst)
    _check_list("object_gather_list", object_gather_list, group, root)

    def collective(exchange: Exchange) -> None:
        exchange.send(root, pickle.dumps(obj))
        if exchange.rank == root and object_gather_list is not None:
            object_gather_list[:] = [pickle.loads(exchange.receive(rank)) for rank in range(exchange.size)]

    _run(group, False, collective)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put each process's own object from the list of `src` first in its output list."""
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = _root(group, src, group_src)

    def collective(exchange: Exchange) -> None:
        if exchange.rank == root:
            for rank, obj in enumerate(scatter_object_input_list or ()):
                exchange.send(rank, pickle.dumps(obj))
        scatter_object_output_list[0] = pickle.loads(exchange.receive(root))

    _run(group, False, collective)


def _as_tensor(data: bytes) -> Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a process."""
    data = _as_tensor(pickle.dumps(object_list))
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
    """Overwrite the list with objects from a process, or from any; returns its rank in the job."""
    size = torch.zeros(1, dtype=torch.int64)
    sender = recv(size, src, group, group_src=group_src)
    data = torch.empty(int(size), dtype=torch.uint8)
    recv(data, sender, group)
    object_list[:] = pickle.loads(data.numpy().tobytes())
    return sender
