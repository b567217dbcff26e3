"""Python's `multiprocessing`, with tensors in shared memory.

It exports everything that `multiprocessing` does, so `import torch.multiprocessing as mp` replaces `import
multiprocessing as mp`. A tensor sent through a queue or a pipe, or passed to a process, is moved to shared memory. Only
a handle is sent, and both processes see each other's changes.
"""

from __future__ import annotations

import multiprocessing
import threading
from multiprocessing import *  # noqa: F403

from flambeau.extension import WEBASSEMBLY

from .reductions import init_reductions
from .shared import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    is_shared,
    set_sharing_strategy,
    share,
)
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "is_shared",
    "set_sharing_strategy",
    "share",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,
]

if WEBASSEMBLY:
    from .without_processes import *  # noqa: F403

init_reductions()


def _set_thread_name(name: str) -> None:
    """Name the running thread; on Linux, `top` and debuggers show the first 15 characters."""
    threading.current_thread().name = name
