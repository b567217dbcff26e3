"""Settings of numba for fused loops (see `fusion`); imported when the first loop is compiled."""

from __future__ import annotations

import sys
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import event
from numba.core.codegen import get_host_cpu_features

from flambeau_backends.numpy.packs import follow

from ..kernels import kernels

__all__ = ["exactly"]

if numba.config.THREADING_LAYER == "default":
    numba.config.THREADING_LAYER = "threadsafe"  # numba's own scheduler aborts if two threads use it concurrently

if numba.config.CPU_FEATURES is None and llvm.get_host_cpu_features().get("avx512f"):
    numba.config.CPU_FEATURES = get_host_cpu_features() + ",-prefer-256-bit"  # use 512-bit vectors; LLVM prefers 256


def _set_thread_count(count: int) -> None:
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))


_set_thread_count(kernels.thread_count())  # numba ignores OMP_NUM_THREADS and uses one thread per processor
follow(_set_thread_count)

exactly = numba.njit(parallel=True, cache=True, nogil=True, error_model="numpy")  # no fused multiply-add: round each step


class _Announce(event.Listener):
    """Print once that a loop is being compiled, which takes a while."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print(
                "flambeau-fast: compiling a fused loop, which is cached for later runs ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announce())
