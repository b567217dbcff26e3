"""Collectives among the devices of a process: broadcast, scatter, gather, reduce, and running functions on all devices.

`collectives("cpu")` and `collectives("cuda")` are returned from the hook `flambeau_collectives` by the backends of these
device types. They work on tensors without history; callers add autograd.
"""

from __future__ import annotations

from functools import cache

from .group import Collectives

__all__ = ["Collectives", "collectives"]


@cache
def collectives(device_type: str) -> Collectives:
    """Return the collectives of a device type: NCCL's on CUDA if installed, else copies between devices."""
    if device_type == "cuda":
        from . import nccl

        if nccl.is_available():
            return nccl.NcclCollectives(device_type)
    return Collectives(device_type)
