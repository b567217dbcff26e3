"""Collectives built from messages between hosts, and point-to-point messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .errors import DistBackendError
from .reduction import ReduceOp, arrays
from .transport import Mailbox

__all__ = ["MessageCollectives", "PointToPoint"]

PIECE = 1 << 20  # bytes of a tensor that are sent at a time: the previous ones are reduced meanwhile


class PointToPoint:
    """Point-to-point messages of a group.

    Args:
        mailbox: mailbox of this process.
        ranks: global ranks of the group's processes.
        rank: this process's rank in the group.
        name: name of the group.
        timeout: how long to wait for other processes.
    """

    def __init__(self, mailbox: Mailbox, ranks: Sequence[int], rank: int, name: str, timeout: timedelta) -> None:
        self.rank, self.size = rank, len(ranks)
        self._mailbox, self._ranks, self._name, self._timeout = mailbox, ranks, name, timeout
        self._since = time.monotonic()

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""
        self._mailbox.send(self._ranks[rank], self._key(self.rank, tag), _call("message", tensor), as_bytes(tensor))

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next message from a rank, or from any rank if None; return the sender's rank."""
        senders = [sender for sender in range(self.size) if sender != self.rank] if rank is None else [rank]
        keys = [self._key(sender, tag) for sender in senders]
        place, (_, data) = self._mailbox.take([self._ranks[sender] for sender in senders], keys, self._timeout, self._since)
        _fill(tensor, data)
        return senders[place]

    def _key(self, sender: int, tag: int) -> bytes:
        return f"group {self._name}, message {tag} from {sender}".encode()


class MessageCollectives(PointToPoint):
    """Collectives of a group of processes on several hosts."""

    def __init__(self, mailbox: Mailbox, ranks: Sequence[int], rank: int, name: str, timeout: timedelta) -> None:
        super().__init__(mailbox, ranks, rank, name, timeout)
        self._count = 0
        self._call = b""

    def close(self) -> None:
        """Do nothing: the group holds no resources."""

    def _begin(self, call: bytes) -> None:
        self._count += 1
        self._call = call

    def _key_of(self, rank: int, kind: str) -> bytes:
        return f"group {self._name}, collective {self._count}, {kind} from {rank}".encode()

    def _post(self, rank: int, data: Any, kind: str = "part") -> None:
        self._mailbox.send(self._ranks[rank], self._key_of(self.rank, kind), self._call, data)

    def _await(self, rank: int, kind: str = "part") -> Any:
        _, (call, data) = self._mailbox.take([self._ranks[rank]], [self._key_of(rank, kind)], self._timeout, self._since)
        if call != self._call:
            raise DistBackendError(
                f"rank {self.rank} of the group: the ranks do not call the same collective: rank {self.rank} calls "
                f"{self._call.decode()}; rank {rank} calls {call.decode()}"
            )
        return data

    def _exchange(self, parts: Sequence[Any]) -> list[Any]:
        """Send `parts[i]` to rank i; return the data received from each rank."""
        for rank in self._ranks_from_self():
            self._post(rank, parts[rank])
        return [self._await(rank) for rank in range(self.size)]

    def _ranks_from_self(self) -> list[int]:
        """Return the ranks in cyclic order, starting with this one."""
        return [(self.rank + step) % self.size for step in range(self.size)]

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until all ranks have called `barrier`."""
        before, self._timeout = self._timeout, timeout or self._timeout
        try:
            self._begin(b"barrier")
            self._exchange([b""] * self.size)
        finally:
            self._timeout = before

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""
        self._begin(_call("broadcast", tensor, f" from rank {root}"))
        for piece in _split(tensor):
            if self.rank == root:
                for rank in self._ranks_from_self()[1:]:
                    self._post(rank, as_bytes(piece))
            else:
                _fill(piece, self._await(root))

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place: each rank reduces one part and sends the result to all."""
        self._begin(_call("all_reduce", tensor, f" {op.name}"))
        pieces = [piece.tensor_split(self.size) for piece in _split(tensor)]
        for step in range(len(pieces) + 1):
            if step < len(pieces):
                for rank in self._ranks_from_self()[1:]:
                    self._post(rank, as_bytes(pieces[step][rank]))
            if step > 0:
                self._collect(pieces[step - 1], op)

    def _collect(self, parts: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce this rank's part, send the result to all ranks, and receive the results of the other ranks' parts."""
        self._reduce_into(parts[self.rank], op)
        for rank in self._ranks_from_self()[1:]:
            self._post(rank, as_bytes(parts[self.rank]), "result")
        for rank in self._ranks_from_self()[1:]:
            _fill(parts[rank], self._await(rank, "result"))

    def _reduce_into(self, mine: Tensor, op: ReduceOp) -> None:
        """Reduce the data received from all ranks into `mine`, in rank order."""
        found = {rank: arrays(from_bytes(self._await(rank), mine)) for rank in self._ranks_from_self()[1:]}
        found[self.rank] = arrays(mine.clone())
        op.into(arrays(mine), [found[rank] for rank in range(self.size)])

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's tensor."""
        self._begin(_call("reduce", tensor, f" {op.name} to rank {root}"))
        for piece in _split(tensor):
            if self.rank == root:
                self._reduce_into(piece, op)
            else:
                self._post(root, as_bytes(piece))

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        self._begin(_call("all_gather", tensor))
        outputs[self.rank].copy_(tensor)
        for piece in _split(tensor):
            for rank in self._ranks_from_self()[1:]:
                self._post(rank, as_bytes(piece))
        for rank in self._ranks_from_self()[1:]:
            for piece in _split(outputs[rank]):
                _fill(piece, self._await(rank))

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        self._begin(_call("gather", tensor, f" to rank {root}"))
        self._post(root, as_bytes(tensor))
        for rank, output in enumerate(outputs):
            _fill(output, self._await(rank))

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        self._begin(_call("scatter", tensor, f" from rank {root}"))
        for rank, part in enumerate(inputs):
            self._post(rank, as_bytes(part))
        _fill(tensor, self._await(root))

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce `inputs[i]` over all ranks into the output of rank i."""
        self._begin(_call("reduce_scatter", output, f" {op.name}"))
        sources = [_split(part) for part in inputs]
        for step, target in enumerate(_split(output)):
            for rank in self._ranks_from_self()[1:]:
                self._post(rank, as_bytes(sources[rank][step]))
            target.copy_(sources[self.rank][step])
        for target in _split(output):
            self._reduce_into(target, op)

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send `inputs[i]` to rank i, and fill `outputs[i]` with the data from rank i."""
        self._begin(b"all_to_all")
        for output, data in zip(outputs, self._exchange([as_bytes(part) for part in inputs]), strict=True):
            _fill(output, data)


def _split(tensor: Tensor) -> Sequence[Tensor]:
    return tensor.split(max(1, PIECE // tensor.element_size())) if tensor.numel() else [tensor]


def _call(name: str, tensor: Tensor, more: str = "") -> bytes:
    return f"{name} of {tensor.numel()} {tensor.dtype}{more}".encode()


def as_bytes(tensor: Tensor) -> Any:
    """Return the memory of a flat tensor as bytes, without a copy."""
    if not tensor.numel():
        return b""
    return memoryview(tensor.view(torch.uint8).numpy())  # type: ignore[arg-type]  # NumPy declares the buffer protocol only for Python 3.12


def _check_length(data: Any, tensor: Tensor) -> None:
    if len(data) != tensor.numel() * tensor.element_size():
        raise RuntimeError(
            f"received {len(data)} bytes for a tensor of {tensor.numel()} {tensor.dtype}: all ranks must pass "
            "tensors of the same shape and dtype"
        )


def from_bytes(data: Any, like: Tensor) -> Tensor:
    """Convert bytes to a flat tensor like `like`. RuntimeError if the number of bytes differs."""
    _check_length(data, like)
    return torch.frombuffer(bytearray(data), dtype=like.dtype) if len(data) else torch.empty_like(like)


def _fill(tensor: Tensor, data: Any) -> None:
    _check_length(data, tensor)
    if tensor.numel():
        as_bytes(tensor)[:] = data
