"""Loops compiled by numba, in parallel; imported only when they are first needed for a large array.

Each module holds the loops of one topic, as functions that write to arrays which their caller has allocated.  All arrays are
float32 and row-major.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import event
from numba.core.codegen import get_host_cpu_features

from .. import threads

__all__ = ["compiled", "compiled_for", "exactly", "inlined", "loop"]

if numba.config.THREADING_LAYER == "default":
    numba.config.THREADING_LAYER = "threadsafe"  # numba's own scheduler aborts if two threads use it at once

if numba.config.CPU_FEATURES is None and llvm.get_host_cpu_features().get("avx512f"):
    numba.config.CPU_FEATURES = get_host_cpu_features() + ",-prefer-256-bit"  # LLVM's default, made for older processors

threads.of_numba()

# Sums may be reordered, and products fused with sums.  NaN and infinities are handled correctly.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}

compiled = numba.njit(parallel=True, cache=True, **_OPTIONS)
loop = numba.njit(cache=True, **_OPTIONS)
exactly = numba.njit(parallel=True, cache=True, nogil=True, error_model="numpy")  # each operation rounds, as if it stood alone


def compiled_for(signature: Any) -> Callable[..., Any]:
    """Like `compiled`, for arguments of these types only: compiled once for arrays of any layout."""
    return numba.njit(signature, parallel=True, cache=True, **_OPTIONS)


inlined: Callable[..., Any] = numba.njit(**_OPTIONS)


class _Announce(event.Listener):
    """Tells the user, once, that compiling takes a while."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print(
                "flambeau-fast: compiling a loop, once and for all (python -m flambeau_fast compiles all of them) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announce())
