"""`torch.jit.save`, and the code and graphs of scripted modules."""

from __future__ import annotations

import os
import pickle
import struct
import tempfile
import zipfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import flambeau as torch

from ._archive import STORAGES, Archive, LoadedModule, LoadedObject
from ._compiling import exported_methods
from ._freeze import FrozenModule
from ._frozen_program import FrozenProgram
from ._graph import Graph, Note
from ._graph_building import build_graph
from ._operators import DTYPES
from ._program import Program
from ._types import ModuleDescription

__all__ = ["save"]


def save(m: Any, f: str | os.PathLike[str] | BinaryIO, _extra_files: dict[str, Any] | None = None) -> None:
    """Save a traced or scripted module or function, with its current parameters, in PyTorch's archive format.

    For a module from `trace`, the recorded operators are saved; sizes are computed again in each call. For a module from
    `script`, the Python code is translated, including branches and loops. For a module from `load`, the code is saved
    unchanged.

    Args:
        m: the module or function.
        f: a path, or a binary file open for writing.
        _extra_files: additional files to store in the archive, by name.

    Raises:
        AttributeError: `m` has no `save_to_buffer`, because it is neither traced nor scripted.
        RuntimeError: the code cannot be written as TorchScript. The message gives the source line.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(torch.nn.Linear(2, 1)), file)
    >>> file.seek(0)
    0
    >>> torch.jit.load(file)(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    if not isinstance(m, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        raise AttributeError(
            f"torch.jit.save: expected the result of torch.jit.script, torch.jit.trace or torch.jit.load, but "
            f"'{type(m).__name__}' object has no attribute 'save_to_buffer'"
        )
    content = content_of(m)
    if not isinstance(f, (str, os.PathLike)):
        _write(content, f, "archive", _extra_files or {})
        return
    path = Path(f)
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            _write(content, file, path.stem, _extra_files or {})
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)


class _Content(NamedTuple):
    """The contents of an archive."""

    root: Any
    code: dict[str, bytes]
    constants: list[Any]
    version: bytes
    describe: Callable[[Any], ModuleDescription]
    notes: dict[tuple[int, str], dict[str, Note]] = {}


def content_of(m: Any, python_calls: bool = False) -> _Content:
    if isinstance(m, FrozenModule):
        frozen = frozen_program(m)
        return _Content(frozen.root, frozen.code(), frozen.constants, b"10\n", lambda module: frozen.described[id(module)])
    if isinstance(m, LoadedModule):
        archive: Archive = type(m)._archive
        return _Content(m, archive.code, list(archive.constants), archive.version, _described_as_read)
    program = Program(m, python_calls)
    return _Content(program.root, program.code(), program.constants, b"10\n", program.description, program.notes)


def text_of(m: Any, name: str = "forward") -> str:
    """Return the TorchScript code of a function, or of a method of a module."""
    if isinstance(m, FrozenModule):
        return frozen_program(m).text_of_forward()
    if isinstance(m, LoadedModule):
        return m._code.get(name, "")
    program = Program(m)
    if isinstance(m, torch.jit.ScriptFunction):
        text = program.method_text(program.root, "forward")
        first = f"self: {program.described[id(program.root)].path}"
        return text.replace(f"def forward({first}, ", f"def {m.name}(", 1).replace(f"def forward({first}", f"def {m.name}(", 1)
    return program.method_text(m, name)


def graph_of(m: Any, inline: bool, name: str = "forward") -> Graph:
    """Return the graph of a function, or of a method of a module.

    Args:
        m: the module or function.
        inline: inline the functions and submodules that it calls.
        name: the name of the method.

    Raises:
        RuntimeError: the code cannot be written as TorchScript.
    """
    content = content_of(m, python_calls=True)
    return build_graph(
        content.root, name, content.code, content.constants, content.describe, content.notes, inline,
        has_self=not isinstance(m, torch.jit.ScriptFunction),
    )  # fmt: skip


def frozen_program(m: FrozenModule) -> FrozenProgram:
    """Return the code, constants and attributes of a frozen module."""
    content = content_of(vars(m)["_module"])
    return FrozenProgram(content.root, content.code, content.constants, content.describe, vars(m)["_preserved"])


def code_of(m: Any) -> dict[str, bytes]:
    """Return the code files that `save` writes for a module or function."""
    return content_of(m).code


def _described_as_read(value: Any) -> ModuleDescription:
    return ModuleDescription(
        type(value)._path, {name: (getattr(value, name), kind) for name, kind in type(value)._declared.items()}
    )


def _write(content: _Content, file: Any, name: str, extra_files: dict[str, Any]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as zipped:
        records = _Records(zipped, name)
        records.add("data.pkl", _Pickler(records, "data", content.describe).pickled(content.root))
        for path, text in content.code.items():
            records.add(path, text)
        records.add("constants.pkl", _Pickler(records, "constants", content.describe).pickled(tuple(content.constants)))
        records.add("version", content.version)
        records.add("byteorder", b"little")
        for path, text in extra_files.items():
            records.add(f"extra/{path}", text.encode() if isinstance(text, str) else text)


class _Records:
    """Write the records of an archive. Each record is aligned to 64 bytes, as PyTorch requires."""

    def __init__(self, zipped: zipfile.ZipFile, name: str) -> None:
        self.zipped, self.name = zipped, name

    def add(self, path: str, content: bytes) -> None:
        info = zipfile.ZipInfo(f"{self.name}/{path}")
        start = self.zipped.fp.tell() + 30 + len(info.filename.encode()) + 4  # type: ignore[union-attr]
        padding = -start % 64
        info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        self.zipped.writestr(info, content)


class _Pickler:
    """Write pickles in the format that `torch.jit.load` of PyTorch reads: protocol 2, with type tags for containers."""

    def __init__(self, records: _Records, folder: str, describe: Callable[[Any], ModuleDescription]) -> None:
        self.records, self.folder, self.describe = records, folder, describe
        self.out: list[bytes] = []
        self.storages: dict[int, tuple[str, Any]] = {}
        self.objects: dict[int, int] = {}
        self.kept: list[Any] = []

    def pickled(self, value: Any) -> bytes:
        self.out = [b"\x80\x02"]
        self.write(value)
        return b"".join([*self.out, b"."])

    def write(self, value: Any, declared: str = "") -> None:
        if value is None:
            self.out.append(b"N")
        elif isinstance(value, bool):
            self.out.append(b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            self.write_int(value)
        elif isinstance(value, float):
            self.out.append(b"G" + struct.pack(">d", value))
        elif isinstance(value, complex):
            self.write_call("builtins", "complex", (value.real, value.imag))
        elif isinstance(value, Enum) and self.is_described(value):
            module, _, name = self.describe(value).path.rpartition(".")
            self.write_global(module, name)
            self.write(value.value)
            self.out.append(b"R")
        elif isinstance(value, str):
            encoded = value.encode("utf-8", "surrogatepass")
            self.out.append(b"X" + struct.pack("<I", len(encoded)) + encoded)
        elif isinstance(value, torch.Tensor):
            self.write_tensor(value)
        elif isinstance(value, tuple):
            self.out.append(b"(")
            for element in value:
                self.write(element)
            self.out.append(b"t")
        elif isinstance(value, (list, dict)):
            self.write_container(value, declared)
        elif isinstance(value, torch.dtype):
            self.write_int(DTYPES.index(value))
        elif isinstance(value, torch.device):
            self.write_call("torch", "device", (str(value),))
        elif isinstance(value, (torch.nn.Module, LoadedObject)) or self.is_described(value):
            self.write_object(value)
        else:
            raise RuntimeError(f"torch.jit.save: an attribute is a {type(value).__name__}, which cannot be saved in an archive")

    def is_described(self, value: Any) -> bool:
        """Whether a value is an object of a user-defined class."""
        try:
            return bool(self.describe(value))
        except (AttributeError, KeyError):
            return False

    def write_int(self, value: int) -> None:
        if -(2**31) <= value < 2**31:
            self.out.append(b"J" + struct.pack("<i", value))
        else:
            self.out.append(pickle.dumps(value, 2)[2:-1])

    def write_global(self, module: str, name: str) -> None:
        self.out.append(f"c{module}\n{name}\n".encode())

    def write_call(self, module: str, name: str, args: tuple[Any, ...]) -> None:
        self.write_global(module, name)
        self.write(args)
        self.out.append(b"R")

    def write_container(self, value: Any, declared: str) -> None:
        """Write a list or dictionary. If its type is declared, add a type tag: an empty container does not show its type."""
        if declared:
            self.write_global("torch.jit._pickle", "restore_type_tag")
        if isinstance(value, list):
            self.out.append(b"](")
            for element in value:
                self.write(element)
            self.out.append(b"e")
        else:
            self.out.append(b"}(")
            for key, entry in value.items():
                self.write(key)
                self.write(entry)
            self.out.append(b"u")
        if declared:
            self.write(declared)
            self.out.append(b"\x86R")

    def write_object(self, value: Any) -> None:
        if id(value) in self.objects:
            self.out.append(b"j" + struct.pack("<I", self.objects[id(value)]))
            return
        path, attributes = self.describe(value)
        module, _, name = path.rpartition(".")
        self.write_global(module, name)
        self.out.append(b")\x81")
        self.objects[id(value)] = len(self.objects)
        self.out.append(b"r" + struct.pack("<I", self.objects[id(value)]))
        if _has_state_methods(value):
            state = value.__getstate__()
            self.kept.append(state)  # `objects` contains the ids of its parts
            self.write(state)
            self.out.append(b"b")
            return
        self.out.append(b"}(")
        for attribute, (content, declared) in attributes.items():
            self.write(attribute)
            self.write(content, declared if declared.startswith(("List[", "Dict[")) else "")
        self.out.append(b"ub")

    def write_tensor(self, value: torch.Tensor) -> None:
        if value.layout is not torch.strided:
            self.write_sparse(value)
            return
        plain = value.detach()
        is_meta = plain.is_meta
        if not is_meta:
            plain = plain.cpu()
        storage = plain.untyped_storage()
        if storage.data_ptr() not in self.storages or not storage.nbytes() or is_meta:
            key = str(len(self.storages))
            place = storage.data_ptr() if storage.nbytes() and not is_meta else -len(self.storages) - 1
            self.storages[place] = (key, storage)
            self.records.add(f"{self.folder}/{key}", b"" if is_meta else _bytes_of(plain, storage))
        else:
            key = self.storages[storage.data_ptr()][0]
        name = next(name for name, dtype in STORAGES.items() if dtype is plain.dtype)
        self.write_global("torch._utils", "_rebuild_tensor_v2")
        self.out.append(b"((")
        self.write("storage")
        self.write_global("torch", name)
        for part in (key, "meta" if is_meta else "cpu", storage.nbytes() // plain.element_size()):
            self.write(part)
        self.out.append(b"tQ")
        for argument in (plain.storage_offset(), tuple(plain.shape), tuple(plain.stride()), value.requires_grad):
            self.write(argument)
        self.write_global("collections", "OrderedDict")
        self.out.append(b")RtR")

    def write_sparse(self, value: torch.Tensor) -> None:
        plain = value.detach()
        if value.layout is torch.sparse_coo:
            layout, parts = 1, [plain._indices(), plain._values()]
        elif value.layout is torch.sparse_csr:
            layout, parts = 2, [plain.crow_indices(), plain.col_indices(), plain.values()]
        else:
            raise RuntimeError(f"torch.jit.save: tensors of the layout {value.layout} cannot be saved in an archive")
        self.write_global("torch._utils", "_rebuild_sparse_tensor")
        self.out.append(b"(")
        for part in (layout, tuple(plain.shape), value.requires_grad, *parts):
            self.write(part)
        self.write_global("collections", "OrderedDict")
        self.out.append(b")RtR")


def _has_state_methods(value: Any) -> bool:
    """Whether the compiled methods of a module or object include `__getstate__` and `__setstate__`."""
    if isinstance(value, (LoadedModule, LoadedObject)):
        methods = set(type(value)._code)
    elif isinstance(value, torch.nn.Module):
        methods = set(exported_methods(value))
    else:
        methods = {name for cls in type(value).__mro__[:-1] for name in vars(cls)}
    return {"__getstate__", "__setstate__"} <= methods


def _bytes_of(tensor: torch.Tensor, storage: Any) -> bytes:
    """Return the bytes of a storage, given a tensor on it."""
    whole = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
    return (whole.view(torch.int16) if tensor.dtype == torch.bfloat16 else whole).numpy().tobytes()
