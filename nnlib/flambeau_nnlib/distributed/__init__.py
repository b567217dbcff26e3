"""Several processes that compute together, on one machine or several: they find each other, and exchange tensors.

>>> import flambeau as torch
>>> torch.distributed.is_initialized()
False

What carries the bytes is an `engine`; everything else is made of it.
"""

from __future__ import annotations

from . import collectives, debugging, errors, objects, point_to_point, store, world
from .collectives import *  # noqa: F403
from .debugging import *  # noqa: F403
from .errors import *  # noqa: F403
from .group import ProcessGroup, ProcessGroupGloo, Work
from .mesh import DeviceMesh, init_device_mesh
from .objects import *  # noqa: F403
from .point_to_point import *  # noqa: F403
from .reduction import ReduceOp
from .store import *  # noqa: F403
from .world import *  # noqa: F403

__all__ = ["DeviceMesh", "ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work", "init_device_mesh"]
for _part in (collectives, debugging, errors, objects, point_to_point, store, world):
    __all__ += _part.__all__
