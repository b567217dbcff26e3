"""Collectives among the devices of one process: broadcast, scatter, gather, reduce, and running functions on all devices.

The NumPy and CuPy backends return `collectives("cpu")` and `collectives("cuda")` from the hook `flambeau_collectives`.  They take
and return tensors without autograd history; callers add autograd.
"""

from __future__ import annotations

from functools import cache

from .group import Collectives

__all__ = ["Collectives", "collectives"]


@cache
def collectives(device_type: str) -> Collectives:
    """Return the collectives of a device type: by NCCL on CUDA if installed, else by copies between devices."""
    if device_type == "cuda":
        from . import nccl

        if nccl.is_available():
            return nccl.NcclCollectives(device_type)
    return Collectives(device_type)
