"""The engine `mpi`, through mpi4py: start processes with `mpiexec -n 4 python train.py`.

A process that dies ends the job: `mpiexec` ends the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .engine import Communicator
from .errors import DistBackendError
from .messages import as_bytes
from .reduction import ReduceOp, arrays
from .store import Store

__all__ = ["ENGINE", "Mpi"]

_OPERATIONS = {
    "SUM": "SUM",
    "AVG": "SUM",
    "PREMUL_SUM": "SUM",
    "PRODUCT": "PROD",
    "MIN": "MIN",
    "MAX": "MAX",
    "BAND": "BAND",
    "BOR": "BOR",
    "BXOR": "BXOR",
}
_OF_BOOLS = {"SUM": "LOR", "MAX": "LOR", "BOR": "LOR", "PRODUCT": "LAND", "MIN": "LAND", "BAND": "LAND", "BXOR": "LXOR"}


class Mpi:
    """The engine `mpi`."""

    device_type, needs_store = "cpu", False

    def available(self) -> bool:
        """Whether mpi4py is installed."""
        return find_spec("mpi4py") is not None

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> MpiJob:
        """Join the other processes of a job.  RuntimeError if the number of processes is not MPI's."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise RuntimeError(
                f"the backend 'mpi' needs mpi4py and an MPI library ({error}): pip install 'flambeau[mpi]'"
            ) from error
        world = MPI.COMM_WORLD
        for name, wanted, found in (("rank", rank, world.rank), ("world_size", world_size, world.size)):
            if wanted >= 0 and wanted != found:
                raise RuntimeError(f"{name}={wanted} was given, but MPI says {found}: start the processes with mpiexec")
        return MpiJob(MPI)


class MpiJob:
    """This process's part in a job."""

    def __init__(self, library: Any) -> None:
        self._library, self._world = library, library.COMM_WORLD.Dup()
        self.rank, self.world_size = self._world.rank, self._world.size

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """A communicator of these processes."""
        group = self._world.group.Incl(list(ranks))
        return MpiCommunicator(self._library, self._world.Create_group(group))

    def leave(self) -> None:
        """Leave the job: all processes do so together."""
        with suppress(self._library.Exception):
            self._world.Free()


class MpiCommunicator:
    """Collectives of a group: MPI's own, on the memory of the tensors."""

    def __init__(self, library: Any, group: Any) -> None:
        self._library, self._group = library, group
        self.rank, self.size = group.rank, group.size

    def close(self) -> None:
        """Give the group back."""
        with suppress(self._library.Exception):
            self._group.Free()

    def _bytes(self, tensor: Tensor) -> list[Any]:
        return [as_bytes(tensor) if tensor.numel() else bytearray(), tensor.numel() * tensor.element_size(), self._library.BYTE]

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's."""
        self._group.Bcast(self._bytes(tensor), root)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place."""
        known = _known(tensor)
        self._group.Allreduce(self._library.IN_PLACE, arrays(known), self._operation(tensor, op))
        if tensor.numel():
            op.finish(arrays(known), self.size)
        if known is not tensor:
            tensor.copy_(known)

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's."""
        known, here = _known(tensor), self.rank == root
        sent, received = (self._library.IN_PLACE, arrays(known)) if here else (arrays(known), None)
        self._group.Reduce(sent, received, self._operation(tensor, op), root)
        if here:
            op.finish(arrays(known), self.size)
            if known is not tensor:
                tensor.copy_(known)

    def _operation(self, tensor: Tensor, op: ReduceOp) -> Any:
        name = _OF_BOOLS.get(op.name) if tensor.dtype == torch.bool else _OPERATIONS.get(op.name)
        if name is None:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with {tensor.dtype} on the backend 'mpi'")
        return getattr(self._library, name)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        for rank, output in enumerate(outputs):
            if rank == self.rank:
                output.copy_(tensor)
        requests = [self._group.Ibcast(self._bytes(output), rank) for rank, output in enumerate(outputs)]
        self._library.Request.Waitall(requests)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        whole = torch.empty(len(outputs) * tensor.numel(), dtype=tensor.dtype)
        self._group.Gather(self._bytes(tensor), [as_bytes(whole), self._library.BYTE] if whole.numel() else None, root)
        for output, part in zip(outputs, whole.chunk(self.size) if outputs else (), strict=True):
            output.copy_(part)

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        whole = torch.cat(list(inputs)) if inputs else tensor[:0]
        self._group.Scatter([as_bytes(whole), self._library.BYTE] if whole.numel() else None, self._bytes(tensor), root)

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Fill each rank's output with the reduced inputs of all ranks at its place."""
        known, target = _known(torch.cat(list(inputs))), _known(output)
        self._group.Reduce_scatter_block(arrays(known), arrays(target), self._operation(output, op))
        op.finish(arrays(target), self.size)
        if target is not output:
            output.copy_(target)

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send each rank its input, and fill the outputs with what came from each."""
        requests = [self._group.Irecv(self._bytes(output), rank, 0) for rank, output in enumerate(outputs)]
        requests += [self._group.Isend(self._bytes(sent), rank, 0) for rank, sent in enumerate(inputs)]
        self._library.Request.Waitall(requests)

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait for all ranks."""
        self._group.Barrier()

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""
        self._group.Send(self._bytes(tensor), rank, tag + 1)

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next one from a rank, or from any; returns which."""
        status = self._library.Status()
        self._group.Recv(self._bytes(tensor), self._library.ANY_SOURCE if rank is None else rank, tag + 1, status)
        size = tensor.numel() * tensor.element_size()
        if status.Get_count(self._library.BYTE) != size:
            raise DistBackendError(f"received {status.Get_count(self._library.BYTE)} bytes for a tensor of {size}")
        return int(status.Get_source())


def _known(tensor: Tensor) -> Tensor:
    """A tensor of a dtype that MPI can reduce: itself, or one of float32."""
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor


ENGINE = Mpi()
