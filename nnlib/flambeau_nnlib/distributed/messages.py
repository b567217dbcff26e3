"""Collectives made of messages: between processes on several hosts, and point to point on any."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .errors import DistBackendError
from .reduction import ReduceOp, arrays
from .transport import Mailbox
from .wire import decode, encode

__all__ = ["Letters", "Messages"]

PIECE = 1 << 22  # bytes of a tensor that are reduced at a time, while the next are on their way


class Letters:
    """Point-to-point messages of a group.

    Args:
        mailbox: this process's.
        ranks: the job's ranks of the group's processes.
        rank: this process in the group.
        name: the group's.
        timeout: how long to wait for others.
    """

    def __init__(self, mailbox: Mailbox, ranks: Sequence[int], rank: int, name: str, timeout: timedelta) -> None:
        self.rank, self.size = rank, len(ranks)
        self._mailbox, self._ranks, self._name, self._timeout = mailbox, ranks, name, timeout

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""
        self._mailbox.send(self._ranks[rank], self._key(self.rank, tag), encode([b"", as_bytes(tensor)]))

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next one from a rank, or from any; returns which."""
        senders = [sender for sender in range(self.size) if sender != self.rank] if rank is None else [rank]
        keys = [self._key(sender, tag) for sender in senders]
        place, data = self._mailbox.take([self._ranks[sender] for sender in senders], keys, self._timeout)
        arrays(tensor)[...] = arrays(from_bytes(decode(data)[1], tensor))
        return senders[place]

    def _key(self, sender: int, tag: int) -> bytes:
        return f"group {self._name}, message {tag} from {sender}".encode()


class Messages(Letters):
    """Collectives of processes on several hosts."""

    def __init__(self, mailbox: Mailbox, ranks: Sequence[int], rank: int, name: str, timeout: timedelta) -> None:
        super().__init__(mailbox, ranks, rank, name, timeout)
        self._count = 0
        self._call = ""

    def close(self) -> None:
        """Nothing is held."""

    def _begin(self, name: str, tensor: Tensor | None = None, more: str = "") -> None:
        self._count += 1
        self._call = name if tensor is None else f"{name} of {tensor.numel()} {tensor.dtype}{more}"

    def _post(self, rank: int, data: Any) -> None:
        key = f"group {self._name}, collective {self._count} from {self.rank}".encode()
        self._mailbox.send(self._ranks[rank], key, encode([self._call.encode(), bytes(data)]))

    def _await(self, rank: int) -> bytes:
        key = f"group {self._name}, collective {self._count} from {rank}".encode()
        _, message = self._mailbox.take([self._ranks[rank]], [key], self._timeout)
        call, data = decode(message)
        if call.decode() != self._call:
            raise DistBackendError(
                f"rank {self.rank} of the group: the ranks do not call the same collective: rank {self.rank} calls {self._call}; "
                f"rank {rank} calls {call.decode()}"
            )
        return data

    def _swap(self, parts: Sequence[Any]) -> list[bytes]:
        """Send each rank its part; returns what each rank sent here."""
        for rank in self._from_here():
            self._post(rank, parts[rank])
        return [self._await(rank) for rank in range(self.size)]

    def _from_here(self) -> list[int]:
        """All ranks, each starting at another one."""
        return [(self.rank + step) % self.size for step in range(self.size)]

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait for all ranks."""
        before, self._timeout = self._timeout, timeout or self._timeout
        try:
            self._begin("barrier")
            self._swap([b""] * self.size)
        finally:
            self._timeout = before

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's."""
        self._begin("broadcast", tensor, f" from rank {root}")
        if self.rank == root:
            data = as_bytes(tensor)
            for rank in self._from_here()[1:]:
                self._post(rank, data)
        else:
            _fill(tensor, self._await(root))

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place: each rank reduces one part, and sends it to all."""
        self._begin("all_reduce", tensor, f" {op.name}")
        for piece in _pieces(tensor):
            parts = piece.tensor_split(self.size)
            mine = self._reduced(parts[self.rank], parts, op)
            for part, data in zip(parts, self._swap([as_bytes(mine)] * self.size), strict=True):
                _fill(part, data)

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's."""
        self._begin("reduce", tensor, f" {op.name} to rank {root}")
        for piece in _pieces(tensor):
            self._post(root, as_bytes(piece))
            if self.rank == root:
                op.into(arrays(piece), [arrays(from_bytes(self._await(rank), piece)) for rank in range(self.size)])

    def _reduced(self, like: Tensor, parts: Sequence[Tensor], op: ReduceOp) -> Tensor:
        """The reduced parts of all ranks at this one's place."""
        received = [arrays(from_bytes(data, like)) for data in self._swap([as_bytes(part) for part in parts])]
        result = torch.empty_like(like)
        op.into(arrays(result), received)
        return result

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        self._begin("all_gather", tensor)
        for output, data in zip(outputs, self._swap([as_bytes(tensor)] * self.size), strict=True):
            _fill(output, data)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        self._begin("gather", tensor, f" to rank {root}")
        self._post(root, as_bytes(tensor))
        for rank, output in enumerate(outputs):
            _fill(output, self._await(rank))

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        self._begin("scatter", tensor, f" from rank {root}")
        for rank, part in enumerate(inputs):
            self._post(rank, as_bytes(part))
        _fill(tensor, self._await(root))

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Fill each rank's output with the reduced inputs of all ranks at its place."""
        self._begin("reduce_scatter", output, f" {op.name}")
        arrays(output)[...] = arrays(self._reduced(output, inputs, op))

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send each rank its input, and fill the outputs with what came from each."""
        self._begin("all_to_all")
        for output, data in zip(outputs, self._swap([as_bytes(part) for part in inputs]), strict=True):
            _fill(output, data)


def _pieces(tensor: Tensor) -> Sequence[Tensor]:
    return tensor.split(max(1, PIECE // tensor.element_size())) if tensor.numel() else [tensor]


def as_bytes(tensor: Tensor) -> Any:
    """The elements of a flat tensor, in its memory."""
    return memoryview(tensor.view(torch.uint8).numpy()) if tensor.numel() else b""


def from_bytes(data: bytes, like: Tensor) -> Tensor:
    """Bytes as a flat tensor of the length and dtype of another.  RuntimeError if they are not as many."""
    if len(data) != like.numel() * like.element_size():
        raise RuntimeError(
            f"received {len(data)} bytes for a tensor of {like.numel()} {like.dtype}: do all ranks give tensors of one shape and "
            "dtype?"
        )
    return torch.frombuffer(bytearray(data), dtype=like.dtype) if data else torch.empty_like(like)


def _fill(tensor: Tensor, data: bytes) -> None:
    arrays(tensor)[...] = arrays(from_bytes(data, tensor))
