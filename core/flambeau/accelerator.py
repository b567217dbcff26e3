"""`torch.accelerator`: the devices that are not the CPU, for programs that need not know which.  Here these are CUDA's.

>>> import flambeau as torch
>>> accelerator = torch.accelerator.current_accelerator(check_available=True)
>>> device = torch.device("cpu") if accelerator is None else accelerator
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import cuda
from .backends import cuda as switches
from .runtime import devices

__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
    "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip

Device = devices.device | str | int | None


def is_available() -> bool:
    """Whether there is a device that can be used."""
    return cuda.is_available()


def device_count() -> int:
    """How many devices can be used."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> devices.device | None:
    """The device type that an installed backend brings, as a device without an index; None where none does.

    With `check_available`, None too where there is no such device.
    """
    return devices.device("cuda") if (is_available() if check_available else switches.is_built()) else None


def _index(device: Device = None) -> int | None:
    """The index of the device that is meant, None for the current one's; RuntimeError where there is no device."""
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
        RuntimeError: there is no device; so with all that follows.
    """
    _index()
    return cuda.current_device()


def set_device_index(device: Device, /) -> None:
    """Make a device current; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    index = _index(device)
    if index is not None:
        cuda.set_device(index)


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """A context in which another device is current; None changes nothing."""
    if device is None:
        yield
        return
    with cuda.device(_index(device)):
        yield


def synchronize(device: Device = None, /) -> None:
    """Wait until all work queued on a device (the current one if none is given) has finished."""
    cuda.synchronize(_index(device))


def current_stream(device: Device = None, /) -> Any:
    """The stream that work on a device (the current one if none is given) is queued in."""
    return cuda.current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Queue work in this stream from now on."""
    _index()
    cuda.set_stream(stream)


# --- memory, of the current device if none is given ---------------------------------------------------------------


def empty_cache() -> None:
    """Give back the memory that is kept for later use."""
    _index()
    cuda.empty_cache()


def memory_allocated(device: Device = None, /) -> int:
    """Bytes in use by tensors."""
    return cuda.memory_allocated(_index(device))


def max_memory_allocated(device: Device = None, /) -> int:
    """The most bytes that were in use by tensors since the start, or since `reset_peak_memory_stats()`."""
    return cuda.max_memory_allocated(_index(device))


def memory_reserved(device: Device = None, /) -> int:
    """Bytes held, in use or not."""
    return cuda.memory_reserved(_index(device))


def max_memory_reserved(device: Device = None, /) -> int:
    """The most bytes that were held since the start, or since `reset_peak_memory_stats()`."""
    return cuda.max_memory_reserved(_index(device))


def memory_stats(device: Device = None, /) -> dict[str, Any]:
    """All that is counted, by name."""
    return cuda.memory_stats(_index(device))


def get_memory_info(device: Device = None, /) -> tuple[int, int]:
    """Bytes that are free, and all that there are."""
    return cuda.mem_get_info(_index(device))


def reset_peak_memory_stats(device: Device = None, /) -> None:
    """Begin anew to look for the most bytes."""
    cuda.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: Device = None, /) -> None:
    """Begin anew to count."""
    cuda.reset_accumulated_memory_stats(_index(device))
