"""Build the code of an archive: a class for each module, its methods, functions and constants."""

from __future__ import annotations

import ast
import inspect
import json
import re
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any

import flambeau as torch
from flambeau import Tensor, nn
from flambeau.utils import pytree

from ._archive import LoadedModule, LoadedObject
from ._compiling import compile_class, compile_function, compile_interface, compile_method, exported_methods, methods_with_hooks
from ._expressions import NotScriptable
from ._freeze import FrozenModule
from ._graph_building import definitions
from ._printing import attribute_path, function_body, input_type, trace_metadata
from ._recording import Recorded, TraceRecording
from ._sources import annotations_of, constants_of
from ._types import (
    ModuleDescription,
    NoType,
    check_enum,
    class_path,
    is_enum,
    is_interface,
    is_named_tuple,
    literal,
    type_of_annotation,
    type_of_value,
)

__all__ = ["Program"]

_CLASS = "\x00"  # placeholder in code for the path of its class, which is chosen when the code is complete


class PlaceholderModule(nn.Module):
    """An archive contains a module, so a saved function becomes the `forward` of this one. PyTorch uses the same class name."""


PlaceholderModule.__module__ = "__main__"


class Program:
    """The classes, functions and constants that a module requires in an archive.

    Args:
        root: a scripted or traced module, or a `ScriptFunction`.
        python_calls: allow calls of functions that are marked as ignored. The code then describes a graph; it cannot be saved.
    """

    def __init__(self, root: Any, python_calls: bool = False) -> None:
        self.python_calls = python_calls
        self.constants: list[Tensor] = []
        self.files: dict[str, list[str]] = {}
        self.described: dict[int, ModuleDescription] = {}
        self._methods: dict[int, dict[str, list[str]]] = {}
        self._paths: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._functions: dict[int, str] = {}
        self._classes: dict[str, type] = {}
        self._helpers: dict[str, str] = {}
        self._class_attributes: dict[type, dict[str, str]] = {}
        self._adopted: dict[int, Callable[[str], str]] = {}
        self._kept: list[Any] = []
        self._in_trace: set[int] = set()
        self.notes: dict[tuple[int, str], dict[str, Any]] = {}  # maps (id of a module, method) to metadata from traces
        if isinstance(root, torch.jit.ScriptFunction):
            function, root = root, PlaceholderModule()
            self._methods[id(root)] = {"forward": self._text_of_function(function, f"self: {_CLASS}", owner=root)}
        else:
            self._add_root(root)
        self.root: nn.Module = root
        self._describe(root)

    # --- modules ---

    def _add_root(self, root: nn.Module) -> None:
        if _examples(root):
            for name in _examples(root):
                self.method(root, name)
        else:
            for name in exported_methods(root):
                self.method(root, name)

    def method(self, module: nn.Module, name: str) -> None:
        """Compile a method of a module, if it is not compiled yet."""
        if isinstance(module, (LoadedModule, FrozenModule)):
            self._adopt(module)
            return
        methods = self._methods.setdefault(id(module), {})
        if name in methods:
            return
        methods[name] = []  # set before compiling, because the method may be recursive
        self._kept.append(module)
        examples = _examples(module)
        if examples:
            self._in_trace.update(id(child) for child in module.modules())
            methods[name] = self._traced(module, name)
        else:
            methods[name] = compile_method(self, module, name, _CLASS)
            if name == "forward" and (module._forward_hooks or module._forward_pre_hooks):
                methods.update(methods_with_hooks(self, module, methods[name], _CLASS))
            for other in exported_methods(module):
                self.method(module, other)

    def method_lines(self, module: Any, name: str) -> list[str]:
        """Return the lines of a method; empty if it is not compiled yet."""
        return self._methods.get(id(module), {}).get(name, [])

    def method_text(self, module: Any, name: str) -> str:
        """Return the code of a method."""
        return "\n".join(self.method_lines(module, name)).replace(_CLASS, self.described[id(module)].path) + "\n"

    def _traced(self, module: nn.Module, name: str) -> list[str]:
        recorded = _examples(module)[name]
        parameters, inputs = _parameters(recorded)
        lines, kind = function_body(recorded.recording, self, inputs)
        self.notes[id(module), name] = trace_metadata(recorded.recording, inputs)
        return _definition(name, [f"self: {_CLASS}", *parameters], kind, lines)

    def _text_of_function(
        self, function: Any, first: str | None = None, name: str = "forward", owner: nn.Module | None = None
    ) -> list[str]:
        if function.recorded is None:
            return compile_function(self, function.function, name, first)
        recording = function.recorded.recording
        parameters, inputs = _parameters(function.recorded)
        lines, kind = function_body(recording, self, inputs)
        if owner is not None:
            self.notes[id(owner), name] = trace_metadata(recording, inputs)
        return _definition(name, [*([first] if first else []), *parameters], kind, lines)

    def _describe(self, module: nn.Module) -> ModuleDescription:
        if isinstance(module, (LoadedModule, FrozenModule)):
            self._adopt(module)
        if id(module) in self.described:
            return self.described[id(module)]
        attributes: dict[str, tuple[Any, str]] = {}
        parameters = [name for name, value in module._parameters.items() if value is not None]
        buffers = [name for name, value in module._buffers.items() if value is not None]
        for members in (module._parameters, module._buffers):
            for name, value in members.items():
                attributes[name] = (value, "NoneType" if value is None else "Tensor")
        attributes["training"] = (module.training, "bool")
        attributes["_is_full_backward_hook"] = (None, "Optional[bool]")
        constants: dict[str, Any] = {}
        if id(module) not in self._in_trace:
            self._plain_attributes(module, attributes, constants)
        for name, child in module._modules.items():
            attributes[name] = (child, "NoneType" if child is None else self._describe(child).path)
        lines = [f"  __parameters__ = [{''.join(json.dumps(name) + ', ' for name in parameters)}]",
                 f"  __buffers__ = [{''.join(json.dumps(name) + ', ' for name in buffers)}]"]  # fmt: skip
        for name, (_, kind) in attributes.items():
            lines.append(f"  {name} : {kind}" if name.isidentifier() else f"  __annotations__[{json.dumps(name)}] = {kind}")
        lines += [f"  {name} : Final[{kind}] = {value}" for name, (kind, value) in constants.items()]
        for method in self._methods.get(id(module), {}).values():
            lines += [f"  {line}" for line in method]
        cls = type(module)
        path = class_path(next((base for base in cls.__mro__ if not _is_wrapper(base)), cls))
        described = ModuleDescription(self._class(path, "\n".join(lines)), attributes)
        self.described[id(module)] = described
        self._kept.append(module)
        return described

    def description(self, value: Any) -> ModuleDescription:
        """Return the class path and attributes of a module, of an object of a user-defined class, or of a member of an enum."""
        if isinstance(value, Enum):
            return ModuleDescription(self.named_class(type(value)), {})
        return self.described[id(value)]

    def _plain_attributes(self, module: nn.Module, attributes: dict[str, Any], constants: dict[str, Any]) -> None:
        declared, fixed = annotations_of(type(module)), constants_of(type(module))
        declared |= vars(module).get("_attribute_types", {})
        for name, value in vars(module).items():
            if (
                name in attributes
                or name in _OF_MODULES
                or name == "_attribute_types"
                or not name.isidentifier()
                or isinstance(value, nn.Module)
            ):
                continue
            try:
                classes = self.named_class
                kind = type_of_annotation(declared[name], classes) if name in declared else type_of_value(value, classes)
                if type(value) in self._class_attributes:
                    self._describe_object(value)
                if name in fixed and not isinstance(value, Tensor):
                    constants[name] = (kind, literal(value))
                else:
                    attributes[name] = (value, kind)
            except (NoType, NotScriptable):
                continue  # the attribute has no TorchScript type; only code that uses it raises an error

    def _class(self, path: str, text: str) -> str:
        """Return the path of a class with this code; add the class if necessary."""
        if (path, text) not in self._paths:
            named = self._free(path)
            package, _, name = named.rpartition(".")
            self._paths[path, text] = named
            self.files.setdefault(package, []).append(f"class {name}(Module):\n{text.replace(_CLASS, named)}\n")
        return self._paths[path, text]

    def _free(self, path: str) -> str:
        package, _, name = path.rpartition(".")
        number = 0
        while path in self._taken:
            path = f"{package}.___torch_mangle_{number}.{name}"
            number += 1
        self._taken.add(path)
        return path

    def _describe_object(self, value: Any) -> None:
        """Record the attributes of an object of a user-defined class."""
        kinds = self._class_attributes[type(value)]
        attributes = {name: (getattr(value, name), kind) for name, kind in kinds.items()}
        self.described[id(value)] = ModuleDescription(self.named_class(type(value)), attributes)
        for inner, _ in attributes.values():
            if type(inner) in self._class_attributes:
                self._describe_object(inner)

    # --- modules that already have TorchScript code ---

    def _adopt(self, module: nn.Module) -> None:
        """Copy the classes, functions and constants of a loaded or frozen module to this program."""
        if id(module) in self.described:
            return
        content = torch.jit._content_of(module)
        key = id(content.code)
        if key not in self._adopted:
            self._adopted[key] = self._renaming(content.code, content.constants)
            self._kept.append(content)
        self._describe_adopted(content.root, content.describe, self._adopted[key])
        self.described[id(module)] = self.described[id(content.root)]

    def _renaming(self, code: dict[str, bytes], constants: list[Any]) -> Callable[[str], str]:
        """Add code under unused names, and its constants. Return a function that replaces the old names in a text."""
        known = definitions(code)
        new = {path: self._free(path) for path in known}
        first = len(self.constants)
        self.constants += constants

        def renamed(match: re.Match[str]) -> str:
            path, rest = match[0], ""
            while path not in new and "." in path:
                path, _, last = path.rpartition(".")
                rest = f".{last}{rest}"
            return new.get(path, path) + rest

        def rename(text: str) -> str:
            text = re.sub(r"CONSTANTS\.c(\d+)", lambda match: f"CONSTANTS.c{int(match[1]) + first}", text)
            return re.sub(r"__torch__(\.\w+)+", renamed, text)

        for path, definition in known.items():
            package, _, definition.name = new[path].rpartition(".")  # type: ignore[attr-defined]
            self.files.setdefault(package, []).append(rename(ast.unparse(definition)) + "\n")
        return rename

    def _describe_adopted(self, owner: Any, describe: Callable[[Any], ModuleDescription], rename: Callable[[str], str]) -> None:
        path, attributes = describe(owner)
        renamed = {name: (value, rename(kind)) for name, (value, kind) in attributes.items()}
        self.described[id(owner)] = ModuleDescription(rename(path), renamed)
        self._kept.append(owner)
        for value, _ in attributes.values():
            if isinstance(value, (nn.Module, LoadedObject)):
                self._describe_adopted(value, describe, rename)

    # --- classes, functions and constants ---

    def named_class(self, cls: Any) -> str:
        """Return the path of a user-defined class, `NamedTuple`, enumeration or interface; add it if necessary."""
        if id(cls) in self._functions:
            return self._functions[id(cls)]
        path = self._free(class_path(cls))
        package, _, name = path.rpartition(".")
        self._functions[id(cls)], self._classes[path] = path, cls
        self._kept.append(cls)
        if is_enum(cls):
            check_enum(cls)
            base, lines = "(Enum)", [f"{member.name} = {literal(member.value)}" for member in cls]
        elif is_named_tuple(cls):
            hints = typing.get_type_hints(cls)
            kinds = {field: type_of_annotation(hints[field], self.named_class) if field in hints else "Tensor"
                     for field in cls._fields}  # fmt: skip
            base, lines = "(NamedTuple)", [f"{field} : {kind}" for field, kind in kinds.items()]
        elif is_interface(cls):
            base = "(ModuleInterface)" if issubclass(cls, nn.Module) else "(Interface)"
            lines = compile_interface(self, cls, path)
        else:
            base = ""
            try:
                lines, self._class_attributes[cls] = compile_class(self, cls, path)
            except NotScriptable:
                del self._functions[id(cls)], self._classes[path]
                raise
        self.files.setdefault(package, []).append("\n".join([f"class {name}{base}:", *(f"  {line}" for line in lines)]) + "\n")
        return path

    def helper(self, text: str) -> str:
        """Return the path of a helper function with this code; add the function if necessary."""
        if text not in self._helpers:
            self._helpers[text] = self._free("__torch__.torch.nn.functional." + text.removeprefix("def ").partition("(")[0])
            package, _, name = self._helpers[text].rpartition(".")
            self.files.setdefault(package, []).append(f"def {name}({text.partition('(')[2]}\n")
        return self._helpers[text]

    def class_at(self, path: str) -> type | None:
        """Return the user-defined class at a path, or None."""
        cls = self._classes.get(path)
        return None if is_named_tuple(cls) or is_enum(cls) else cls

    def function(self, function: Any) -> str:
        """Return the path of a `ScriptFunction` or Python function; add the function if necessary."""
        script = isinstance(function, torch.jit.ScriptFunction)
        plain = function.function if script else function
        if id(plain) not in self._functions:
            package, _, name = self._free(class_path(plain)).rpartition(".")
            self._functions[id(plain)] = f"{package}.{name}"
            self._kept.append(plain)
            lines = self._text_of_function(function if script else torch.jit.ScriptFunction(plain), None, name)
            self.files.setdefault(package, []).append("\n".join(lines) + "\n")
        return self._functions[id(plain)]

    def constant(self, tensor: Tensor) -> str:
        """Return the code for a constant tensor."""
        place = next((place for place, known in enumerate(self.constants) if known is tensor), None)
        if place is None:
            place = len(self.constants)
            self.constants.append(tensor)
        return f"CONSTANTS.c{place}"

    def callee(self, target: Any, recording: TraceRecording) -> str:
        """Return the code for a scripted function or module that a trace calls."""
        if not isinstance(target, nn.Module):
            return self.function(target)
        path = recording.paths.get(id(target))
        if path is None:
            raise RuntimeError("torch.jit.trace: the traced module calls a scripted module that is not one of its submodules")
        self.method(target, "forward")
        self._in_trace -= {id(child) for child in target.modules()} if not _examples(target) else set()
        return f"({attribute_path(path)}).forward"

    def code(self) -> dict[str, bytes]:
        """Return the code files."""
        return {f"code/{package.replace('.', '/')}.py": "".join(texts).encode() for package, texts in self.files.items()}


_OF_MODULES = frozenset(vars(nn.Module()))


def _is_wrapper(cls: type) -> bool:
    """Whether a class is one of the classes of scripted modules of flambeau, and not defined by the program."""
    return issubclass(cls, torch.jit.RecursiveScriptModule) or cls is torch.jit.ScriptModule


def _examples(module: nn.Module) -> dict[str, Recorded]:
    """Map the methods of a traced module to their traces."""
    found: dict[str, Recorded] = vars(module).get("_examples", {})
    return found


def _definition(name: str, parameters: list[str], kind: str, lines: list[str]) -> list[str]:
    return [f"def {name}({', '.join(parameters)}) -> {kind}:", *(f"  {line}" for line in lines)]


def _parameters(recorded: Recorded) -> tuple[list[str], dict[int, str]]:
    """Return the parameters of a traced function with types, and the code of each leaf of the examples by index."""
    leaves, spec = pytree.tree_flatten((recorded.args, recorded.kwargs))
    leaves = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]  # one tensor may be several arguments
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    bound = recorded.signature.bind(*args, **kwargs)
    named: list[tuple[str, Any]] = []
    kinds = recorded.signature.parameters
    for name, value in bound.arguments.items():
        if kinds[name].kind is inspect.Parameter.VAR_POSITIONAL:
            named += [(f"{name}_{place}", item) for place, item in enumerate(value)]
        elif kinds[name].kind is inspect.Parameter.VAR_KEYWORD:
            named += list(value.items())
        else:
            named.append((name, value))
    places = {id(leaf): place for place, leaf in enumerate(leaves)}
    inputs: dict[int, str] = {}
    parameters = []
    for name, value in named:
        parameters.append(f"{_local(name)}: {input_type(value)}")
        _note_places(_local(name), value, places, inputs)
    return parameters, inputs


def _note_places(text: str, value: Any, places: dict[int, int], inputs: dict[int, str]) -> None:
    if isinstance(value, Tensor):
        inputs[places[id(value)]] = text
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            _note_places(f"{text}[{place}]", item, places, inputs)
    elif isinstance(value, dict):
        for key, item in value.items():
            _note_places(f"{text}[{literal(key)}]", item, places, inputs)


def _local(name: str) -> str:
    return f"{name}_" if name in ("self", "torch", "ops") else name
