"""`torch.Stream` and `torch.Event`: queues of work on any device type, and the modules that go with device types."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from .. import backend as backends
from ..runtime import devices

__all__ = ["AcceleratorError", "Event", "OutOfMemoryError", "Stream", "get_device_module"]


class OutOfMemoryError(RuntimeError):
    """A device has not enough memory left."""


class AcceleratorError(RuntimeError):
    """A call of a device's runtime has failed."""


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "flambeau"


def _place(device: Any) -> devices.device:
    return devices.device(device) if device is not None else devices.get_default_device()


class Stream:
    """A queue of work on a device.  The CPU has one, and nothing ever waits in it.

    >>> import flambeau as torch
    >>> torch.Stream("cpu").query()
    True
    """

    of_cuda: ClassVar[type[Stream]]  # what `torch.Stream("cuda")` is: set where that is defined
    raw: Any = None  # the library's own stream, where the device has any

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is Stream and _place(device).type == "cuda":
            return object.__new__(Stream.of_cuda)
        return object.__new__(cls)

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _place(device)
        self.stream_id = 0

    @property
    def device_type(self) -> str:
        return self.device.type

    @property
    def device_index(self) -> int:
        return -1 if self.device.index is None else self.device.index

    def query(self) -> bool:
        """Whether all queued work has finished."""
        return True

    def synchronize(self) -> None:
        """Wait until it has."""

    def record_event(self, event: Any = None) -> Any:
        """Put an event, a new one if none is given, at the end of the queue."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Let work queued from now on wait for an event."""
        event.synchronize()

    def wait_stream(self, stream: Any) -> None:
        """Let work queued from now on wait for what is queued in another stream now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device_type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A mark in a stream that can be waited for, and whose time can be taken."""

    of_cuda: ClassVar[Callable[..., Event]]  # likewise

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is Event and device is not None and devices.device(device).type == "cuda":
            return Event.of_cuda(*args, **kwargs)
        return object.__new__(cls)

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device = _place(device)
        self.event_id = 0
        self._timed = enable_timing
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Put the event at the end of a stream's queue (the current stream's if none is given)."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before the event has finished."""
        return True

    def synchronize(self) -> None:
        """Wait until it has."""

    def wait(self, stream: Any = None) -> None:
        """Let a stream (the current one if none is given) wait for the event."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this event and a later one.  Both need `enable_timing=True` and have been recorded."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1000

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag=0, event_id={self.event_id}"


Stream.__module__ = Event.__module__ = "flambeau"


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device type: `torch.cuda` for `"cuda"`.  RuntimeError where the type has none.

    >>> import flambeau as torch
    >>> torch.get_device_module("cuda") is torch.cuda
    True
    """
    kind = _place(device).type
    package = __name__.partition(".")[0]
    if kind == "cuda":
        return sys.modules[f"{package}.cuda"]
    module = getattr(sys.modules[package], kind, None) or sys.modules.get(type(backends.for_device_type(kind)).__module__)
    if not isinstance(module, ModuleType):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module
