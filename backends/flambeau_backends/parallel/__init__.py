"""Groups of devices: what goes from one to all, from all to one, and work done on all at once.

`collectives("cpu")` and `collectives("cuda")` are what the backends of these device types answer to the hook
`flambeau_collectives`.  Everything is in terms of tensors without history; derivatives are made above.
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
