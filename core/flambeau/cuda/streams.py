"""Streams and events of CUDA devices."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..engine.devices import cuda as runtime
from ..engine.devices import devices
from ..engine.devices.cuda_capabilities import RawEvent, RawStream
from . import generic

__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "get_stream_from_external",
    "set_stream", "stream",
]  # fmt: skip


class Stream(generic.Stream):
    """A queue of work on a CUDA device; work in different streams may run concurrently.

    Args:
        device: the device; by default the current one.
        priority: the priority; a lower number means a higher priority.

    Raises:
        RuntimeError: CUDA is not available.
    """

    raw: RawStream
    priority: int
    device: devices.device
    stream_id: int
    cuda_stream: int

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not runtime.is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        index = runtime.index_of(device)
        self._set(runtime.init().create_stream(index, priority), index, priority)

    def _set(self, raw: RawStream, index: int, priority: int = 0) -> None:
        self.raw, self.priority = raw, priority
        self.device = devices.device("cuda", index)
        self.stream_id = self.cuda_stream = raw.ptr

    @classmethod
    def of_raw(cls, raw: RawStream, index: int) -> Stream:
        """Wrap a stream of the array library."""
        stream: Stream = object.__new__(Stream)
        stream._set(raw, index)
        return stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority."""
        return 0, -5

    @property
    def _as_parameter_(self) -> Any:
        from ctypes import c_void_p

        return c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the CUDA stream protocol (0) and the stream's address, for other libraries."""
        return 0, self.cuda_stream

    def query(self) -> bool:
        return self.raw.done

    def synchronize(self) -> None:
        self.raw.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        event.wait(self)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    __hash__: Any = generic.Stream.__hash__


class ExternalStream(Stream):
    """A stream created by another library, given by its address."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        index = runtime.index_of(device)
        self._set(runtime.init().external_stream(stream_ptr, index), index)


class Event(generic.Event):
    """A marker in the queue of a CUDA stream.

    Args:
        enable_timing: whether the event can measure time.
        blocking: whether `synchronize` sleeps instead of busy-waiting.
        interprocess: whether other processes can wait for the event.
    """

    device: devices.device
    raw: RawEvent | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if not runtime.is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        self._timed = enable_timing
        self._options = blocking, enable_timing, interprocess
        self.raw = None  # the event of the backend; the first `record` creates it, on the stream's device
        self.device = None  # type: ignore[assignment]  # until it is recorded

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Event:
        """Open the event of another process, given the bytes from its `ipc_handle`."""
        event = cls(interprocess=True)
        event._set_device(runtime.index_of(device))
        with runtime.device(event.device):
            event.raw = runtime.init().open_event(handle)
        return event

    def _set_device(self, index: int) -> None:
        self.device = devices.device("cuda", index)

    @property
    def cuda_event(self) -> int:
        return 0 if self.raw is None else self.raw.ptr

    event_id = cuda_event

    def record(self, stream: Any = None) -> None:
        stream = current_stream() if stream is None else stream
        if self.raw is None:
            self._set_device(stream.device.index)
            with runtime.device(self.device):
                self.raw = runtime.init().create_event(*self._options)
        elif stream.device != self.device:
            raise RuntimeError(f"Event device {self.device} does not match recording stream's device {stream.device}.")
        self.raw.record(stream.raw)

    def wait(self, stream: Any = None) -> None:
        if self.raw is not None:
            (current_stream() if stream is None else stream).raw.wait_event(self.raw)

    def query(self) -> bool:
        return self.raw is None or self.raw.done

    def synchronize(self) -> None:
        if self.raw is not None:
            self.raw.synchronize()

    def elapsed_time(self, end_event: Any) -> float:
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.raw is None or end_event.raw is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return runtime.init().elapsed_time(self.raw, end_event.raw)

    def ipc_handle(self) -> bytes:
        """Return a handle that another process can open; the event must be created with `interprocess=True`."""
        if self.raw is None:
            self.record()
        return runtime.init().event_handle(self.raw)  # type: ignore[arg-type]  # `record` has set it

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.raw is not None else "<torch.cuda.Event uninitialized>"


Stream.__module__ = ExternalStream.__module__ = Event.__module__ = "flambeau.cuda"


# --- the current stream -------------------------------------------------------------------------------------------


def current_stream(device: Any = None) -> Stream:
    """Return the current stream of a device, to which its work is queued."""
    cuda, index = runtime.init(), runtime.index_of(device)
    return Stream.of_raw(cuda.current_stream(index), index)


def default_stream(device: Any = None) -> Stream:
    """Return the default stream of a device."""
    cuda, index = runtime.init(), runtime.index_of(device)
    return Stream.of_raw(cuda.default_stream(index), index)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Wrap a stream that another library created, given by its address."""
    return ExternalStream(data_ptr, device)


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its device.  Prefer the context manager `stream`."""
    if stream is not None:
        runtime.init().use_stream(stream.raw, stream.device.index or 0)


class StreamContext:
    """Context that makes a stream and its device the current ones; None has no effect."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self._device = runtime.device(self.stream.device)
        self._device.__enter__()
        self._before = current_stream()
        set_stream(self.stream)

    def __exit__(self, error_type: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.stream is not None:
            set_stream(self._before)
            self._device.__exit__(error_type, error, trace)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context in which work is queued to `stream`::

    with torch.cuda.stream(torch.cuda.Stream()):
        y = x @ x
    """
    return StreamContext(stream)


generic.Stream.cuda_class, generic.Event.cuda_class = Stream, Event
