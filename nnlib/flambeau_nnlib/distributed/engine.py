"""Engines, the transport backends of collectives. Plugins may add engines by the hook `flambeau_distributed_engine`.

An engine connects the processes of a job, and the job creates a `Communicator` for each group. Communicators receive
flat, contiguous tensors without autograd history, on the engine's device type. The module `collectives` handles shapes,
lists of tensors, other devices and objects. The built-in engines are

- `gloo`, the default: shared memory between processes of one host, which needs nothing but Python, and ZeroMQ between hosts
  (the package pyzmq). Copies into and out of shared memory go in chunks that stay in the processor's caches;
  large tensors are read directly from the memory of the other processes, so each byte is copied once. Reductions work
  in place. NumPy and the system calls run at memory speed, so a compiled extension would not be faster.
- `mpi`, through mpi4py, for any number of machines.
- `nccl`, through CuPy, between CUDA devices.
- `fake`, without communication, for tests.
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

BUILT_IN = {name: f"flambeau_nnlib.distributed.{name}" for name in ("fake", "gloo", "mpi", "nccl")}


class Communicator(Protocol):
    """Collectives of the processes of one group. Ranks are ranks in the group; tensors are flat and contiguous."""

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place; the result is bitwise identical on all ranks."""

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's tensor; the other tensors do not change."""

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill `outputs` with the tensors of all ranks."""

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's `outputs` with the tensors of all ranks; `outputs` is empty on other ranks."""

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's `inputs`; `inputs` is empty on other ranks."""

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce `inputs[i]` over all ranks into the output of rank i."""

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send `inputs[i]` to rank i and fill `outputs[i]` from rank i; sizes may differ and may be 0."""

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until all ranks have called `barrier`."""

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next message from a rank, or from any rank if None; return the sender's rank."""

    def close(self) -> None:
        """Release the resources of the group."""


class Job(Protocol):
    """The connection of this process to the other processes of a job."""

    rank: int
    world_size: int

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """Create a communicator of the processes `ranks`. They must all call this, in the same order for all groups."""

    def leave(self) -> None:
        """Disconnect from the other processes."""


class Engine(Protocol):
    """A transport backend between processes."""

    device_type: str
    """Device type of the tensors that communicators accept."""
    needs_store: bool
    """Whether processes find each other through a store (MPI does not need one)."""

    def available(self) -> bool:
        """Whether the libraries that this engine needs are installed and work on this machine."""

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> Job:
        """Connect to the other processes of a job."""


def find_engine(name: str) -> Engine:
    """Return the engine with this name.

    Raises:
        RuntimeError: no built-in engine and no plugin has this name.
    """
    if name in BUILT_IN:
        engine: Engine = import_module(BUILT_IN[name]).ENGINE
        if name == "nccl" and not engine.available():
            raise RuntimeError("Distributed package doesn't have NCCL built in: it requires CuPy with NCCL and a CUDA device")
        return engine
    found: Any = torch.backend.plugins().hook.flambeau_distributed_engine(name=name)
    if found is None:
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
    return found  # type: ignore[no-any-return]
