"""How generated functions declare their parameters, and the names that NumPy has for some of them.

PyTorch understands `axis` for `dim`, `keepdims` for `keepdim`, `x`, `a` and `x1` for `input`, and `x2` for
`other` wherever it has those.  So does generated code, at the price of a default: `torch.sum(x, axis=0, keepdims=True)`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["NUMPY_NAMES", "UNSET", "declarations", "named", "packed", "signature_of", "too_many", "with_numpy_names"]

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


class _Unset:
    def __repr__(self) -> str:
        return "<required>"


UNSET = _Unset()  # the default of a required parameter that may be given by another name


def missing(function: str, parameter: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{parameter}"')


def too_many(function: str, count: int) -> TypeError:
    return TypeError(f"{function}() takes {count} positional argument{'s' * (count != 1)} but more were given")


def with_numpy_names(function: str, declared: Sequence[str], seen: Sequence[str] = ()) -> tuple[str, str, str]:
    """A function's parameters with the names that NumPy has for some of them, and the lines that bring those home.

    They are declared by position, which costs a call next to nothing, behind a parameter that nobody may give.  The second lot
    of lines is for the parameters that are `seen`: that the code has looked at, so that it need not before.
    """
    names = [each.partition("=")[0] for each in declared]
    aliases = {name: [alias for alias, each in NUMPY_NAMES.items() if each == name and alias not in names] for name in names}
    added = [f"{alias}=None" for name in names for alias in aliases[name]]
    if not added:
        return ", ".join(declared), "", ""
    parts, lines, late, optional = [], [], [], False  # type: ignore[var-annotated]
    for name, text in zip(names, declared, strict=True):
        required = text == name and not text.startswith("*")
        optional = optional or (required and bool(aliases[name]))  # those that follow cannot be required, either
        parts.append(f"{name}=UNSET" if required and optional else text)
        if required and optional:
            given = f"named({function!r}, {name!r}, [{', '.join(aliases[name])}])"
            (late if name in seen else lines).append(f"    if {name} is UNSET:\n        {name} = {given}")
        else:
            lines += [f"    if {alias} is not None:\n        {name} = {alias}" for alias in aliases[name]]
    count = next((at for at, each in enumerate(parts) if each.startswith("*")), len(parts))
    if parts[count : count + 1] in ([], ["*"]):
        parts[count:count] = ["_=None", *added]
        lines.append(f"    if _ is not None:\n        raise too_many({function!r}, {count})")
    else:  # `*size` takes all that is given by position, or `**options` the rest
        parts[len(parts) - parts[-1].startswith("**") :] = [*added, *(parts[-1:] if parts[-1].startswith("**") else [])]
    return ", ".join(parts), "".join(line + "\n" for line in lines), "".join(line + "\n" for line in late)


def packed(given: Sequence[str], named: Sequence[str]) -> str:
    """The arguments of a call as a tuple and a dictionary."""
    options = ", ".join(each if each.startswith("**") else f"{each!r}: {each}" for each in named)
    return f"({''.join(f'{each}, ' for each in given)}), {{{options}}}"


def named(function: str, parameter: str, values: Sequence[Any]) -> Any:
    """A required argument that was given by one of the names that NumPy has for it."""
    for each in values:
        if each is not None:
            return each
    raise missing(function, parameter)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """How a function is declared."""
    written: Any = inspect.unwrap(function, stop=lambda each: hasattr(each, "__signature__"))
    return inspect.signature(written)


def declarations(
    function: Callable[..., Any], key: str, namespace: dict[str, Any]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """How a function's parameters are declared, how they are handed on by position and by name, and which are required.

    Defaults are left in `namespace`, under names that begin with `default_` and the key.
    """
    declared: list[str] = []
    given: list[str] = []
    named: list[str] = []
    required: list[str] = []
    for parameter in signature_of(function).parameters.values():
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


def add_out(declared: list[str]) -> None:
    """Declare `out=None`, by name alone."""
    end = len(declared) - (bool(declared) and declared[-1].startswith("**"))
    starred = any(each.startswith("*") for each in declared[:end])
    declared[end:end] = ["out=None"] if starred else ["*", "out=None"]


def handed_on(given: Sequence[str], named: Sequence[str]) -> str:
    """The arguments of a call that hands everything on."""
    return ", ".join([*given, *(each if each.startswith("**") else f"{each}={each}" for each in named)])
