"""How generated functions declare their parameters, and the names that NumPy has for two of them.

PyTorch understands ``axis`` for ``dim`` and ``keepdims`` for ``keepdim`` wherever it has those.  So does generated code, at the
price of a default: ``torch.sum(x, axis=0, keepdims=True)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["UNSET", "blaming_arguments", "declarations", "missing", "with_numpy_names"]

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


class _Unset:
    def __repr__(self) -> str:
        return "<required>"


UNSET = _Unset()  # the default of a required parameter that may be given by another name


def missing(function: str, parameter: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{parameter}"')


def with_numpy_names(function: str, declared: Sequence[str]) -> tuple[str, str]:
    """A function's parameters with NumPy's names for ``dim`` and ``keepdim``, and the lines that bring them home."""
    parts, lines = list(declared), []
    names = [each.partition("=")[0] for each in parts]
    added = [alias for alias, name in NUMPY_NAMES.items() if name in names and alias not in names]
    for alias in added:
        lines += [f"    if {alias} is not None:", f"        {NUMPY_NAMES[alias]} = {alias}"]
    if "axis" in added:
        for position in range(names.index("dim"), len(parts)):
            if "=" in parts[position] or parts[position].startswith("*"):
                break
            parts[position] = f"{names[position]}=UNSET"
            lines += [f"    if {names[position]} is UNSET:", f"        raise missing({function!r}, {names[position]!r})"]
    if added:
        end = len(parts) - (parts[-1].startswith("**"))
        starred = any(each.startswith("*") for each in parts[:end])
        parts[end:end] = [*([] if starred else ["*"]), *(f"{alias}=None" for alias in added)]
    return ", ".join(parts), "".join(line + "\n" for line in lines)


def declarations(
    function: Callable[..., Any], key: str, namespace: dict[str, Any]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """How a function's parameters are declared, how they are handed on by position and by name, and which are required.

    Defaults are left in ``namespace``, under names that begin with ``default_`` and the key.
    """
    declared: list[str] = []
    given: list[str] = []
    named: list[str] = []
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        text = name
        if parameter.default is not parameter.empty:
            namespace[f"default_{key}_{name}"] = parameter.default
            text = f"{name}=default_{key}_{name}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared.append(f"*{name}")
            given.append(f"*{name}")
        elif parameter.kind is parameter.VAR_KEYWORD:
            declared.append(f"**{name}")
            named.append(f"**{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not any(each.startswith("*") for each in declared):
                declared.append("*")
            declared.append(text)
            named.append(name)
        else:
            declared.append(text)
            given.append(name)
            required += [name] if text == name else []
    return declared, given, named, required


def blaming_arguments(function: Callable[..., Any], required: Sequence[str], body: str) -> str:
    """The body of a generated function, with a TypeError in place of its own where an argument had to be a tensor and is none."""
    tensors = [each for each in required if function.__annotations__.get(each) in ("Tensor", "torch.Tensor")]
    if not tensors:
        return body
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    given = ", ".join(f"{each}={each}" for each in tensors)
    return f"    try:\n{indented}    except Exception:\n        require_tensors({function.__name__!r}, {given})\n        raise\n"


def add_out(declared: list[str]) -> None:
    """Declare ``out=None``, by name alone."""
    end = len(declared) - (bool(declared) and declared[-1].startswith("**"))
    starred = any(each.startswith("*") for each in declared[:end])
    declared[end:end] = ["out=None"] if starred else ["*", "out=None"]


def handed_on(given: Sequence[str], named: Sequence[str]) -> str:
    """The arguments of a call that hands everything on."""
    return ", ".join([*given, *(each if each.startswith("**") else f"{each}={each}" for each in named)])
