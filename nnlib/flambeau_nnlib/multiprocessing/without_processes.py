"""The functions of `multiprocessing` on WebAssembly: they can be imported there, and raise RuntimeError when called."""

from __future__ import annotations

import multiprocessing
from types import SimpleNamespace
from typing import Any

from flambeau.extension import require_processes


class Process(multiprocessing.Process):
    """A process that cannot be started."""

    def start(self) -> None:
        """Raise RuntimeError."""
        require_processes("torch.multiprocessing.Process.start()")


def _refuse(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> None:
        require_processes(f"torch.multiprocessing.{name}()")

    return refuse


_NAMES = (
    "Array", "Barrier", "BoundedSemaphore", "Condition", "Event", "JoinableQueue", "Lock", "Manager", "Pipe", "Pool", "Queue",
    "RLock", "Semaphore", "SimpleQueue", "Value",
)  # fmt: skip
_REFUSED = {name: _refuse(name) for name in _NAMES}
globals().update(_REFUSED)


def get_context(method: str | None = None) -> Any:
    """Return a context with the functions of this module."""
    return SimpleNamespace(Process=Process, get_context=get_context, **_REFUSED)


__all__ = ["Process", "get_context", *_NAMES]
