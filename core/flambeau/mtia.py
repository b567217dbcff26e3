"""`torch.mtia`: Meta's accelerators, which are not supported; the functions behave like PyTorch's on a machine without one.

>>> torch.mtia.is_available(), torch.mtia.device_count()
(False, 0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["current_device", "device_count", "empty_cache", "init", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """Return False: MTIA devices are not supported."""
    return False


is_initialized = is_available


def device_count() -> int:
    """Return 0: MTIA devices are not supported."""
    return 0


def empty_cache() -> None:
    """Do nothing: MTIA devices are not supported."""


def init(*args: Any) -> NoReturn:
    """Raise AssertionError: MTIA devices are not supported."""
    raise AssertionError("Torch not compiled with MTIA enabled: flambeau does not support these devices")


current_device: Callable[..., NoReturn] = init
set_device: Callable[..., NoReturn] = init
synchronize: Callable[..., NoReturn] = init
