"""Private functions of `torch.cuda` and `torch.cuda.memory`, and the CUDA runtime's functions that libraries call."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

from ..cuda import memory, profiler
from ..engine.devices import cuda

__all__: list[str] = []


def _is_in_bad_fork() -> bool:
    """Whether this process was forked after its parent had initialized CUDA, so that it cannot use CUDA."""
    return cuda.initialized_in not in (None, os.getpid())


def _lazy_init() -> None:
    """Initialize CUDA.  AssertionError without a CUDA device."""
    cuda.init()


def _lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """Call a function that uses CUDA.  Without a CUDA device, it is not called; PyTorch defers it to the first use."""
    if cuda.is_available():
        cuda.init()
        callable()


def _sleep(cycles: int) -> None:
    """Do nothing where CUDA is available: PyTorch occupies the device for some cycles, in tests.  AssertionError without CUDA."""
    cuda.init()


def cudart() -> SimpleNamespace:
    """Return the functions of the CUDA runtime that libraries call.  AssertionError without a CUDA device."""
    cuda.init()
    return SimpleNamespace(cudaProfilerStart=profiler.start, cudaProfilerStop=profiler.stop, cudaMemGetInfo=memory.mem_get_info)


# --- memory ---


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """Do nothing where CUDA is available: allocations are not recorded.  AssertionError without a CUDA device."""
    cuda.init()


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """Return the allocator's segments; `device_traces` is empty.  AssertionError without a CUDA device."""
    cuda.init()
    return {"segments": memory.memory_snapshot(), "device_traces": []}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Write `_snapshot()` to a file.  AssertionError without a CUDA device."""
    snapshot = _snapshot()
    with open(filename, "wb") as file:
        pickle.dump(snapshot, file)


def _set_allocator_settings(env: str) -> None:
    """Keep the settings of the allocator, which have no effect."""
    from ._C.storages import _accelerator_setAllocatorSettings

    _accelerator_setAllocatorSettings(env)


def trace_plot(data: Any, device: Any = None, plot_segments: bool = False, filter_freed: bool = False) -> NoReturn:
    """Raise NotImplementedError: snapshots contain no history of allocations."""
    raise NotImplementedError("flambeau does not record the history of allocations, which this page shows")


def segment_plot(data: Any, device: Any = None) -> NoReturn:
    """Raise NotImplementedError: snapshots contain no history of allocations."""
    trace_plot(data, device)
