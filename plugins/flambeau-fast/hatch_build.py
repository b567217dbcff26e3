"""Build hook of the package: compiles the C kernels and tags the wheel with the platform."""

from __future__ import annotations

import runpy
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """Hook for wheels only; a source distribution contains the C sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build = runpy.run_path(str(Path(self.root) / "c" / "build.py"))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}" if build["HAS_STABLE_ABI"] else f"{python}-{python}t-{platform}"
        if version == "editable":
            build["build"]()  # into the source tree, from which Python imports
            return
        self.folder = tempfile.TemporaryDirectory()
        library = build["build"](Path(self.folder.name) / build["NAME"])
        build_data["force_include"][str(library)] = f"flambeau_fast/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.folder.cleanup()
