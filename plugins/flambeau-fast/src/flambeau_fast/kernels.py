"""The compiled kernels; their sources are in the folder `c`.

The library contains variants for several instruction sets.  The best one that this processor supports is loaded, or a lesser one
if `FLAMBEAU_FAST_CPU` selects it.  In a source tree, importing this module compiles the library if it is missing or older than a
source.
"""

from __future__ import annotations

import os
import runpy
from functools import cache
from pathlib import Path
from typing import Any

from flambeau_backends.numpy.packs import keep_products_serial

__all__ = ["alone", "kernels"]

_BUILD = Path(__file__).resolve().parents[2] / "c" / "build.py"
if _BUILD.exists():
    _build = runpy.run_path(str(_BUILD))
    if _build["is_stale"]():
        _build["build"]()

from . import _kernels  # noqa: E402  # type: ignore[attr-defined]

kernels: Any = _kernels
_processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
kernels.set_thread_count(int(os.environ.get("OMP_NUM_THREADS") or _processors))


@cache
def alone() -> bool:
    """Make OpenBLAS single-threaded, since its spinning threads compete with the kernels' threads; always return True."""
    keep_products_serial()
    return True
