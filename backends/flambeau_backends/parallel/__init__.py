"""Collectives among the devices of a process: broadcast, scatter, gather, reduce, and running functions on all devices.

`collectives("cpu")` and `collectives("cuda")` are what the backends of these device types return from the hook
`flambeau_collectives`.  They work on tensors without history; autograd is added by their callers.
"""

from __future__ import annotations

from functools import cache

from .group import Collectives

__all__ = ["Collectives", "collectives"]


@cache
def collectives(device_type: str) -> Collectives:
    """The collectives of a device type: by NCCL on CUDA where it is installed, else by copies between devices."""
    if device_type == "cuda":
        from . import nccl

        if nccl.is_available():
            return nccl.NcclCollectives(device_type)
    return Collectives(device_type)
