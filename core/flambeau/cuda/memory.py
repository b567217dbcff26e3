"""Memory of CUDA devices: statistics, settings of the allocator, and memory pools."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..engine.devices import cuda as runtime
from ..engine.devices.aliases import private_names
from .generic import OutOfMemoryError
from .monitoring import list_gpu_processes

__all__ = [
    "CUDAPluggableAllocator", "MemPool", "OutOfMemoryError", "caching_allocator_alloc", "caching_allocator_delete",
    "caching_allocator_disabled", "caching_allocator_enable", "change_current_allocator", "empty_cache", "get_allocator_backend",
    "get_per_process_memory_fraction", "host_memory_stats", "host_memory_stats_as_nested_dict", "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
    "reset_peak_memory_stats", "set_per_process_memory_fraction", "use_mem_pool",
]  # fmt: skip

__getattr__: Callable[[str], Any] = private_names(__name__)


# --- statistics ---------------------------------------------------------------------------------------------------


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return statistics of a device's allocator, such as `"allocated_bytes.all.peak"`; empty before CUDA is initialized.

    >>> torch.cuda.memory_stats().get("allocated_bytes.all.current", 0)
    0
    """
    if not runtime.is_initialized():
        return OrderedDict()
    return OrderedDict(sorted(runtime.init().memory_stats(runtime.index_of(device)).items()))


def host_memory_stats() -> dict[str, Any]:
    """Return statistics of the allocator of page-locked host memory; empty before CUDA is initialized."""
    return OrderedDict(sorted(runtime.init().host_memory_stats().items())) if runtime.is_initialized() else OrderedDict()


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for path, value in flat.items():
        *parents, name = path.split(".")
        table = nested
        for parent in parents:
            table = table.setdefault(parent, {})
        table[name] = value
    return nested


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return `memory_stats` as nested dicts, with one level for each part of a dotted name."""
    return _nested(memory_stats(device))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return `host_memory_stats` as nested dicts, with one level for each part of a dotted name."""
    return _nested(host_memory_stats())


def memory_allocated(device: Any = None) -> int:
    """Return the number of bytes that tensors occupy on a device."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """Return the peak number of bytes that tensors occupied since the start or `reset_peak_memory_stats`."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Return the number of bytes that the caching allocator holds on a device, used and unused."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """Return the peak number of bytes that the caching allocator held since the start or `reset_peak_memory_stats`."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


memory_cached = memory_reserved  # the names in PyTorch before 1.4
max_memory_cached = max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Reset the peak memory statistics of a device to the current values."""
    index = runtime.index_of(device)
    runtime.init().reset_memory_stats(index, "peak")


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Reset a device's counts of allocations and releases to zero."""
    index = runtime.index_of(device)
    runtime.init().reset_memory_stats(index, "accumulated")


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def reset_peak_host_memory_stats() -> None:
    """Reset the peak statistics of page-locked host memory to the current values."""
    runtime.init().reset_host_memory_stats("peak")


def reset_accumulated_host_memory_stats() -> None:
    """Reset the counts of allocations and releases of page-locked host memory to zero."""
    runtime.init().reset_host_memory_stats("accumulated")


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the numbers of free and of total bytes of a device."""
    index = runtime.index_of(device)
    return runtime.init().memory_info(index)


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[dict[str, Any]]:
    """Return the memory blocks that the allocators hold; each is a dict with its device, address, sizes and state."""
    return runtime.init().memory_blocks()


_ROWS = {
    "allocated_bytes": "Allocated memory", "active_bytes": "Active memory", "requested_bytes": "Requested memory",
    "reserved_bytes": "GPU reserved memory", "inactive_split_bytes": "Non-releasable memory", "allocation": "Allocations",
    "active": "Active allocs", "segment": "GPU reserved segments", "inactive_split": "Non-releasable allocs",
}  # fmt: skip


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return a printable table of the allocator's statistics."""
    stats, index = memory_stats(device), runtime.index_of(device)
    lines = [
        "=" * 75,
        f" {'':16} PyTorch CUDA memory summary, device ID {index:<17d} ",
        "-" * 75,
        f"  {'':9} CUDA OOMs: {stats['num_ooms']:<12d} | {'':6} cudaMalloc retries: {stats['num_alloc_retries']:<8d}  ",
        "=" * 75,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for key, title in _ROWS.items():
        values = [stats[f"{key}.all.{column}"] for column in ("current", "peak", "allocated", "freed")]
        shown = " | ".join(_size(value) if "bytes" in key else _count(value) for value in values)
        lines += ["-" * 75, f" {title:<21} | {shown} "]
    return "".join(f"|{line}|\n" for line in [*lines, "=" * 75])


def _scaled(number: int, prefixes: list[str], limit: int, step: int) -> tuple[int, str]:
    for prefix in prefixes:
        if number < limit or prefix == prefixes[-1]:
            break
        number //= step
    return number, prefix


def _size(number: int) -> str:
    return "{:6d} {}".format(*_scaled(number, ["B  ", "KiB", "MiB", "GiB", "TiB", "PiB"], 768 * 1024, 1024))


def _count(number: int) -> str:
    return "{:7d} {} ".format(*_scaled(number, [" ", "K", "M"], 750_000, 1000))


# --- the allocator ------------------------------------------------------------------------------------------------


def empty_cache() -> None:
    """Return unused cached memory of the allocator to the device."""
    if runtime.is_initialized():
        runtime.init().empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit this process to a fraction of a device's memory, a float from 0 to 1."""
    cuda = runtime.init()
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    cuda.set_memory_fraction(fraction, runtime.index_of(device))


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the fraction of a device's memory that this process may use."""
    return runtime.init().memory_fraction(runtime.index_of(device))


def get_allocator_backend() -> str:
    """Return the name of the allocator: always `"native"`, the caching allocator."""
    return "native"


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Allocate device memory for another library and return its address, to be freed by `caching_allocator_delete`."""
    if not isinstance(stream, (int, type(None))) and not hasattr(stream, "cuda_stream"):
        raise TypeError(
            "Invalid type for stream argument, must be `torch.cuda.Stream` or `int` representing a pointer to a existing stream"
        )
    return runtime.init().allocate(size, runtime.index_of(device), getattr(stream, "cuda_stream", stream))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Release memory that `caching_allocator_alloc` returned."""
    runtime.init().release(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Set whether released memory is kept for reuse, or returned to the device immediately."""
    if runtime.is_initialized():
        runtime.init().use_cache(value)


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Return released memory to the device immediately within the context, instead of caching it."""
    caching_allocator_enable(False)
    try:
        yield
    finally:
        caching_allocator_enable(True)


class CUDAPluggableAllocator:
    """An allocator implemented in a shared library.

    Args:
        path_to_so_file: the path of the library.
        alloc_fn_name: the name of its function `void* (ssize_t size, int device, cudaStream_t stream)`.
        free_fn_name: the name of its function `void (void* pointer, ssize_t size, int device, cudaStream_t stream)`.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        library = ctypes.CDLL(path_to_so_file)
        self._allocate = getattr(library, alloc_fn_name)
        self._release = getattr(library, free_fn_name)
        self._allocate.restype = ctypes.c_void_p
        self._allocate.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self._release.restype = None
        self._release.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self._sizes: dict[int, int] = {}

    def allocator(self) -> CUDAPluggableAllocator:
        return self

    def allocate(self, size: int, index: int) -> int:
        """Allocate memory on device `index` for its current stream and return its address."""
        pointer = self._allocate(size, index, runtime.init().current_stream(index).ptr) or 0
        self._sizes[pointer] = size
        return pointer

    def release(self, pointer: int, index: int) -> None:
        """Free memory that `allocate` returned."""
        self._release(pointer, self._sizes.pop(pointer, 0), index, runtime.init().current_stream(index).ptr)


def change_current_allocator(allocator: CUDAPluggableAllocator) -> None:
    """Use this allocator from now on.  Raise RuntimeError if memory has already been allocated."""
    if memory_stats().get("allocation.all.allocated", 0):
        raise RuntimeError("Can't swap an already initialized allocator")
    runtime.init().set_allocator(allocator.allocate, allocator.release)


class MemPool:
    """A separate memory pool; allocations inside `use_mem_pool` use it.

    Args:
        allocator: the allocator of the pool's memory; by default the device's.
        use_on_oom: no effect.
        no_split: no effect.
    """

    _ids = iter(range(1, 2**62))

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if not runtime.is_available():
            raise RuntimeError("Tried to instantiate dummy base class MemPool")
        self.allocator = allocator
        self.raw: Final = runtime.init().create_pool(allocator)
        self.id: Final = (0, next(self._ids))

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Return the memory blocks that the pool holds."""
        return [block for block in memory_snapshot() if block["segment_pool_id"] == id(self.raw)]


@contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """Allocate memory on a device from `pool` within the context."""
    with runtime.device(device), runtime.init().using_pool(pool.raw):
        yield
