"""The engine `mpi`, through mpi4py. Start processes with `mpiexec -n 4 python train.py`.

MPI waits forever for a process that has died. Therefore the processes watch each other, as those of the engine `gloo`
do, and each collective is non-blocking: it is polled until it is done or a process has ended. MPICH's `mpiexec` ends
all processes when one is killed. If one exits, the others raise an error.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .engine import Communicator
from .errors import DistBackendError
from .linux import yield_processor
from .messages import as_bytes
from .reduction import ReduceOp, arrays
from .secret import VARIABLE
from .server import own_address
from .store import Store, TCPStore
from .watch import Watch

__all__ = ["ENGINE", "Mpi"]

GRACE = 2.5  # seconds after the end of a process in which collectives that it took part in may still complete
CHECK_INTERVAL = 0.05  # seconds between checks for processes that have ended
SPINS = 20_000  # polls of a collective before yielding the processor; none with more processes than processors
SPIN_TIME = 0.5  # seconds of polling after which a process sleeps between polls

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
_BOOL_OPERATIONS = {"SUM": "LOR", "MAX": "LOR", "BOR": "LOR", "PRODUCT": "LAND", "MIN": "LAND", "BAND": "LAND", "BXOR": "LXOR"}


class Mpi:
    """The engine `mpi`, which uses mpi4py."""

    device_type, needs_store = "cpu", False

    def available(self) -> bool:
        """Whether mpi4py is installed."""
        return find_spec("mpi4py") is not None

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> MpiJob:
        """Connect to the other processes of a job. RuntimeError if `rank` or `world_size` differ from MPI's."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise RuntimeError(
                f"the backend 'mpi' needs mpi4py and an MPI library ({error}): pip install mpi4py mpich"
            ) from error
        world = MPI.COMM_WORLD
        for name, wanted, found in (("rank", rank, world.rank), ("world_size", world_size, world.size)):
            if wanted >= 0 and wanted != found:
                raise RuntimeError(f"{name}={wanted} was given, but MPI reports {found}: start the processes with mpiexec")
        return MpiJob(MPI, timeout)


class MpiJob:
    """The connection of this process to the other processes of a job."""

    def __init__(self, library: Any, timeout: timedelta) -> None:
        self._library, self._world = library, library.COMM_WORLD.Dup()
        self.rank, self.world_size = self._world.rank, self._world.size
        _unlink_shared_memory(self._world)
        names = self._world.allgather(socket.gethostname())
        other = next((name for name in names if name != names[0]), None)
        secret = self._world.bcast(os.environ.get(VARIABLE) or secrets.token_hex(32))
        os.environ.setdefault(VARIABLE, secret)
        served = TCPStore("127.0.0.1" if other is None else "", 0, is_master=True) if self.rank == 0 else None
        host, port = self._world.bcast(served and ("127.0.0.1" if other is None else own_address(other), served.port))
        self._store = served or TCPStore(host, port, timeout=timeout)
        self._watch = Watch(self._store, self.rank, self.world_size, other, timeout, GRACE)
        self._world.Barrier()
        atexit.register(self._leave_at_exit)

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """Create a communicator of these ranks."""
        group = self._world.group.Incl(list(ranks))
        since = time.monotonic()
        return MpiCommunicator(self._library, self._world.Create_group(group), lambda: self._watch.check(ranks, since), timeout)

    def leave(self) -> None:
        """Disconnect from the other processes. All processes must call this together."""
        atexit.unregister(self._leave_at_exit)
        self._watch.leave()
        self._store.close()
        if self._watch.all_alive:
            with suppress(self._library.Exception):
                self._world.Free()

    def _leave_at_exit(self) -> None:
        """Leave at the end of a program that did not call `destroy_process_group`. If a process has died, exit without
        MPI, which would wait for it.
        """
        failed = hasattr(sys, "last_value")
        if failed:
            self._watch.disconnect()
        else:
            self._watch.leave()
        if failed or not self._watch.all_alive:
            sys.stdout.flush()
            sys.stderr.flush()
            time.sleep(GRACE + 0.5)  # lets the other processes report the failure before mpiexec ends them
            os._exit(1)


def _unlink_shared_memory(world: Any) -> None:
    """Unlink MPICH's shared memory files when all processes have mapped them: the memory is freed when the last one ends."""
    world.Barrier()
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8") as file:
        for path in {line.split(maxsplit=5)[-1].strip() for line in file if "/dev/shm/mpich" in line}:
            with suppress(OSError):  # another process has removed the file
                os.unlink(path)


class MpiCommunicator:
    """Collectives of a group, through MPI, on the memory of the tensors."""

    def __init__(self, library: Any, group: Any, check: Callable[[], None], timeout: timedelta) -> None:
        self._library, self._group, self._check, self._timeout = library, group, check, timeout
        self._lost: list[Any] = []
        self.rank, self.size = group.rank, group.size
        self._main, self._spins = threading.main_thread(), SPINS if self.size <= (os.cpu_count() or 1) else 0

    def close(self) -> None:
        """Free the MPI group."""
        if not self._lost:
            with suppress(self._library.Exception):
                self._group.Free()

    def _finish(self, *requests: Any, timeout: timedelta | None = None, status: Any = None) -> None:
        """Poll the requests until they are done. Raise DistBackendError after the timeout or when a process of the group ends."""
        limit, turn, began, looked = timeout or self._timeout, 0, 0.0, 0.0
        for request in requests:
            while not request.Test(status):
                turn += 1
                if turn < self._spins and threading.current_thread() is self._main:
                    continue
                yield_processor()
                now = time.monotonic()
                if not looked:
                    began = looked = now
                elif now - looked > CHECK_INTERVAL:
                    try:
                        self._check()
                        if now - began > limit.total_seconds():
                            raise DistBackendError(f"rank {self.rank} of the group: timed out after {limit.total_seconds():g} s")
                    except DistBackendError:
                        self._lost.append(requests)  # keeps the buffers alive: MPI may still write to them
                        raise
                    looked = now
                elif now - began > SPIN_TIME:
                    time.sleep(1e-3)

    def _bytes(self, tensor: Tensor) -> list[Any]:
        return [as_bytes(tensor) if tensor.numel() else bytearray(), tensor.numel() * tensor.element_size(), self._library.BYTE]

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""
        self._finish(self._group.Ibcast(self._bytes(tensor), root))

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place."""
        reducible = _reducible(tensor)
        self._finish(self._group.Iallreduce(self._library.IN_PLACE, arrays(reducible), self._operation(tensor, op)))
        if tensor.numel():
            op.finish(arrays(reducible), self.size)
        if reducible is not tensor:
            tensor.copy_(reducible)

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's tensor."""
        reducible, here = _reducible(tensor), self.rank == root
        sent, received = (self._library.IN_PLACE, arrays(reducible)) if here else (arrays(reducible), None)
        self._finish(self._group.Ireduce(sent, received, self._operation(tensor, op), root))
        if here:
            op.finish(arrays(reducible), self.size)
            if reducible is not tensor:
                tensor.copy_(reducible)

    def _operation(self, tensor: Tensor, op: ReduceOp) -> Any:
        name = _BOOL_OPERATIONS.get(op.name) if tensor.dtype == torch.bool else _OPERATIONS.get(op.name)
        if name is None:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with {tensor.dtype} on the backend 'mpi'")
        return getattr(self._library, name)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        requests = [self._group.Irecv(self._bytes(outputs[rank]), rank, 0) for rank in others]
        requests += [self._group.Isend(self._bytes(tensor), rank, 0) for rank in others]
        outputs[self.rank].copy_(tensor)
        self._finish(*requests)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        whole = torch.empty(len(outputs) * tensor.numel(), dtype=tensor.dtype)
        received = [as_bytes(whole), self._library.BYTE] if whole.numel() else None
        self._finish(self._group.Igather(self._bytes(tensor), received, root))
        for output, part in zip(outputs, whole.chunk(self.size) if outputs else (), strict=True):
            output.copy_(part)

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        whole = torch.cat(list(inputs)) if inputs else tensor[:0]
        sent = [as_bytes(whole), self._library.BYTE] if whole.numel() else None
        self._finish(self._group.Iscatter(sent, self._bytes(tensor), root))

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce `inputs[i]` over all ranks into the output of rank i."""
        found = [part if rank == self.rank else torch.empty_like(output) for rank, part in enumerate(inputs)]
        others = [rank for rank in range(self.size) if rank != self.rank]
        requests = [self._group.Irecv(self._bytes(found[rank]), rank, 0) for rank in others]
        requests += [self._group.Isend(self._bytes(inputs[rank]), rank, 0) for rank in others]
        self._finish(*requests)
        op.into(arrays(output), [arrays(part) for part in found])

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send `inputs[i]` to rank i, and fill `outputs[i]` with the data from rank i."""
        requests = [self._group.Irecv(self._bytes(output), rank, 0) for rank, output in enumerate(outputs)]
        requests += [self._group.Isend(self._bytes(sent), rank, 0) for rank, sent in enumerate(inputs)]
        self._finish(*requests)

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until all ranks have called `barrier`."""
        self._finish(self._group.Ibarrier(), timeout=timeout)

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""
        self._finish(self._group.Isend(self._bytes(tensor), rank, tag + 1))

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next message from a rank, or from any rank if None; return the sender's rank."""
        status = self._library.Status()
        source = self._library.ANY_SOURCE if rank is None else rank
        self._finish(self._group.Irecv(self._bytes(tensor), source, tag + 1), status=status)
        size = tensor.numel() * tensor.element_size()
        if status.Get_count(self._library.BYTE) != size:
            raise DistBackendError(f"received {status.Get_count(self._library.BYTE)} bytes for a tensor of {size}")
        return int(status.Get_source())


def _reducible(tensor: Tensor) -> Tensor:
    """Convert float16 and bfloat16 tensors to float32, which MPI can reduce; return other tensors unchanged."""
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor


ENGINE = Mpi()
