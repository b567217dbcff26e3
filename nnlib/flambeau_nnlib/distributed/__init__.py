"""Several processes of one machine that compute together: they find each other, and exchange tensors over sockets.

>>> import flambeau as torch
>>> torch.distributed.is_initialized()
False
"""

from __future__ import annotations

from . import collectives, mesh, store, world
from .collectives import *
from .group import ProcessGroup, ProcessGroupGloo, ReduceOp, Work
from .mesh import DeviceMesh, init_device_mesh
from .store import *
from .world import *

__all__ = ["ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work"]
__all__ += [*collectives.__all__, *mesh.__all__, *store.__all__, *world.__all__]
