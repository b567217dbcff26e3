"""`torch.cpu`: the counterpart of `torch.cuda`, for programs that work with any device.  Work on the CPU is never queued.

>>> torch.cpu.is_available(), torch.cpu.current_device()
(True, 'cpu')
"""

from __future__ import annotations

from typing import Any

from .. import backend as backends

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "amp":
        return import_module("flambeau.cpu.amp")
    if name == "_is_amx_tile_supported":
        return import_module("flambeau.compat._C._cpu")._is_amx_tile_supported
    raise AttributeError(f"module 'flambeau.cpu' has no attribute '{name}'")


class Stream:
    """A queue of work, which is always empty, as operations on the CPU are synchronous."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Make this stream wait for another one; returns at once."""

    def record_event(self) -> None:
        """Record an event at the end of the queue."""

    def wait_event(self, event: Any) -> None:
        """Make this stream wait for an event; returns at once."""


class Event:
    """A marker in a stream, which has always been reached, because operations on the CPU are synchronous."""

    def query(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        """Record the event at the end of a stream's queue."""

    def synchronize(self) -> None:
        """Do nothing, because the event has always been reached."""

    def wait(self, stream: Any = None) -> None:
        """Make a stream wait for the event; returns at once."""


_current = Stream()


def current_stream(device: Any = None) -> Stream:
    """The stream of the innermost `StreamContext`."""
    return _current


class StreamContext:
    """Context in which another stream is the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before = _current

    def __enter__(self) -> None:
        global _current
        self._before = _current
        _current = self._before if self.stream is None else self.stream

    def __exit__(self, *exc_info: object) -> None:
        global _current
        _current = self._before


def stream(stream: Stream | None) -> StreamContext:
    """A `StreamContext` for `stream`."""
    return StreamContext(stream)


def is_available() -> bool:
    """True: there is always a CPU."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """The number of CPU devices: 1, unless `FLAMBEAU_CPU_DEVICES` sets it."""
    return backends.for_device_type("cpu").device_count()


def current_device() -> str:
    """`"cpu"`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Has no effect: CPUs have no current device."""


def synchronize(device: Any = None) -> None:
    """Return at once, because operations on the CPU are synchronous."""
