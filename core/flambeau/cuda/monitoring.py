"""Monitoring of devices with NVML, the driver's management library: load, temperature, power, processes."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from ..engine.devices import cuda as runtime

__all__ = ["clock_rate", "device_memory_used", "list_gpu_processes", "memory_usage", "power_draw", "temperature", "utilization"]

_LIBRARY = "nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1"
_GPU_SENSOR, _SM_CLOCK = 0, 1
_T = TypeVar("_T", bound=ctypes.Structure | ctypes.c_uint)


class _Utilization(ctypes.Structure):
    gpu: int
    memory: int
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    used: int
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class _Process(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("instance", ctypes.c_uint), ("compute", ctypes.c_uint))


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise RuntimeError("cuda driver can't be loaded, is cuda enabled?") from error
    _check(library.nvmlInit_v2())
    return library


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"NVML error {status}")


def _index(device: Any) -> int:
    """Return the index of a device.  NVML also works without a CUDA backend: the current device is then number 0."""
    return 0 if device is None and not runtime.is_available() else runtime.index_of(device)


def _handle(device: Any) -> ctypes.c_void_p:
    """Return the NVML handle of a device.  NVML ignores `CUDA_VISIBLE_DEVICES`, so this function translates the index by it."""
    library, index, handle = _library(), _index(device), ctypes.c_void_p()
    visible = [entry for entry in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry]
    if visible and not visible[index].isdecimal():
        _check(library.nvmlDeviceGetHandleByUUID(visible[index].encode(), ctypes.byref(handle)))
    else:
        number = int(visible[index]) if visible else index
        _check(library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)))
    return handle


def _query(function: str, device: Any, result: _T, *arguments: int) -> _T:
    library = _library()
    query: Callable[..., int] = getattr(library, function)
    _check(query(_handle(device), *arguments, ctypes.byref(result)))
    return result


def utilization(device: Any = None) -> int:
    """Return the percentage of time, over about the last second, in which the device was computing."""
    return _query("nvmlDeviceGetUtilizationRates", device, _Utilization()).gpu


def memory_usage(device: Any = None) -> int:
    """Return the percentage of time, over about the last second, in which the device's memory was read or written."""
    return _query("nvmlDeviceGetUtilizationRates", device, _Utilization()).memory


def device_memory_used(device: Any = None) -> int:
    """Return the number of bytes of the device's memory that all processes together use."""
    return _query("nvmlDeviceGetMemoryInfo", device, _Memory()).used


def temperature(device: Any = None) -> int:
    """Return the device's temperature in degrees Celsius."""
    return _query("nvmlDeviceGetTemperature", device, ctypes.c_uint(), _GPU_SENSOR).value


def power_draw(device: Any = None) -> int:
    """Return the power consumption of the device in milliwatts."""
    return _query("nvmlDeviceGetPowerUsage", device, ctypes.c_uint()).value


def clock_rate(device: Any = None) -> int:
    """Return the clock rate of the multiprocessors in MHz."""
    return _query("nvmlDeviceGetClockInfo", device, ctypes.c_uint(), _SM_CLOCK).value


def list_gpu_processes(device: Any = None) -> str:
    """Return a printable list of the processes on a device and the memory they use."""
    try:
        handle = _handle(device)
    except RuntimeError as error:
        return str(error)
    count, processes = ctypes.c_uint(256), (_Process * 256)()
    _check(_library().nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), processes))
    lines = [f"process {p.pid:>10d} uses {p.used / 2**20:>12.3f} MB GPU memory" for p in processes[: count.value]]
    return "\n".join([f"GPU:{_index(device)}", *(lines or ["no processes are running"])])
