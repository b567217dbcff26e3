"""`torch.cuda.profiler`: limit a profiler that records this process, such as Nsight Systems, to a part of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..engine.devices import cuda as runtime

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Make the profiler start recording.

    Raises:
        AssertionError: no backend for CUDA is installed.
        RuntimeError: no device is available, or the backend has no profiler interface.
    """
    _call("start_profiler")


def stop() -> None:
    """Make the profiler stop recording; raises the errors of `start`."""
    _call("stop_profiler")


@contextmanager
def profile() -> Iterator[None]:
    """Context manager in which the profiler records; raises the errors of `start`."""
    start()
    try:
        yield
    finally:
        stop()


def _call(name: str) -> None:
    function = getattr(runtime.init(), name, None)
    if function is None:
        raise RuntimeError(f"the {runtime.backend().name} backend cannot control a profiler")
    function()
