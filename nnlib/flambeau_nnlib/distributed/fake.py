"""The engine `fake`: one process acts as one rank of a job of any size, without other processes and without communication.

It is for tests of programs that need a group. As in PyTorch, each collective behaves as if the tensors of all ranks equalled
those of this rank, except that sums are not computed: `all_reduce` leaves the tensor unchanged.

>>> from flambeau.testing._internal.distributed.fake_pg import FakeStore
>>> torch.distributed.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
>>> torch.distributed.get_rank(), torch.distributed.get_world_size()
(1, 4)
>>> torch.distributed.destroy_process_group()
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from flambeau import Tensor

from .reduction import ReduceOp
from .store import Store

__all__ = ["ENGINE", "FakeStore"]


class FakeStore(Store):
    """A store without keys, for `init_process_group("fake", store=FakeStore(), rank=..., world_size=...)`."""


class _FakeCommunicator:
    """The collectives of a group; `rank` is the rank of this process in it."""

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Do nothing."""

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Do nothing."""

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Do nothing."""

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Copy the tensor into each output."""
        for output in outputs:
            output.copy_(tensor)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Copy the tensor into each output of the root."""
        self.all_gather(outputs, tensor)

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Copy the root's input for this rank; do nothing on other ranks."""
        if inputs:
            tensor.copy_(inputs[self._rank])

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Copy the input for this rank."""
        output.copy_(inputs[self._rank])

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Copy each input into the output at its place, if their sizes are equal."""
        for output, given in zip(outputs, inputs, strict=True):
            if output.numel() == given.numel():
                output.copy_(given)

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Do nothing."""

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Do nothing."""

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Leave the tensor unchanged."""
        return rank or 0

    def close(self) -> None:
        """Do nothing."""


class _FakeJob:
    def __init__(self, rank: int, world_size: int) -> None:
        self.rank, self.world_size = rank, world_size

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> _FakeCommunicator:
        """Create a communicator of these ranks."""
        return _FakeCommunicator(ranks.index(self.rank))

    def leave(self) -> None:
        """Do nothing."""


class _Fake:
    """The engine `fake`."""

    device_type, needs_store = "cpu", True

    def available(self) -> bool:
        """Return True."""
        return True

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> _FakeJob:
        """Return the job. The store is not used."""
        return _FakeJob(rank, world_size)


ENGINE = _Fake()
