"""`torch.package`: archives of code and data.  Archives are not supported; modules are imported from the environment."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import Any

from .unsupported import unsupported_class

__all__ = ["Importer", "PackageExporter", "PackageImporter", "is_from_package", "sys_importer"]

_REASON = "flambeau neither writes nor reads archives of code; use torch.save or torch.export.save"
PackageExporter = unsupported_class("PackageExporter", _REASON, __name__)
PackageImporter = unsupported_class("PackageImporter", _REASON, __name__)


class Importer(ABC):
    """An environment to import modules from."""

    modules: dict[str, Any]

    @abstractmethod
    def import_module(self, module_name: str) -> Any:
        """Import a module."""


class _SysImporter(Importer):
    def import_module(self, module_name: str) -> Any:
        return importlib.import_module(module_name)


sys_importer = _SysImporter()


def is_from_package(obj: Any) -> bool:
    """Return False: no object comes from an archive."""
    return False
