"""`torch.xpu`: Intel GPUs, which are not supported; the functions behave like PyTorch's on a machine without one.

>>> torch.xpu.is_available(), torch.xpu.memory_allocated()
(False, 0)
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_device", "device_count", "empty_cache", "get_device_name", "get_rng_state_all", "init", "is_available",
    "is_bf16_supported", "is_initialized", "is_tf32_supported", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "seed", "seed_all", "set_device", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def is_tf32_supported() -> bool:
    """False."""
    return False


def device_count() -> int:
    """Zero."""
    return 0


# --- memory and seeds of no device ---


def empty_cache() -> None:
    """Do nothing: no memory is cached."""


def memory_allocated(device: Any = None) -> int:
    """Zero."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Zero."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Zero."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Zero."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """There is no generator to seed."""


def seed() -> None:
    """There is no generator to seed."""


def seed_all() -> None:
    """There is no generator to seed."""


def get_rng_state_all() -> list[Any]:
    """The states of no generators."""
    return []


# --- what needs a device ---


def init() -> NoReturn:
    """AssertionError: there are no such devices."""
    raise AssertionError("Torch not compiled with XPU enabled: flambeau has no devices of Intel's")


def current_device() -> int:
    """Raise AssertionError: no device is available."""
    init()


def set_device(device: Any) -> None:
    """Raise AssertionError: no device is available."""
    init()


def get_device_name(device: Any = None) -> str:
    """Raise AssertionError: no device is available."""
    init()


def synchronize(device: Any = None) -> None:
    """AssertionError: there is nothing to wait for."""
    init()
