"""`torch.accelerator`: an interface to accelerator devices independent of their type.  Here these are CUDA devices.

>>> accelerator = torch.accelerator.current_accelerator(check_available=True)
>>> device = torch.device("cpu") if accelerator is None else accelerator
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from . import backend as backends
from . import cuda
from .backends import cuda as switches
from .cuda.graphs import CUDAGraph
from .engine.devices import devices

__all__ = [
    "Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip

__path__: list[str] = []  # the module is also imported as `torch.accelerator.memory` and others

Device = devices.device | str | int | None


def is_available() -> bool:
    """Whether a usable accelerator exists."""
    return cuda.is_available()


def device_count() -> int:
    """Return the number of usable accelerators."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """Return the device type of the accelerators, as a device without an index; None if no installed backend has one.

    With `check_available`, None is also returned if no accelerator is usable.
    """
    return devices.device("cuda") if (is_available() if check_available else switches.is_built()) else None


def _index(device: Device = None) -> int | None:
    """Return the index of the device, or None for the current device; raise RuntimeError if no accelerator is available."""
    index = device if device is None or isinstance(device, int) else _check_accelerator(devices.device(device)).index
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return index


def _check_accelerator(place: devices.device) -> devices.device:
    accelerator = current_accelerator()
    if accelerator is None:
        raise RuntimeError("Accelerator expected")
    if place.type != accelerator.type:
        raise ValueError(f"{place.type} doesn't match the current accelerator {accelerator}.")
    return place


# --- the current device -------------------------------------------------------------------------------------------


def current_device_index() -> int:
    """Return the index of the current device.

    Raises:
        RuntimeError: no accelerator is available; the other functions that use a device raise this as well.
    """
    _index()
    return cuda.current_device()


def set_device_index(device: Device, /) -> None:
    """Make a device the current one; a negative index is ignored."""
    if isinstance(device, int) and device < 0:
        return
    index = _index(device)
    if index is not None:
        cuda.set_device(index)


def current_device_idx() -> int:
    """Deprecated name of `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Device, /) -> None:
    """Deprecated name of `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


def get_device_capability(device: Device = None, /) -> dict[str, Any]:
    """Return the capabilities of a device (by default the current one): `"supported_dtypes"` is the set of its dtypes."""
    _index(device)
    return {"supported_dtypes": set(backends.for_device_type("cuda").dtypes)}


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """Make another device the current one within the context; None changes nothing."""
    if device is None:
        yield
        return
    with cuda.device(_index(device)):
        yield


def synchronize(device: Device = None, /) -> None:
    """Wait until all work queued on a device (by default the current one) has finished."""
    cuda.synchronize(_index(device))


def current_stream(device: Device = None, /) -> Any:
    """Return the current stream of a device (by default the current one)."""
    return cuda.current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Make a stream the current one of its device."""
    _index()
    cuda.set_stream(stream)


# --- memory, by default of the current device ---------------------------------------------------------------------


def empty_cache() -> None:
    """Return cached memory that no tensor uses to the device."""
    _index()
    cuda.empty_cache()


def empty_host_cache() -> None:
    """Return unused page-locked memory to the host; nothing is cached here, so this has no effect."""
    _index()


def memory_allocated(device: Device = None, /) -> int:
    """Return the number of bytes that tensors occupy."""
    return cuda.memory_allocated(_index(device))


def max_memory_allocated(device: Device = None, /) -> int:
    """Return the peak number of bytes that tensors occupied since the start or `reset_peak_memory_stats()`."""
    return cuda.max_memory_allocated(_index(device))


def memory_reserved(device: Device = None, /) -> int:
    """Return the number of bytes that the caching allocator holds, used and unused."""
    return cuda.memory_reserved(_index(device))


def max_memory_reserved(device: Device = None, /) -> int:
    """Return the peak number of bytes that the allocator held since the start or `reset_peak_memory_stats()`."""
    return cuda.max_memory_reserved(_index(device))


def memory_stats(device: Device = None, /) -> dict[str, Any]:
    """Return all statistics of the caching allocator, by name."""
    return cuda.memory_stats(_index(device))


def get_memory_info(device: Device = None, /) -> tuple[int, int]:
    """Return the numbers of free and of total bytes of a device."""
    return cuda.mem_get_info(_index(device))


def reset_peak_memory_stats(device: Device = None, /) -> None:
    """Reset the peak memory statistics to the current values."""
    cuda.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: Device = None, /) -> None:
    """Reset the counts of allocations and releases to zero."""
    cuda.reset_accumulated_memory_stats(_index(device))


# --- captured work ------------------------------------------------------------------------------------------------


class Graph(CUDAGraph):
    """Capture the work queued on the current stream in a `with` statement; `replay()` runs it again.

    Args:
        keep_graph: accepted for compatibility; the captured work is always kept.
        pool: the memory pool to use, from another graph's `pool()`.
        capture_error_mode: which unsafe calls raise during capture: `"default"`, `"global"`, `"thread_local"` or `"relaxed"`.

    Raises:
        RuntimeError: no accelerator is available.
    """

    graph_pool: tuple[int, int] | None
    capture_error_mode: str

    def __init__(
        self, keep_graph: bool = False, *, pool: tuple[int, int] | None = None, capture_error_mode: str = "default"
    ) -> None:
        _index()
        super().__init__(keep_graph)
        self.graph_pool, self.capture_error_mode = pool, capture_error_mode

    def capture_begin(self, pool: Any = None, capture_error_mode: str | None = None) -> None:
        """Start capturing the current stream, by default with the pool and error mode given to the constructor."""
        mode = capture_error_mode or self.capture_error_mode
        super().capture_begin(pool or self.graph_pool, "global" if mode == "default" else mode)

    def __enter__(self) -> Self:
        self.capture_begin()
        return self

    def __exit__(self, error_type: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.capture_end()
