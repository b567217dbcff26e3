"""What carries the bytes of collectives: engines, which plugins may add by the hook `flambeau_distributed_engine`.

An engine connects the processes of a job; its job makes a `Communicator` for each group. Communicators see flat, contiguous
tensors without history, on the engine's type of device: shapes, lists of tensors, other devices and objects are the business
of the collectives above.  Built in are

- `gloo`, the default: shared memory between processes of one host, which needs nothing but Python, and ZeroMQ between hosts
  (`flambeau[distributed]`). Copies into and out of shared memory go in chunks that stay in the processor's caches; large tensors
  are read from each other's memory, each byte once; reductions work in place, and all is what NumPy and the system do at memory
  speed: neither a compiled extension nor a message library would be faster on one host. Between hosts, where the network is the
  limit, a well-kept library does what sockets of our own would do worse.
- `mpi`, through mpi4py (`flambeau[mpi]`), for any number of machines.
- `nccl`, through CuPy (`flambeau[cuda12]`), between CUDA devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import flambeau as torch
from flambeau import Tensor

if TYPE_CHECKING:
    from .reduction import ReduceOp
    from .store import Store

__all__ = ["BUILT_IN", "Communicator", "Engine", "Job", "find_engine"]

BUILT_IN = {name: f"flambeau_nnlib.distributed.{name}" for name in ("gloo", "mpi", "nccl")}


class Communicator(Protocol):
    """What the processes of one group do together.  Ranks are the group's; tensors are flat and contiguous."""

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's."""

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place, bit for bit alike."""

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's; those of others stay as they are."""

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks; those of others are empty lists."""

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs; those of others are empty lists."""

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Fill each rank's output with the reduced inputs of all ranks at its place."""

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send each rank its input, and fill the outputs with what came from each; sizes may differ, and be zero."""

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait for all ranks."""

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next one from a rank, or from any; returns which."""

    def close(self) -> None:
        """Give back what the group holds."""


class Job(Protocol):
    """This process's part in a job."""

    rank: int
    world_size: int

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """A communicator of these processes, all of which ask for it in the same order."""

    def leave(self) -> None:
        """Leave the job."""


class Engine(Protocol):
    """A way to carry bytes between processes."""

    device_type: str
    """The type of device on which communicators take tensors."""
    needs_store: bool
    """Whether processes find each other through a store (MPI knows by itself who they are)."""

    def available(self) -> bool:
        """Whether its libraries are installed and work here."""

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> Job:
        """Join the other processes of a job."""


def find_engine(name: str) -> Engine:
    """The engine of a name.

    Raises:
        RuntimeError: there is none, neither built in nor of a plugin.
    """
    if name in BUILT_IN:
        engine: Engine = import_module(BUILT_IN[name]).ENGINE
        if name == "nccl" and not engine.available():
            raise RuntimeError("Distributed package doesn't have NCCL built in: it takes CuPy with NCCL, and a CUDA device")
        return engine
    found: Any = torch.backend.plugins().hook.flambeau_distributed_engine(name=name)
    if found is None:
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
    return found  # type: ignore[no-any-return]
