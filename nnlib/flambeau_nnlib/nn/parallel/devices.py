"""The devices available for data parallelism, and their collectives."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import flambeau as torch

__all__ = ["all_devices", "as_device", "as_devices", "collectives"]


def device_type() -> str:
    """Return "cuda" if available, else "cpu", which may have several virtual devices."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def as_device(device: Any) -> torch.device:
    """Convert an index, string or device to a `torch.device`; an index counts CUDA devices, or CPU devices without CUDA."""
    if isinstance(device, int):
        return torch.device("cpu") if device < 0 else torch.device(device_type(), device)
    return device if isinstance(device, torch.device) else torch.device(device)


def as_devices(devices: Sequence[Any]) -> list[torch.device]:
    """Convert indices, strings or devices to `torch.device` objects that have an index."""
    return [torch.empty(0, device=as_device(device)).device for device in devices]


def collectives(device: torch.device) -> Any:
    """Return the functions for communication between devices of this type.

    Raises:
        RuntimeError: the backend of the device has no collectives.
    """
    return _collectives_of(device.type)


@functools.cache  # a hook takes too long to call it for each parameter
def _collectives_of(device_type: str) -> Any:
    torch.backend.for_device_type(device_type)  # load the backend, so that its plugin hooks are registered
    found = torch.backend.plugins().hook.flambeau_collectives(device_type=device_type)
    if found is not None:
        return found
    raise RuntimeError(f"there are no collectives for devices of type {device_type!r}")


def all_devices() -> list[torch.device]:
    """Return all devices of type `device_type()`."""
    return as_devices(collectives(torch.device(device_type())).devices())
