"""How operators are declared: `ns::name(Tensor x, int k=2, *, float? scale=None) -> Tensor`."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import flambeau as torch

__all__ = ["Argument", "FunctionSchema", "infer_schema", "parse"]

_ARGUMENT = re.compile(
    r"(?P<type>\w+(?:\([a-z0-9!*| >-]+\)|!)?(?:\[\d*\])?\??(?:\[\d*\])?\??)\s*(?P<name>\w+)?\s*(?:=\s*(?P<default>.+))?$"
)
_HEAD = re.compile(
    r"(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*)$", re.S
)


class Argument(NamedTuple):
    """One argument of an operator, or one of its results."""

    name: str
    type: str
    default: Any = inspect.Parameter.empty
    kwarg_only: bool = False
    writes: bool = False
    """Whether the operator changes it in place."""

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default is not inspect.Parameter.empty

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or several."""
        return self.type.startswith("Tensor")

    @property
    def default_value(self) -> Any:
        """What it is when it is left out; None where it may not be."""
        return self.default if self.has_default_value() else None


class FunctionSchema:
    """The declaration of an operator, taken apart."""

    text: str
    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]

    def __init__(self, text: str, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.text, self.name, self.overload_name, self.arguments, self.returns = text, name, overload, arguments, returns

    @property
    def is_mutable(self) -> bool:
        """Whether it changes any of its arguments."""
        return any(argument.writes for argument in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, in the order of the declaration.

        Raises:
            RuntimeError: one is missing, unknown, given twice, or not of its type.
        """
        positional = [argument for argument in self.arguments if not argument.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). "
                f"Declaration: {self}"
            )
        given = {argument.name: value for argument, value in zip(positional, args, strict=False)}
        known = {argument.name for argument in self.arguments}
        for name in kwargs:
            if name not in known:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            if name in given:
                raise RuntimeError(f"{self.name}() got multiple values for argument '{name}'. Declaration: {self}")
        given.update(kwargs)
        bound = {}
        for position, argument in enumerate(self.arguments):
            if argument.name not in given:
                if not argument.has_default_value():
                    raise RuntimeError(f"{self.name}() is missing value for argument '{argument.name}'. Declaration: {self}")
                bound[argument.name] = argument.default
                continue
            bound[argument.name] = value = given[argument.name]
            self._check(argument, value, position)
        return bound

    def _check(self, argument: Argument, value: Any, position: int) -> None:
        kind = argument.type
        if (value is None and kind.endswith("?")) or _fits(kind.removesuffix("?"), value):
            return
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{_spoken(kind)}' for argument '{argument.name}' but instead found type "
            f"'{type(value).__name__}'.\nPosition: {position}\nValue: {value}\nDeclaration: {self}"
        )

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def _fits(kind: str, value: Any) -> bool:
    if kind.endswith("]"):
        item = kind[: kind.rindex("[")]
        several = isinstance(value, (list, tuple)) and all(_fits(item.removesuffix("?"), each) or each is None for each in value)
        return several or (item in ("int", "SymInt", "float") and kind[-2] != "[" and _fits(item, value))
    if kind == "Tensor":
        return isinstance(value, torch.Tensor) or hasattr(type(value), "__torch_function__")
    whole = isinstance(value, int) or hasattr(type(value), "__index__")
    tests: dict[str, Callable[[], bool]] = {
        "int": lambda: whole and not isinstance(value, bool),
        "SymInt": lambda: whole and not isinstance(value, bool),
        "float": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
        "bool": lambda: isinstance(value, bool),
        "str": lambda: isinstance(value, str),
        "Scalar": lambda: isinstance(value, (bool, int, float, complex, torch.Tensor)),
        "ScalarType": lambda: isinstance(value, (torch.dtype, int)),
        "Device": lambda: isinstance(value, (torch.device, str)),
    }
    return tests[kind]() if kind in tests else True


def _spoken(kind: str) -> str:
    """A type as messages call it."""
    if kind.endswith("?"):
        return f"Optional[{_spoken(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_spoken(kind[: kind.rindex('[')])}]"
    return {"SymInt": "int", "Scalar": "number", "ScalarType": "int"}.get(kind, kind)


# --- from text ----------------------------------------------------------------------------------------------------


def parse(text: str, namespace: str = "") -> FunctionSchema:
    """A declaration, taken apart.

    Raises:
        RuntimeError: it cannot be read.

    >>> schema = parse("mylib::scale(Tensor x, float by=2.0) -> Tensor")
    >>> schema.arguments[1].name, schema.arguments[1].default
    ('by', 2.0)
    """
    found = _HEAD.match(text.strip())
    if found is None:
        raise RuntimeError(f"Could not parse schema {text!r}: expected 'name(Type argument, ...) -> Type'")
    arguments, only_by_name = [], False
    for part in _parts(found["arguments"]):
        if part == "*":
            only_by_name = True
            continue
        arguments.append(_argument(part, text, only_by_name))
    spelled = found["returns"].strip()
    inner = spelled[1:-1] if spelled.startswith("(") and spelled.endswith(")") else spelled
    returns = [_argument(part, text, False) for part in _parts(inner)]
    name = f"{found['ns'] or namespace}::{found['name']}"
    whole = text.strip() if found["ns"] else f"{namespace}::{text.strip()}"
    return FunctionSchema(whole, name, found["overload"] or "", arguments, returns)


def _parts(text: str) -> list[str]:
    """What stands between commas, but for those in brackets and quotes."""
    pieces = re.findall(r"(?:\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*'|[^,])+", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _argument(part: str, text: str, only_by_name: bool) -> Argument:
    found = _ARGUMENT.match(part)
    if found is None:
        raise RuntimeError(f"Could not parse {part!r} in schema {text!r}")
    writes = "!" in found["type"]  # `Tensor(a!)`, or `Tensor!` for memory that nothing else shares
    default = inspect.Parameter.empty if found["default"] is None else _value(found["default"].strip())
    kind = re.sub(r"\([^)]*\)|!", "", found["type"])
    return Argument(found["name"] or "", kind, default, only_by_name, writes)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return getattr(torch, text, text)  # the name of a dtype or a constant


# --- from a Python function ---------------------------------------------------------------------------------------

_TYPES: dict[Any, str] = {
    torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", torch.dtype: "ScalarType",
    torch.device: "Device",
}  # fmt: skip


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None, tags: Any = ()
) -> str:
    """The declaration of an operator that takes what a Python function's annotations say.

    Args:
        prototype_function: the function, whose parameters and results are annotated with tensors, numbers, strings, dtypes and
            devices, None or several of them.
        mutates_args: the names of those arguments that it changes, or `"unknown"`.
        op_name: a name to begin with.
        tags: ignored.

    Raises:
        ValueError: a parameter is not annotated, or with a type that operators do not have.

    >>> import flambeau as torch
    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except NameError as error:
        what = f"an annotation cannot be read: {error}."
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
        default = "" if parameter.default is parameter.empty else f"={_spelled(parameter.default, refuse)}"
        parts.append(f"{kind} {name}{default}")
    if written != "unknown" and (unknown := set(written) - signature.parameters.keys()):
        refuse(f"{unknown} in mutates_args were not found in the custom op's signature.")
    if "return" not in hints:
        refuse("No return type annotation was provided. Please add one.")
    returns = _schema_return(hints["return"])
    if returns is None:
        refuse(f"Return has unsupported type {hints['return']}. The valid types are: {[*_TYPES.values()]}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _spelled(value: Any, refuse: Callable[[str], typing.NoReturn]) -> str:
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
    """What declarations call an annotated type; None where they have no word for it."""
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
