"""`torch.backends.cpu`: the processor."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The processor's vector instructions, as the CPU backend's library sees them."""
    from ..backend import for_device_type

    capability: str = getattr(for_device_type("cpu"), "cpu_capability", lambda: "DEFAULT")()
    return capability
