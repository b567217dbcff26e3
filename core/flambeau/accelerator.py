"""`torch.accelerator`: an interface to the accelerator devices, whatever their type.  Here these are CUDA devices.

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

Device = devices.device | str | int | None


def is_available() -> bool:
    """Whether there is a usable accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """The number of usable accelerators."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """The device type of the accelerators, as a device without an index; None if no installed backend has one.

    With `check_available`, also None if there is no usable accelerator.
    """
    return devices.device("cuda") if (is_available() if check_available else switches.is_built()) else None


def _index(device: Device = None) -> int | None:
    """The index of the device, or None for the current device; RuntimeError if there is no accelerator."""
    index = device if device is None or isinstance(device, int) else _of_accelerator(devices.device(device)).index
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return index


def _of_accelerator(place: devices.device) -> devices.device:
    accelerator = current_accelerator()
    if accelerator is None:
        raise RuntimeError("Accelerator expected")
    if place.type != accelerator.type:
        raise ValueError(f"{place.type} doesn't match the current accelerator {accelerator}.")
    return place


# --- the current device -------------------------------------------------------------------------------------------


def current_device_index() -> int:
    """The index of the current device.

    Raises:
        RuntimeError: there is no accelerator; this also holds for all functions below.
    """
    _index()
    return cuda.current_device()


def set_device_index(device: Device, /) -> None:
    """Make a device the current one; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    index = _index(device)
    if index is not None:
        cuda.set_device(index)


def current_device_idx() -> int:
    """`current_device_index`, by its former name: deprecated."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Device, /) -> None:
    """`set_device_index`, by its former name: deprecated."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


def get_device_capability(device: Device = None, /) -> dict[str, Any]:
    """Return the capabilities of a device (by default the current one): `"supported_dtypes"` is the set of its dtypes."""
    _index(device)
    return {"supported_dtypes": set(backends.for_device_type("cuda").dtypes)}


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """Context in which another device is the current one; None changes nothing."""
    if device is None:
        yield
        return
    with cuda.device(_index(device)):
        yield


def synchronize(device: Device = None, /) -> None:
    """Wait until all work queued on a device (by default the current one) has finished."""
    cuda.synchronize(_index(device))


def current_stream(device: Device = None, /) -> Any:
    """The current stream of a device (by default the current one)."""
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
    """Return cached page-locked memory that no tensor uses to the host; here none is cached."""
    _index()


def memory_allocated(device: Device = None, /) -> int:
    """The number of bytes that tensors occupy."""
    return cuda.memory_allocated(_index(device))


def max_memory_allocated(device: Device = None, /) -> int:
    """The maximal number of bytes that tensors have occupied since the start, or since `reset_peak_memory_stats()`."""
    return cuda.max_memory_allocated(_index(device))


def memory_reserved(device: Device = None, /) -> int:
    """The number of bytes that the caching allocator holds, whether in use or not."""
    return cuda.memory_reserved(_index(device))


def max_memory_reserved(device: Device = None, /) -> int:
    """The maximal number of bytes that the allocator has held since the start, or since `reset_peak_memory_stats()`."""
    return cuda.max_memory_reserved(_index(device))


def memory_stats(device: Device = None, /) -> dict[str, Any]:
    """All statistics of the allocator, by name."""
    return cuda.memory_stats(_index(device))


def get_memory_info(device: Device = None, /) -> tuple[int, int]:
    """The numbers of free and of total bytes of a device."""
    return cuda.mem_get_info(_index(device))


def reset_peak_memory_stats(device: Device = None, /) -> None:
    """Reset the peak statistics to the current values."""
    cuda.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: Device = None, /) -> None:
    """Reset the counts of allocations and releases to zero."""
    cuda.reset_accumulated_memory_stats(_index(device))


# --- captured work ------------------------------------------------------------------------------------------------


class Graph(CUDAGraph):
    """Work of the current stream that is captured in a `with` statement, to be run again by `replay()`.

    Args:
        keep_graph: accepted; the captured work is always kept.
        pool: the memory pool to use, from another graph's `pool()`.
        capture_error_mode: how strict the capture is: `"default"`, `"global"`, `"thread_local"` or `"relaxed"`.

    Raises:
        RuntimeError: there is no accelerator.
    """

    def __init__(
        self, keep_graph: bool = False, *, pool: tuple[int, int] | None = None, capture_error_mode: str = "default"
    ) -> None:
        _index()
        super().__init__(keep_graph)
        self.graph_pool, self.capture_error_mode = pool, capture_error_mode

    def capture_begin(self, pool: Any = None, capture_error_mode: str | None = None) -> None:
        """Start capturing the current stream, by default with the pool and the mode that the graph was made with."""
        mode = capture_error_mode or self.capture_error_mode
        super().capture_begin(pool or self.graph_pool, "global" if mode == "default" else mode)

    def __enter__(self) -> Self:
        self.capture_begin()
        return self

    def __exit__(self, error_type: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.capture_end()
