"""Functions that are generated as source, and compiled at their first call."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

__all__ = ["NAMESPACE", "compiled", "lazy_function"]


def _stub(*args: Any, **kwargs: Any) -> Any:
    return materialize("INDEX", args, kwargs)  # type: ignore[arg-type]  # each copy of the code has a number in place of "INDEX"


NAMESPACE: dict[str, Any] = {"__name__": "flambeau.operations", "__builtins__": __builtins__}


_pending: list[tuple[FunctionType, Callable[[], str]]] = []


def lazy_function(name: str, write: Callable[[], str]) -> FunctionType:
    """Return a function whose source `write` generates at the first call; the function object stays the same."""
    consts = tuple(len(_pending) if const == "INDEX" else const for const in _stub.__code__.co_consts)
    code: CodeType = _stub.__code__.replace(co_consts=consts, co_name=name, co_qualname=name)
    function = FunctionType(code, NAMESPACE, name)
    function.__module__ = "flambeau"
    _pending.append((function, write))
    if name.startswith("record_"):
        NAMESPACE[name] = function
    return function


def materialize(index: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compile the source of a lazy function, replace the function's code, and call it."""
    function, write = _pending[index]
    name, text = function.__name__, write()
    scope: dict[str, Any] = {}
    exec(compiled(text, name), NAMESPACE, scope)
    (real,) = scope.values()
    function.__defaults__, function.__kwdefaults__ = real.__defaults__, real.__kwdefaults__
    function.__code__ = real.__code__
    return function(*args, **kwargs)


def compiled(text: str, name: str) -> CodeType:
    """Compile generated source so that tracebacks and debuggers show it."""
    filename = f"<flambeau.{name}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    return compile(text, filename, "exec")


NAMESPACE["materialize"] = materialize
