"""Sources of functions, and what they say about user-defined classes."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
import types
from typing import Any, NamedTuple

__all__ = ["Source", "attributes_of", "parsed", "source_of"]


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
        text = textwrap.dedent("".join(inspect.getblock(linecache.getlines(file)[first - 1 :])))
        definition = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    return Source(text, file, first, definition) if isinstance(definition, ast.FunctionDef) else None


def source_of(function: Any) -> str:
    """Return the source code of a function, or an empty string."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    source = None if code is None else parsed(code, code.co_filename)
    return "" if source is None else source.text


@functools.lru_cache(maxsize=256)
def attributes_of(cls: type) -> frozenset[str]:
    """Return the names of the attributes and methods of a user-defined class, including those that `__init__` assigns."""
    names = set(dir(cls)) | {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}
    code = getattr(inspect.unwrap(cls.__init__), "__code__", None)  # type: ignore[misc]
    source = None if code is None else parsed(code, code.co_filename)
    if source is not None:
        names |= {node.attr for node in ast.walk(source.definition) if isinstance(node, ast.Attribute)
                  and isinstance(node.ctx, ast.Store)}  # fmt: skip
    return frozenset(names)
