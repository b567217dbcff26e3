"""Private functions of `torch.cuda`."""

from __future__ import annotations

import os

from ..engine.devices import cuda

__all__: list[str] = []


def _is_in_bad_fork() -> bool:
    """Whether this process was forked after its parent had initialized CUDA, so that it cannot use CUDA."""
    return cuda.initialized_in not in (None, os.getpid())
