"""`torch.backends.cpu`: the processor."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """Return the name of the vector instruction set that the CPU backend detects, such as `"AVX2"`; else `"DEFAULT"`."""
    from ..backend import for_device_type

    capability: str = getattr(for_device_type("cpu"), "cpu_capability", lambda: "DEFAULT")()
    return capability
