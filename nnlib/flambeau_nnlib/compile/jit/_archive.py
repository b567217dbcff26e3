"""Read archives written by `torch.jit.save`: zip files with pickled state, tensors and TorchScript code."""

from __future__ import annotations

import ast
import io
import pickle
import zipfile
from collections import OrderedDict
from enum import Enum, EnumType
from typing import Any

import flambeau as torch
from flambeau import nn
from flambeau.extension.files import SafeUnpickler, brief

from ._dialect import CALLED_METHODS, ScriptObject, compile_function, is_property
from ._methods import ScriptMethod
from ._script import RecursiveScriptModule

__all__ = ["Archive"]

STORAGES = {
    "BFloat16Storage": torch.bfloat16, "BoolStorage": torch.bool, "ByteStorage": torch.uint8, "CharStorage": torch.int8,
    "ComplexDoubleStorage": torch.complex128, "ComplexFloatStorage": torch.complex64, "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32, "HalfStorage": torch.float16, "IntStorage": torch.int32, "LongStorage": torch.int64,
    "ShortStorage": torch.int16,
}  # fmt: skip


class Archive:
    """An open TorchScript archive. Its code is checked and compiled when it is first used.

    Args:
        file: the open zip file.
        map_location: the device of its tensors; by default the device that they were saved on.

    Raises:
        RuntimeError: the file is not a TorchScript archive.
    """

    def __init__(self, file: zipfile.ZipFile, map_location: Any = None) -> None:
        self.file = file
        records = [name for name in file.namelist() if name.endswith("/data.pkl")]
        if not records or not any(name.endswith("/constants.pkl") for name in file.namelist()):
            raise RuntimeError("not a TorchScript archive: data.pkl or constants.pkl is missing; use torch.load for other files")
        self.name = min(records, key=len).removesuffix("/data.pkl")
        self.map_location = map_location
        self._storages: dict[str, torch.Tensor] = {}
        self._definitions: dict[str, ast.stmt] = {}
        self._sources: dict[str, str] = {}
        self._resolved: dict[str, Any] = {}
        if self.name + "/byteorder" in file.namelist() and self.record("byteorder") != b"little":
            raise RuntimeError("archives in big-endian byte order are not supported")
        self.code = {
            path.removeprefix(f"{self.name}/"): file.read(path)
            for path in file.namelist()
            if path.startswith(f"{self.name}/code/")
        }
        place = "version" if f"{self.name}/version" in file.namelist() else ".data/version"
        self.version = self.record(place)
        self._read_code()
        self.constants = list(self._unpickled("constants"))

    def record(self, name: str) -> bytes:
        """Return the content of a record."""
        return self.file.read(f"{self.name}/{name}")

    def root(self) -> Any:
        """Return the saved module."""
        return self._unpickled("data")

    def extra_file(self, name: str) -> bytes | None:
        """Return an extra file stored with the module, or None."""
        path = f"{self.name}/extra/{name}"
        return self.file.read(path) if path in self.file.namelist() else None

    # --- code -------------------------------------------------------------------------------------------------------

    def _read_code(self) -> None:
        prefix = f"{self.name}/code/"
        for name in self.file.namelist():
            if not name.startswith(prefix) or not name.endswith(".py"):
                continue
            source = self.file.read(name).decode()
            package = name.removeprefix(prefix).removesuffix(".py").replace("/", ".")
            for statement in ast.parse(source, name).body:
                if not isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                    raise RuntimeError(f"{name}, line {statement.lineno}: the code of the archive contains a "
                                       f"{type(statement).__name__} outside of functions, which is not allowed")  # fmt: skip
                path = f"{package}.{statement.name}"
                self._definitions[path] = statement
                self._sources[path] = ast.get_source_segment(source, statement) or ""

    def resolve(self, path: str) -> Any:
        """Return the function or class of the archive at a path.

        Raises:
            RuntimeError: the archive has no such function or class.
        """
        if path == "__torch__.torch.backends.mha.get_fastpath_enabled":
            return _no_fast_path
        if path not in self._resolved:
            definition = self._definitions.get(path)
            if definition is None:
                raise RuntimeError(f"the archive has no function or class {path!r}")
            if isinstance(definition, ast.FunctionDef):
                self._resolved[path] = _LateFunction(self, path, definition)
            elif isinstance(definition, ast.ClassDef):
                self._resolved[path] = self._class(path, definition)
        return self._resolved[path]

    def _class(self, path: str, definition: ast.ClassDef) -> type:
        bases = [base.id for base in definition.bases if isinstance(base, ast.Name)]
        if bases == ["NamedTuple"]:
            from collections import namedtuple

            fields = [field.target.id for field in definition.body if isinstance(field, ast.AnnAssign)]  # type: ignore[union-attr]
            return namedtuple(definition.name, fields)
        if bases == ["Enum"]:
            return _enum(path, definition)
        body: dict[str, Any] = {"original_name": definition.name, "_code": {}, "__module__": __name__, "_path": path}
        declared: dict[str, str] = {}
        lists: dict[str, Any] = {"__parameters__": [], "__buffers__": []}
        for statement in definition.body:
            if isinstance(statement, ast.FunctionDef):
                if statement.name.startswith("__") and statement.name not in _METHODS and not is_property(statement.name):
                    raise RuntimeError(f"{path}: the code of the archive defines {statement.name!r}, which is not allowed")
                body[statement.name] = _LateFunction(self, f"{path}.{statement.name}", statement)
                body["_code"][statement.name] = ast.unparse(statement)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if statement.value is None:
                    declared[statement.target.id] = ast.unparse(statement.annotation)
                else:
                    body[statement.target.id] = _constant(statement.value)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
                declared[str(_constant(statement.targets[0].slice))] = ast.unparse(statement.value)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                lists[statement.targets[0].id] = _constant(statement.value)
        is_module = bases == ["Module"]
        body["_declared"], body["_archive"] = declared, self
        body["_member_names"] = (lists["__parameters__"], lists["__buffers__"])
        if is_module:
            return type("RecursiveScriptModule", (LoadedModule,), body)
        return type(definition.name, (LoadedObject,), body)

    # --- state: pickled objects and tensors ---

    def _unpickled(self, record: str) -> Any:
        unpickler = _Unpickler(io.BytesIO(self.record(f"{record}.pkl")), self, record)
        return unpickler.load()

    def storage(self, folder: str, key: str, dtype: torch.dtype, location: str, length: int) -> torch.Tensor:
        """Return a storage as a 1-D tensor. Storages on the device `meta` have no data."""
        place = f"{folder}/{key}"
        if place not in self._storages and location == "meta":
            self._storages[place] = torch.empty(length, dtype=dtype, device="meta")
        elif place not in self._storages:
            data = bytearray(self.record(place))
            flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
            self._storages[place] = flat.to(self._device(location))
        return self._storages[place]

    def _device(self, location: str) -> Any:
        chosen = self.map_location
        if chosen is None:
            return torch.device(location)
        if isinstance(chosen, dict):
            return torch.device(chosen.get(location, location))
        return torch.device(chosen)


def _no_fast_path() -> bool:
    """Return False, so that archives never take PyTorch's fast paths; the operators of the slow paths have the same results."""
    return False


_METHODS = {"__getstate__", "__setstate__", *CALLED_METHODS}


def _constant(node: ast.expr) -> Any:
    """Evaluate an expression of literals, including `inf` and `nan`."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        text = ast.unparse(node)
        if text in ("inf", "-inf", "nan"):
            return float(text)
        return None  # other constants, such as devices, are not literals and are not read from the class


def _enum(path: str, definition: ast.ClassDef) -> type[Enum]:
    """Create the enumeration that a class of an archive defines."""
    values: dict[str, Any] = {}
    for statement in definition.body:
        name = statement.targets[0].id if isinstance(statement, ast.Assign) else ""  # type: ignore[attr-defined]
        if not name or name.startswith("_"):
            raise RuntimeError(f"{path}: the code of the archive defines an enumeration with other members than values")
        values[name] = _constant(statement.value)  # type: ignore[attr-defined]
    create: Any = Enum  # mypy accepts literal names only
    cls = create(definition.name, values, module=__name__)
    cls._path, cls._declared = path, {}
    return cls  # type: ignore[no-any-return]


class _LateFunction:
    """A function or method of an archive, compiled on its first call."""

    def __init__(self, archive: Archive, path: str, definition: ast.FunctionDef) -> None:
        self.archive, self.path, self.definition = archive, path, definition
        self.function: Any = None

    def compiled(self) -> Any:
        if self.function is None:
            file = f"<archive {self.archive.name}: {self.path}>"
            self.function = compile_function(self.definition, self.archive.constants, self.archive.resolve, file)
        return self.function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = {parameter.arg for parameter in self.definition.args.args}
        return self.compiled()(*args, **{f"v_{name}" if name in names else name: value for name, value in kwargs.items()})

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        if owner is None:
            return self
        return ScriptMethod(self, owner, self.definition.name)


class LoadedObject(ScriptObject):
    """An object whose class is defined in the archive and is not a module class."""

    original_name = ""
    _code: dict[str, str] = {}
    _declared: dict[str, str] = {}
    _path = ""

    def __setstate__(self, state: Any) -> None:
        own = type(self)._code.get("__setstate__")
        if own is None:
            self.__dict__.update(state)


class LoadedModule(RecursiveScriptModule, ScriptObject):
    """A module of an archive. Its methods run the code of the archive."""

    _member_names: tuple[list[str], list[str]] = ([], [])
    _code: dict[str, str] = {}
    _declared: dict[str, str] = {}
    _path = ""
    _archive: Archive

    def __new__(cls, *args: Any) -> LoadedModule:
        module = object.__new__(cls)
        nn.Module.__init__(module)
        if "training" not in cls._declared:  # a frozen module has no `training` attribute
            del module.__dict__["training"]
        return module

    def __init__(self, *args: Any) -> None:
        pass  # unpickling does not call `__init__`, so `__new__` initializes the object

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, buffers = self._member_names
        for name, value in state.items():
            if name in parameters and isinstance(value, torch.Tensor):
                self.register_parameter(name, nn.Parameter(value, requires_grad=value.requires_grad))
            elif name in parameters or name in buffers:
                (self.register_parameter if name in parameters else self.register_buffer)(name, value)
            elif isinstance(value, nn.Module):
                self.add_module(name, value)
            else:
                object.__setattr__(self, name, value)

    def __getitem__(self, key: Any) -> Any:
        """Return the submodule with a name or at a place; code that indexes containers calls this."""
        return self._modules[key] if isinstance(key, str) else [*self._modules.values()][key]

    @property
    def code(self) -> str:
        """The code of `forward` in the archive."""
        return self._code.get("forward", "")


class _Unpickler(SafeUnpickler):
    """Unpickle tensors, containers and objects of classes in the archive; raise an error for anything else."""

    def __init__(self, file: io.BytesIO, archive: Archive, folder: str) -> None:
        super().__init__(file, encoding="utf-8")
        self.archive, self.folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if module == "__torch__" or module.startswith("__torch__."):
            return self.archive.resolve(f"{module}.{name}")
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"the archive refers to {module}.{name}, which is not allowed in an archive")
        return _KNOWN[module, name]

    def is_safe(self, obj: Any) -> bool:
        return any(obj is known for known in _KNOWN.values()) or _is_class_of_archive(obj)

    def make(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if not _is_class_of_archive(cls):
            raise pickle.UnpicklingError(f"the archive creates an object of {brief(cls)}, which is not one of its classes")
        self.append(cls.__new__(cls, *args))

    def build(self) -> None:
        if not isinstance(self.stack[-2], (LoadedModule, LoadedObject)):
            raise pickle.UnpicklingError(f"the archive sets the state of an object of {type(self.stack[-2])}")
        self.load_build()

    def persistent_load(self, pid: Any) -> Any:
        kind, dtype, key, location, length = pid
        if kind != "storage":
            raise pickle.UnpicklingError(f"the archive contains a record of unknown kind {brief(kind)}")
        return self.archive.storage(self.folder, key, dtype, location, length)

    def call(self) -> None:
        if isinstance(self.stack[-2], EnumType):  # `find_class` returns only enumerations of the archive
            value = self.stack.pop()
            self.stack[-1] = self.stack[-1](value)
        else:
            super().call()

    dispatch = type(SafeUnpickler.dispatch)(
        SafeUnpickler.dispatch | {pickle.NEWOBJ[0]: make, pickle.BUILD[0]: build, pickle.REDUCE[0]: call}
    )


def _is_class_of_archive(value: Any) -> bool:
    return isinstance(value, type) and (issubclass(value, (LoadedModule, LoadedObject)) or hasattr(value, "_fields"))


def _rebuild_parameter(data: torch.Tensor, requires_grad: bool, hooks: Any) -> nn.Parameter:
    return nn.Parameter(data, requires_grad)


def _restore_type_tag(value: Any, kind: Any) -> Any:
    return value


def _rebuild_tensor(
    storage: torch.Tensor, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, *rest: Any
) -> torch.Tensor:
    tensor = torch.as_strided(storage, size, stride, offset)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_sparse(layout: int, size: Any, requires_grad: bool, *parts: Any) -> torch.Tensor:
    build = {1: torch.sparse_coo_tensor, 2: torch.sparse_csr_tensor}[layout]
    *components, _ = parts
    tensor: torch.Tensor = build(*components, size, check_invariants=True)
    return tensor.requires_grad_() if requires_grad else tensor


# The classes and functions that a pickle of an archive may refer to, in addition to the classes and functions of the archive.
_KNOWN = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch.jit._pickle", "restore_type_tag"): _restore_type_tag,
    **{("torch.jit._pickle", f"build_{kind}list"): list for kind in ("int", "double", "bool", "tensor")},
    ("torch", "device"): torch.device,
    ("torch._utils", "_rebuild_sparse_tensor"): _rebuild_sparse,
    ("builtins", "complex"): complex,
}
