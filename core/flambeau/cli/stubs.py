"""Write the stub files that declare generated names for editors and type checkers.

    python -m flambeau.cli.stubs            write the files
    python -m flambeau.cli.stubs --check    exit with status 1 if they are out of date

`_members.pyi` declares the attributes that modules attach to `Tensor`.  `_functions.pyi` declares the functions of `torch`, and
`return_types.pyi` the named tuples that some of them return.  `fft.pyi`, `linalg.pyi` and `special.pyi` declare the functions of
these modules.  `_functions.py` imports each function from the module that defines it, so that "go to definition" works.
"""

from __future__ import annotations

import importlib
import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from inspect import Parameter
from pathlib import Path
from typing import Any

from .. import return_types
from ..engine.calls.named_results import CLASSES
from ..engine.calls.schema import Argument, FunctionSchema
from ..engine.calls.tables import OPS, PUBLIC
from ..engine.devices.aliases import resolve
from ..engine.tensors import tensor as _tensor
from ..extension.schemas import schemas
from ..layouts.subclasses.tensor_types import TENSOR_TYPES
from ..storage import STORAGE_CLASSES

__all__ = ["functions", "main", "members", "namespaces", "result_classes", "sources", "typed_signature"]

_PACKAGE = _tensor.__name__.partition(".")[0]  # not `__name__`, because this file may be `__main__`

# Tensor has methods called bool, float and int, which hide the types of the same names in the class body.
_HEADER = '''"""Written by `python -m flambeau.cli.stubs`."""
# ruff: noqa: E501

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, overload

from . import return_types
from .engine.devices.devices import device as _device
from .engine.tensors.tensor import Tensor
from .engine.values.constants import layout as _layout
from .engine.values.constants import memory_format as _memory_format
from .engine.values.dtypes import dtype as _dtype
from .random import Generator
'''
_STUB_NAMES = {
    "bool": "_bool", "complex": "_complex", "float": "_float", "int": "_int", "device": "_device", "layout": "_layout",
    "memory_format": "_memory_format", **dict.fromkeys(("dtype", "Dtype", "dtypes.dtype"), "_dtype"),
    "Dims": "_int | Sequence[_int]", "Number": "Tensor | _int | _float | _complex",
}  # fmt: skip
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
    text = annotation.replace("Tensor | Number", "Number") if isinstance(annotation, str) else "Any"
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
    return [p for p in typed_signature(function).parameters.values() if not (in_place and p.name == "out")]


# Types of unannotated parameters that no schema declares.
_SIZE, _NUMBER = "int | Sequence[int]", "int | float | complex"
_TYPES_BY_NAME = {
    "input": "Tensor", "matrices": "Tensor", "tensors": "Tensor | Sequence[Tensor]", "generator": "Generator | None",
    **dict.fromkeys(("size", "sizes", "shape", "dims", "repeats"), _SIZE),
    **dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "output_size"), _SIZE),
    **dict.fromkeys(("alpha", "beta", "value", "fill_value", "start", "end", "step"), _NUMBER),
    **dict.fromkeys(("device", "device_type"), "device | str | int | None"), "layout": "layout | None", "rest": "int",
    "memory_format": "memory_format | None",
}  # fmt: skip

# Types of parameters of functions whose forms differ in more than types.
_SEVERAL_FORMS: dict[str, dict[str, str]] = {
    "__setitem__": {"value": f"Tensor | {_NUMBER}"}, "scatter": {"src": f"Tensor | {_NUMBER}"},
    "scatter_": {"src": f"Tensor | {_NUMBER}"}, "repeat": {"repeats": _SIZE},
    "index": {"positions": "int | Sequence[int | Sequence[int]]", "dims": "Any"}, "random_": {"bounds": "int | None"},
    "randint": {"high": f"{_SIZE} | None"},
    **dict.fromkeys(("pow", "pow_"), dict.fromkeys(("input", "exponent", "other"), f"Tensor | {_NUMBER}")),
    "to": {"dtype": "dtype | None"}, "type": {"dtype": "dtype | str | None"}, "view": {"size": f"{_SIZE} | dtype"},
}  # fmt: skip


def typed_signature(function: Callable[..., Any], operator: str = "") -> inspect.Signature:
    """Return the signature of a function. Schemas of its operator give the types of parameters without annotations.

    `(input, *args, **kwargs)` is replaced by the arguments of the schema. `*legacy`, for deprecated forms, is omitted.
    """
    signature, operator = inspect.signature(function), operator or function.__name__
    try:
        declared = schemas(operator)
    except (AttributeError, LookupError):  # not an operator, or a removed function
        return signature
    types: dict[str, list[str]] = {}
    for schema in declared:
        for position, argument in enumerate(schema.arguments):
            name = "input" if position == 0 and argument.name == "self" else argument.name
            types.setdefault(name, []).extend(_argument_type(argument.type).split(" | "))
    results = max((len(schema.returns) for schema in declared), default=1)
    parameters = [p for p in signature.parameters.values() if p.name != "legacy"]
    if {p.name for p in parameters} == {"input", "args", "kwargs"} and declared and "args" not in types:
        parameters = [parameters[0], *(_as_parameter(argument) for argument in declared[0].arguments[1:])]
    typed = [p if _is_typed(p) else p.replace(annotation=_type_of(operator, p, types, results)) for p in parameters]
    return signature.replace(parameters=typed) if typed == sorted(typed, key=lambda p: p.kind) else signature


def _is_typed(parameter: Parameter) -> bool:
    return parameter.annotation not in (Parameter.empty, "Any", Any)


def _as_parameter(argument: Argument) -> Parameter:
    kind = Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(argument.name, kind, default=argument.default_value if argument.has_default_value() else Parameter.empty)


def _type_of(name: str, parameter: Parameter, types: dict[str, list[str]], results: int) -> str:
    """Return the type of an unannotated parameter. It includes None if that is the default of the parameter."""
    kind = _type_without_default(name, parameter, types, results)
    return f"{kind} | None" if parameter.default is None and kind != "Any" and not kind.endswith("None") else kind


def _type_without_default(name: str, parameter: Parameter, types: dict[str, list[str]], results: int) -> str:
    """Return the union of the types of a parameter in the schemas, or the type of its default."""
    declared = list(dict.fromkeys(types.get(parameter.name, ())))
    if parameter.name in ("size", "sizes", "shape", "dims") and name not in _SEVERAL_FORMS:
        return _SIZE  # an int is a size of one dimension
    forms = _SEVERAL_FORMS.get(name)
    if forms is not None and (not forms or parameter.name in forms):
        return forms.get(parameter.name, "Any")
    if declared and "Any" not in declared and parameter.kind is not Parameter.VAR_POSITIONAL:
        return " | ".join(sorted(declared, key="None".__eq__))
    if parameter.name == "out":
        return "Sequence[Tensor] | None" if results > 1 else "Tensor | None"
    if parameter.name in _TYPES_BY_NAME:
        return _TYPES_BY_NAME[parameter.name]
    if type(parameter.default) in (bool, int, float, str):
        return type(parameter.default).__name__
    return "Any"


def _returns(function: Callable[..., Any], namespace: str = "") -> str:
    returns = inspect.signature(function).return_annotation
    written = "Any" if returns is inspect.Signature.empty else _annotation(returns)
    record = OPS.get(function.__name__)  # a function generated from the record of an operation
    if returns is inspect.Signature.empty and (record is None or not record.results):
        return "Tensor" if record is None or not record.returns_list else "tuple[Tensor, ...]"
    result_class = f"{namespace}_{function.__name__}" if namespace else function.__name__
    if written == "Any" and (namespace or function.__name__ in PUBLIC) and hasattr(return_types, result_class):
        return f"return_types.{result_class}"
    return written


# Types of arguments in schemas, and their types in Python.
_SCHEMA_TYPES = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "bool": "bool", "float": "float", "str": "str", "ScalarType": "dtype",
    "Scalar": "int | float | complex", "Generator": "Generator", "Device": "device | str | int", "Layout": "layout",
    "MemoryFormat": "memory_format",
}  # fmt: skip


def _argument_type(kind: str) -> str:
    """Return the Python type of an argument, given its type in a schema such as "int[1]?"."""
    optional = kind.endswith("?")
    base, bracket, size = kind.removesuffix("?").partition("[")
    known = _SCHEMA_TYPES.get(base.partition("(")[0], "Any")
    if bracket and known != "Any":
        known = f"{known} | Sequence[{known}]" if size[:1].isdigit() else f"Sequence[{known}]"
    return f"{known} | None" if optional and known != "Any" else known


def _result_type(schema: FunctionSchema, name: str) -> str:
    results = schema.returns
    if len(results) > 1:
        return f"return_types.{name}" if results[0].name else f"tuple[{', '.join(['Tensor'] * len(results))}]"
    kind = results[0].type.partition("(")[0] if results else "None"
    return "tuple[Tensor, ...]" if results and results[0].type.endswith("[]") else kind if kind == "Tensor" else "Any"


def _overloads(name: str, method: bool) -> dict[str, str]:
    """Return {parameters: type of the result} for each overload of a function, if their results differ in type."""
    declared = schemas(name)
    results = [_result_type(schema, name) for schema in declared]
    if len(set(results)) == 1:
        return {"": results[0]}
    found = {}
    for schema, result in zip(declared, results, strict=True):
        arguments = schema.arguments[1:] if method else schema.arguments
        parts = [f"{'self' if method else _argument(schema.arguments[0])}"] if schema.arguments else []
        keyword_only = False
        for argument in arguments if method else arguments[1:]:
            if argument.kwarg_only and not keyword_only:
                parts.append("*")
                keyword_only = True
            parts.append(_argument(argument))
        tensors = "Sequence[Tensor]" if len(schema.returns) > 1 else "Tensor"
        out = ([] if keyword_only else ["*"]) + [f"out: {tensors} | None = ..."]
        found[", ".join(parts + out)] = result
    return found


def _argument(argument: Argument) -> str:
    name = "input" if argument.name == "self" else argument.name
    return f"{name}: {_annotation(_argument_type(argument.type))}{' = ...' if argument.has_default_value() else ''}"


def _is_in_place(name: str) -> bool:
    return re.fullmatch(r"__i(?!nvert)\w+__|\w*[^_]_", name) is not None


def _declaration(name: str, function: Callable[..., Any], method: bool, indent: str = "", namespace: str = "") -> str:
    """Return the declaration of a function or method in a stub file, with its documentation.

    `namespace` is the module of the function, such as "linalg", if that is not `torch`.
    """
    in_place = method and _is_in_place(name)
    parameters = _parameter_list(_parameters(function, in_place)[method:])
    returns = _RETURN_TYPES.get(name) or ("Tensor" if in_place or name.startswith("__r") else _returns(function, namespace))
    parts = ["self", *parameters] if method else parameters
    overloads = {", ".join(parts): returns}
    if returns in ("Any", f"return_types.{name}") and PUBLIC.get(name) is not None and function.__name__ == name:
        known = _overloads(name, method)
        overloads = known if "" not in known else {", ".join(parts): known[""] if known[""] != "Any" else returns}
    ignore = f"  # type: ignore[{_TYPE_IGNORES[name]}]" if name in _TYPE_IGNORES else ""
    mark = f"{indent}@overload\n" if len(overloads) > 1 else ""
    text = inspect.getdoc(function) or ""
    lines = []
    for parameter_text, result in overloads.items():
        body = f"{ignore}\n{_docstring(text, indent)}" if text else f" ...{ignore}"
        lines.append(f"{mark}{indent}def {name}({parameter_text}) -> {result}:{body}")
        text = ""  # editors show the documentation of the first overload
    return "\n".join(lines)


def _docstring(text: str, indent: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '""\'')
    closing = f"\n{indent}    " if "\n" in text or text.endswith('"') else ""
    return textwrap.indent(f'"""{escaped}', f"{indent}    ").rstrip() + f'{closing}"""'


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
    header = _HEADER.replace("from . import", "import numpy\n\nfrom . import", 1)
    lines = [header + "from .storage import TypedStorage, UntypedStorage\n", "NumpyArray = numpy.ndarray[Any, Any]\n"]
    lines.append("class Members:")
    for name, value in _attached_members().items():
        if isinstance(value, property) and value.fget:
            lines += ["    @property", f"    def {name}(self) -> {_returns(value.fget)}: ..."]
            if value.fset:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        elif not callable(value) and not isinstance(value, classmethod):
            lines.append(f"    {name}: {'_bool' if isinstance(value, bool) else 'Any'}")
        elif isinstance(value, classmethod):
            declaration = _declaration(name, value.__func__, method=True, indent="    ")
            lines += ["    @classmethod", declaration.replace("(self", "(cls", 1)]
        elif isinstance(value, staticmethod):
            lines += ["    @staticmethod", _declaration(name, value.__func__, method=False, indent="    ")]
        elif not keyword.iskeyword(name):
            lines.append(_declaration(name, value, method=True, indent="    "))
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


# Modules of other packages that programs import by their PyTorch names.  Editors find them by these files.
_MODULES = (
    "amp", "cuda.amp", "distributed", "distributions", "export", "fft", "fx", "hub", "jit", "linalg", "multiprocessing", "nn",
    "nn.functional", "nn.init", "nn.modules", "nn.parallel", "nn.parameter", "nn.utils", "nn.utils.rnn", "onnx", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "sparse", "special", "utils.checkpoint", "utils.data", "utils.tensorboard",
)  # fmt: skip


_MODULE = '''"""`torch.{name}` for editors.  `import flambeau.{name}` imports `{target}`.

Written by `python -m flambeau.cli.stubs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from {target} import *  # noqa: F403
'''


def modules() -> dict[str, str]:
    """Return {path: text} of a file for each module of `torch` that is defined in another package or folder.

    The files have the suffix .py, because editors warn of stubs without a source.  Nothing imports them.
    """
    texts = {}
    for name in _MODULES:
        target, path = resolve(f"flambeau.{name}"), name.replace(".", "/")
        is_package = any(other.startswith(f"{name}.") for other in _MODULES)
        texts[f"{path}/__init__.py" if is_package else f"{path}.py"] = _MODULE.format(name=name, target=target)
    return texts


# Modules of functions that are generated at run time, and therefore need a stub file.
_NAMESPACES = ("fft", "linalg", "special")


def namespaces() -> dict[str, str]:
    """Return {path: text} of a stub file for each module of `torch` whose functions are generated."""
    texts = {}
    for name in _NAMESPACES:
        module = importlib.import_module(f"{_PACKAGE}.{name}")
        lines = [
            _HEADER,
            "__all__ = [  # noqa: RUF022",
            _names(sorted(module.__all__)),
            "]  # fmt: skip\n",
        ]
        for member in sorted(module.__all__):
            value = getattr(module, member)
            if value is not _tensor.Tensor:  # imported by the header
                declaration = f"class {member}(RuntimeError): ..."
                lines.append(declaration if inspect.isclass(value) else _declaration(member, value, False, namespace=name))
        texts[f"{name}.pyi"] = "\n".join(lines) + "\n"
    return texts


def result_classes() -> str:
    """Return the text of `return_types.pyi`."""
    importlib.import_module(f"{_PACKAGE}.linalg")  # it defines the classes of its results
    names = {record.name.removesuffix("_dim") for record in OPS.values() if record.results} | {*CLASSES}
    lines = ['"""Written by `python -m flambeau.cli.stubs`."""\n', "from typing import NamedTuple\n"]
    lines.append("from .engine.tensors.tensor import Tensor\n")
    for name in sorted(names):
        fields = getattr(return_types, name)._fields
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: Tensor" for field in fields)]
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
    found: dict[int, tuple[str, str]] = {}
    for module_name in sorted(name for name in sys.modules if name.startswith(f"{_PACKAGE}.")):
        folder = module_name.split(".")[1]
        if folder not in ("operations", "linalg", "fft", "special", "tensors"):
            continue
        module = sys.modules[module_name]
        text = inspect.getsource(module)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and re.search(rf"^(?:def {name}\(|(?:\w+, )*{name}(?:, \w+)* = )", text, re.MULTILINE):
                found.setdefault(id(inspect.unwrap(value)), (module_name.removeprefix(_PACKAGE), name))
    return found


def _names(names: list[str]) -> str:
    return textwrap.fill(", ".join(f'"{name}"' for name in names) + ",", 120, initial_indent="    ", subsequent_indent="    ")


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` compare them.  Return the exit status."""
    folder, stale = Path(__file__).parents[1], []
    texts = {"_members.pyi": members(), "_functions.pyi": functions(), "return_types.pyi": result_classes()}
    for name, text in (*texts.items(), *namespaces().items(), *modules().items(), ("_functions.py", sources())):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
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
