"""One process of the comparison, started by `compare.py`: reads requests (JSON lists), one per line, and prints results.

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
GROUPS = 50  # short enough that other programs do not disturb all of them


class Work:
    """The requests: each public method handles one."""

    def __init__(self, library: str, device: str, pack: str, threads: int) -> None:
        self.torch: Any = importlib.import_module(library)
        self.library, self.device = library, device
        if library == "flambeau":
            keep_only(pack)
        self.torch.set_num_threads(threads)

    def versions(self) -> str:
        """Return the library's version, and the name of the GPU."""
        version = f"{self.library} {self.torch.__version__}"
        return version if self.device == "cpu" else f"{version} on {self.torch.cuda.get_device_name()}"

    def build(self, name: str) -> list[list[float]]:
        """Create a workload's step and run it a few times; return samples of each result."""
        self.step = self._make(name)
        return [sample(self.step()) for _ in range(CHECKED_STEPS)]

    def measure(self, name: str) -> float:
        """Return the number that a workload's step returns."""
        return float(self._make(name)())

    def run(self, calls: int) -> float:
        """Return the mean time of a step in seconds, over `calls` steps."""
        step = self.step
        step()  # warm up threads and caches
        self._synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            step()
        self._synchronize()
        return (time.perf_counter() - start) / calls

    def run_fastest(self, calls: int) -> float:
        """Return the time of a step in seconds, in the fastest of `GROUPS` groups; `calls` is the total number of steps."""
        size = -(-calls // GROUPS)
        return min(self.run(size) for _ in range(-(-calls // size)))

    def memory(self, name: str) -> int | None:
        """Return the peak memory of a training step in bytes, including parameters; None if it cannot be measured."""
        if self.device == "cuda":
            return self._memory_cuda(name)
        if not Path("/proc/self/clear_refs").exists():
            return None
        step = self._make(name)
        for _ in range(MEASURED_STEPS):  # loads and compiles code, whose memory must not be counted
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
    """Unregister every kernel pack except one, before flambeau uses any."""
    from flambeau.backend import plugins

    manager = plugins()
    for name, plugin in manager.list_name_plugin():
        if name != pack and hasattr(plugin, "flambeau_kernels"):
            manager.unregister(plugin)


def sample(result: Any) -> list[float]:
    """Return evenly spaced values of a result, or of the last result of several."""
    if isinstance(result, (list, tuple)):
        result = result[-1]
    if result is None:
        return []
    flat = result.detach().flatten()
    return flat[:: max(1, flat.numel() // SAMPLE)].tolist()


def release() -> None:
    """Return free memory to the system, because memory that the allocator keeps would not be counted in the next measurement."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a function of glibc
    if trim is not None:
        trim(0)


def anonymous(peak: bool = False) -> int:
    """Return the bytes of anonymous memory, now or at the peak: this excludes code, which is mapped from files."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    total, of_files = (int(status[name].split()[0]) * 1024 for name in ("VmHWM" if peak else "VmRSS", "RssFile"))
    return total - of_files


def main() -> None:
    library, device, pack, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # redirects the library's own output to stderr
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
