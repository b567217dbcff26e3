"""Pickles that PyTorch can read: the functions that they call have its names while flambeau is `torch`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..engine.tensors.storage import StorageBase
from ..protocols import pickling
from ..storage import TypedStorage

__all__ = ["name_pickles_as_torch"]

_NAMES = {
    pickling.plain_tensor: "_rebuild_tensor",
    pickling.tensor: "_rebuild_tensor_v2",
    pickling.tensor_of_dtype: "_rebuild_tensor_v3",
    pickling.tensor_without_data: "_rebuild_meta_tensor_no_storage",
    pickling.sparse_tensor: "_rebuild_sparse_tensor",
    pickling.nested_tensor: "_rebuild_nested_tensor",
    pickling.wrapper: "_rebuild_wrapper_subclass",
    pickling.parameter: "_rebuild_parameter",
    pickling.parameter_with_state: "_rebuild_parameter_with_state",
    pickling.from_type: "_rebuild_from_type_v2",
}


def name_pickles_as_torch() -> None:
    """Let pickles contain PyTorch's names, which are found in a process where flambeau is `torch`."""
    for function, name in _NAMES.items():
        function.__module__ = "torch._tensor" if function is pickling.from_type else "torch._utils"
        function.__name__ = function.__qualname__ = name
    TypedStorage.untyped.__module__ = "torch.storage"
    StorageBase.__reduce__ = _reduce_storage  # type: ignore[assignment,method-assign]


def _reduce_storage(storage: Any) -> Any:
    return import_module("flambeau.compat.storage").reduce_storage(storage)  # imported late, because few programs pickle
