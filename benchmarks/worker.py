"""The worker process started by `compare.py`: read requests from stdin (JSON lists, one per line) and print results as JSON.

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
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import peers
import workloads

CHECKED_STEPS = 3
MEASURED_STEPS = 3  # several steps, because some memory is only freed by the garbage collector
INFERENCES = 20
SAMPLE = 64  # number of compared values per result
GROUPS = 50  # steps are timed in this many groups, short enough that some run undisturbed by other programs


class RequestHandler:
    """Handle the requests of `compare.py`. A request contains the name of a public method and its arguments."""

    def __init__(self, library: str, device: str, pack: str, threads: int) -> None:
        self.torch: Any = importlib.import_module(library)
        self.library, self.device = library, device
        if library == "flambeau":
            unregister_other_packs(pack)
        self.torch.set_num_threads(threads)

    def versions(self) -> str:
        """Return the library's version, and the name of the GPU."""
        version = f"{self.library} {self.torch.__version__}"
        return version if self.device == "cpu" else f"{version} on {self.torch.cuda.get_device_name()}"

    def build(self, name: str) -> list[list[float]]:
        """Create the step of a workload and run it `CHECKED_STEPS` times. Return sampled values of each result."""
        self.step = self._make(name)
        return [sample_values(self.step()) for _ in range(CHECKED_STEPS)]

    def measure(self, name: str) -> float:
        """Run the step of a workload once and return its result as a float."""
        return float(self._make(name)())

    def run(self, calls: int) -> float:
        """Return the mean time of a step in seconds, over `calls` steps."""
        step = self.step
        self._wait_for(step())  # warm up threads and caches
        start = time.perf_counter()
        for _ in range(calls):
            result = step()
        self._wait_for(result)
        return (time.perf_counter() - start) / calls

    def run_fastest(self, calls: int) -> float:
        """Run about `calls` steps in `GROUPS` groups and return the time of a step in seconds in the fastest group."""
        size = -(-calls // GROUPS)
        return min(self.run(size) for _ in range(-(-calls // size)))

    def memory(self, name: str) -> int | None:
        """Return the peak memory in bytes of a training step, including parameters, or None if it cannot be measured."""
        if self.device == "cuda":
            return self._memory_cuda(name)
        if not Path("/proc/self/clear_refs").exists():
            return None
        step = self._make(name)
        for _ in range(MEASURED_STEPS):  # load and compile code first, whose memory must not be counted
            step()
        del step
        release_free_memory()
        before = anonymous_memory()
        step = self._make(name)
        for _ in range(2):
            step()
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak to the current value
        for _ in range(MEASURED_STEPS):
            step()
        return anonymous_memory(peak=True) - before

    def export(self, name: str, path: str) -> None:
        """Write a network to an ONNX file."""
        peers.export(self.torch, workloads.find(name), path)

    def inference_memory(self, name: str, path: str) -> tuple[int, int] | None:
        """Return the peak memory in bytes of loading a network and running it `INFERENCES` times, then that of doing it again.

        The first includes code which is imported when it is first used, not that of `import torch`.  The network
        is loaded from the files that `export` wrote.  Call once per process.
        """
        if not Path("/proc/self/clear_refs").exists():
            return None
        workload, mode = workloads.find(name), os.environ.get("BENCHMARK_MODE")
        load = peers.loader(self.torch, workload, mode, path)
        return self._peak_of_inference(load), self._peak_of_inference(load)

    @staticmethod
    def _peak_of_inference(load: Callable[[], workloads.workload.Step]) -> int:
        release_free_memory()
        before = anonymous_memory()
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak to the current value
        step = load()
        for _ in range(INFERENCES):
            step()
        return anonymous_memory(peak=True) - before

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
            workload, mode = workloads.find(name), os.environ.get("BENCHMARK_MODE")
            return peers.make_step(self.torch, workload, mode) if mode else workload.make(self.torch)

    def _wait_for(self, result: Any) -> None:
        """Wait until all steps have been computed. `result` is that of the last step."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()
        elif os.environ.get("FLAMBEAU_BACKEND") == "jax":  # computes asynchronously on the CPU
            sample_values(result)


def unregister_other_packs(pack: str) -> None:
    """Unregister all kernel packs except `pack`. Must run before flambeau uses a pack."""
    from flambeau.backend import plugins

    manager = plugins()
    for name, plugin in manager.list_name_plugin():
        if name != pack and hasattr(plugin, "flambeau_kernels"):
            manager.unregister(plugin)


def sample_values(result: Any) -> list[float]:
    """Return up to about `SAMPLE` evenly spaced values of a result. For a sequence, use its last element."""
    if isinstance(result, (list, tuple)):
        result = result[-1]
    if result is None:
        return []
    flat = result.detach().flatten() if hasattr(result, "detach") else result.ravel()  # a tensor, or an array of NumPy
    return flat[:: max(1, len(flat) // SAMPLE)].tolist()


def release_free_memory() -> None:
    """Return free memory to the system. Memory kept by the allocator would be missing from the next measurement."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a function of glibc
    if trim is not None:
        trim(0)


def anonymous_memory(peak: bool = False) -> int:
    """Return the current or peak anonymous memory in bytes. It excludes code, which is mapped from files."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    total, file_backed = (int(status[name].split()[0]) * 1024 for name in ("VmHWM" if peak else "VmRSS", "RssFile"))
    return total - file_backed


def main() -> None:
    library, device, pack, threads = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # redirects the library's own output to stderr
    handler: RequestHandler | None = None
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            handler = handler or RequestHandler(library, device, pack, int(threads))
            answer = {"result": getattr(handler, method)(*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
