"""`torch.cuda.nvtx`: ranges for NVIDIA's profilers, which are not supported.

Its functions raise RuntimeError, as in PyTorch without CUDA.  `torch.profiler.record_function` names ranges instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _raise_unsupported() -> NoReturn:
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? (flambeau does not support NVTX; use "
        "torch.profiler.record_function to name ranges)"
    )


def range_push(msg: str) -> int:
    """Raise RuntimeError; in PyTorch, opens a range on this thread."""
    _raise_unsupported()


def range_pop() -> int:
    """Raise RuntimeError; in PyTorch, closes the range opened last."""
    _raise_unsupported()


def range_start(msg: str) -> int:
    """Raise RuntimeError; in PyTorch, opens a range that another thread may close."""
    _raise_unsupported()


def range_end(range_id: int) -> None:
    """Raise RuntimeError; in PyTorch, closes a range that `range_start` opened."""
    _raise_unsupported()


def mark(msg: str) -> None:
    """Raise RuntimeError; in PyTorch, marks a point in time."""
    _raise_unsupported()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Raise RuntimeError; in PyTorch, a context or decorator that opens and closes a range."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
