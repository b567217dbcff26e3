"""Process groups, and how their collectives are made of tensors sent and received."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import reduce
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .store import Store
from .transport import Mailbox

__all__ = ["ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work"]


class ReduceOp:
    """How tensors of several processes are reduced to one."""

    def __init__(self, name: str, join: Callable[[Tensor, Tensor], Tensor], divides: bool = False, factor: Any = None) -> None:
        self.name, self.join, self.divides, self.factor = name, join, divides, factor

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}>"

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Reduce the tensors of all ranks, in the order of the ranks, so that all get the same result."""
        result = reduce(self.join, tensors)
        if self.divides:
            result = result / len(tensors) if result.is_floating_point() else result // len(tensors)
        return result if self.factor is None else result * self.factor

    SUM: ReduceOp
    AVG: ReduceOp
    PRODUCT: ReduceOp
    MIN: ReduceOp
    MAX: ReduceOp
    BAND: ReduceOp
    BOR: ReduceOp
    BXOR: ReduceOp
    PREMUL_SUM: ReduceOp


for _name, _join in {
    "SUM": torch.add,
    "AVG": torch.add,
    "PRODUCT": torch.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
    "BAND": torch.bitwise_and,
    "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
    "PREMUL_SUM": torch.add,
}.items():
    setattr(ReduceOp, _name, ReduceOp(_name, _join, divides=_name == "AVG"))


class Work:
    """An asynchronous operation of a group: wait for it before using its tensors."""

    def __init__(self, future: Future[Any], source: Callable[[], int] = lambda: -1) -> None:
        self._future, self._source = future, source

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done; raises its exception if it failed."""
        self._future.result(None if timeout is None else timeout.total_seconds())
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether it is done and has not failed."""
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        """The exception with which it failed, if it did."""
        return self._future.exception() if self._future.done() else None

    def result(self) -> Any:
        """The tensors of the operation."""
        return self._future.result()

    def get_future(self) -> Future[Any]:
        """The operation as a future."""
        return self._future

    def source_rank(self) -> int:
        """Which rank a tensor was received from."""
        return self._source()


class ProcessGroup:
    """Some of the processes of a job.  Ranks inside a group count from 0; `ranks` gives the global ones.

    Collectives run one after the other in a thread of the group, in the order they were called in.
    """

    def __init__(self, mailbox: Mailbox, store: Store, ranks: Sequence[int], rank: int, name: str, timeout: timedelta) -> None:
        self.ranks, self.group_name, self.group_desc = list(ranks), name, name
        self.timeout, self.store = timeout, store
        self._mailbox, self._rank = mailbox, self.ranks.index(rank)
        self._sequence = 0
        self._thread = ThreadPoolExecutor(1, f"flambeau group {name}")
        self._receivers = ThreadPoolExecutor(8, f"flambeau receive {name}")

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return "gloo"

    def close(self) -> None:
        """Finish the operations that have been started."""
        self._thread.shutdown()
        self._receivers.shutdown(wait=False, cancel_futures=True)

    def run(self, collective: Callable[[Exchange], Any]) -> Work:
        """Run `collective` with messages of its own, after all earlier collectives."""
        self._sequence += 1
        exchange = Exchange(self, (self.group_name, self._sequence))
        return Work(self._thread.submit(torch.no_grad()(collective), exchange))

    # --- point to point ---

    def send(self, tensor: Tensor, rank: int, tag: int = 0) -> Work:
        """Send a tensor to a rank of the group."""
        done: Future[Any] = Future()
        self._mailbox.send(self.ranks[rank], (self.group_name, "to", self._rank, tag), pack(tensor))
        done.set_result(tensor)
        return Work(done)

    def recv(self, tensor: Tensor, rank: int | None = None, tag: int = 0) -> Work:
        """Receive a tensor from a rank of the group, or from any."""
        keys = [(self.group_name, "to", sender, tag) for sender in (range(self.size()) if rank is None else [rank])]
        senders: list[int] = []

        def receive() -> Tensor:
            key, data = self._mailbox.take(keys, self.timeout)
            senders.append(key[2])  # type: ignore[index]
            return fill(tensor, data)

        return Work(self._receivers.submit(receive), lambda: senders[0])


ProcessGroupGloo = ProcessGroup


class Exchange:
    """The messages of one collective."""

    def __init__(self, group: ProcessGroup, key: tuple[Any, ...]) -> None:
        self.group, self.rank, self.size = group, group.rank(), group.size()
        self._key = key

    def send(self, rank: int, data: Any) -> None:
        """Send bytes to a rank."""
        self.group._mailbox.send(self.group.ranks[rank], (*self._key, self.rank), data)

    def receive(self, rank: int) -> bytes:
        """The next bytes from a rank."""
        return self.group._mailbox.take([(*self._key, rank)], self.group.timeout)[1]

    def swap(self, parts: Sequence[Any]) -> list[bytes]:
        """Send each rank its part; returns what each rank sent here."""
        for rank, part in enumerate(parts):
            self.send(rank, part)
        return [self.receive(rank) for rank in range(self.size)]

    def gather_all(self, data: Any) -> list[bytes]:
        """The data of every rank, on all ranks."""
        return self.swap([data] * self.size)

    def reduced(self, tensor: Tensor, how: ReduceOp) -> Tensor:
        """The reduced tensors of all ranks: each rank reduces one part and sends it to all."""
        flat = tensor.reshape(-1)
        parts = flat.tensor_split(self.size)
        mine = how([unpack(data, parts[self.rank]) for data in self.swap([pack(part) for part in parts])])
        joined = self.gather_all(pack(mine.to(flat.dtype)))
        return torch.cat([unpack(data, part) for data, part in zip(joined, parts, strict=True)]).reshape(tensor.shape)


# --- tensors as bytes -------------------------------------------------------------------------------------------------


def pack(tensor: Tensor) -> bytes:
    """The elements of a tensor."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def unpack(data: bytes, like: Tensor) -> Tensor:
    """Bytes as a tensor of the shape, dtype and device of another."""
    if len(data) != like.numel() * like.element_size():
        raise RuntimeError(
            f"received {len(data)} bytes for a tensor of shape {list(like.shape)} and {like.dtype}: do all ranks give "
            "tensors of one shape and dtype?"
        )
    if not data:
        return torch.empty_like(like)
    return torch.frombuffer(bytearray(data), dtype=like.dtype).reshape(like.shape).to(like.device)


@torch.no_grad()
def fill(tensor: Tensor, data: bytes) -> Tensor:
    """Write received elements into a tensor."""
    return tensor.copy_(unpack(data, tensor))
