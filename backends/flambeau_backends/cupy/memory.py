"""Device memory: CuPy's memory pools with PyTorch's statistics, limits and errors."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy
from cupy.cuda import memory, runtime

from flambeau import OutOfMemoryError

__all__ = ["Counter", "Memory", "MemoryStatistics"]

GRAIN = 512  # CuPy's pools round sizes up to multiples of this many bytes


class Counter:
    """A memory statistic: its current value, its peak, and the totals allocated and freed."""

    __slots__ = ("allocated", "current", "freed", "peak")

    def __init__(self) -> None:
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount: int) -> None:
        self.current += amount
        self.allocated += amount
        self.peak = max(self.peak, self.current)

    def take(self, amount: int) -> None:
        self.current -= amount
        self.freed += amount

    def reset(self, what: str) -> None:
        if what == "peak":
            self.peak = self.current
        else:
            self.allocated = self.freed = 0


class MemoryStatistics:
    """The memory statistics of one device, or of page-locked host memory."""

    names = ("allocated_bytes", "requested_bytes", "reserved_bytes", "allocation", "segment")

    def __init__(self) -> None:
        self.counters = {name: Counter() for name in self.names}
        self.out_of_memory = self.retries = 0
        self.lock = threading.RLock()  # reentrant because the garbage collector may release memory inside any call

    def add(self, **amounts: int) -> None:
        with self.lock:
            for name, amount in amounts.items():
                self.counters[name].add(amount)

    def take(self, **amounts: int) -> None:
        with self.lock:
            for name, amount in amounts.items():
                self.counters[name].take(amount)

    def reset(self, what: str) -> None:
        with self.lock:
            for counter in self.counters.values():
                counter.reset(what)

    def report(self) -> dict[str, int]:
        counters = dict(self.counters)
        counters |= {
            "active_bytes": counters["allocated_bytes"],
            "active": counters["allocation"],
            "inactive_split": Counter(),
            "inactive_split_bytes": Counter(),
        }
        flat = {
            f"{name}.all.{column}": getattr(counter, column) for name, counter in counters.items() for column in Counter.__slots__
        }
        return flat | {"num_ooms": self.out_of_memory, "num_alloc_retries": self.retries}


class _Segment(memory.BaseMemory):  # type: ignore[misc]
    """A segment of device memory allocated by a pool."""

    def __init__(self, size: int, figures: MemoryStatistics, known: dict[int, int]) -> None:
        self.size, self.device_id = size, runtime.getDevice()
        self.ptr = runtime.malloc(size) if size else 0
        self._figures, self._known = figures, known
        figures.add(reserved_bytes=size, segment=1)
        known[self.ptr] = size

    def __del__(self) -> None:
        if getattr(self, "_known", None) is not None:
            self._figures.take(reserved_bytes=self.size, segment=1)
            self._known.pop(self.ptr, None)
            runtime.free(self.ptr)


class _ImportedMemory(memory.BaseMemory):  # type: ignore[misc]
    """Memory of another process, opened by an IPC handle."""

    def __init__(self, handle: bytes, size: int, release: Callable[[], None]) -> None:
        self.size, self.device_id = size, runtime.getDevice()
        self.ptr = runtime.ipcOpenMemHandle(handle)
        self._release = release

    def __del__(self) -> None:
        if getattr(self, "_release", None) is not None:
            runtime.deviceSynchronize()  # queued kernels may still use the memory
            runtime.ipcCloseMemHandle(self.ptr)
            self._release()


class _Block(memory.BaseMemory):  # type: ignore[misc]
    """The memory of one array: a block of a pool, counted in the statistics."""

    def __init__(self, inner: Any, size: int, figures: MemoryStatistics) -> None:
        self.size, self.ptr, self.device_id = size, inner.ptr, inner.device_id
        self._inner, self._figures = inner, figures
        self._amounts = {"allocated_bytes": -(-size // GRAIN) * GRAIN, "requested_bytes": size, "allocation": 1}
        figures.add(**self._amounts)

    def __del__(self) -> None:
        if getattr(self, "_amounts", None) is not None:
            self._figures.take(**self._amounts)


class Memory:
    """Methods of the CuPy backend for memory."""

    def __init__(self) -> None:
        self._figures: defaultdict[int, MemoryStatistics] = defaultdict(MemoryStatistics)
        self._fractions: dict[int, float] = {}
        self._segments: dict[int, int] = {}  # sizes of the allocated segments, by address
        self._lent: dict[int, Any] = {}  # memory allocated for other libraries, by address
        self._pool = self.create_pool()
        self._local = threading.local()
        cupy.cuda.set_allocator(self._malloc)

    # --- allocation ---

    def _take_segment(self, size: int) -> Any:
        return memory.MemoryPointer(_Segment(size, self._figures[runtime.getDevice()], self._segments), 0)

    def _malloc(self, size: int) -> Any:
        """Allocate memory and count it in the statistics. CuPy calls this function, its allocator, for every array."""
        index = runtime.getDevice()
        figures, pool = self._figures[index], getattr(self._local, "pool", None) or self._pool
        try:
            inner = pool.malloc(size)
        except memory.OutOfMemoryError as error:
            figures.out_of_memory += 1
            raise OutOfMemoryError(self._explain(size, index)) from error
        return memory.MemoryPointer(_Block(inner, size, figures), 0)

    def _explain(self, size: int, index: int) -> str:
        free, total = self.memory_info(index)
        used = self._figures[index].counters["allocated_bytes"].current
        return (
            f"CUDA out of memory. Tried to allocate {_format_size(size)}. GPU {index} has a total capacity of "
            f"{_format_size(total)} of which {_format_size(free)} is free. {_format_size(used)} is allocated by tensors of this "
            "process."
        )

    def create_pool(self, allocator: Any = None) -> Any:
        if allocator is None:
            return memory.MemoryPool(self._take_segment)
        return memory.MemoryPool(_external_allocator(allocator.allocate, allocator.release).malloc)

    @contextmanager
    def using_pool(self, pool: Any) -> Iterator[None]:
        before = getattr(self._local, "pool", None)
        self._local.pool = pool
        try:
            yield
        finally:
            self._local.pool = before

    def set_allocator(self, allocate: Callable[[int, int], int], release: Callable[[int, int], None]) -> None:
        self._pool = _external_allocator(allocate, release)

    def use_cache(self, value: bool) -> None:
        self._pool = self.create_pool() if value else _Uncached(self._take_segment)

    def empty_cache(self) -> None:
        for index in range(runtime.getDeviceCount()):
            with cupy.cuda.Device(index):
                self._pool.free_all_blocks()

    def allocate(self, size: int, index: int, stream: int | None) -> int:
        with cupy.cuda.Device(index):
            block = self._malloc(size)
        self._lent[block.ptr] = block
        return int(block.ptr)

    def release(self, pointer: int) -> None:
        del self._lent[pointer]

    # --- memory shared by processes ---

    def memory_handle(self, pointer: int) -> tuple[bytes, int]:
        """Return the IPC handle of the segment that contains an address, and the address's offset in it."""
        for start, size in self._segments.items():
            if start <= pointer < start + size:
                return bytes(runtime.ipcGetMemHandle(start)), pointer - start
        raise RuntimeError("memory of another library cannot be shared with another process: clone the tensor")

    def open_memory(self, handle: bytes, offset: int, size: int, index: int, release: Callable[[], None]) -> Any:
        with cupy.cuda.Device(index):
            whole = memory.MemoryPointer(_ImportedMemory(handle, offset + size, release), offset)
            return cupy.ndarray((size,), "u1", memptr=whole)

    # --- statistics and limits ---

    def memory_stats(self, index: int) -> dict[str, int]:
        return self._figures[index].report()

    def reset_memory_stats(self, index: int, what: str) -> None:
        self._figures[index].reset(what)

    def memory_info(self, index: int) -> tuple[int, int]:
        with cupy.cuda.Device(index):
            free, total = runtime.memGetInfo()
        return int(free), int(total)

    def memory_blocks(self) -> list[dict[str, Any]]:
        return [
            {
                "device": index,
                "segment_pool_id": id(self._pool),
                "total_size": figures.counters["reserved_bytes"].current,
                "allocated_size": figures.counters["allocated_bytes"].current,
            }
            for index, figures in self._figures.items()
        ]

    def set_memory_fraction(self, fraction: float, index: int) -> None:
        self._fractions[index] = fraction
        with cupy.cuda.Device(index):
            self._pool.set_limit(size=int(fraction * self.memory_info(index)[1]))

    def memory_fraction(self, index: int) -> float:
        return self._fractions.get(index, 1.0)


class _Uncached:
    """A pool without caching: it allocates on the device and frees immediately."""

    def __init__(self, malloc: Callable[[int], Any]) -> None:
        self.malloc = malloc

    def free_all_blocks(self) -> None:
        """Do nothing, as no memory is cached."""


def _external_allocator(allocate: Callable[[int, int], int], release: Callable[[int, int], None]) -> Any:
    return memory.PythonFunctionAllocator(allocate, release)


def _format_size(size: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} bytes"
