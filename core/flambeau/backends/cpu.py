"""`torch.backends.cpu`: the processor."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The vector instructions of the processor that the CPU backend's library detects."""
    from ..backend import for_device_type

    capability: str = getattr(for_device_type("cpu"), "cpu_capability", lambda: "DEFAULT")()
    return capability
