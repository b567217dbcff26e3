"""Sources of functions, and the attributes of classes that they define."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import types
import typing
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import flambeau as torch

from ..source_text import unindented
from ._types import OF_TORCH

__all__ = [
    "Source",
    "annotations_of",
    "assigned_attributes",
    "attributes_of",
    "constants_of",
    "has_annotation",
    "marked_source",
    "parsed",
    "source_of",
    "warn_about_annotations",
]


class Source(NamedTuple):
    """The source of a function."""

    text: str
    file: str
    first_line: int
    definition: ast.FunctionDef


@functools.lru_cache(maxsize=1024)
def parsed(code: types.CodeType, file: str) -> Source | None:
    """Parse the source of a code object. `file` is its file, because equal code of two files is the same key of the cache."""
    try:
        first = code.co_firstlineno  # `inspect.getsourcelines` gives the same lines, but searches all modules
        text = unindented("".join(inspect.getblock(linecache.getlines(file)[first - 1 :])))
        definition = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return Source(text, file, first, definition) if isinstance(definition, ast.FunctionDef) else None


_CONTEXT = 3  # number of lines before the marked one that messages show


def marked_source(source: Source, node: ast.AST) -> str:
    """Return the place of a node and its line with the lines before, in which the node is underlined, for error messages."""
    line, start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    lines = source.text.splitlines()[max(line - 1 - _CONTEXT, 0) : line]
    end = getattr(node, "end_col_offset", None) if getattr(node, "end_lineno", None) == line else len(lines[-1])
    marks = " " * start + "~" * max((end or 0) - start, 1)
    shown = "\n".join([*lines, f"{marks} <--- HERE"])
    return f'  File "{source.file}", line {source.first_line + line - 1}\n{shown}'


def source_of(function: Any) -> str:
    """Return the source code of a function, or an empty string."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    source = None if code is None else parsed(code, code.co_filename)
    return "" if source is None else source.text


_FORWARDREF = 3  # `annotationlib.Format.FORWARDREF`, of a module that Python 3.13 lacks


def own_annotations(cls: type) -> Mapping[str, Any]:
    """Return the annotations in the body of a class, without those of its bases. Names that do not exist stay unevaluated."""
    if sys.version_info >= (3, 14):
        return inspect.get_annotations(cls, format=_FORWARDREF)
    return vars(cls).get("__annotations__", {})  # type: ignore[no-any-return]  # the values of `vars` are Any


@functools.lru_cache(maxsize=256)
def assigned_attributes(cls: type) -> frozenset[str]:
    """Return the names of the attributes that `__init__` of a user-defined class assigns."""
    code = getattr(inspect.unwrap(cls.__init__), "__code__", None)  # type: ignore[misc]
    source = None if code is None else parsed(code, code.co_filename)
    if source is None:  # such as `__init__` of a dataclass
        return frozenset(name for base in cls.__mro__ for name in own_annotations(base))
    return frozenset(node.attr for node in ast.walk(source.definition) if isinstance(node, ast.Attribute)
                     and isinstance(node.ctx, ast.Store))  # fmt: skip


@functools.lru_cache(maxsize=256)
def attributes_of(cls: type) -> frozenset[str]:
    """Return the names of the attributes and methods of a user-defined class, including those that `__init__` assigns."""
    names = set(dir(cls)) | {name for base in cls.__mro__ for name in own_annotations(base)}
    return frozenset(names | assigned_attributes(cls))


def annotations_of(cls: type) -> dict[str, Any]:
    """Return the annotations in the bodies of a class and its bases, as far as they can be evaluated."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith(OF_TORCH) or base is object:
            continue
        for name, annotation in own_annotations(base).items():
            try:
                names = vars(sys.modules[base.__module__])
                found[name] = eval(annotation, dict(names)) if isinstance(annotation, str) else annotation
            except Exception:  # an annotation that cannot be evaluated is ignored
                continue
    return found


def constants_of(cls: type) -> set[str]:
    """Return the names of constant attributes: those in `__constants__` or annotated with `Final`."""
    named = {name for base in cls.__mro__ for name in vars(base).get("__constants__", ())}
    for name, annotation in annotations_of(cls).items():
        if annotation is typing.Final or typing.get_origin(annotation) is typing.Final:
            named.add(name)
    return named


def has_annotation(cls: type, name: str) -> bool:
    """Whether a class or one of its bases annotates the type of an attribute in its body."""
    return any(name in own_annotations(base) for base in cls.__mro__)


def warn_about_annotations(module: torch.nn.Module) -> None:
    """Warn about attributes whose types are annotated in `__init__` with an empty value, which the compiler does not see."""
    cls = type(module)
    code = getattr(inspect.unwrap(cls.__init__), "__code__", None)
    source = None if code is None or cls.__module__.startswith(OF_TORCH) else parsed(code, code.co_filename)
    for node in () if source is None else ast.walk(source.definition):
        target: ast.expr
        value: ast.expr | None
        match node:
            case ast.AnnAssign():
                target, value = node.target, node.value
            case ast.Assign([target], ast.Call(function, [_, value])) if ast.unparse(function).endswith("annotate"):
                pass
            case _:
                continue
        is_empty = value is not None and ast.unparse(value) in ("[]", "{}", "None")
        if is_empty and isinstance(target, ast.Attribute) and not has_annotation(cls, target.attr):
            warnings.warn(
                "The TorchScript type system doesn't support instance-level annotations on empty non-base types in `__init__`. "
                f"Instead, either 1) use a type annotation in the class body, or 2) wrap the type in `torch.jit.Attribute`: "
                f"self.{target.attr}",
                stacklevel=4,
            )
