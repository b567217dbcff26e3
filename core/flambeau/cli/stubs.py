"""Write the stub files that declare generated names for editors and type checkers.

    python -m flambeau.cli.stubs            write the files
    python -m flambeau.cli.stubs --check    exit with status 1 if they are out of date

`_members.pyi` declares the attributes that modules attach to `Tensor`.  `_functions.pyi` declares the functions of `torch`.
`_functions.py` imports each function from the module that defines it, so that "go to definition" works in editors.
"""

from __future__ import annotations

import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from inspect import Parameter
from pathlib import Path
from typing import Any

from ..engine.calls.tables import OPS, PUBLIC
from ..engine.tensors import tensor as _tensor
from ..layouts.subclasses.tensor_types import TENSOR_TYPES
from ..storage import STORAGE_CLASSES

__all__ = ["functions", "main", "members", "sources"]

# Tensor has methods called bool, float and int, which hide the types of the same names in the class body.
_HEADER = '''"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any

from .engine.tensors.tensor import Tensor
from .engine.values.dtypes import dtype as _dtype
from .random import Generator
'''
_STUB_NAMES = {"bool": "_bool", "float": "_float", "int": "_int"} | dict.fromkeys(("dtype", "Dtype", "dtypes.dtype"), "_dtype")
_IMPORTED_NAMES = {
    "Any", "Generator", "None", "Sequence", "Tensor", "TypedStorage", "UntypedStorage", "str", "tuple", *_STUB_NAMES,
}  # fmt: skip
_TYPE_IGNORES = {"__eq__": "override", "__ne__": "override"}  # `object` declares that they return bool
# Return types of methods that do not return a tensor.
_RETURN_TYPES = {"__repr__": "str", "__format__": "str", "__reduce_ex__": "Any", "__init_subclass__": "None"}
_PYTHON_ATTRIBUTES = {  # attributes that Python sets, some since 3.13
    "__annotations__", "__dict__", "__doc__", "__firstlineno__", "__module__",
    "__slotnames__", "__static_attributes__", "__weakref__",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")


def _annotation(annotation: Any) -> str:
    """Return the text of an annotation in a stub file; `Any` if it uses names that the file does not import."""
    if annotation is None:
        return "None"
    text = annotation if isinstance(annotation, str) else "Any"
    known = _IMPORTED_NAMES.issuperset(_NAME.findall(text))
    return _NAME.sub(lambda match: _STUB_NAMES.get(match[0], match[0]), text) if known else "Any"


def _parameter(parameter: Parameter) -> str:
    star = "*" if parameter.kind is Parameter.VAR_POSITIONAL else "**" if parameter.kind is Parameter.VAR_KEYWORD else ""
    default = "" if parameter.default is Parameter.empty else " = ..."
    return f"{star}{parameter.name}: {_annotation(parameter.annotation)}{default}"


def _parameter_list(parameters: Iterable[Parameter]) -> list[str]:
    parts, starred = [], False
    for parameter in parameters:
        if parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        if not keyword.iskeyword(parameter.name):
            parts.append(_parameter(parameter))
    return parts


def _parameters(function: Callable[..., Any], in_place: bool) -> list[Parameter]:
    """Return the parameters of a function, without `out` if it is an in-place function."""
    return [p for p in inspect.signature(function).parameters.values() if not (in_place and p.name == "out")]


def _returns(function: Callable[..., Any]) -> str:
    returns = inspect.signature(function).return_annotation
    if returns is not inspect.Signature.empty:
        return _annotation(returns)
    record = OPS.get(function.__name__)  # a function generated from the record of an operation
    if record is None or not record.results:
        return "Tensor" if record is None or not record.returns_list else "tuple[Tensor, ...]"
    return "Any"  # the result is a named tuple, whose class is created at run time


def _is_in_place(name: str) -> bool:
    return re.fullmatch(r"__i(?!nvert)\w+__|\w*[^_]_", name) is not None


def _declaration(name: str, function: Callable[..., Any], method: bool) -> str:
    """Return the declaration of a function or method in a stub file."""
    in_place = method and _is_in_place(name)
    parameters = _parameter_list(_parameters(function, in_place)[method:])
    returns = _RETURN_TYPES.get(name) or ("Tensor" if in_place or name.startswith("__r") else _returns(function))
    parts = ["self", *parameters] if method else parameters
    ignore = f"  # type: ignore[{_TYPE_IGNORES[name]}]" if name in _TYPE_IGNORES else ""
    return f"def {name}({', '.join(parts)}) -> {returns}: ...{ignore}"


def _attached_members() -> dict[str, Any]:
    """Return the attributes of Tensor that are attached to the class rather than defined in its body."""
    source = inspect.getsource(_tensor)
    attached = {}
    for name, value in sorted(vars(_tensor.Tensor).items()):
        written = f"def {name}(" in source or f"    {name}:" in source or f"    {name} =" in source
        if not written and name not in _PYTHON_ATTRIBUTES:
            attached[name] = value
    return attached


def members() -> str:
    """Return the text of `_members.pyi`."""
    lines = [_HEADER + "from .storage import TypedStorage, UntypedStorage\n", "class Members:"]
    for name, value in _attached_members().items():
        if isinstance(value, property) and value.fget:
            lines += ["    @property", f"    def {name}(self) -> {_returns(value.fget)}: ..."]
            if value.fset:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        elif not callable(value) and not isinstance(value, classmethod):
            lines.append(f"    {name}: Any")
        elif isinstance(value, classmethod):
            lines += ["    @classmethod", "    " + _declaration(name, value.__func__, method=True).replace("(self", "(cls", 1)]
        elif isinstance(value, staticmethod):
            lines += ["    @staticmethod", "    " + _declaration(name, value.__func__, method=False)]
        elif not keyword.iskeyword(name):
            lines.append("    " + _declaration(name, value, method=True))
    return "\n".join(lines) + "\n"


def functions() -> str:
    """Return the text of `_functions.pyi`."""
    functions = sorted(name for name in PUBLIC if not keyword.iskeyword(name))
    tensors, storages = sorted(TENSOR_TYPES["cpu"]), sorted(STORAGE_CLASSES)
    lines = [_HEADER + "from .storage import TypedStorage\n"]
    lines += ["__all__ = [  # noqa: RUF022", _names([*functions, *tensors, *storages]), "]  # fmt: skip\n"]
    lines += [_declaration(name, PUBLIC[name], method=False) for name in functions]
    lines += [f"class {name}(Tensor): ..." for name in tensors]
    lines += [f"class {name}(TypedStorage): ..." for name in storages]
    return "\n".join(lines) + "\n"


# --- definitions of functions -------------------------------------------------------------------------------------

_SOURCES_HEADING = '''"""Imports of each function of `torch` from the module that defines it.

Editors read this file to find definitions; nothing imports it.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

'''


def sources() -> str:
    """Return the text of `_functions.py`."""
    written = _definitions()
    lines: dict[str, list[str]] = {}
    for name in sorted(PUBLIC):
        plain = PUBLIC.get(name.rstrip("_"), PUBLIC[name])  # `add_` is defined where `add` is
        place = written.get(id(inspect.unwrap(PUBLIC[name]))) or written.get(id(inspect.unwrap(plain)))
        if place is not None and not keyword.iskeyword(name):
            module, original = place
            lines.setdefault(module, []).append(f"{original} as {name}")
    text = "".join(f"from {module} import {', '.join(names)}\n" for module, names in sorted(lines.items()))
    return _SOURCES_HEADING + text


def _definitions() -> dict[int, tuple[str, str]]:
    """Return {id(function): (module, name)} of the functions that are defined in modules of operations."""
    package = _tensor.__name__.partition(".")[0]  # not `__name__`, because this file may be `__main__`
    found: dict[int, tuple[str, str]] = {}
    for module_name in sorted(name for name in sys.modules if name.startswith(f"{package}.")):
        folder = module_name.split(".")[1]
        if folder not in ("operations", "linalg", "fft", "special", "tensors"):
            continue
        module = sys.modules[module_name]
        text = inspect.getsource(module)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and re.search(rf"^(?:def {name}\(|(?:\w+, )*{name}(?:, \w+)* = )", text, re.MULTILINE):
                found.setdefault(id(inspect.unwrap(value)), (module_name.removeprefix(package), name))
    return found


def _names(names: list[str]) -> str:
    return textwrap.fill(", ".join(f'"{name}"' for name in names) + ",", 120, initial_indent="    ", subsequent_indent="    ")


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` compare them.  Return the exit status."""
    folder, stale = Path(__file__).parents[1], []
    for name, text in (("_members.pyi", members()), ("_functions.pyi", functions()), ("_functions.py", sources())):
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    if stale:
        print(("out of date: " if "--check" in arguments else "written: ") + ", ".join(stale))
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
