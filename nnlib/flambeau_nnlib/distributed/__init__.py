"""Several processes of one machine that compute together: they find each other, and exchange tensors over sockets.

>>> import flambeau as torch
>>> torch.distributed.is_initialized()
False
"""

from __future__ import annotations

from . import collectives, store, world
from .collectives import *  # noqa: F403
from .group import ProcessGroup, ProcessGroupGloo, ReduceOp, Work
from .mesh import DeviceMesh, init_device_mesh
from .store import *  # noqa: F403
from .world import *  # noqa: F403

__all__ = ["DeviceMesh", "ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work", "init_device_mesh"]
__all__ += [*collectives.__all__, *store.__all__, *world.__all__]
