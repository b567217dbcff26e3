"""Build hook of the package: compiles the C kernels and tags the wheel with the platform."""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """Hook for wheels only; a source distribution contains the C sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        library = runpy.run_path(str(Path(self.root) / "c" / "build.py"))["build"]()
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["artifacts"].append(str(library.relative_to(self.root)))
