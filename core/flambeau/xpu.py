"""`torch.xpu`: Intel GPUs, which are not supported; the functions behave like PyTorch's on a machine without one.

>>> torch.xpu.is_available(), torch.xpu.memory_allocated()
(False, 0)
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device", "device_count", "empty_cache",
    "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init",
    "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "stream",
    "synchronize",
]  # fmt: skip

__path__: list[str] = []  # the module is also imported as `torch.xpu.memory` and others


def is_available() -> bool:
    """Return False: XPU devices are not supported."""
    return False


def is_initialized() -> bool:
    """Return False: XPU devices are not supported."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: XPU devices are not supported."""
    return False


def is_tf32_supported() -> bool:
    """Return False: XPU devices are not supported."""
    return False


def device_count() -> int:
    """Return 0: XPU devices are not supported."""
    return 0


# --- memory and random state ---


def empty_cache() -> None:
    """Do nothing: XPU devices are not supported."""


def memory_allocated(device: Any = None) -> int:
    """Return 0: XPU devices are not supported."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Return 0: XPU devices are not supported."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Return 0: XPU devices are not supported."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Return 0: XPU devices are not supported."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return an empty dictionary: XPU devices are not supported."""
    return {}


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: XPU devices are not supported."""


def manual_seed(seed: int) -> None:
    """Do nothing: XPU devices are not supported."""


def manual_seed_all(seed: int) -> None:
    """Do nothing: XPU devices are not supported."""


def seed() -> None:
    """Do nothing: XPU devices are not supported."""


def seed_all() -> None:
    """Do nothing: XPU devices are not supported."""


def get_rng_state_all() -> list[Any]:
    """Return an empty list: XPU devices are not supported."""
    return []


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """Do nothing: XPU devices are not supported."""


def set_rng_state_all(new_states: Any) -> None:
    """Do nothing: XPU devices are not supported."""


# --- functions that require a device ---


def init() -> NoReturn:
    """Raise AssertionError: XPU devices are not supported."""
    raise AssertionError("Torch not compiled with XPU enabled: flambeau has no devices of Intel's")


def current_device() -> int:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def set_device(device: Any) -> None:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def get_device_name(device: Any = None) -> str:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def synchronize(device: Any = None) -> None:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def get_device_properties(device: Any = None) -> Any:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def get_rng_state(device: Any = "xpu") -> Any:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def current_stream(device: Any = None) -> Any:
    """Raise AssertionError: XPU devices are not supported."""
    init()


def is_current_stream_capturing() -> bool:
    """Raise AssertionError: XPU devices are not supported."""
    init()


class Stream:
    """A queue of work on a device.  The constructor raises AssertionError, because XPU devices are not supported."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        init()


class Event:
    """A marker in a stream.  The constructor raises AssertionError, because XPU devices are not supported."""

    def __init__(self, enable_timing: bool = False) -> None:
        init()


class StreamContext:
    """Context that selects a stream; None selects no stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


stream = StreamContext


class device:
    """Context that selects a device.  Entering it raises AssertionError, because XPU devices are not supported."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        init()

    def __exit__(self, *exception: object) -> None:
        pass
