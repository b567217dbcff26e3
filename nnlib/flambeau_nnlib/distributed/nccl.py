"""The engine `nccl`, through CuPy: collectives between CUDA devices, one device per process.

Select a process's device with `torch.cuda.set_device` before `init_process_group("nccl")`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .engine import Communicator
from .reduction import ReduceOp
from .store import Store

__all__ = ["ENGINE", "Nccl"]

_DTYPES = {
    torch.int8: "INT8", torch.uint8: "UINT8", torch.bool: "UINT8", torch.int32: "INT32", torch.int64: "INT64",
    torch.float16: "FLOAT16", torch.bfloat16: "BFLOAT16", torch.float32: "FLOAT32", torch.float64: "FLOAT64",
}  # fmt: skip
_OPERATIONS = {"SUM": "SUM", "AVG": "SUM", "PREMUL_SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX"}


class Nccl:
    """The engine `nccl`, which uses CuPy."""

    device_type, needs_store = "cuda", True

    def available(self) -> bool:
        """Whether CuPy has NCCL and a CUDA device is present."""
        if find_spec("cupy") is None or not torch.cuda.is_available():
            return False
        return bool(getattr(import_module("cupy.cuda.nccl"), "available", True))

    def join(self, store: Store | None, rank: int, world_size: int, timeout: timedelta) -> NcclJob:
        """Connect to the other processes of a job."""
        assert store is not None
        return NcclJob(import_module("cupy.cuda.nccl"), store, rank, world_size)


class NcclJob:
    """The connection of this process to the other processes of a job."""

    def __init__(self, library: Any, store: Store, rank: int, world_size: int) -> None:
        self.library, self.store, self.rank, self.world_size = library, store, rank, world_size

    def communicator(self, ranks: Sequence[int], name: str, timeout: timedelta) -> Communicator:
        """Create a communicator of these ranks. Rank 0 of the group shares NCCL's unique id through the store."""
        key, rank = f"nccl {name}", ranks.index(self.rank)
        if rank == 0:
            self.store.set(key, " ".join(map(str, self.library.get_unique_id())))
        identity = tuple(map(int, self.store.get(key).decode().split()))
        return NcclCommunicator(self.library, self.library.NcclCommunicator(len(ranks), identity, rank), rank, len(ranks))

    def leave(self) -> None:
        """Do nothing: NCCL needs no disconnection."""


class NcclCommunicator:
    """Collectives of a group, through NCCL. Each call waits until the result is complete."""

    def __init__(self, library: Any, group: Any, rank: int, size: int) -> None:
        self._library, self._group, self.rank, self.size = library, group, rank, size

    def close(self) -> None:
        """Free the NCCL communicator."""
        with suppress(Exception):
            self._group.destroy()

    # --- conversions for NCCL ---

    def _dtype(self, tensor: Tensor) -> int:
        if tensor.dtype not in _DTYPES:
            raise RuntimeError(f"Input tensor data type is not supported for NCCL process group: {tensor.dtype}")
        return int(getattr(self._library, f"NCCL_{_DTYPES[tensor.dtype]}"))

    def _operation(self, op: ReduceOp) -> int:
        if op.name not in _OPERATIONS:
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with NCCL")
        return int(getattr(self._library, f"NCCL_{_OPERATIONS[op.name]}"))

    @contextmanager
    def _stream(self) -> Iterator[int]:
        """Yield the current CUDA stream, and synchronize it on exit."""
        if not torch.cuda.is_available():  # tests replace NCCL by a library that works on the CPU
            yield 0
            return
        stream = torch.cuda.current_stream()
        yield stream.cuda_stream
        stream.synchronize()

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Group the sends and receives of the block into one NCCL operation."""
        self._library.groupStart()
        yield
        self._library.groupEnd()

    # --- collectives ---

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""
        with self._stream() as stream:
            self._group.broadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), self._dtype(tensor), root, stream)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place."""
        place, kind = tensor.data_ptr(), self._dtype(tensor)
        with self._stream() as stream:
            self._group.allReduce(place, place, tensor.numel(), kind, self._operation(op), stream)
        op.finish(tensor, self.size)

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's tensor."""
        result = tensor if self.rank == root else torch.empty_like(tensor)
        count, kind = tensor.numel(), self._dtype(tensor)
        with self._stream() as stream:
            self._group.reduce(tensor.data_ptr(), result.data_ptr(), count, kind, self._operation(op), root, stream)
        if self.rank == root:
            op.finish(tensor, self.size)

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        whole = tensor.new_empty(self.size * tensor.numel())
        with self._stream() as stream:
            self._group.allGather(tensor.data_ptr(), whole.data_ptr(), tensor.numel(), self._dtype(tensor), stream)
        for output, part in zip(outputs, whole.split(tensor.numel()), strict=True):
            output.copy_(part)

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce `inputs[i]` over all ranks into the output of rank i."""
        whole, kind = torch.cat(list(inputs)), self._dtype(output)
        with self._stream() as stream:
            self._group.reduceScatter(whole.data_ptr(), output.data_ptr(), output.numel(), kind, self._operation(op), stream)
        op.finish(output, self.size)

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        received = dict(enumerate(outputs)) if self.rank == root else {}
        self._exchange({root: tensor}, received)

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        self._exchange(dict(enumerate(inputs)) if self.rank == root else {}, {root: tensor})

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send `inputs[i]` to rank i, and fill `outputs[i]` with the data from rank i."""
        self._exchange(dict(enumerate(inputs)), dict(enumerate(outputs)))

    def _exchange(self, sent: dict[int, Tensor], received: dict[int, Tensor]) -> None:
        """Send and receive tensors, given by rank, in one NCCL group call."""
        with self._stream() as stream, self._together():
            for call, tensors in ((self._group.send, sent), (self._group.recv, received)):
                for rank, tensor in tensors.items():
                    if tensor.numel():
                        call(tensor.data_ptr(), tensor.numel(), self._dtype(tensor), rank, stream)

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until all ranks have called `barrier`."""
        place = "cuda" if torch.cuda.is_available() else "cpu"
        self.all_reduce(torch.zeros(1, device=place), ReduceOp.SUM)

    def send(self, tensor: Tensor, rank: int, tag: int) -> None:
        """Send a tensor to a rank."""
        self._exchange({rank: tensor}, {})

    def receive(self, tensor: Tensor, rank: int | None, tag: int) -> int:
        """Fill a tensor with the next message from a rank. RuntimeError if the rank is None."""
        if rank is None:
            raise RuntimeError("Receiving from any source is not supported by NCCL: pass the source rank")
        self._exchange({}, {rank: tensor})
        return rank


ENGINE = Nccl()
