"""Communication between the processes of a distributed job, on one or several machines.

Entry points: `world` (`init_process_group`), `collectives`, `engine` (the transport backends), `store` (key-value
    stores for rendezvous), `tensor` (`DTensor`), `fsdp` and `checkpoint`.  Invariants: engines receive flat, contiguous
    tensors that need no gradient; a waiting call raises an error within seconds after another process has died.

>>> torch.distributed.is_initialized()
False

An `engine` transports the bytes; everything else is built on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from flambeau.extension import private_names

from . import breakpoints, collectives, debugging, errors, objects, options, point_to_point, store, world
from .breakpoints import *  # noqa: F403
from .collectives import *  # noqa: F403
from .debugging import *  # noqa: F403
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import *  # noqa: F403
from .group import ProcessGroup, ProcessGroupGloo, Work
from .logger import Logger
from .objects import *  # noqa: F403
from .options import *  # noqa: F403
from .point_to_point import *  # noqa: F403
from .reduction import ReduceOp
from .rendezvous import register_rendezvous_handler, rendezvous
from .store import *  # noqa: F403
from .world import *  # noqa: F403

__all__ = ["DeviceMesh", "Logger", "ProcessGroup", "ProcessGroupGloo", "ReduceOp", "Work", "init_device_mesh"]
__all__ += ["register_rendezvous_handler", "rendezvous"]
for _part in (breakpoints, collectives, debugging, errors, objects, options, point_to_point, store, world):
    __all__ += _part.__all__

_OF_DATA_PARALLEL = ("GradBucket", "Reducer")
__all__ += _OF_DATA_PARALLEL
_private = private_names(__name__)


def __getattr__(name: str) -> Any:
    if name in _OF_DATA_PARALLEL:  # imported on first access, because it imports torch.nn
        from ..nn.parallel import reducer

        return getattr(reducer, name)
    if name in ("algorithms", "autograd", "constants", "distributed_c10d", "rpc"):  # imported on first access
        return import_module(f"flambeau.distributed.{name}")
    if name == "reduce_op":
        import warnings

        message = "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return ReduceOp
    return _private(name)
