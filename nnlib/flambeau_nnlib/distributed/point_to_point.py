"""Point-to-point communication: `send`, `recv` and their asynchronous forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau import Tensor

from .group import ProcessGroup, Work
from .world import get_group_rank, group_of

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None) -> int | None:
    return group_rank if rank is None else get_group_rank(group, rank)


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Start sending a tensor to a process; return a `Work` to wait for."""
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
    """Start receiving a tensor from process `src`, or from any process if None; return a `Work` to wait for."""
    process_group = group_of(group)
    return None if process_group is None else process_group.recv(tensor, _peer(process_group, src, group_src), tag)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a process."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from process `src`, or from any process if None; return the sender's global rank."""
    process_group, work = group_of(group), irecv(tensor, src, group, tag, group_src)
    if process_group is None or work is None:
        return -1
    work.wait()
    return process_group.ranks[work.source_rank()]


class P2POp:
    """A call of `isend` or `irecv` with its arguments, for `batch_isend_irecv`."""

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
    """Start all operations; return a list of their `Work` objects."""
    works = [p2p_op.op(p2p_op.tensor, p2p_op.peer, p2p_op.group, p2p_op.tag, p2p_op.group_peer) for p2p_op in p2p_op_list]
    return [work for work in works if work is not None]
