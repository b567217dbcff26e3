"""Schemas of operators in ATen notation: `add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.

`parse` reads a schema; `derive` builds the schema of a public function from its signature.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..devices.devices import device
from ..tensors.tensor import Tensor
from ..values import dtypes
from ..values.constants import Constant
from .facts import FACTORY_OPTIONS
from .signatures import REQUIRED
from .tables import OPS

__all__ = ["Argument", "FunctionSchema", "derive", "parse"]

_ARGUMENT = re.compile(
    r"(?P<type>\w+(?:\([a-z0-9!*| >-]+\)|!)?(?:\[\d*\])?\??(?:\[\d*\])?\??)\s*(?P<name>\w+)?\s*(?:=\s*(?P<default>.+))?$"
)
_HEAD = re.compile(
    r"(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*)$", re.S
)


class Argument(NamedTuple):
    """An argument or a result of an operator, as declared in the schema."""

    name: str
    type: str
    default: Any = inspect.Parameter.empty
    kwarg_only: bool = False
    writes: bool = False
    """Whether the operator changes the argument in place."""

    def has_default_value(self) -> bool:
        """Whether the argument is optional."""
        return self.default is not inspect.Parameter.empty

    @property
    def is_tensor(self) -> bool:
        """Whether the argument is a tensor or a list of tensors."""
        return self.type.startswith("Tensor")

    @property
    def default_value(self) -> Any:
        """The default value; None if the argument is required."""
        return self.default if self.has_default_value() else None


class FunctionSchema:
    """The parsed schema of an operator."""

    text: str
    name: str
    overload_name: str
    arguments: list[Argument]
    returns: list[Argument]

    def __init__(self, text: str, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.text, self.name, self.overload_name, self.arguments, self.returns = text, name, overload, arguments, returns

    @property
    def is_mutable(self) -> bool:
        """Whether the operator changes any of its arguments."""
        return any(argument.writes for argument in self.arguments)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, in the order of the schema.

        Raises:
            RuntimeError: an argument is missing, unknown, given twice, or of a wrong type.
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
            f"{self.name}() Expected a value of type '{_readable_type(kind)}' for argument '{argument.name}' but instead "
            f"found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value}\nDeclaration: {self}"
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
        return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")
    whole = isinstance(value, int) or hasattr(type(value), "__index__")
    tests: dict[str, Callable[[], bool]] = {
        "int": lambda: whole and not isinstance(value, bool),
        "SymInt": lambda: whole and not isinstance(value, bool),
        "float": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
        "bool": lambda: isinstance(value, bool),
        "str": lambda: isinstance(value, str),
        "Scalar": lambda: isinstance(value, (bool, int, float, complex, Tensor)),
        "ScalarType": lambda: isinstance(value, (dtypes.dtype, int)),
        "Device": lambda: isinstance(value, (device, str)),
    }
    return tests[kind]() if kind in tests else True


def _readable_type(kind: str) -> str:
    """Return the name of a schema type as in PyTorch's error messages: `Optional[int]` for `int?`."""
    if kind.endswith("?"):
        return f"Optional[{_readable_type(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_readable_type(kind[: kind.rindex('[')])}]"
    return {"SymInt": "int", "Scalar": "number", "ScalarType": "int"}.get(kind, kind)


# --- from text ----------------------------------------------------------------------------------------------------


def parse(text: str, namespace: str = "") -> FunctionSchema:
    """Parse the schema of an operator.

    Raises:
        RuntimeError: the syntax is invalid.

    >>> schema = parse("mylib::scale(Tensor x, float by=2.0) -> Tensor")
    >>> schema.arguments[1].name, schema.arguments[1].default
    ('by', 2.0)
    """
    found = _HEAD.match(text.strip())
    if found is None:
        raise RuntimeError(f"Could not parse schema {text!r}: expected 'name(Type argument, ...) -> Type'")
    arguments, only_by_name = [], False
    for part in _split_arguments(found["arguments"]):
        if part == "*":
            only_by_name = True
            continue
        arguments.append(_argument(part, text, only_by_name))
    returns_text = found["returns"].strip()
    inner = returns_text[1:-1] if returns_text.startswith("(") and returns_text.endswith(")") else returns_text
    returns = [_argument(part, text, False) for part in _split_arguments(inner)]
    name = f"{found['ns'] or namespace}::{found['name']}"
    whole = text.strip() if found["ns"] else f"{namespace}::{text.strip()}"
    return FunctionSchema(whole, name, found["overload"] or "", arguments, returns)


def _split_arguments(text: str) -> list[str]:
    """Split the argument list of a schema at commas, except inside brackets and quotes."""
    pieces = re.findall(r"(?:\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*'|[^,])+", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _argument(part: str, text: str, only_by_name: bool) -> Argument:
    found = _ARGUMENT.match(part)
    if found is None:
        raise RuntimeError(f"Could not parse {part!r} in schema {text!r}")
    writes = "!" in found["type"]  # `Tensor(a!)`, or `Tensor!`: the operator writes to it
    default = inspect.Parameter.empty if found["default"] is None else _value(found["default"].strip())
    kind = re.sub(r"\([^)]*\)|!", "", found["type"])
    return Argument(found["name"] or "", kind, default, only_by_name, writes)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return getattr(dtypes, text, text)  # a dtype, or the name of a constant such as `Mean`


# --- from a signature ---------------------------------------------------------------------------------------------

_TYPES = {
    "Tensor": "Tensor", "Tensor | Number": "Tensor", "Sequence[Tensor]": "Tensor[]", "Sequence[Tensor | None]": "Tensor?[]",
    "Number": "Scalar", "Dims": "int[1]", "Dims | bool": "int[1]", "Sequence[int]": "int[]", "Dtype": "ScalarType",
    "dtype": "ScalarType", "dtypes.dtype": "ScalarType", "torch.dtype": "ScalarType", "Generator": "Generator", "bool": "bool",
    "int": "int", "float": "float", "str": "str", "complex": "complex",
}  # fmt: skip
_TYPES_BY_NAME = {
    "device": "Device", "dtype": "ScalarType", "generator": "Generator", "layout": "Layout", "memory_format": "MemoryFormat",
    "size": "int[]", "sizes": "int[]", "shape": "int[]", "dims": "int[]", "repeats": "int[]", "stride": "int[]",
}  # fmt: skip
_WINDOWS = ("kernel_size", "stride", "padding", "dilation", "output_padding", "output_size")  # `int[2]` for 2-d images
_NOT_IN_SCHEMAS = frozenset({"out", "inplace", "requires_grad", "legacy", "rest", "pin_memory"})


def derive(name: str, function: Callable[..., Any], namespace: str = "aten") -> FunctionSchema:
    """Derive the schema of an operation from the signature of its public function.

    Raises:
        TypeError: a parameter's default has no ATen notation.
        ValueError: the function has no signature.

    >>> print(derive("softshrink", torch.nn.functional.softshrink))
    aten::softshrink(Tensor self, float lambd=0.5) -> Tensor
    """
    record = OPS.get(name) or OPS.get(inspect.unwrap(function).__name__)
    signature = inspect.signature(function)
    positional: list[str] = []
    keywords: list[str] = []
    is_factory = {"layout", "pin_memory"} <= signature.parameters.keys()
    for parameter in signature.parameters.values():
        if parameter.name in _NOT_IN_SCHEMAS or parameter.name.startswith("_") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if is_factory and parameter.name in ("dtype", "layout", "device", "generator"):
            continue
        if is_factory and parameter.name == "memory_format" and not name.endswith("_like"):
            continue
        kind = _derived_type(parameter, record)
        if parameter.name in _WINDOWS and name[-2:] in ("1d", "2d", "3d"):
            kind = f"int[{name[-2]}]"
        is_self = not positional and parameter.name == "input" and (kind == "Tensor" or hasattr(Tensor, name))
        shown = "self" if is_self else parameter.name
        required = parameter.default is parameter.empty or parameter.default is REQUIRED
        default = "" if required else f"={_spelled_default(parameter.default, kind)}"
        by_name = parameter.kind is parameter.KEYWORD_ONLY or parameter.name == "generator"
        (keywords if by_name else positional).append(f"{kind} {shown}{default}")
    if is_factory:
        keywords.insert(0, FACTORY_OPTIONS)
    parts = [*positional, *(["*", *keywords] if keywords else [])]
    return parse(f"{name}({', '.join(parts)}) -> {_derived_return(signature, record)}", namespace)


def _derived_type(parameter: inspect.Parameter, record: Any) -> str:
    written = parameter.annotation if isinstance(parameter.annotation, str) else ""
    if record is not None and (parameter.name in record.tensor_names or parameter.name == "tensors"):
        kind = "Tensor[]" if record.variadic else "Tensor"
    else:
        kind = _TYPES.get(written.removesuffix(" | None"), "")
        kind = kind or _TYPES_BY_NAME.get(parameter.name) or _TYPES.get(type(parameter.default).__name__, "Any")
    if parameter.kind is parameter.VAR_POSITIONAL and not kind.endswith("[]"):
        kind += "[]"
    return kind + "?" * (parameter.default is None or written.endswith(" | None"))


def _spelled_default(value: Any, kind: str) -> str:
    if kind.endswith("]"):
        value = [] if value is None else value
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(str, value))}]"
    if value is not None and not isinstance(value, (int, float, complex, dtypes.dtype, Constant)):
        raise TypeError(f"a default of type {type(value).__name__} has no ATen notation")
    return str(value).removeprefix("torch.")


def _derived_return(signature: inspect.Signature, record: Any) -> str:
    if record is not None:
        if record.returns_list:
            return "Tensor[]"
        return f"({', '.join(f'Tensor {each}' for each in record.results)})" if record.results else "Tensor"
    written = signature.return_annotation
    if written in ("tuple[Tensor, ...]", "list[Tensor]"):
        return "Tensor[]"
    if isinstance(written, str) and re.fullmatch(r"tuple\[Tensor(, Tensor)*\]", written):
        return f"({written[6:-1]})"
    return {"None": "()"}.get(written, _TYPES.get(written, "Tensor" if written is signature.empty else "Any"))
