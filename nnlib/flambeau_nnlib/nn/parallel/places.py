"""The devices that work can be spread over, and the collectives of their type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau as torch

__all__ = ["all_devices", "as_device", "as_devices", "collectives"]


def device_type() -> str:
    """CUDA where there is any; else the CPU, which may be several virtual devices."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def as_device(place: Any) -> torch.device:
    """A `torch.device` from an index, a string or a device; an index is that of a CUDA device, or without CUDA of a CPU one."""
    if isinstance(place, int):
        return torch.device("cpu") if place < 0 else torch.device(device_type(), place)
    return place if isinstance(place, torch.device) else torch.device(place)


def as_devices(places: Sequence[Any]) -> list[torch.device]:
    """Places as devices, with the index that tensors on them report."""
    return [torch.empty(0, device=as_device(place)).device for place in places]


def collectives(place: torch.device) -> Any:
    """The collectives of a device's type.

    Raises:
        RuntimeError: its backend has none.
    """
    torch.backend.for_device_type(place.type)  # loads the backend, which registers its hooks
    found = torch.backend.plugins().hook.flambeau_collectives(device_type=place.type)
    if found is not None:
        return found
    raise RuntimeError(f"there are no collectives for devices of type {place.type!r}")


def all_devices() -> list[torch.device]:
    """All devices of the type that work is spread over."""
    return as_devices(collectives(torch.device(device_type())).devices())
