"""Pickles that PyTorch can read: the functions that they call have its names while flambeau is `torch`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..engine.tensors.storage import StorageBase
from ..protocols import pickling
from ..storage import TypedStorage
from .table import NAMES

__all__ = ["name_pickles_as_torch"]


def name_pickles_as_torch() -> None:
    """Let pickles contain PyTorch's names, which are found in a process where flambeau is `torch`."""
    for private, (place, _) in NAMES.items():
        module, _, own = place.partition(":")
        if own and module == pickling.__name__:
            function = getattr(pickling, own)
            function.__module__, _, function.__name__ = f"torch.{private}".rpartition(".")
            function.__qualname__ = function.__name__
    TypedStorage.untyped.__module__ = "torch.storage"
    StorageBase.__reduce__ = _reduce_storage  # type: ignore[assignment,method-assign]


def _reduce_storage(storage: Any) -> Any:
    return import_module("flambeau.compat.storage").reduce_storage(storage)  # imported late, because few programs pickle
