"""Access to the CUDA kernel templates in `kernels.cu`, which are compiled for a device on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

__all__ = ["ANY_BLOCK", "BLOCK", "INSTANCES", "PATH", "launch", "pointer"]

PATH = Path(__file__).with_name("kernels.cu")
BLOCK = 256
ANY_BLOCK = ("softmax", "softmax_backward")  # kernels whose threads cooperate, but which are correct for every block size

_REAL = ("float", "double")
_BY_TYPE = (
    *(f"{name}{way}" for name in ("cross_entropy", "max_pool", "avg_pool") for way in ("", "_backward")),
    *("nll_loss_backward", "dropout", "sum_rows", "sgd_step", "adam_step"),
)
INSTANCES: tuple[str, ...] = (
    *(f"{name}<{real}>" for name in _BY_TYPE for real in _REAL),
    *(f"take_rows<{name}>" for name in ("short", "int", "long long")),
    *(f"{name}<{real}, {log}>" for name in ANY_BLOCK for real in _REAL for log in ("false", "true")),
    *(f"draw<{real}, {shape}>" for real in _REAL for shape in ("UNIFORM", "NORMAL", "BERNOULLI", "EXPONENTIAL")),
    *(f"draw_integers<{wide}>" for wide in ("false", "true")),
)


@cache
def _module() -> Any:
    return cupy.RawModule(code=PATH.read_text(encoding="utf-8"), options=("-std=c++17",), name_expressions=INSTANCES)


@cache
def _function(instance: str) -> Any:
    return _module().get_function(instance)


def pointer(array: Any) -> Any:
    """Convert an array to a kernel argument; None becomes a null pointer."""
    return np.uintp(0) if array is None else array


def launch(instance: str, count: int, arguments: Sequence[Any], *, blocks: int | None = None) -> None:
    """Launch a kernel on the current device and stream, with `count` threads in all, or with `blocks` blocks if given."""
    if count:
        _function(instance)((min(-(-count // BLOCK), 1 << 16) if blocks is None else blocks,), (BLOCK,), tuple(arguments))
