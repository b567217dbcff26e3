"""The cost of importing the library in a new process, and its size on disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from .workload import Step, Workload

__all__ = ["WORKLOADS"]

ROOT = Path(__file__).parents[2]


def import_alone(torch: Any) -> Step:
    """Start a process that imports the library and exits."""
    return process(f"import {torch.__name__}")


def import_and_use(torch: Any) -> Step:
    """Start a process that imports the library and calls a layer, which includes lazy imports."""
    return process(f"import {torch.__name__} as torch; torch.nn.Linear(1, 1)(torch.ones(1))")


def process(code: str) -> Step:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def step() -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    return step


def installed_size(torch: Any) -> Step:
    """Return the size on disk of the library, its kernel pack and all requirements, without compiled Python files."""
    name = torch.__name__
    pack = os.environ.get("BENCHMARK_PACK") if name == "flambeau" else None
    return lambda: sum(path.stat().st_size for path in files([name, *([pack] if pack else [])]))


def files(distributions: list[str]) -> set[Path]:
    """Return the files of distributions and, recursively, of their requirements."""
    todo, seen, result = list(distributions), set[str](), set[Path]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            required, paths = source_contents() if name == "flambeau" else distribution_contents(name)
            todo += [normalize_name(requirement) for requirement in required if "extra ==" not in requirement]
            result.update(path for path in paths if "__pycache__" not in path.parts and path.is_file())
    return result


def source_contents() -> tuple[list[str], Iterator[Path]]:
    """Return flambeau's requirements and files, read from the source tree, so that it need not be installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return project["project"]["dependencies"], (path for package in packages for path in (ROOT / package).rglob("*"))


def distribution_contents(name: str) -> tuple[list[str], Iterator[Path]]:
    """Return a distribution's requirements and files. Both are empty if it is not installed, such as for another platform."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return [], iter(())
    return package.requires or [], (Path(str(package.locate_file(path))) for path in package.files or [])


def normalize_name(requirement: str) -> str:
    """Return the normalized distribution name of a requirement such as `Some_Name>=1; marker`."""
    match = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else requirement


WORKLOADS = [
    Workload("import, whole process", import_alone, 0.12, 0.4),
    Workload("import and first layer, whole process", import_and_use),
    Workload("installed size", installed_size, 0.1, 0.5, unit="B"),
]
