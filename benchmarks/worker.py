"""One side of the comparison, started by `compare.py`: reads requests, one JSON list per line, and answers each with a line.

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
MEASURED_STEPS = 3  # several, because some memory is only freed by the garbage collector
SAMPLE = 64
GROUPS = 50  # short enough for some to be undisturbed by other programs


class Work:
    """The requests; each public method is one."""

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
        """Create a workload's step and run it a few times; returns samples of each result."""
        self.step = self._make(name)
        return [sample(self.step()) for _ in range(CHECKED_STEPS)]

    def measure(self, name: str) -> float:
        """The number that a workload's step returns."""
        return float(self._make(name)())

    def run(self, calls: int) -> float:
        """Seconds that a step takes, over `calls` of them."""
        step = self.step
        step()  # warms up threads and caches
        self._synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        self._synchronize()
        return (time.perf_counter() - start) / calls

    def run_fastest(self, calls: int) -> float:
        """Seconds that a step takes in the fastest of `GROUPS` groups of steps, `calls` of them in all."""
        size = -(-calls // GROUPS)
        return min(self.run(size) for _ in range(-(-calls // size)))

    def memory(self, name: str) -> int | None:
        """Peak memory of a training step in bytes, parameters included; None where it cannot be measured."""
        if self.device == "cuda":
            return self._memory_cuda(name)
        if not Path("/proc/self/clear_refs").exists():
            return None
        step = self._make(name)
        for _ in range(MEASURED_STEPS):  # loads and compiles code, which must not be counted
            step()
        del step
        release()
        before = anonymous()
        step = self._make(name)
        for _ in range(2):
            step()
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current value
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
    """Unregister every kernel pack but one, before flambeau uses any."""
    from flambeau.backend import plugins

    manager = plugins()
    for name, plugin in manager.list_name_plugin():
        if name != pack and hasattr(plugin, "flambeau_kernels"):
            manager.unregister(plugin)


def sample(result: Any) -> list[float]:
    """Evenly spaced values of a result, or of the last one of several."""
    if isinstance(result, (list, tuple)):
        result = result[-1]
    if result is None:
        return []
    flat = result.detach().flatten()
    return flat[:: max(1, flat.numel() // SAMPLE)].tolist()


def release() -> None:
    """Return free memory to the system: memory that the allocator keeps would not be counted the next time."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def anonymous(peak: bool = False) -> int:
    """Bytes of anonymous memory, now or at the peak: code is mapped from files, tensors are not."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    total, of_files = (int(status[name].split()[0]) * 1024 for name in ("VmHWM" if peak else "VmRSS", "RssFile"))
    return total - of_files


def main() -> None:
    library, device, pack, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps what a library prints apart from the answers
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
