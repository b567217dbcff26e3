"""Locations of storages, such as "cuda:0": `save` records them, and `load` restores them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import flambeau as torch

from ..engine.devices import devices

__all__ = [
    "UnknownLocationError",
    "default_restore_location",
    "location_tag",
    "register_package",
    "restorer",
    "validate_cuda_device",
]

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
Restorer = Callable[[Any, str], Any]


class UnknownLocationError(RuntimeError):
    """No deserializer of `register_package` supports a saved location."""


_registry: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Register functions that record and restore one type of location, such as a device type.

    Args:
        priority: functions are called in ascending order of priority, until one does not return None.
        tagger: `tagger(storage)` returns the name of the storage's location, or None if it is of another type.
        deserializer: `deserializer(storage, location)` returns the storage, moved from host memory to the location, or None.

    >>> torch.serialization.register_package(90, lambda storage: None, lambda storage, location: None)
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """Return the name of the location of `storage`, such as `"cpu"` or `"cuda:0"`.

    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """Return `storage`, moved to `location`.

    Raises:
        RuntimeError: the location is unknown, or is a device that is not available.

    >>> storage = torch.ones(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    for _, _, deserializer in _registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise UnknownLocationError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def restorer(map_location: Any) -> Restorer:
    """Return a function `restore(storage, saved_location)` that moves a storage as `map_location` requires."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, Mapping):
        return lambda storage, saved: default_restore_location(storage, map_location.get(saved, saved))
    if isinstance(map_location, bytes):
        map_location = map_location.decode()
    if isinstance(map_location, str | devices.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def validate_cuda_device(location: str) -> int:
    """Return the index of a CUDA device such as "cuda:1".  RuntimeError if it is not available."""
    if not torch.cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. "
            "If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    index = devices.device(location).index or 0
    count = torch.cuda.device_count()
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
            f"{count}. Please use torch.load with map_location to map your storages to an existing device."
        )
    return index


def _typename(storage: Any) -> str:
    return f"{type(storage).__module__}.{type(storage).__name__}"


# --- built-in locations ---


def _tag_cpu(storage: Any) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _restore_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _restore_cuda(storage: Any, location: str) -> Any:
    if not re.match(r"cuda(:|\d|$)", location):
        return None
    return storage.to(device=devices.device("cuda", validate_cuda_device(location)))


def _tag_device(storage: Any) -> str | None:
    return str(storage.device)


def _restore_device(storage: Any, location: str) -> Any:
    try:
        device = devices.device(location)
    except RuntimeError:  # `location` is not the name of a device
        return None
    return storage.to(device=device)


register_package(10, _tag_cpu, _restore_cpu)
register_package(20, lambda storage: None, _restore_cuda)
register_package(100, _tag_device, _restore_device)
