"""The compiled kernels; their sources are in the folder `c`.

They were compiled for several kinds of processors; used are those for this one, or with `FLAMBEAU_FAST_CPU` for a lesser one.
In a source tree they are compiled here, when they are missing or a source has changed.
"""

from __future__ import annotations

import os
import runpy
from functools import cache
from pathlib import Path
from typing import Any

from flambeau_backends.numpy.packs import keep_products_serial

__all__ = ["alone", "kernels", "optional"]

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
    """Keep OpenBLAS's threads, which spin while they wait, away from the processors of the kernels' threads; always true."""
    keep_products_serial()
    return True


def optional(array: Any) -> Any:
    """The array, or one without elements for None, as kernels take it."""
    return _NONE if array is None else array


_NONE = memoryview(b"").cast("f")
