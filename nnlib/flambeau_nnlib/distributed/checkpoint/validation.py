"""Checks of the metadata of a checkpoint, which may come from a damaged or malicious file."""

from __future__ import annotations

import os
from typing import Any

import flambeau as torch
from flambeau.extension.files import brief

from .metadata import BytesStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata

__all__ = ["check_metadata"]


def check_metadata(metadata: Any) -> None:
    """Raise RuntimeError unless all parts of the metadata have their types, and all files are in the checkpoint's folder."""
    if not isinstance(metadata, Metadata):
        raise RuntimeError(f"expected the metadata of a checkpoint, but got an object of {type(metadata)}")
    for name, entry in _items(metadata.state_dict_metadata, "entries"):
        if not isinstance(name, str) or not (isinstance(entry, BytesStorageMetadata) or _is_valid(entry)):
            raise RuntimeError(f"the entry {brief(name)} is invalid")
    for index, place in _items(metadata.storage_data, "storage data"):
        if not isinstance(index, MetadataIndex) or not isinstance(index.fqn, str):
            raise RuntimeError(f"the storage data has the invalid key {brief(index)}")
        path, numbers = getattr(place, "relative_path", None), (getattr(place, "offset", -1), getattr(place, "length", -1))
        if not isinstance(path, str) or not all(type(number) is int and number >= 0 for number in numbers):
            raise RuntimeError(f"the location of {brief(index.fqn)} is invalid")
        if os.path.isabs(path) or ".." in path.replace("\\", "/").split("/"):
            raise RuntimeError(f"the file {brief(path)} is outside the folder of the checkpoint")
    for name, steps in _items(metadata.planner_data or {}, "planner data"):
        if (
            not isinstance(name, str)
            or not isinstance(steps, tuple | list)
            or not all(type(step) in (str, int) for step in steps)
        ):
            raise RuntimeError(f"the path of the entry {brief(name)} is invalid")


def _items(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise RuntimeError(f"expected a dictionary of {name}, but got an object of {type(value)}")
    return value.items()


def _is_valid(entry: Any) -> bool:
    """Whether an entry describes a tensor, whose chunks are inside it."""
    if not isinstance(entry, TensorStorageMetadata) or not isinstance(entry.properties, TensorProperties):
        return False
    if not isinstance(entry.properties.dtype, torch.dtype) or not _is_size(entry.size) or not isinstance(entry.chunks, list):
        return False
    for chunk in entry.chunks:
        offsets: Any = getattr(chunk, "offsets", None)
        sizes: Any = getattr(chunk, "sizes", None)
        if not _is_size(offsets) or not _is_size(sizes) or not len(offsets) == len(sizes) == len(entry.size):
            return False
        if any(offset + length > size for offset, length, size in zip(offsets, sizes, entry.size, strict=True)):
            return False
    return True


def _is_size(value: Any) -> bool:
    return isinstance(value, torch.Size) and all(type(size) is int and 0 <= size < 1 << 63 for size in value)
