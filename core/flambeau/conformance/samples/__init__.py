"""The sample table: for each operation, calls with inputs and a NumPy reference for the result.

A family is a module with a list `SAMPLES` (and possibly a list `BAD` of calls that must raise).  Properties that must hold for
all operations are checked over the whole table: here on any backend, and in the tests against PyTorch.
"""

from __future__ import annotations

import importlib
import pkgutil

from .sample import Bad, Sample

__all__ = ["bad_calls", "families"]


def families() -> dict[str, list[Sample]]:
    """Return the samples of each family."""
    return {name: module.SAMPLES for name, module in _modules() if hasattr(module, "SAMPLES")}


def bad_calls() -> dict[str, list[Bad]]:
    """Return for each family the calls that must raise an error."""
    return {name: module.BAD for name, module in _modules() if hasattr(module, "BAD")}


def _modules() -> list[tuple[str, object]]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "sample")
    return [(name, importlib.import_module(f"{__name__}.{name}")) for name in names]
