"""The benchmarked workloads: a module for each group, a function for each workload.

A workload function takes the `torch` module (PyTorch or flambeau), creates its data, and returns the step to time. The
results of the step are compared between the two libraries.
"""

from __future__ import annotations

from . import calls, compiled, curves, deployed, files, inference, layers, llm, loaders, networks, small, startup
from .curves import CURVES
from .workload import Workload

__all__ = ["CURVES", "GROUPS", "Workload", "find"]

GROUPS: dict[str, list[Workload]] = {
    "calls": calls.WORKLOADS,
    "small": small.WORKLOADS,
    "networks": networks.WORKLOADS,
    "compiled": compiled.WORKLOADS,
    "layers": layers.WORKLOADS,
    "inference": [*inference.WORKLOADS, *deployed.WORKLOADS],
    "curves": curves.WORKLOADS,
    "llm": llm.WORKLOADS,
    "files": files.WORKLOADS,
    "loaders": loaders.WORKLOADS,
    "startup": startup.WORKLOADS,
}


def find(name: str) -> Workload:
    """Return the workload with this name."""
    return next(workload for group in GROUPS.values() for workload in group if workload.name == name)
