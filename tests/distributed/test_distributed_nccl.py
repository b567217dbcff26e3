"""The engine `nccl` with a stand-in for `cupy.cuda.nccl`: ranks are threads, and device memory is host memory."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flambeau as torch
from flambeau.distributed import ReduceOp
from flambeau_nnlib.distributed.nccl import NcclJob

SIZE = 3
_TYPES = {
    "INT8": "i1",
    "UINT8": "u1",
    "INT32": "i4",
    "INT64": "i8",
    "FLOAT16": "f2",
    "FLOAT32": "f4",
    "FLOAT64": "f8",
    "BFLOAT16": "u2",
}
_REDUCTIONS = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


def memory(pointer, count, kind):
    dtype = np.dtype(list(_TYPES.values())[kind])
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(pointer), dtype) if count else np.empty(0, dtype)


class StandIn:
    """Stand-in for `cupy.cuda.nccl` whose ranks are threads."""

    def __init__(self):
        self.meeting, self.shown = threading.Barrier(SIZE), {}
        self.local = threading.local()
        for number, name in enumerate(_TYPES):
            setattr(self, f"NCCL_{name}", number)
        for number, name in enumerate(_REDUCTIONS):
            setattr(self, f"NCCL_{name}", number)

    def get_unique_id(self):
        return tuple(range(128))

    def NcclCommunicator(self, size, identity, rank):
        assert (size, len(identity)) == (SIZE, 128)
        return Communicator(self, rank)

    def groupStart(self):
        self.local.queue = []

    def groupEnd(self):
        queue = self.local.queue
        rank = self.local.rank
        for way, pointer, count, kind, peer in queue:
            if way == "send":
                self.shown["sent", rank, peer] = memory(pointer, count, kind).copy()
        self.meeting.wait(10)
        for way, pointer, count, kind, peer in queue:
            if way == "recv":
                memory(pointer, count, kind)[:] = self.shown.pop(("sent", peer, rank))
        self.meeting.wait(10)


class Communicator:
    def __init__(self, library, rank):
        self.library, self.rank = library, rank
        library.local.rank = rank

    def _everyone(self, pointer, count, kind):
        library = self.library
        library.shown[self.rank] = memory(pointer, count, kind).copy()
        library.meeting.wait(10)
        parts = [library.shown[rank] for rank in range(SIZE)]
        library.meeting.wait(10)
        return parts

    def _reduced(self, pointer, count, kind, op):
        return list(_REDUCTIONS.values())[op].reduce(self._everyone(pointer, count, kind))

    def allReduce(self, sent, received, count, kind, op, stream):
        memory(received, count, kind)[:] = self._reduced(sent, count, kind, op)

    def reduce(self, sent, received, count, kind, op, root, stream):
        result = self._reduced(sent, count, kind, op)
        if self.rank == root:
            memory(received, count, kind)[:] = result

    def broadcast(self, sent, received, count, kind, root, stream):
        memory(received, count, kind)[:] = self._everyone(sent, count, kind)[root]

    def allGather(self, sent, received, count, kind, stream):
        memory(received, count * SIZE, kind)[:] = np.concatenate(self._everyone(sent, count, kind))

    def reduceScatter(self, sent, received, count, kind, op, stream):
        result = self._reduced(sent, count * SIZE, kind, op)
        memory(received, count, kind)[:] = result[self.rank * count : (self.rank + 1) * count]

    def send(self, pointer, count, kind, peer, stream):
        self.library.local.queue.append(("send", pointer, count, kind, peer))

    def recv(self, pointer, count, kind, peer, stream):
        self.library.local.queue.append(("recv", pointer, count, kind, peer))


class Store:
    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value.encode()
            self.changed.notify_all()

    def get(self, key):
        with self.changed:
            assert self.changed.wait_for(lambda: key in self.values, 10)
            return self.values[key]


def on_all_ranks(program):
    library, store = StandIn(), Store()

    def work(rank):
        group = NcclJob(library, store, rank, SIZE).communicator(range(SIZE), "all", None)
        return program(rank, group)

    with ThreadPoolExecutor(SIZE) as threads:
        return list(threads.map(work, range(SIZE)))


def result(call, start=lambda rank: torch.full((4,), 1.0 + rank)):
    def program(rank, group):
        tensor = start(rank)
        call(rank, group, tensor)
        return tensor.tolist()

    return on_all_ranks(program)


def test_reductions():
    for op, expected in ((ReduceOp.SUM, 6.0), (ReduceOp.AVG, 2.0), (ReduceOp.MAX, 3.0), (ReduceOp.PRODUCT, 6.0)):
        assert result(lambda rank, group, x, op=op: group.all_reduce(x, op)) == [[expected] * 4] * SIZE
    assert result(lambda rank, group, x: group.reduce(x, ReduceOp.SUM, 1)) == [[1.0] * 4, [6.0] * 4, [3.0] * 4]

    def scattered(rank, group, x):
        group.reduce_scatter(x, [torch.full((4,), float(place)) for place in range(SIZE)], ReduceOp.AVG)

    assert result(scattered) == [[0.0] * 4, [1.0] * 4, [2.0] * 4]


def test_copies():
    assert result(lambda rank, group, x: group.broadcast(x, 2)) == [[3.0] * 4] * SIZE
    parts = {rank: [torch.zeros(2, dtype=torch.int64) for _ in range(SIZE)] for rank in range(SIZE)}
    result(lambda rank, group, x: group.all_gather(parts[rank], x), lambda rank: torch.tensor([rank, 7]))
    assert all(torch.stack(several).tolist() == [[0, 7], [1, 7], [2, 7]] for several in parts.values())
    gathered = [torch.zeros(4) for _ in range(SIZE)]
    result(lambda rank, group, x: group.gather(gathered if rank == 1 else [], x, 1))
    assert [part[0].item() for part in gathered] == [1, 2, 3]
    given = [torch.full((4,), 10.0 + place) for place in range(SIZE)]
    assert result(lambda rank, group, x: group.scatter(x, given if rank == 0 else [], 0))[2] == [12.0] * 4

    def swapped(rank, group, x):
        outputs = [torch.zeros(place + 1) for place in range(SIZE)]
        group.all_to_all(outputs, [torch.full((rank + 1,), 10.0 * rank + place) for place in range(SIZE)])
        x[:SIZE] = torch.stack([output[0] for output in outputs])

    assert [row[:SIZE] for row in result(swapped)] == [[0, 10, 20], [1, 11, 21], [2, 12, 22]]


def test_what_nccl_cannot_do():
    def program(rank, group):
        with pytest.raises(RuntimeError, match="ReduceOp.BAND"):
            group.all_reduce(torch.ones(1), ReduceOp.BAND)
        with pytest.raises(RuntimeError, match="not supported for NCCL process group"):
            group.broadcast(torch.ones(1, dtype=torch.complex64), 0)
        with pytest.raises(RuntimeError, match="any source"):
            group.receive(torch.ones(1), None, 0)
        group.barrier()

    on_all_ranks(program)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="doesn't have NCCL built in"):
            torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
        assert not torch.distributed.is_nccl_available()
