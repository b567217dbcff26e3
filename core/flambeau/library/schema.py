"""`torch.library.infer_schema`: derive an operator schema from the annotations of a Python function."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import flambeau as torch

from ..engine.calls.schema import Argument, FunctionSchema, parse

__all__ = ["Argument", "FunctionSchema", "infer_schema", "parse"]

_TYPES: dict[Any, str] = {
    torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", torch.dtype: "ScalarType",
    torch.device: "Device",
}  # fmt: skip


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None, tags: Any = ()
) -> str:
    """Return the operator schema for the annotations of a Python function, as in `"(Tensor x) -> Tensor"`.

    Args:
        prototype_function: the function.  Supported annotations are tensors, numbers, strings, dtypes and devices; optional
            values and lists of these; and tuples of results.
        mutates_args: the names of the arguments that the function changes in place, or `"unknown"`.
        op_name: the operator's name; if given, the schema begins with it.
        tags: ignored.

    Raises:
        ValueError: an annotation is missing or of a type that schemas do not support.

    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except NameError as error:
        what = f"cannot evaluate an annotation: {error}."
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})") from None

    def refuse(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts, starred, written = [], False, mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        if name not in hints:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _schema_type(hints[name])
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {hints[name]}. The valid types are: {[*_TYPES.values()]}.")
        if kind.startswith("Tensor") and (written == "unknown" or name in written):
            kind = kind.replace("Tensor", f"Tensor(a{position}!)", 1)
        elif written != "unknown" and name in written:
            refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        default = "" if parameter.default is parameter.empty else f"={_default_text(parameter.default, refuse)}"
        parts.append(f"{kind} {name}{default}")
    if written != "unknown" and (unknown := set(written) - signature.parameters.keys()):
        refuse(f"{unknown} in mutates_args were not found in the custom op's signature.")
    if "return" not in hints:
        refuse("No return type annotation was provided. Please add one.")
    returns = _schema_return(hints["return"])
    if returns is None:
        refuse(f"Return has unsupported type {hints['return']}. The valid types are: {[*_TYPES.values()]}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _default_text(value: Any, refuse: Callable[[str], typing.NoReturn]) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.device):
        return f'"{value}"'
    return refuse(f"Parameter has an unsupported default value type {type(value)}.")


def _schema_type(hint: Any) -> str | None:
    """Return the schema's name for an annotated type; None if schemas do not support the type."""
    if hint in _TYPES:
        return _TYPES[hint]
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        without = [each for each in inside if each is not type(None)]
        if set(without) in ({int, float, bool}, {int, float}):
            found: str | None = "Scalar"
        else:
            found = _schema_type(without[0]) if len(without) == 1 else None
        return None if found is None else found + "?" * (len(without) < len(inside))
    if origin in (list, collections.abc.Sequence) and len(inside) == 1:
        item = _schema_type(inside[0])
        return None if item is None else f"{item}[]"
    return None


def _schema_return(hint: Any) -> str | None:
    if hint is None or hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        kinds = [_schema_type(each) for each in typing.get_args(hint)]
        return None if None in kinds else f"({', '.join(map(str, kinds))})"
    return _schema_type(hint)
