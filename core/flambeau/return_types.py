"""`torch.return_types`: the named tuples that operations with several results return."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .engine.calls.named_results import CLASSES, make
from .engine.calls.named_results import rebuild as _rebuild  # noqa: F401 (for older pickles)
from .engine.calls.results import result_type
from .engine.calls.tables import OPS

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("linalg_"):
        import_module("flambeau.linalg")
    record = OPS.get(f"{name}_dim") or OPS.get(name)
    if record is not None and record.results:
        return result_type(record)
    if name in CLASSES:
        return CLASSES[name]
    if name.endswith("_out"):
        return make(name, __getattr__(name.removesuffix("_out"))._fields)
    raise AttributeError(f"module 'flambeau.return_types' has no attribute '{name}'")
