"""Private functions of `torch.cuda`."""

from __future__ import annotations

import os

from ..engine.devices import cuda

__all__: list[str] = []


def _is_in_bad_fork() -> bool:
    """Return whether this process is a fork of one that had initialized CUDA, and so cannot use it."""
    return cuda.initialized_in not in (None, os.getpid())
