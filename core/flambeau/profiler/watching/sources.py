"""Find the source and the documentation of functions, and the lines of a program that call them."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from ...transforms.capture import is_own_file

__all__ = ["Place", "Source", "documentation_of", "lines_around", "place_in_stack", "source_of"]

_CONTEXT = 4  # lines shown before and after the line of a call
_STACK_LIMIT = 12
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_LONGEST = 120  # lines of a source; the rest is left out


class Place(NamedTuple):
    """A line of a program, in the function `function`."""

    file: str
    line: int
    function: str


class Source(NamedTuple):
    """Source code, and where it begins."""

    file: str
    line: int
    text: str


def place_in_stack() -> tuple[Place, ...]:
    """Return the running lines of the program, innermost first, without those of flambeau and of the standard library.

    The last one is in the body of a module or of a notebook's cell: its callers are not part of the program.
    """
    places: list[Place] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(places) < _STACK_LIMIT:
        code = frame.f_code
        if not is_own_file(code.co_filename) and not _is_standard(code.co_filename):
            places.append(Place(code.co_filename, frame.f_lineno, code.co_qualname))
            if code.co_name == "<module>":
                break
        frame = frame.f_back
    return tuple(places)


@functools.cache
def _is_standard(filename: str) -> bool:
    return filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename


def lines_around(place: Place) -> tuple[int, list[str]]:
    """Return the lines of the program around a place, after the number of the first of them."""
    first = max(1, place.line - _CONTEXT)
    lines = [linecache.getline(place.file, number).rstrip("\n") for number in range(first, place.line + _CONTEXT + 1)]
    while lines and not lines[-1]:
        lines.pop()
    return first, lines


def documentation_of(function: Any) -> str:
    """Return the docstring of a function, or an empty string."""
    return inspect.getdoc(function) or ""


def source_of(function: Any) -> Source | None:
    """Return the source of a Python function; None for compiled and for generated functions.

    For a lambda in a call such as `mul = op("mul", lambda xp, ...)`, it is the whole statement.
    """
    function = _python_function(function)
    return None if function is None else _source(function)


def _python_function(function: Any) -> FunctionType | None:
    while not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        inner = next(
            (value for name in ("__wrapped__", "func", "__func__") if callable(value := getattr(function, name, None))), None
        )
        if inner is None:
            return None
        function = inner
    return function


@functools.cache
def _source(function: Callable[..., Any]) -> Source | None:
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    found = _statement(code.co_filename, code.co_firstlineno, code.co_name) if lines else None
    if found is None:
        return None
    first, last = found
    text = textwrap.dedent("".join(lines[first - 1 : min(last, first + _LONGEST - 1)])).rstrip()
    return Source(code.co_filename, first, text if last - first < _LONGEST else f"{text}\n...")


def _statement(filename: str, line: int, name: str) -> tuple[int, int] | None:
    """Return the first and the last line of the `def` of a function, or of the shortest statement with a lambda at `line`."""
    spans = [
        (first, last)
        for first, last, defined in _statements(filename)
        if (defined == name and first == line) or (name == "<lambda>" and first <= line <= last)
    ]
    return min(spans, key=lambda span: span[1] - span[0], default=None)


@functools.cache
def _statements(filename: str) -> list[tuple[int, int, str | None]]:
    """Return the first line, the last line and the name (of a `def`) of each statement of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:
        return []
    return list(_spans(tree))


def _spans(tree: ast.AST) -> Iterator[tuple[int, int, str | None]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield first, node.end_lineno or first, node.name
        elif isinstance(node, ast.stmt):
            yield node.lineno, node.end_lineno or node.lineno, None
