"""Package metadata of `torch` and `torchvision`, for programs that look PyTorch up in `importlib.metadata`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from typing import Any

from ..version import __version__, flambeau_version

__all__ = ["provide_distributions"]

# The torchvision release that belongs to the PyTorch release of `version.py`.
VISION_VERSION = f"0.28.0+flambeau{flambeau_version}"
_VERSIONS = {"torch": str(__version__), "torchvision": VISION_VERSION}
_REQUIRES = {"torch": ["flambeau"], "torchvision": ["flambeau", "torch"]}


class _Provided(Distribution):
    """A distribution without installed files, which reports flambeau's metadata."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """Return the text of a metadata file such as `METADATA`; None for files that are not provided."""
        if filename == "METADATA":
            requires = "".join(f"Requires-Dist: {each}\n" for each in _REQUIRES[self._name])
            return (
                f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {_VERSIONS[self._name]}\n"
                f"Summary: {self._name}'s API, provided by flambeau\nLicense: BSD-3-Clause\n{requires}"
            )
        return {"top_level.txt": f"{self._name}\n", "INSTALLER": "flambeau\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        """Return the path of a file in the folder that contains flambeau."""
        from pathlib import Path

        return Path(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) / path


class _Finder(DistributionFinder):
    """A finder of the package metadata of `torch` and `torchvision`, which takes precedence over installed packages."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Return None: other finders import modules."""
        return None

    def find_distributions(self, context: Any = DistributionFinder.Context()) -> Iterator[Distribution]:  # noqa: B008 (it has no state)
        """Return an iterator over the distribution that `context` names, or over both if it names none."""
        asked = getattr(context, "name", None)
        wanted = None if asked is None else re.sub(r"[-_.]+", "-", asked).lower()
        return (_Provided(name) for name in _VERSIONS if wanted in (None, name))


def provide_distributions() -> None:
    """Make `importlib.metadata`, and its backport `importlib_metadata`, find `torch` and `torchvision`.

    They take precedence over installed distributions, as the modules of these names do.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
