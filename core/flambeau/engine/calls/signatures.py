"""How generated functions declare their parameters, and the names that NumPy has for some of them.

PyTorch understands `axis` for `dim`, `keepdims` for `keepdim`, `x`, `a` and `x1` for `input`, and `x2` for `other` wherever it
has those, as in `torch.sum(x, axis=0, keepdims=True)`.  So does generated code, by further parameters with defaults.
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
    """A function's parameters together with NumPy's names for some of them, and the lines that resolve those names.

    NumPy's names are declared as positional parameters, which costs a call next to nothing, after a parameter `_` that must not
    be passed.  Returns the declaration, the lines for the start of the function, and lines for after its fast path.  The latter
    are for the parameters in `seen`: the fast path tests their types anyway, and so is not taken where they are missing.
    """
    names = [text.partition("=")[0] for text in declared]
    aliases = {name: [alias for alias, meant in NUMPY_NAMES.items() if meant == name and alias not in names] for name in names}
    added = [f"{alias}=None" for name in names for alias in aliases[name]]
    if not added:
        return ", ".join(declared), "", ""
    parts, lines, late, optional = [], [], [], False  # type: ignore[var-annotated]
    for name, text in zip(names, declared, strict=True):
        required = text == name and not text.startswith("*")
        optional = optional or (required and bool(aliases[name]))  # a parameter after one with a default needs a default, too
        parts.append(f"{name}=UNSET" if required and optional else text)
        if required and optional:
            resolved = f"named({function!r}, {name!r}, [{', '.join(aliases[name])}])"
            (late if name in seen else lines).append(f"    if {name} is UNSET:\n        {name} = {resolved}")
        else:
            lines += [f"    if {alias} is not None:\n        {name} = {alias}" for alias in aliases[name]]
    count = next((i for i, part in enumerate(parts) if part.startswith("*")), len(parts))
    if parts[count : count + 1] in ([], ["*"]):
        parts[count:count] = ["_=None", *added]
        lines.append(f"    if _ is not None:\n        raise too_many({function!r}, {count})")
    else:  # after `*size`, and before `**options`
        parts[len(parts) - parts[-1].startswith("**") :] = [*added, *(parts[-1:] if parts[-1].startswith("**") else [])]
    return ", ".join(parts), "".join(line + "\n" for line in lines), "".join(line + "\n" for line in late)


def packed(positional: Sequence[str], keywords: Sequence[str]) -> str:
    """The source of a call's arguments as a tuple and a dictionary."""
    options = ", ".join(name if name.startswith("**") else f"{name!r}: {name}" for name in keywords)
    return f"({''.join(f'{name}, ' for name in positional)}), {{{options}}}"


def named(function: str, parameter: str, values: Sequence[Any]) -> Any:
    """A required argument that was given by one of the names that NumPy has for it."""
    for value in values:
        if value is not None:
            return value
    raise missing(function, parameter)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, without the wrappers around it."""
    innermost: Any = inspect.unwrap(function, stop=lambda wrapper: hasattr(wrapper, "__signature__"))
    return inspect.signature(innermost)


def declarations(
    function: Callable[..., Any], key: str, namespace: dict[str, Any]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """The declarations of a function's parameters, the names passed on by position and by keyword, and the required ones.

    Defaults are stored in `namespace`, under names that begin with `default_` and the key.
    """
    declared: list[str] = []
    positional: list[str] = []
    keywords: list[str] = []
    required: list[str] = []
    for parameter in signature_of(function).parameters.values():
        name = parameter.name
        text = name
        if parameter.default is not parameter.empty:
            namespace[f"default_{key}_{name}"] = parameter.default
            text = f"{name}=default_{key}_{name}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared.append(f"*{name}")
            positional.append(f"*{name}")
        elif parameter.kind is parameter.VAR_KEYWORD:
            declared.append(f"**{name}")
            keywords.append(f"**{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not any(text.startswith("*") for text in declared):
                declared.append("*")
            declared.append(text)
            keywords.append(name)
        else:
            declared.append(text)
            positional.append(name)
            required += [name] if text == name else []
    return declared, positional, keywords, required


def add_out(declared: list[str]) -> None:
    """Declare `out=None`, as a keyword-only parameter."""
    end = len(declared) - (bool(declared) and declared[-1].startswith("**"))
    has_star = any(text.startswith("*") for text in declared[:end])
    declared[end:end] = ["out=None"] if has_star else ["*", "out=None"]


def handed_on(positional: Sequence[str], keywords: Sequence[str]) -> str:
    """The source of the arguments of a call that passes all parameters on."""
    return ", ".join([*positional, *(name if name.startswith("**") else f"{name}={name}" for name in keywords)])
