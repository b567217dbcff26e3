"""Pickling of `.metadata` under PyTorch's class names, so that PyTorch can read it and vice versa.

Unpickling is restricted to a list of classes and runs no other code.
"""

from __future__ import annotations

import importlib
import io
import pathlib
import pickle
from collections import OrderedDict
from dataclasses import is_dataclass
from enum import Enum
from typing import IO, Any

import flambeau as torch
from flambeau.extension.files import SafeUnpickler, brief, file_label, reading

from .validation import check_metadata

__all__ = ["dump", "load"]

_OURS, _PYTORCHS = "flambeau_nnlib.distributed.checkpoint", "torch.distributed.checkpoint"
_CLASSES = {
    "metadata": ("BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
                 "TensorStorageMetadata", "_MEM_FORMAT_ENCODING"),
    "filesystem": ("_StorageInfo", "_StoragePrefix"),
}  # fmt: skip
_pickle: Any = pickle  # Python's implementation: the one in C refuses to pickle class names that cannot be imported here


def _get_layout(name: str) -> Any:
    """Return the layout of this name, for example "torch.strided"."""
    layout = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(layout, torch.layout):
        raise ValueError(f"{name!r} is not the name of a layout")
    return layout


def _get_member(cls: Any, name: str) -> Any:
    """Return a member of an enumeration: Python 3.11.0 to 3.11.3 pickle members as `getattr(cls, name)`."""
    if not (isinstance(cls, type) and issubclass(cls, Enum) and name in cls.__members__):
        raise ValueError(f"{brief(cls)} is not an enumeration that has a member {name!r}")
    return cls[name]


class _Pickler(_pickle._Pickler):  # type: ignore[misc]
    dispatch = dict(_pickle._Pickler.dispatch)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, torch.dtype):
            return str(obj).removeprefix("torch.")  # pickled as a global name of `torch`
        if isinstance(obj, torch.layout):
            return _get_layout, (str(obj),)
        return (type(obj), (obj.value,)) if isinstance(obj, Enum) else NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        name = name or obj.__qualname__
        module = getattr(obj, "__module__", "")
        if isinstance(obj, torch.dtype) or obj is torch.Size:
            module, name = "torch", "Size" if obj is torch.Size else name
        elif obj is _get_layout:
            module = "torch.serialization"
        elif module.startswith(_OURS):
            module = module.replace(_OURS, _PYTORCHS)
        else:
            super().save_global(obj, name)
            return
        for part in (module, name):
            self.save(part)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)


_Pickler.dispatch[type(_get_layout)] = _Pickler.save_global


class _Unpickler(SafeUnpickler):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")
        self.found: list[Any] = []  # the classes and functions that the metadata refers to

    def find_class(self, module: str, name: str) -> Any:
        self.found.append(self.find_allowed(module, name))
        return self.found[-1]

    def find_allowed(self, module: str, name: str) -> Any:
        """Return the class, function or constant of this name. Raise UnpicklingError if it is not allowed."""
        part = module.removeprefix(f"{_PYTORCHS}.")
        if name in _CLASSES.get(part, ()):
            return getattr(importlib.import_module(f"{_OURS}.{part}"), name)
        if module == "torch" and (name == "Size" or isinstance(getattr(torch, name, None), torch.dtype)):
            return getattr(torch, name)
        if (module, name) == ("torch.serialization", "_get_layout"):
            return _get_layout
        if (module, name) == ("builtins", "getattr"):
            return _get_member
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module.startswith("pathlib") and name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
            return getattr(pathlib, f"Pure{name.removeprefix('Pure')}")
        raise pickle.UnpicklingError(f"The metadata of a checkpoint cannot hold objects of type {module}.{name}")

    def is_safe(self, obj: Any) -> bool:
        return any(obj is known for known in self.found)

    def make(self) -> None:
        self.stack.pop()  # no arguments: the state follows
        cls = self.stack.pop()
        if not (is_dataclass(cls) and self.is_safe(cls)):
            raise pickle.UnpicklingError(f"The metadata of a checkpoint cannot create objects of {brief(cls)}")
        self.append(object.__new__(cls))  # type: ignore[arg-type]  # a class, not an instance

    def build(self) -> None:
        if not is_dataclass(type(self.stack[-2])):
            raise pickle.UnpicklingError(f"The metadata of a checkpoint cannot set attributes of {type(self.stack[-2])}")
        self.load_build()

    dispatch = type(SafeUnpickler.dispatch)(SafeUnpickler.dispatch | {pickle.NEWOBJ[0]: make, pickle.BUILD[0]: build})


def dump(metadata: Any, file: IO[bytes]) -> None:
    """Write the metadata of a checkpoint to a file."""
    data = io.BytesIO()
    _Pickler(data, protocol=4).dump(metadata)
    file.write(data.getvalue())


def load(file: IO[bytes]) -> Any:
    """Read the metadata of a checkpoint.

    Raises:
        pickle.UnpicklingError: the file is damaged, or contains objects of classes that are not allowed.
    """
    with reading(file_label(file), "metadata", file.tell):
        metadata = _Unpickler(file).load()
        check_metadata(metadata)
        return metadata
