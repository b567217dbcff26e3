"""The compared libraries, each in a separate process: PyTorch, and flambeau on every backend and kernel pack.

flambeau can also be run from an earlier commit. Separate processes have separate thread pools, memory statistics and
environments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Failed", "Side", "Worker", "checked_out", "flambeau_sides", "pytorch_side"]

ROOT = Path(__file__).parents[1]
PARTS = ("core", "backends", "nnlib", "vision")  # folders that contain packages in a source tree
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Side:
    """A library to compare. For flambeau also the backend, the kernel pack and the source tree.

    `pack` is the name of the kernel pack's plugin, `distribution` the name of its package. `tree` is the source tree of
    an earlier commit, or None for the current one.
    """

    library: str
    backend: str = ""
    pack: str = ""
    distribution: str = ""
    device: str = "cpu"  # device of PyTorch's reference run
    tree: Path | None = None
    mode: str = ""  # "compile": run by `torch.compile`; "onnx": by ONNX Runtime

    @property
    def label(self) -> str:
        name = "+".join(filter(None, (self.backend, self.pack))) or "PyTorch"
        name = f"{name} {self.mode}" if self.mode else name
        return f"{name}, old" if self.tree else name


def pytorch_side(device: str) -> Side:
    return Side("torch", device=device)


def flambeau_sides() -> list[Side]:
    """Return a side for every usable backend, alone and with each of its kernel packs."""
    from importlib.metadata import entry_points

    from flambeau import backend as registry

    manager = registry.plugins()
    packs = {
        entry.name: entry.dist.name if entry.dist else ""
        for entry in entry_points(group="flambeau.plugins")
        if hasattr(manager.get_plugin(entry.name), "flambeau_kernels")
    }
    sides = []
    for name in sorted(registry.installed(), key=lambda name: name != "numpy"):
        try:
            backend = registry.find(name)
            if backend.device_count() == 0:
                continue
        except RuntimeError:
            continue  # the backend's library is not installed
        device = "cuda" if backend.device_type == "cuda" else "cpu"
        sides.append(Side("flambeau", name, device=device))
        for pack, distribution in packs.items():
            other_plugins = [plugin for plugin in manager.get_plugins() if plugin is not manager.get_plugin(pack)]
            if any(manager.subset_hook_caller("flambeau_kernels", other_plugins)(backend=backend)):
                sides.append(Side("flambeau", name, pack, distribution, device))
    return sides


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out a commit in a temporary directory while the context is active. Raises `CalledProcessError` if unknown."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


class Failed(Exception):
    """Raised if a worker cannot handle a request."""


class Worker:
    """A process that runs `worker.py` for one side."""

    def __init__(self, side: Side, threads: int) -> None:
        self.side, self.threads = side, threads
        environment = {**os.environ, **dict.fromkeys(THREADS, str(threads)), "BENCHMARK_PACK": side.distribution}
        environment["BENCHMARK_MODE"] = side.mode
        if side.backend:
            environment["FLAMBEAU_BACKEND"] = side.backend
        if side.tree:
            environment["PYTHONPATH"] = os.pathsep.join(str(side.tree / part) for part in PARTS)
        command = [sys.executable, Path(__file__).with_name("worker.py"), side.library, side.device, side.pack, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, what: str, *arguments: Any) -> Any:
        """Send a request and return its result. Raise `Failed` if the worker reports an error or ends."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps([what, *arguments]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.side.label}: the process has ended") from None
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.side.label}: the process ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"{self.side.label}: {answer['error']}")
        return answer["result"]

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        assert self.process.stdin and self.process.stdout
        if exception[0] is not None:
            self.process.kill()  # it may be computing a step
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
