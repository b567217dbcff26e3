"""The sample table: for each operation, calls with inputs and a NumPy formula for the result.

A family is a module with a list `SAMPLES` (and, where bad calls have a story to tell, `BAD`).  Everything that is to
hold for all operations is checked over the whole table, here on any backend and in the tests against PyTorch.
"""

from __future__ import annotations

import importlib
import pkgutil

from .sample import Bad, Sample

__all__ = ["bad_calls", "families"]


def families() -> dict[str, list[Sample]]:
    """The samples, by the name of their family."""
    return {name: module.SAMPLES for name, module in _modules() if hasattr(module, "SAMPLES")}


def bad_calls() -> dict[str, list[Bad]]:
    """The calls that must raise, by family."""
    return {name: module.BAD for name, module in _modules() if hasattr(module, "BAD")}


def _modules() -> list[tuple[str, object]]:
    names = sorted(each.name for each in pkgutil.iter_modules(__path__) if each.name != "sample")
    return [(name, importlib.import_module(f"{__name__}.{name}")) for name in names]
