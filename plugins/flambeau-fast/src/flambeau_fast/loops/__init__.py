"""Loops compiled by numba, in parallel; nothing here is imported before the first large array comes.

A module of this package holds the loops of one topic, as functions from arrays to arrays that exist already.  What they take is
float32, in row-major order.
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

__all__ = ["compiled", "compiled_for", "inlined", "loop"]

if numba.config.THREADING_LAYER == "default":
    numba.config.THREADING_LAYER = "threadsafe"  # numba's own scheduler ends the process where two threads come at once

if numba.config.CPU_FEATURES is None and llvm.get_host_cpu_features().get("avx512f"):
    numba.config.CPU_FEATURES = get_host_cpu_features() + ",-prefer-256-bit"  # LLVM's choice, for processors of long ago

threads.of_numba()

# Sums may be taken in any order, and a product and a sum in one instruction.  NaN and infinities are as they should be.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}

compiled = numba.njit(parallel=True, cache=True, **_OPTIONS)
loop = numba.njit(cache=True, **_OPTIONS)


def compiled_for(signature: Any) -> Callable[..., Any]:
    """As `compiled`, for arguments of these types alone: for arrays in several layouts, once."""
    return numba.njit(signature, parallel=True, cache=True, **_OPTIONS)


inlined: Callable[..., Any] = numba.njit(**_OPTIONS)


class _Announce(event.Listener):
    """Says what takes so long."""

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
