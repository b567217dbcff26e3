"""`torch.mps`: Apple GPUs are not supported; the functions behave as PyTorch's do on a machine without an Apple GPU.

>>> torch.mps.is_available()
False
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "get_rng_state", "is_available",
    "manual_seed", "recommended_max_memory", "seed", "set_rng_state", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: MPS devices are not supported."""


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {what}() without MPS backend.")


def seed() -> None:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getDefaultGenerator")


def synchronize() -> None:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("deviceSynchronize")


def empty_cache() -> None:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("emptyCache")


def current_allocated_memory() -> int:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getRecommendedMaxMemory")


def get_rng_state() -> Any:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getDefaultGenerator")


def set_rng_state(new_state: Any) -> None:
    """Raise RuntimeError: MPS devices are not supported."""
    _refuse("getDefaultGenerator")
