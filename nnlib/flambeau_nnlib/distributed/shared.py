"""Collectives of processes on one host through shared memory.

Each process has a *slot* of the memory that only it writes to, in two halves, and a counter. A step of a collective is:
write to one half, increment the counter, wait until all counters have increased, read what the others wrote. The next
step uses the other half, so one wait per step suffices: when a process writes to a half again, all others have read it.
Tensors are copied in chunks that fit the processors' caches. Large tensors are read directly from other processes'
memory if the system allows it: see `direct`.

Next to its counter each process writes a note of the collective it was called with, so that mismatched calls are
detected.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import flambeau as torch
from flambeau import Tensor

from .direct import Direct
from .errors import DistBackendError
from .linux import Futex, allow_reads, can_read, yield_processor
from .reduction import ReduceOp, arrays
from .store import Store

__all__ = ["SharedMemory"]

CHUNK = 1 << 19  # bytes of a tensor that are copied in one step
CROWDED_CHUNK = 1 << 22  # the same with more processes than processors, where waits are slow: fewer steps
DIRECT = 1 << 14  # size in bytes up to which every process reduces the entire tensor, instead of one part each
HEADER = 1024  # bytes reserved for a process's counter and for its notes, see above
NOTE = 160  # bytes of a note, the text that describes the collective a process has called
LARGE = 1 << 23  # size in bytes from which processes read each other's memory directly; slower for small tensors
CHECK_INTERVAL = 0.05  # seconds between checks for processes that have ended
SPINS = 1000  # polls of a counter before yielding the processor
YIELDS = 400  # yields before sleeping, where futexes are missing


class SharedMemory:
    """Shared memory of a group of processes on one host, and their collectives.

    Args:
        store: store of this group only, used to find the memory.
        rank, size: rank of this process in the group, and number of processes.
        check: raises if a process of the group has ended.
        timeout: how long to wait for other processes.
    """

    def __init__(self, store: Store, rank: int, size: int, check: Callable[[], None], timeout: timedelta) -> None:
        self.rank, self.size, self._check, self._timeout = rank, size, check, timeout
        self._chunk = CHUNK if size <= (os.cpu_count() or 1) else CROWDED_CHUNK
        self._half = 2 * self._chunk  # room for a chunk, and for this rank's reduced part of a chunk
        memory, descriptor, path = _open(
            store, rank, size, -(-size * HEADER // mmap.PAGESIZE) * mmap.PAGESIZE + 2 * size * self._half
        )
        self._memory, self._bytes = memory, memoryview(memory)
        self._counters = self._bytes[: size * HEADER].cast("q")
        self._data = torch.frombuffer(memory, dtype=torch.uint8)[len(memory) - 2 * size * self._half :]
        self._typed: dict[torch.dtype, list[list[Any]]] = {}
        self._epoch = 0
        self._memory_barrier = threading.Lock()  # acquiring it is a memory barrier
        self._others = [other for other in range(size) if other != rank]
        self._main = threading.main_thread()
        self._word = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._futex = Futex(CHECK_INTERVAL)
        self._synchronize(b"start")  # waits until all ranks have mapped the memory, so that its file can be removed
        os.close(descriptor)
        if rank == 0 and not path.startswith("/proc/"):
            os.unlink(path)
        self._direct = self._try_direct()

    def _try_direct(self) -> Direct | None:
        """Return `Direct` if every process may read the memory of every other one, else None."""
        allow_reads()
        known = array("Q", [0x666C616D62656175, self.rank])
        processes = self._synchronize(b"start", os.getpid())
        places = self._synchronize(b"start", known.buffer_info()[0])
        tries = (can_read(processes[other], places[other], array("Q", [known[0], other]).tobytes()) for other in self._others)
        return Direct(processes, self.rank, self._synchronize) if all(self._synchronize(b"start", int(all(tries)))) else None

    def close(self) -> None:
        """Unmap the memory, unless tensors still use it."""
        self._typed.clear()
        self._data = torch.empty(0)
        self._counters.release()
        self._bytes.release()
        with suppress(BufferError):
            self._memory.close()

    def _slots(self, dtype: torch.dtype) -> list[list[Any]]:
        """Return, for both halves, the slots of all ranks as arrays of `dtype`."""
        if dtype not in self._typed:
            halves = self._data.reshape(self.size, 2, self._half)
            self._typed[dtype] = [[arrays(halves[rank, half].view(dtype)) for rank in range(self.size)] for half in (0, 1)]
        return self._typed[dtype]

    # --- synchronization ---

    def _synchronize(self, call: bytes, value: int = 0) -> list[int]:
        """Wait for all ranks, check that they call the same collective, and start the next step; return each rank's `value`."""
        half = self._epoch & 1
        note = call[:NOTE].ljust(NOTE)
        place = self.rank * HEADER
        self._counters[place // 8 + 8 + half] = value
        start = 128 + half * NOTE
        self._bytes[place + start : place + start + NOTE] = note
        self._epoch += 1
        with self._memory_barrier:
            self._counters[place // 8] = self._epoch
        if self._futex.works:
            self._futex.wake(self._word + place)
        for other in self._others:
            if self._counters[other * HEADER // 8] < self._epoch:
                self._wait(other, call)
        with self._memory_barrier:
            for other in self._others:
                if self._bytes[other * HEADER + start : other * HEADER + start + NOTE] != note:
                    self._raise_mismatch(start, note)
        return [self._counters[rank * HEADER // 8 + 8 + half] for rank in range(self.size)]

    def _wait(self, other: int, call: bytes) -> None:
        """Wait until another process has reached this step: first by polling, then yielding the processor, then sleeping."""
        counters, place, epoch = self._counters, other * HEADER // 8, self._epoch
        crowded = self.size > (os.cpu_count() or 1) or threading.current_thread() is not self._main
        for _ in range(0 if crowded and self._futex.works else SPINS):
            if counters[place] >= epoch:
                return
        if not self._futex.works and not crowded:
            for _ in range(YIELDS):
                if counters[place] >= epoch:
                    return
                yield_processor()
        began = looked = time.monotonic()
        pause = 2e-5
        while (count := counters[place]) < epoch:
            if self._futex.works:
                self._futex.wait(self._word + 8 * place, count)
            else:
                time.sleep(pause)
                pause = min(1.2 * pause, 1e-3)
            now = time.monotonic()
            if now - looked > CHECK_INTERVAL:
                self._check()
                looked = now
                if now - began > self._timeout.total_seconds():
                    raise DistBackendError(
                        f"rank {self.rank} of the group: timed out waiting {self._timeout.total_seconds():g} s for rank {other} "
                        f"in {call.decode()}"
                    )

    def _raise_mismatch(self, start: int, note: bytes) -> None:
        def text(rank: int) -> str:
            return bytes(self._bytes[rank * HEADER + start : rank * HEADER + start + NOTE]).decode(errors="replace").strip()

        calls = "; ".join(f"rank {rank} calls {text(rank)}" for rank in range(self.size))
        raise DistBackendError(f"rank {self.rank} of the group: the ranks do not call the same collective: {calls}")

    # --- collectives ---

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Wait until all ranks have called `barrier`."""
        before, self._timeout = self._timeout, timeout or self._timeout
        try:
            self._synchronize(b"barrier")
        finally:
            self._timeout = before

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Overwrite the tensor of every rank with the root's tensor."""
        call = _call("broadcast", tensor, f" from rank {root}")
        if self._direct is not None and _is_large(tensor):
            return self._direct.broadcast(tensor, root, call)
        mine, slots = arrays(tensor), self._slots(tensor.dtype)
        for part in _chunks(tensor, self._half):
            half, count = slots[self._epoch & 1], part.stop - part.start
            if self.rank == root:
                half[root][:count] = mine[part]
            self._synchronize(call)
            if self.rank != root:
                mine[part] = half[root][:count]

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce the tensors of all ranks in place."""
        call = _call("all_reduce", tensor, f" {op.name}")
        if self._direct is not None and _is_large(tensor):
            self._direct.all_reduce(tensor, op, call)
        elif self.size <= 2 or tensor.numel() * tensor.element_size() <= DIRECT:
            self._reduce_all_here(tensor, op, call)
        else:
            self._reduce_in_parts(tensor, op, call, True)

    def reduce(self, tensor: Tensor, op: ReduceOp, root: int) -> None:
        """Reduce the tensors of all ranks into the root's tensor."""
        self._reduce_in_parts(tensor, op, _call("reduce", tensor, f" {op.name} to rank {root}"), self.rank == root)

    def _reduce_all_here(self, tensor: Tensor, op: ReduceOp, call: bytes) -> None:
        """Reduce the entire tensor in every rank, which is fastest for two ranks and for short tensors."""
        mine, slots = arrays(tensor), self._slots(tensor.dtype)
        for part in _chunks(tensor, self._half):
            half, count = slots[self._epoch & 1], part.stop - part.start
            target = mine[part]
            half[self.rank][:count] = target
            self._synchronize(call)
            if self.size == 2:  # both ranks may start with their own data: a + b and b + a are bitwise equal
                op.combine(target, half[1 - self.rank][:count])
                op.finish(target, 2)
            else:
                op.into(target, [slot[:count] for slot in half])

    def _reduce_in_parts(self, tensor: Tensor, op: ReduceOp, call: bytes, collects: bool) -> None:
        """Let each rank reduce one part of each chunk. Ranks read each other's results when they share the next chunk."""
        mine, slots, room = arrays(tensor), self._slots(tensor.dtype), self._chunk // tensor.element_size()
        before: slice | None = None
        for part in [*_chunks(tensor, self._chunk), None]:
            half = slots[self._epoch & 1]
            if part is not None:
                half[self.rank][: part.stop - part.start] = mine[part]
            self._synchronize(call)
            if part is not None:
                low, high = _share(part, self.rank, self.size)
                results = slots[self._epoch & 1][self.rank][room : room + high - low]
                op.into(results, [slot[low:high] for slot in half])
            if before is not None and collects:
                for rank, slot in enumerate(half):
                    low, high = _share(before, rank, self.size)
                    mine[before.start + low : before.start + high] = slot[room : room + high - low]
            before = part

    def all_gather(self, outputs: Sequence[Tensor], tensor: Tensor) -> None:
        """Fill the outputs with the tensors of all ranks."""
        if self._direct is not None and _is_large(tensor):
            self._direct.all_gather(outputs, tensor, _call("all_gather", tensor))
        else:
            self._collect([arrays(output) for output in outputs], tensor, _call("all_gather", tensor))

    def gather(self, outputs: Sequence[Tensor], tensor: Tensor, root: int) -> None:
        """Fill the root's outputs with the tensors of all ranks."""
        self._collect([arrays(output) for output in outputs], tensor, _call("gather", tensor, f" to rank {root}"))

    def _collect(self, targets: Sequence[Any], tensor: Tensor, call: bytes) -> None:
        mine, slots = arrays(tensor), self._slots(tensor.dtype)
        for part in _chunks(tensor, self._half):
            half, count = slots[self._epoch & 1], part.stop - part.start
            half[self.rank][:count] = mine[part]
            self._synchronize(call)
            for rank, target in enumerate(targets):
                target[part] = mine[part] if rank == self.rank else half[rank][:count]

    def scatter(self, tensor: Tensor, inputs: Sequence[Tensor], root: int) -> None:
        """Fill each rank's tensor from the root's inputs."""
        mine, sources, slots = arrays(tensor), [arrays(part) for part in inputs], self._slots(tensor.dtype)
        call, room = _call("scatter", tensor, f" from rank {root}"), self._room(tensor)
        for part in _chunks(tensor, room * tensor.element_size()):
            half, count = slots[self._epoch & 1], part.stop - part.start
            for rank, source in enumerate(sources):
                half[root][rank * room : rank * room + count] = source[part]
            self._synchronize(call)
            mine[part] = half[root][self.rank * room : self.rank * room + count]

    def reduce_scatter(self, output: Tensor, inputs: Sequence[Tensor], op: ReduceOp) -> None:
        """Reduce `inputs[i]` over all ranks into the output of rank i."""
        call, room = _call("reduce_scatter", output, f" {op.name}"), self._room(output)
        if self._direct is not None and _is_large(output):
            return self._direct.reduce_scatter(output, inputs, op, call)
        mine, sources, slots = arrays(output), [arrays(part) for part in inputs], self._slots(output.dtype)
        for part in _chunks(output, room * output.element_size()):
            half, count = slots[self._epoch & 1], part.stop - part.start
            for rank, source in enumerate(sources):
                if rank != self.rank:
                    half[self.rank][rank * room : rank * room + count] = source[part]
            self._synchronize(call)
            place = self.rank * room
            op.into(
                mine[part],
                [sources[rank][part] if rank == self.rank else slot[place : place + count] for rank, slot in enumerate(half)],
            )

    def all_to_all(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Send `inputs[i]` to rank i, and fill `outputs[i]` with the data from rank i."""
        call, slots = f"all_to_all of {inputs[0].dtype}".encode(), self._slots(inputs[0].dtype)
        targets, sources = [arrays(part) for part in outputs], [arrays(part) for part in inputs]
        room = self._room(inputs[0])
        longest = max(self._synchronize(call, max(len(source) for source in sources)))
        for start in range(0, longest, room):
            half = slots[self._epoch & 1]
            for rank, source in enumerate(sources):
                sent = source[start : start + room]
                half[self.rank][rank * room : rank * room + len(sent)] = sent
            self._synchronize(call)
            place = self.rank * room
            for slot, target in zip(half, targets, strict=True):
                received = target[start : start + room]
                received[...] = slot[place : place + len(received)]

    def _room(self, tensor: Tensor) -> int:
        """Return how many elements each rank has in half a slot, when a half is divided among all ranks."""
        return self._half // tensor.element_size() // self.size


def _call(name: str, tensor: Tensor, more: str = "") -> bytes:
    return f"{name} of {tensor.numel()} {tensor.dtype}{more}".encode()


def _is_large(tensor: Tensor) -> bool:
    return tensor.numel() * tensor.element_size() >= LARGE


def _chunks(tensor: Tensor, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` bytes; for an empty tensor one empty slice, so that its ranks also synchronize."""
    count, total = size // tensor.element_size(), tensor.numel()
    for start in range(0, max(total, 1), count):
        yield slice(start, min(start + count, total))


def _share(part: slice, rank: int, size: int) -> tuple[int, int]:
    """Return the part of a chunk that a rank reduces, as indices of its first element and after its last."""
    count = part.stop - part.start
    return count * rank // size, count * (rank + 1) // size


def _open(store: Store, rank: int, size: int, length: int) -> tuple[mmap.mmap, int, str]:
    """Return memory that all ranks map, its file descriptor, and its path."""
    if rank == 0:
        descriptor, path = _create(length)
        store.set("memory", path)
    else:
        path = store.get("memory").decode()
        descriptor = os.open(path, os.O_RDWR)
    return mmap.mmap(descriptor, length), descriptor, path


def _create(length: int) -> tuple[int, str]:
    if sys.platform == "linux":
        descriptor = os.memfd_create("flambeau")
        path = f"/proc/{os.getpid()}/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp(prefix="flambeau-")
    os.truncate(descriptor, length)
    return descriptor, path
