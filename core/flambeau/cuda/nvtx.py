"""`torch.cuda.nvtx`: marks for NVIDIA's profilers, which flambeau does not set; `torch.profiler` has its own ranges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse() -> NoReturn:
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? (flambeau has none; torch.profiler.record_function "
        "names ranges in its traces)"
    )


def range_push(msg: str) -> int:
    """Open a range on this thread.  RuntimeError, as in PyTorch without CUDA."""
    _refuse()


def range_pop() -> int:
    """Close the range that was opened last.  RuntimeError, as in PyTorch without CUDA."""
    _refuse()


def range_start(msg: str) -> int:
    """Open a range that another thread may close.  RuntimeError, as in PyTorch without CUDA."""
    _refuse()


def range_end(range_id: int) -> None:
    """Close a range that `range_start` opened.  RuntimeError, as in PyTorch without CUDA."""
    _refuse()


def mark(msg: str) -> None:
    """Mark a moment.  RuntimeError, as in PyTorch without CUDA."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context, or decorator, that opens and closes a range.  RuntimeError, as in PyTorch without CUDA."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
