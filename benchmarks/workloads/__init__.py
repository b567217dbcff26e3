"""The workloads: one file for each group, one small function for each workload.

A workload takes the `torch` module, PyTorch's or flambeau's, creates what it needs, and returns the step to time.  The results
of the step are compared between the two.
"""

from __future__ import annotations

from . import calls, compiled, curves, files, inference, layers, loaders, networks, small, startup
from .curves import CURVES
from .workload import Workload

__all__ = ["CURVES", "GROUPS", "Workload", "find"]

GROUPS: dict[str, list[Workload]] = {
    "calls": calls.WORKLOADS,
    "small": small.WORKLOADS,
    "networks": networks.WORKLOADS,
    "compiled": compiled.WORKLOADS,
    "layers": layers.WORKLOADS,
    "inference": inference.WORKLOADS,
    "curves": curves.WORKLOADS,
    "files": files.WORKLOADS,
    "loaders": loaders.WORKLOADS,
    "startup": startup.WORKLOADS,
}


def find(name: str) -> Workload:
    """The workload of that name."""
    return next(workload for group in GROUPS.values() for workload in group if workload.name == name)
