"""CUDA devices through CuPy, for `flambeau.cuda`: the current device, streams, events, graphs and properties."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import Any

import cupy
from cupy.cuda import runtime

from flambeau import cuda

from .dnn import library

__all__ = ["Devices", "on_device"]


def on_device(index: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `call` to make device `index` current, since CUDA queues work on the current device, wherever the arrays are."""
    current, switch = runtime.getDevice, runtime.setDevice

    @wraps(call)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        before = current()
        if before == index:
            return call(*args, **kwargs)
        switch(index)
        try:
            return call(*args, **kwargs)
        finally:
            switch(before)

    return guarded


class Devices:
    """Methods of the CuPy backend for devices, streams, events and graphs."""

    sync_debug_mode = 0

    @cached_property
    def _count(self) -> int:
        try:
            return int(runtime.getDeviceCount())
        except runtime.CUDARuntimeError:  # no driver, or no device
            return 0

    def prepare(self) -> None:
        cuda.runtime.init()

    def device_count(self) -> int:
        return self._count

    def current_device(self) -> int:
        return int(runtime.getDevice())

    def device_of(self, array: Any) -> int:
        return int(array.device.id)

    def set_device(self, index: int) -> None:
        if not 0 <= index < self._count:
            raise RuntimeError(f"CUDA error: invalid device ordinal {index}; {self._count} available")
        runtime.setDevice(index)

    @contextmanager
    def guard(self, index: int) -> Iterator[None]:
        before = runtime.getDevice()
        runtime.setDevice(index)
        try:
            yield
        finally:
            runtime.setDevice(before)

    @property
    def guarded(self) -> bool:
        return self._count > 1

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        return on_device(index, kernel) if self.guarded else kernel

    def synchronize(self, index: int | None = None) -> None:
        with self.guard(self.current_device() if index is None else index):
            runtime.deviceSynchronize()

    def start_profiler(self) -> None:
        """Make a profiler that records this process, such as Nsight Systems, start recording."""
        cupy.cuda.profiler.start()

    def stop_profiler(self) -> None:
        """Make a profiler that records this process stop recording."""
        cupy.cuda.profiler.stop()

    def waits(self) -> None:
        """Warn or raise before the host waits for the device, according to `torch.cuda.set_sync_debug_mode`."""
        if self.sync_debug_mode == 1:
            warnings.warn("called a synchronizing CUDA operation", stacklevel=4)
        elif self.sync_debug_mode == 2:
            raise RuntimeError("called a synchronizing CUDA operation")

    def properties(self, index: int) -> Mapping[str, Any]:
        raw = runtime.getDeviceProperties(index)
        return {
            "name": raw["name"].decode(),
            "major": raw["major"],
            "minor": raw["minor"],
            "total_memory": raw["totalGlobalMem"],
            "multi_processor_count": raw["multiProcessorCount"],
            "max_threads_per_multi_processor": raw["maxThreadsPerMultiProcessor"],
            "regs_per_multiprocessor": raw["regsPerMultiprocessor"],
            "shared_memory_per_block": raw["sharedMemPerBlock"],
            "warp_size": raw["warpSize"],
            "L2_cache_size": raw["l2CacheSize"],
            "is_integrated": raw["integrated"],
            "is_multi_gpu_board": raw["isMultiGpuBoard"],
        }

    def can_access_peer(self, index: int, peer: int) -> bool:
        return index != peer and bool(runtime.deviceCanAccessPeer(index, peer))

    def error_string(self, code: int) -> str:
        return str(runtime.CUDARuntimeError(code))

    def blas_handle(self) -> int:
        return int(cupy.cuda.Device().cublas_handle)

    def solver_handle(self) -> int:
        return int(cupy.cuda.Device().cusolver_handle)

    def cudnn_version(self) -> int | None:
        """Return cuDNN's version, or None if its Python front end is not installed."""
        cudnn = library()
        return None if cudnn is None else int(cudnn.backend_version())

    # --- streams and events ---

    def create_stream(self, index: int, priority: int = 0) -> Any:
        with self.guard(index):
            return cupy.cuda.Stream(non_blocking=True, priority=priority)

    def external_stream(self, pointer: int, index: int) -> Any:
        return cupy.cuda.ExternalStream(pointer, index)

    def default_stream(self, index: int) -> Any:
        return cupy.cuda.Stream.null

    def current_stream(self, index: int) -> Any:
        return cupy.cuda.get_current_stream(index)

    def use_stream(self, stream: Any, index: int) -> None:
        with self.guard(index):
            stream.use()

    def create_event(self, blocking: bool, timing: bool, interprocess: bool) -> Any:
        return cupy.cuda.Event(block=blocking, disable_timing=not timing, interprocess=interprocess)

    def elapsed_time(self, start: Any, end: Any) -> float:
        return float(cupy.cuda.get_elapsed_time(start, end))

    def event_handle(self, event: Any) -> bytes:
        return bytes(runtime.ipcGetEventHandle(event.ptr))

    def open_event(self, handle: bytes) -> Any:
        return _OpenedEvent(runtime.ipcOpenEventHandle(handle))

    # --- graphs ---

    def is_capturing(self) -> bool:
        return bool(cupy.cuda.get_current_stream().is_capturing())

    def begin_capture(self, mode: str) -> None:
        modes = {
            "global": runtime.streamCaptureModeGlobal,
            "thread_local": runtime.streamCaptureModeThreadLocal,
            "relaxed": runtime.streamCaptureModeRelaxed,
        }
        if mode not in modes:
            raise RuntimeError(f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {mode}")
        cupy.cuda.get_current_stream().begin_capture(modes[mode])

    def end_capture(self) -> Any:
        return cupy.cuda.get_current_stream().end_capture()


class _OpenedEvent:
    """An event of another process, opened by its handle."""

    def __init__(self, pointer: int) -> None:
        self.ptr = pointer

    @property
    def done(self) -> bool:
        return bool(runtime.eventQuery(self.ptr) == 0)

    def record(self, stream: Any = None) -> None:
        runtime.eventRecord(self.ptr, (stream or cupy.cuda.get_current_stream()).ptr)

    def synchronize(self) -> None:
        runtime.eventSynchronize(self.ptr)

    def __del__(self) -> None:
        runtime.eventDestroy(self.ptr)
