"""Saving and loading of one large tensor and of many small tensors."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .workload import Make, Step, Workload

__all__ = ["WORKLOADS"]


def one_large(torch: Any) -> Any:
    """A state dict with one tensor of 64 MiB."""
    return {"weight": torch.zeros(1 << 24) + 1}


def many_small(torch: Any) -> Any:
    return {f"layer{i}.weight": torch.zeros(10, 10) + i for i in range(1000)}


class Folder:
    """A file path in a temporary directory that is removed with this object."""

    def __init__(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.file = str(Path(self.directory.name, "model.pt"))


def saving(make: Make) -> Make:
    def build(torch: Any) -> Step:
        content, folder = make(torch), Folder()
        return lambda: torch.save(content, folder.file)

    return build


def loading(make: Make) -> Make:
    def build(torch: Any) -> Step:
        folder = Folder()
        torch.save(make(torch), folder.file)
        return lambda: list(torch.load(folder.file).values())

    return build


WORKLOADS = [
    Workload("save 64 MB", saving(one_large), 1.0, 1.0),
    Workload("load 64 MB", loading(one_large), 1.0, 1.0),
    Workload("save 1,000 small tensors", saving(many_small), 1.0, 1.0),
    Workload("load 1,000 small tensors", loading(many_small), 1.0, 1.0),
]
