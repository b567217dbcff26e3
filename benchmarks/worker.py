"""One side of the comparison: reads requests, one JSON list a line, and answers each with a line.  `compare.py` starts it.

python benchmarks/worker.py LIBRARY DEVICE PACK THREADS
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import workloads

CHECKED_STEPS = 3
MEASURED_STEPS = 3  # more than one, for what is only freed when the garbage is collected
SAMPLE = 64


class Work:
    """What can be asked for, by the names of the methods."""

    def __init__(self, library: str, device: str, pack: str, threads: int) -> None:
        self.torch: Any = importlib.import_module(library)
        self.library, self.device = library, device
        if library == "flambeau":
            keep_only(pack)
        self.torch.set_num_threads(threads)

    def versions(self) -> str:
        """The library's version, and the GPU it computes on."""
        version = f"{self.library} {self.torch.__version__}"
        return version if self.device == "cpu" else f"{version} on {self.torch.cuda.get_device_name()}"

    def build(self, name: str) -> list[list[float]]:
        """Make a workload's step, and do it a few times; returns some values of each time's result."""
        self.step = self._make(name)
        return [sample(self.step()) for _ in range(CHECKED_STEPS)]

    def measure(self, name: str) -> float:
        """The number that a workload's step returns."""
        return float(self._make(name)())

    def run(self, calls: int) -> float:
        """Seconds that a step takes, over `calls` of them."""
        step = self.step
        step()  # wakes threads and caches
        self._synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        self._synchronize()
        return (time.perf_counter() - start) / calls

    def memory(self, name: str) -> int | None:
        """Bytes that a training step holds at its peak, parameters and all; None where it cannot be known."""
        if self.device == "cuda":
            return self._memory_cuda(name)
        if not Path("/proc/self/clear_refs").exists():
            return None
        step = self._make(name)
        for _ in range(MEASURED_STEPS):  # loads, and compiles, what these steps need: code is not the memory that they take
            step()
        del step
        release()
        before = anonymous()
        step = self._make(name)
        for _ in range(2):
            step()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        for _ in range(MEASURED_STEPS):
            step()
        return anonymous(peak=True) - before

    def _memory_cuda(self, name: str) -> int:
        step = self._make(name)
        for _ in range(2):
            step()
        self.torch.cuda.reset_peak_memory_stats()
        for _ in range(MEASURED_STEPS):
            step()
        return int(self.torch.cuda.max_memory_allocated())

    def _make(self, name: str) -> workloads.workload.Step:
        with nullcontext() if self.device == "cpu" else self.torch.device(self.device):
            return workloads.find(name).make(self.torch)

    def _synchronize(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()


def keep_only(pack: str) -> None:
    """Take every kernel pack but one out of flambeau, which has used none yet."""
    from flambeau.backend import plugins

    manager = plugins()
    for name, plugin in manager.list_name_plugin():
        if name != pack and hasattr(plugin, "flambeau_kernels"):
            manager.unregister(plugin)


def sample(result: Any) -> list[float]:
    """Values from all over a result, or over the last of several."""
    if isinstance(result, (list, tuple)):
        result = result[-1]
    if result is None:
        return []
    flat = result.detach().flatten()
    return flat[:: max(1, flat.numel() // SAMPLE)].tolist()


def release() -> None:
    """Give memory that is free back to the system: an allocator that kept it would seem to need less the next time."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def anonymous(peak: bool = False) -> int:
    """Bytes of memory, now or at the peak, that hold no file: code is in files, tensors are not."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    total, of_files = (int(status[name].split()[0]) * 1024 for name in ("VmHWM" if peak else "VmRSS", "RssFile"))
    return total - of_files


def main() -> None:
    library, device, pack, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    work: Work | None = None
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        try:
            work = work or Work(library, device, pack, int(threads))
            answer = {"result": getattr(work, what)(*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
