"""Parameter declarations and docstrings of generated functions, and NumPy's alternative parameter names.

PyTorch accepts `axis` for `dim`, `keepdims` for `keepdim`, `x`, `a` and `x1` for `input`, and `x2` for `other`, as in
`torch.sum(x, axis=0, keepdims=True)`.  Generated functions collect such names in `**numpy_names`.  If it is not empty, the fast
path is skipped, and `call_with_torch_names` calls the function again with PyTorch's names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "NUMPY_NAMES", "REQUIRED", "add_args", "add_out", "args_section", "call_with_torch_names", "declarations", "inplace_doc",
    "missing", "packed", "passed_on", "signature_of", "with_args", "with_numpy_names",
]  # fmt: skip

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()  # the default of a required parameter that may be passed by a NumPy name


def missing(function: str, parameter: str) -> TypeError:
    return TypeError(f'{function}() missing 1 required positional arguments: "{parameter}"')


class NumpyNames(NamedTuple):
    """The parts of a generated function that accept NumPy's names for its parameters."""

    declared: list[str]
    """The declarations of the function's parameters."""
    required: list[str]
    """The required parameters, now declared with the default `REQUIRED`."""
    catches_all: bool
    """Whether `**numpy_names` was added to the declarations; the fast path then requires that it is empty."""
    lines: list[str]
    """Source lines for the slow path, which call the function again with PyTorch's names."""


def with_numpy_names(declared: Sequence[str], function: str, name: str) -> NumpyNames | None:
    """Return the generated parts that make a function accept NumPy's parameter names; None if its parameters have none.

    `function` is the source code of an expression for the function itself, and `name` is its name in error messages.
    """
    names = [text.lstrip("*").partition("=")[0] for text in declared]
    renamed = {meant for alias, meant in NUMPY_NAMES.items() if alias not in names}
    if renamed.isdisjoint(names):
        return None
    parts: list[str] = []
    required: list[str] = []
    positional: list[str] = []
    keywords: list[str] = []
    options = "numpy_names"
    for parameter, text in zip(names, declared, strict=True):
        if text.startswith("**"):
            options = parameter
        elif text != "*":
            (keywords if any(part.startswith("*") for part in parts) else positional).append(text.partition("=")[0])
        is_required = text == parameter and (parameter in renamed or bool(required))  # all parameters after a default need one
        required += [parameter] if is_required else []
        parts.append(f"{parameter}=REQUIRED" if is_required else text)
    catches_all = options not in names
    parts += ["**numpy_names"] if catches_all else []
    conditions = [options] * catches_all + [f"{parameter} is REQUIRED" for parameter in required]
    given = f"{_names(positional)}, {packed(positional, keywords)}, {options}"
    lines = [f"if {' or '.join(conditions)}:", f"    return call_with_torch_names({name!r}, {function}, {given})"]
    return NumpyNames(parts, required, catches_all, lines)


def _names(positional: Sequence[str]) -> str:
    """Return the source code of a tuple of the positional parameters' names, without `*args`."""
    return "(" + "".join(f"{name!r}, " for name in positional if not name.startswith("*")) + ")"


def call_with_torch_names(
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[str],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    numpy_names: Mapping[str, Any],
) -> Any:
    """Call a function with the arguments in `numpy_names` renamed to PyTorch's parameters.

    Raises:
        TypeError: a required argument is missing, or a name in `numpy_names` matches no parameter.
    """
    positional = dict(zip(parameters, args, strict=False))
    keywords = dict(keywords)
    unknown = {}
    for alias, value in numpy_names.items():
        parameter = NUMPY_NAMES.get(alias)
        given = positional if parameter in positional else keywords
        if parameter not in given:
            unknown[alias] = value
        elif value is not None:
            given[parameter] = value
    for parameter, value in positional.items():
        if value is REQUIRED:
            raise missing(name, parameter)
    if len(unknown) == len(numpy_names):
        raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(unknown))!r}")
    return function(*positional.values(), *args[len(positional) :], **keywords, **unknown)


def packed(positional: Sequence[str], keywords: Sequence[str]) -> str:
    """Return the source code of a call's arguments, as a tuple and a dictionary."""
    options = ", ".join(name if name.startswith("**") else f"{name!r}: {name}" for name in keywords)
    return f"({''.join(f'{name}, ' for name in positional)}), {{{options}}}"


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of the function that is wrapped, inside all its decorators."""
    innermost: Any = inspect.unwrap(function, stop=lambda wrapper: hasattr(wrapper, "__signature__"))
    return inspect.signature(innermost)


def declarations(
    function: Callable[..., Any], key: str, namespace: dict[str, Any]
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return four lists: parameter declarations, names to pass on by position, names to pass on by keyword, and required names.

    Defaults are stored in `namespace`, under the names `default_<key>_<parameter>`.
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


def passed_on(positional: Sequence[str], keywords: Sequence[str]) -> str:
    """Return the source code of the arguments of a call that passes on all parameters of the caller."""
    return ", ".join([*positional, *(name if name.startswith("**") else f"{name}={name}" for name in keywords)])


# --- docstrings ---------------------------------------------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])
_LATER_SECTIONS = ("\n\nReturns:", "\n\nRaises:", "\n\nShape:", "\n\nExample:", "\n\n>>> ")


def args_section(doc: str | None) -> str:
    """Return the lines of the `Args:` section of a docstring, without the heading; "" if it has none."""
    return inspect.cleandoc(doc or "").partition("\n\nArgs:\n")[2].partition("\n\n")[0]


def add_args(doc: str | None, args: str) -> str:
    """Return a docstring with `args`, one or more indented lines, added to the end of its `Args:` section."""
    doc = inspect.cleandoc(doc or "")
    if section := args_section(doc):
        return doc.replace(section, f"{section}\n{args}", 1)
    end = min((doc.find(start) for start in _LATER_SECTIONS if start in doc), default=len(doc))
    return f"{doc[:end]}\n\nArgs:\n{args}{doc[end:]}"


def inplace_doc(name: str, doc: str | None, remark: str = "") -> str:
    """Return the docstring of the in-place form of a function, with the arguments that it shares with the function.

    The summary ends with `remark`.
    """
    entries = re.split(r"\n(?=    \S)", args_section(doc))
    args = "\n".join(entry for entry in entries if not entry.startswith(("    input:", "    out:")))
    summary = f"In-place form of `{name}`{remark}."
    return add_args(summary, args) if args else summary


def with_args(args: str) -> Callable[[F], F]:
    """Return a decorator that adds descriptions of arguments, which several functions share, to the docstring of a function."""

    def describe(function: F) -> F:
        function.__doc__ = add_args(function.__doc__, args)
        return function

    return describe
