"""`torch.Stream` and `torch.Event` for all device types, and `torch.get_device_module`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from .. import backend as backends
from ..engine.devices import devices

__all__ = ["AcceleratorError", "Event", "OutOfMemoryError", "Stream", "get_device_module"]


class OutOfMemoryError(RuntimeError):
    """Raised if a device does not have enough free memory."""


class AcceleratorError(RuntimeError):
    """Raised if a call to a device's runtime library fails."""


OutOfMemoryError.__module__ = AcceleratorError.__module__ = "flambeau"


def _device_or_default(device: Any) -> devices.device:
    return devices.device(device) if device is not None else devices.get_default_device()


class Stream:
    """A queue of work on a device.  The CPU runs work immediately, so its queue is always empty.

    Args:
        device: the device; None for the default device.
        priority: ignored except on CUDA devices, where a lower number means a higher priority.

    >>> torch.Stream("cpu").query()
    True
    """

    cuda_class: ClassVar[type[Stream]]  # the class of `torch.Stream("cuda")`, set by `cuda.streams`
    raw: Any = None  # the stream object of the array library, if the device has streams

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is Stream and _device_or_default(device).type == "cuda":
            return object.__new__(Stream.cuda_class)
        return object.__new__(cls)

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device: devices.device = _device_or_default(device)
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
        """Wait until all queued work has finished."""

    def record_event(self, event: Any = None) -> Any:
        """Record an event (by default a new one) at the end of the queue."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Make work that is queued after this call wait for an event."""
        event.synchronize()

    def wait_stream(self, stream: Any) -> None:
        """Make work that is queued after this call wait for the work that another stream has queued so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.stream_id) == (other.device, other.stream_id)

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device_type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A marker in a stream, which can be waited for and can measure time.

    Args:
        device: the device of the streams; None for the default device.
        enable_timing: whether the event can measure time, by `elapsed_time`.
        blocking, interprocess: ignored, except on CUDA devices.

    >>> torch.Event("cpu").query()
    True
    """

    cuda_class: ClassVar[Callable[..., Event]]  # the class of `torch.Event("cuda")`, set by `cuda.streams`

    def __new__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cls is Event and device is not None and devices.device(device).type == "cuda":
            return Event.cuda_class(*args, **kwargs)
        return object.__new__(cls)

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device: devices.device = _device_or_default(device)
        self.event_id = 0
        self._timed = enable_timing
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Record the event at the end of a stream's queue (by default of the current stream)."""
        self._time = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before the event has finished."""
        return True

    def synchronize(self) -> None:
        """Wait until the work before the event has finished."""

    def wait(self, stream: Any = None) -> None:
        """Make a stream (by default the current one) wait for the event."""

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between this event and a later one; both need `enable_timing=True` and must be recorded."""
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
    """Return the module of a device type: `torch.cuda` for `"cuda"`.

    Args:
        device: a device or its type; None for the default device.

    Raises:
        RuntimeError: the type has no module.

    >>> torch.get_device_module("cuda") is torch.cuda
    True
    """
    kind = _device_or_default(device).type
    package = __name__.partition(".")[0]
    if kind == "cuda":
        return sys.modules[f"{package}.cuda"]
    module = getattr(sys.modules[package], kind, None) or sys.modules.get(type(backends.for_device_type(kind)).__module__)
    if not isinstance(module, ModuleType):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module
