"""`torch.mps`: Apple GPUs, which are not supported; the functions behave like PyTorch's on a machine without one.

>>> torch.mps.is_available()
False
"""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "is_available", "manual_seed",
    "recommended_max_memory", "seed", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """Zero."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {what}() without MPS backend.")


def seed() -> None:
    """RuntimeError: there is no generator."""
    _refuse("getDefaultGenerator")


def synchronize() -> None:
    """RuntimeError: there is nothing to wait for."""
    _refuse("deviceSynchronize")


def empty_cache() -> None:
    """RuntimeError: nothing is cached."""
    _refuse("emptyCache")


def current_allocated_memory() -> int:
    """RuntimeError: there is no memory."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """RuntimeError: there is no memory."""
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    """RuntimeError: there is no memory."""
    _refuse("getRecommendedMaxMemory")
