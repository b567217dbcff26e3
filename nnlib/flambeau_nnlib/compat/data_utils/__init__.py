"""`torch.utils.data._utils`, whose submodules are those of `flambeau_nnlib.data`."""

from __future__ import annotations

import atexit
from importlib.util import find_spec

from flambeau_nnlib.data import collate, fetch, pin_memory, worker

from . import signal_handling

__all__ = ["HAS_NUMPY", "MP_STATUS_CHECK_INTERVAL", "collate", "fetch", "pin_memory", "signal_handling", "worker"]

HAS_NUMPY = find_spec("numpy") is not None
MP_STATUS_CHECK_INTERVAL = worker.PARENT_CHECK_INTERVAL
python_exit_status = False  # whether the interpreter is exiting


def _set_python_exit_flag() -> None:
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)
