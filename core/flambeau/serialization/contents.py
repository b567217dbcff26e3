"""List the tensors in a file: names, shapes, dtypes and sizes.  Runs no code from the file and reads no tensor data."""

from __future__ import annotations

import io
import math
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from ..compat.tar import TarLoader
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..layouts.subclasses.parameter import Parameter
from ..protocols import pickling as rebuild
from . import npz, safetensors
from .archive import ArchiveReader, is_archive
from .damage import RefusalError, brief, check_shape, file_label, reading
from .legacy import is_tar
from .pickles import SafeUnpickler
from .saving import MAGIC_NUMBER
from .storages import SavedStorage, parse_storage_id

__all__ = ["Contents", "Placeholder", "TensorEntry", "flatten_names", "read_contents", "read_contents_of"]


@dataclass(frozen=True)
class TensorEntry:
    """The metadata of one tensor in a file.  Tensors that share memory have the same `storage` key."""

    dtype: dtypes.dtype
    shape: tuple[int, ...]
    storage: str
    storage_nbytes: int

    def __post_init__(self) -> None:
        check_shape(self.shape)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.numel * self.dtype.itemsize


@dataclass
class Contents:
    """The contents of a file.

    Attributes:
        format: the name of the file's format.
        tensors: the metadata of each tensor, by name.
        values: all other values, by name.
        refused: the classes and functions that `load` would refuse with `weights_only`.
    """

    format: str
    tensors: dict[str, TensorEntry] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def storage_nbytes(self) -> int:
        """The total size of all storages in bytes.  A storage that several tensors share counts once."""
        return sum({entry.storage: entry.storage_nbytes for entry in self.tensors.values()}.values())


def read_contents(path: str | os.PathLike[str]) -> Contents:
    """List the contents of a `.pt` file in any of PyTorch's formats, a `.safetensors` file or an `.npz` file.

    Raises:
        OSError: the file cannot be opened.
        pickle.UnpicklingError, RuntimeError: the file is damaged or in another format.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.pt")
    ...     torch.save({"layer": {"weight": torch.ones(2, 3)}, "epoch": 3}, path)
    ...     contents = read_contents(path)
    >>> contents.format, list(contents.tensors), contents.tensors["layer.weight"].shape, contents.values
    ('zip', ['layer.weight'], (2, 3), {'epoch': 3})
    """
    with open(path, "rb") as file:
        return _read_safetensors(file) if os.fspath(path).endswith(".safetensors") else read_contents_of(file)


def read_contents_of(file: IO[bytes]) -> Contents:
    """List the contents of an open file in any format except safetensors; see `read_contents`."""
    if is_archive(file):
        archive = ArchiveReader(file)
        return _read_npz(file) if all(path.endswith(".npy") for path in archive.paths) else _read_zip(archive)
    return _read_tar(file) if is_tar(file) else _read_legacy(file)


# --- the formats ---


def _read_safetensors(file: IO[bytes]) -> Contents:
    contents = Contents("safetensors")
    entries, _ = safetensors.read_header(file)
    for name, entry in entries.items():
        with reading(file_label(file), f"header of {name!r}", file.tell):
            check_shape(entry["shape"])
            dtype, shape = safetensors.DTYPES.get(entry["dtype"]), tuple(entry["shape"])
            if dtype is None:
                contents.values[name] = Placeholder(f"a tensor of dtype {entry['dtype']} and shape {shape}")
                continue
            begin, end = entry["data_offsets"]
            contents.tensors[name] = TensorEntry(dtype, shape, name, end - begin)
    return contents


def _read_npz(file: IO[bytes]) -> Contents:
    contents = Contents("npz")
    for name, header in npz.headers(file):
        nbytes = math.prod(header.shape) * header.dtype.itemsize
        contents.tensors[name] = TensorEntry(header.dtype, header.shape, name, nbytes)
    return contents


def _read_zip(archive: ArchiveReader) -> Contents:
    pickled = io.BytesIO(archive.read("data.pkl"))
    return _read_pickle("zip", archive.name, "record 'data.pkl'", pickled, lambda saved_id: parse_storage_id(saved_id, 5)[0])


def _read_legacy(file: IO[bytes]) -> Contents:
    for record in ("magic number", "protocol version", "system information"):
        with reading(file_label(file), record, file.tell):
            value = SafeUnpickler(file).load()
        if record == "magic number" and value != MAGIC_NUMBER:
            raise RuntimeError(f"Invalid magic number; corrupt file? (at the start of {file_label(file)})")

    def persistent_load(saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and saved_id[:1] in (("module",), (b"module",)):
            return saved_id[1]
        return parse_storage_id(saved_id, 6)[0]

    return _read_pickle("legacy", file_label(file), "pickle", file, persistent_load)


def _read_tar(file: IO[bytes]) -> Contents:
    def unpickle(member: IO[bytes], persistent_load: Any) -> Any:
        unpickler = _Describer(member)
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    loader = _TarDescriber(file, None, unpickle, False)
    contents = Contents("tar")
    _add_leaves(loader.load(), contents)
    return contents


class _TarDescriber(TarLoader):
    def _storage(self, member: IO[bytes], saved: SavedStorage) -> Any:
        member.seek(saved.nbytes, 1)
        return saved

    def _part(self, root: Any, offset: int, numel: int) -> Any:
        return root

    def _tensor(self, storage: Any, offset: int, size: Sequence[int], stride: Sequence[int]) -> Any:
        return _tensor_entry(storage, offset, size)


def _read_pickle(kind: str, file: str, record: str, pickled: IO[bytes], persistent_load: Any) -> Contents:
    contents = Contents(kind)
    unpickler = _Describer(pickled)
    unpickler.persistent_load = persistent_load
    with reading(file, record, pickled.tell):
        _add_leaves(unpickler.load(), contents)
    contents.refused = sorted(unpickler.refused)
    return contents


def _add_leaves(tree: Any, contents: Contents) -> None:
    for name, value in flatten_names(tree):
        (contents.tensors if isinstance(value, TensorEntry) else contents.values)[name] = value


# Attributes in which a pickled module keeps parameters, buffers and submodules; `state_dict` omits them from names.
_INSIDE_MODULES = frozenset({"_parameters", "_buffers", "_modules"})


def flatten_names(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, leaf) for each leaf of nested containers.  A name consists of keys and indices, joined by dots.

    Raises:
        RuntimeError: there are more than a million values, or their names have more than 100 million characters.  A small file
            can contain a container many times.
    """
    pending, visited, length = [("", tree, 0)], 0, 0
    while pending:
        prefix, value, depth = pending.pop()
        visited += 1
        length += len(prefix)
        if visited + len(pending) > 1_000_000 or length > 100_000_000:
            raise RuntimeError("the containers in the file have more than a million values, or very long names")
        if isinstance(value, Placeholder):
            contents: Any = {**value.state, **dict(enumerate(value.items))} or None
        else:
            contents = value if isinstance(value, Mapping | list | tuple) else None
        if depth > 100 or contents is None:
            yield prefix or "value", value
            continue
        inside = []
        for key, part in contents.items() if isinstance(contents, Mapping) else enumerate(contents):
            is_part_of_name = not (isinstance(key, str) and key in _INSIDE_MODULES)
            text = key if isinstance(key, str) else brief(key)
            name = f"{prefix}.{text}" if prefix else text
            inside.append((name if is_part_of_name else prefix, part, depth + 1))
        pending.extend(reversed(inside))


# --- pickles ---


class Placeholder:
    """Placeholder for an object whose class must not run: holds its state and the items added to it."""

    name: str
    args: Any

    def __init__(self, name: str, args: Any = ()) -> None:
        self.name, self.args = name, args
        self.state: dict[Any, Any] = {}
        self.items: list[Any] = []

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: Any) -> None:
        self.items.extend(items)

    def update(self, items: Any) -> None:
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.state[key] = value


class _RefusedGlobal(Placeholder):
    """Placeholder for a class or function that `load(weights_only=True)` refuses."""


def _tensor_entry(storage: SavedStorage, offset: int, size: Sequence[int], *rest: Any) -> TensorEntry:
    return TensorEntry(storage.dtype, tuple(size), storage.key, storage.nbytes)


def _tensor_entry_of_dtype(storage: SavedStorage, offset: int, size: Sequence[int], *rest: Any) -> TensorEntry:
    dtype = next(part for part in rest if isinstance(part, dtypes.dtype))
    return TensorEntry(dtype, tuple(size), storage.key, storage.nbytes)


def _tensor_entry_without_data(dtype: dtypes.dtype, size: Sequence[int], *rest: Any) -> TensorEntry:
    return TensorEntry(dtype, tuple(size), "", 0)


def _first_argument(data: Any, *rest: Any) -> Any:
    return data


def _subclass_entry(function: Any, cls: Any, args: Any, state: Any) -> Any:
    return _DESCRIPTIONS[function](*args) if function in _DESCRIPTIONS else Placeholder(str(function), args)


_DESCRIPTIONS: dict[Any, Any] = {
    rebuild.tensor: _tensor_entry,
    rebuild.plain_tensor: _tensor_entry,
    rebuild.tensor_of_dtype: _tensor_entry_of_dtype,
    rebuild.tensor_without_data: _tensor_entry_without_data,
    rebuild.parameter: _first_argument,
    rebuild.parameter_with_state: _first_argument,
    rebuild.from_type: _subclass_entry,
    Parameter: _first_argument,
}


class _Describer(SafeUnpickler):
    """Unpickle each tensor as a `TensorEntry`, and each object of a class that is not allowed as a placeholder."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")
        self.refused: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except RefusalError:
            self.refused.add(f"{module}.{name}")
            return _RefusedGlobal(f"{module}.{name}")

    def call(self) -> None:
        args, function = self.stack[-1], self.stack[-2]
        if isinstance(function, _RefusedGlobal) or function is Tensor or self.is_user_allowed(function):
            del self.stack[-1]
            self.stack[-1] = Placeholder(getattr(function, "name", repr(function)), args)
        elif self.is_safe(function) and function in _DESCRIPTIONS:
            del self.stack[-1]
            self.stack[-1] = _DESCRIPTIONS[function](*args)
        else:
            super().call()

    def make(self) -> None:
        args, cls = self.stack[-1], self.stack[-2]
        if isinstance(cls, _RefusedGlobal) or self.is_user_allowed(cls):
            del self.stack[-1]
            self.stack[-1] = Placeholder(getattr(cls, "name", repr(cls)), args)
        elif self.is_safe(cls) and cls in _DESCRIPTIONS:
            del self.stack[-1]
            self.stack[-1] = _DESCRIPTIONS[cls](*args)
        else:
            super().make()

    def make_with_names(self) -> None:
        del self.stack[-1]
        self.make()

    def build(self) -> None:
        instance, state = self.stack[-2:]
        if isinstance(instance, TensorEntry):
            del self.stack[-1]
        elif isinstance(instance, Placeholder):
            del self.stack[-1]
            instance.state.update(state if isinstance(state, dict) else {"state": state})
        else:
            super().build()

    @staticmethod
    def _check_container(what: str, cls: type, container: Any) -> None:
        if not isinstance(container, Placeholder):
            SafeUnpickler._check_container(what, cls, container)

    @staticmethod
    def _check_mapping(opcode: str, container: Any) -> None:
        if not isinstance(container, Placeholder):
            SafeUnpickler._check_mapping(opcode, container)

    dispatch = type(SafeUnpickler.dispatch)(
        SafeUnpickler.dispatch
        | {pickle.REDUCE[0]: call, pickle.NEWOBJ[0]: make, pickle.NEWOBJ_EX[0]: make_with_names, pickle.BUILD[0]: build}
    )
