"""Writes the stub files that tell editors and type checkers about generated names.

    python -m flambeau.stubs            writes them
    python -m flambeau.stubs --check    exits with 1 where they are out of date

``_members.pyi`` declares what the operations attach to ``Tensor``; ``_functions.pyi`` the functions of the namespace.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _tensor, op
from .tensor_types import TENSOR_TYPES

__all__ = ["functions", "main", "members"]

_HEADER = '"""Written by ``python -m flambeau.stubs``."""\n\nfrom typing import Any\n\n'
_SIMPLE = {"int", "float", "bool", "str", "int | None", "bool | None", "float | None", "str | None"}
_RETURNS = {"bool", "int", "str", "float", "None", "Tensor"}


def _annotation(given: Any) -> str:
    text = given if isinstance(given, str) else getattr(given, "__name__", "Any")
    return text if text in _SIMPLE else "Any"


def _parameter(each: inspect.Parameter) -> str:
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(each.kind, "")
    default = "" if each.default is inspect.Parameter.empty else " = ..."
    return f"{star}{each.name}: {_annotation(each.annotation)}{default}"


def _declaration(name: str, function: Callable[..., Any], method: bool) -> str:
    """One line of a stub file."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    parts = ["self"] if method else []
    parts += _listed(parameters[1:] if method else parameters)
    returns = signature.return_annotation
    result = returns if returns in _RETURNS else "Tensor" if returns is inspect.Signature.empty else "Any"
    return f"def {name}({', '.join(parts)}) -> {result}: ..."


def _listed(parameters: list[inspect.Parameter]) -> list[str]:
    parts, starred = [], False
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or each.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
        if not keyword.iskeyword(each.name):
            parts.append(_parameter(each))
    return parts


def _attached() -> dict[str, Any]:
    """What is on Tensor without being written in its class body."""
    source = inspect.getsource(_tensor)
    found = {}
    for name, value in sorted(vars(_tensor.Tensor).items()):
        written = f"def {name}(" in source or f"    {name}:" in source or f"    {name} =" in source
        if not written and (callable(value) or isinstance(value, property)):
            found[name] = value
    return found


def members() -> str:
    """The text of ``_members.pyi``."""
    lines = [_HEADER + "from ._tensor import Tensor\n", "class Members:"]
    for name, value in _attached().items():
        if isinstance(value, property):
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        elif not keyword.iskeyword(name):
            lines.append("    " + _declaration(name, value, method=True))
    return "\n".join(lines) + "\n"


def functions() -> str:
    """The text of ``_functions.pyi``."""
    lines = [_HEADER + "from ._tensor import Tensor\n"]
    lines += [_declaration(name, op.PUBLIC[name], method=False) for name in sorted(op.PUBLIC) if not keyword.iskeyword(name)]
    lines += [f"class {name}(Tensor): ..." for name in TENSOR_TYPES["cpu"]]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the files, or check them; returns the exit status."""
    folder, stale = Path(__file__).parent, []
    for name, text in (("_members.pyi", members()), ("_functions.pyi", functions())):
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
