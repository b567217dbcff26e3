"""Storages on memory that belongs to others, and settings of PyTorch's allocators, which are kept and have no effect."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

import flambeau as torch

__all__ = [
    "_accelerator_getAllocatorSettings", "_accelerator_setAllocatorSettings", "_construct_storage_from_data_pointer",
    "_cuda_releasePool", "_storage_Use_Count",
]  # fmt: skip

_settings = ""


def _accelerator_getAllocatorSettings() -> str:
    """Return the settings of the allocator, as they were set."""
    return _settings


def _accelerator_setAllocatorSettings(settings: str) -> None:
    """Keep the settings of the allocator, such as "expandable_segments:True"."""
    global _settings
    _settings = settings


def _construct_storage_from_data_pointer(data_ptr: int, device: Any, size: int) -> Any:
    """Return a storage on `size` bytes at an address, which must stay valid.  RuntimeError if the device is not the CPU."""
    if torch.device(device).type != "cpu":
        raise RuntimeError(f"storages are constructed from addresses on the CPU alone, not on {device}")
    return torch.frombuffer((ctypes.c_uint8 * size).from_address(data_ptr), dtype=torch.uint8).untyped_storage()


def _storage_Use_Count(storage: int) -> NoReturn:
    """Raise RuntimeError: storages have no separate reference count."""
    raise RuntimeError("flambeau's storages have no reference count; use sys.getrefcount on the tensor")


def _cuda_releasePool(device: int, mempool_id: tuple[int, int]) -> NoReturn:
    """Raise RuntimeError, as PyTorch does without CUDA: memory pools are released with their last reference."""
    raise RuntimeError("Tried to instantiate dummy base class _cuda_releasePool")
