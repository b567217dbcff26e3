"""Copies between host and devices, and page-locked (pinned) host memory, which devices can access directly."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from .kernels import dense
from .memory import MemoryStatistics

__all__ = ["Transfers"]


class Transfers:
    """Methods of the CuPy backend for copying arrays between host and devices."""

    def __init__(self) -> None:
        super().__init__()
        self._host_figures = MemoryStatistics()
        self._under_way: list[tuple[Any, Any]] = []  # (event, host memory to keep alive until the event has occurred)
        self._lock = threading.Lock()

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        with cupy.cuda.Device(index):
            array = cupy.asarray(data, dtype=raw_dtype)
            return array.copy() if copy and array is data else array

    def from_host(self, data: Any, index: int = 0) -> Any:
        # CuPy finishes copying before it returns, so the caller may change `data` afterwards.
        return self.asarray(np.asarray(data), index=index)

    def from_host_async(self, data: Any, index: int = 0) -> Any:
        if not (data.size and data.flags.c_contiguous and self.is_pinned(data.ctypes.data)):
            return self.from_host(data, index)
        with cupy.cuda.Device(index):
            result = cupy.empty(data.shape, data.dtype)
            result.data.copy_from_host_async(data.ctypes.data, data.nbytes)
            self._keep(data)
        return result

    def to_host(self, array: Any) -> Any:
        self.waits()  # type: ignore[attr-defined]  # defined in `Devices`
        return cupy.asnumpy(array)

    def to_host_async(self, array: Any) -> Any:
        if not array.size:
            return self.to_host(array)
        with array.device:
            array = dense(array)
            result = self.pinned_memory(array.nbytes).view(array.dtype).reshape(array.shape)
            array.data.copy_to_host_async(result.ctypes.data, array.nbytes)
            self._keep(result)
        return result

    def to_device(self, array: Any, index: int) -> Any:
        """Copy to another device; its current stream waits for the current stream of the array's device."""
        with array.device:
            ready = cupy.cuda.Event(disable_timing=True)
            ready.record()
            array = dense(array)
        with cupy.cuda.Device(index):
            cupy.cuda.get_current_stream().wait_event(ready)
            result = cupy.empty(array.shape, array.dtype)
            result.data.copy_from_device_async(array.data, array.nbytes)
            return result

    # --- page-locked memory ---

    def pinned_memory(self, size: int) -> Any:
        """Allocate page-locked memory as a uint8 NumPy array."""
        result = np.frombuffer(cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
        amounts = {"allocated_bytes": size, "requested_bytes": size, "allocation": 1}
        self._host_figures.add(**amounts)
        weakref.finalize(result, self._host_figures.take, **amounts)
        return result

    def is_pinned(self, pointer: int) -> bool:
        return bool(runtime.pointerGetAttributes(pointer).type == runtime.memoryTypeHost)

    def host_memory_stats(self) -> dict[str, int]:
        return self._host_figures.report()

    def reset_host_memory_stats(self, what: str) -> None:
        self._host_figures.reset(what)

    def _keep(self, memory: Any) -> None:
        """Keep host memory alive until the current stream has finished using it."""
        done = cupy.cuda.Event(disable_timing=True)
        done.record()
        with self._lock:
            self._under_way = [entry for entry in self._under_way if not entry[0].done] + [(done, memory)]
