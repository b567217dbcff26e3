"""Checks of arguments against the annotations of a function's parameters, or against the types of their defaults.

Generated code first compares the types of flags and numbers with `bool`, `int` and so on, at almost no cost.  Arguments of other
types, and all arguments of a call that has failed, are checked here by PyTorch's rules: a flag is True or False, an integer may
also be a scalar of another library or a 0-d tensor, and a number may have any numeric type.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..tensors.tensor import Tensor
from ..values import dtypes
from .signatures import REQUIRED, missing, signature_of

__all__ = [
    "Dims",
    "Number",
    "all_arguments",
    "as_float",
    "as_int",
    "as_number",
    "as_python",
    "check",
    "check_source",
    "direct_conditions",
    "exact_type_conditions",
    "number_lines",
    "types_of",
]

Dims: TypeAlias = Any  # one dimension, or a sequence of dimensions
Number: TypeAlias = Any  # a Python number, another library's scalar, or a 0-d tensor


def _is_number_tensor(value: Any) -> bool:
    """Whether the value is a 0-d tensor that does not require a gradient, which is accepted as a number."""
    return isinstance(value, Tensor) and not value.ndim and not value.requires_grad


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.ndim and value.dtype.category == dtypes.INTEGER
    return hasattr(value, "__index__") and type(value) is not bool and not getattr(value, "shape", ())


def _is_index_tensor(name: str, value: Any) -> bool:
    """Whether the parameter is an index or a length, and the value a one-element integer tensor, which PyTorch then accepts."""
    return (
        name in _INDEX_PARAMETERS and isinstance(value, Tensor) and value.numel() == 1 and value.dtype.category == dtypes.INTEGER
    )


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (bool, int, float, complex))
        or _is_number_tensor(value)
        or (not isinstance(value, Tensor) and getattr(value, "shape", None) == () and hasattr(value, "item"))
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _are_integers(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(map(_is_integer, value))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtypes.dtype) or value in (bool, int, float, complex)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def _any_of(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def _is_instance_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {  # annotation: (the type's name in messages, the test)
    "Tensor": ("Tensor", _is_tensor),
    "torch.Tensor": ("Tensor", _is_tensor),
    "Tensor | Number": ("Tensor", _any_of(_is_tensor, _is_number)),
    "Sequence[Tensor]": ("tuple of Tensors", _is_sequence),
    "Sequence[Tensor | Sequence[Tensor]]": ("tuple of Tensors", _is_sequence),
    "bool": ("bool", _is_instance_of(bool)),
    "int": ("int", _is_integer),
    "int | Tensor": ("int", _any_of(_is_integer, _is_tensor)),
    "Sequence[int]": ("tuple of ints", _are_integers),
    "Dims": ("tuple of ints", _any_of(_is_integer, _are_integers)),
    "Dims | bool": ("tuple of ints", _any_of(_is_integer, _are_integers, _is_instance_of(bool))),
    "float": ("float", _is_number),
    "Number": ("Number", _is_number),
    "Number | str": ("Number", _any_of(_is_number, _is_instance_of(str))),
    "str": ("str", _is_instance_of(str)),
    "Dtype": ("torch.dtype", _is_dtype),
    "dtypes.dtype": ("torch.dtype", _is_dtype),
}
_EXACT_TYPES = {  # annotation: a condition in generated code; if it is true, the argument needs no further check
    "bool": "type({0}) is bool",
    "int": "type({0}) is int",
    "int | Tensor": "type({0}) is int",
    "Dims": "type({0}) is not bool and {0} is not None",
    "Sequence[int]": "type({0}) is not int",
    "float": "type({0}) in NUMBERS",
    "Number": "type({0}) in NUMBERS",
    "Number | str": "(type({0}) in NUMBERS or type({0}) is str)",
    "Sequence[Tensor]": "type({0}) is not Tensor",
}
NUMBERS: set[type] = {bool, int, float, complex}
_NUMBERS = ("int", "float", "Number", "Number | str")  # annotations that accept a 0-d tensor
_INDEX_PARAMETERS = {
    "end",
    "groups",
    "ignore_index",
    "index",
    "k",
    "length",
    "minlength",
    "num_samples",
    "output_size",
    "start",
    "storage_offset",
}
_MAY_BE_TENSORS = ("Tensor", "torch.Tensor", "Tensor | Number")
# The annotations that are checked for functions of all packages. The others are checked for functions of the core only.
_CHECKED_EVERYWHERE = ("Tensor", "torch.Tensor", "Sequence[int]")


@functools.cache
def types_of(function: Callable[..., Any]) -> dict[str, str]:
    """Return the annotations of the parameters whose types are checked, by parameter name.

    An annotation that ends in ` | None` also accepts None.  For functions outside of flambeau's core, only tensors and sequences
    of ints are checked here: the operations that they call check the rest.
    """
    annotations = {}
    for name, parameter in signature_of(function).parameters.items():
        annotation = parameter.annotation
        if annotation is parameter.empty:
            annotation = type(parameter.default).__name__
        if parameter.kind is parameter.VAR_POSITIONAL:
            annotation = f"Sequence[{annotation}]"
        if isinstance(annotation, str) and annotation.removesuffix(" | None") in _TYPES:
            annotations[name] = annotation
    if function.__module__.startswith("flambeau."):
        return annotations
    return {name: annotation for name, annotation in annotations.items() if annotation.startswith(_CHECKED_EVERYWHERE)}


def exact_type_conditions(function: Callable[..., Any]) -> list[str]:
    """Return conditions, as source code: if all are true, the flags and numbers of a call need no further check."""
    conditions = []
    for name, annotation in types_of(function).items():
        test = _EXACT_TYPES.get(annotation.removesuffix(" | None"), "").format(name)
        if test:
            conditions.append(f"({name} is None or {test})" if annotation.endswith("None") else test)
    return conditions


def all_arguments(function: Callable[..., Any]) -> str:
    """Return the source code of a tuple that contains all arguments of a call."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*{}", inspect.Parameter.VAR_KEYWORD: "*{}.values()"}
    names = [stars.get(p.kind, "{}").format(p.name) for p in signature_of(function).parameters.values()]
    return "(" + "".join(f"{name}, " for name in names) + ")"


def check_source(function: Callable[..., Any], key: str) -> str:
    """Return the source code of a call of `check`, which raises TypeError for arguments of wrong types."""
    names = [p.name for p in signature_of(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    arguments = "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"
    prefix = next((f"{m}_" for m in ("fft", "linalg", "special") if m in function.__module__.split(".")), "")
    return f"check_arguments({prefix + function.__name__!r}, types_{key}, {arguments})"


def check(function: str, types: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """Check arguments against the annotations of their parameters.

    Raises:
        TypeError: a required argument is missing, or an argument has a wrong type; the message names the function, the
            argument, its position, the expected type and the actual type.
    """
    for position, (name, value) in enumerate(arguments.items(), 1):
        if value is REQUIRED:
            raise missing(function, name)
        annotation = types.get(name)
        if annotation is None or _has_torch_function(value):
            continue
        if isinstance(value, (tuple, list)) and any(map(_has_torch_function, value)):
            continue
        expected, fits = _TYPES[annotation.removesuffix(" | None")]
        if (
            (value is None and annotation.endswith(" | None"))
            or fits(value)
            or (expected == "int" and _is_index_tensor(name, value))
        ):
            if expected == "tuple of Tensors":
                sequence = len(value) == 1 and isinstance(value[0], (tuple, list)) and "|" in annotation
                _check_tensors(value[0] if sequence else value, position - 1)
            continue
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be {expected}, not {type(value).__name__}"
        ) from None


def _has_torch_function(value: Any) -> bool:
    return hasattr(type(value), "__torch_function__") and not isinstance(value, Tensor)


def direct_conditions(function: Callable[..., Any], required: Sequence[str]) -> list[str]:
    """Return conditions, as source code: all are true if no required argument and no optional tensor overrides calls."""
    tests = [f"type({name}) in DIRECT" for name in required]
    tests += ["DIRECT.issuperset(map(type, tensors))"] if "tensors" in required else []
    types = types_of(function)
    for name, parameter in signature_of(function).parameters.items():
        annotation = types.get(name, str(parameter.annotation))
        if parameter.kind is parameter.VAR_POSITIONAL and "Tensor" in annotation:
            tests.append(f"are_direct({name})")
        elif name in types and parameter.default is not parameter.empty and annotation.removesuffix(" | None") in _MAY_BE_TENSORS:
            tests.append(f"({name} is None or type({name}) in DIRECT)")
    return tests


def number_lines(function: Callable[..., Any]) -> list[str]:
    """Return source lines that convert 0-d tensors to Python numbers, for parameters annotated as numbers."""
    names = [name for name, annotation in types_of(function).items() if annotation.removesuffix(" | None") in _NUMBERS]
    parameters = signature_of(function).parameters
    return [f"{name} = as_python({name})" for name in names if parameters[name].kind is not inspect.Parameter.VAR_POSITIONAL]


def as_python(value: Any) -> Any:
    """Convert a one-element tensor to a Python number; return other values unchanged."""
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad else value


def as_number(function: str, name: str, value: Any) -> Any:
    """Convert a 0-d tensor to a Python number, and return other values unchanged; TypeError for other tensors."""
    if not isinstance(value, Tensor):
        return value
    if not _is_number_tensor(value):
        raise TypeError(f"{function}(): argument '{name}' must be Number, not Tensor")
    return value.item()


def as_int(function: str, name: str, value: Any) -> int:
    """Convert an argument to int; TypeError if it is not an integer, as in PyTorch's compiled functions."""
    if type(value) is int:
        return value
    if not _is_integer(value) and not _is_index_tensor(name, value):
        raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}")
    return operator.index(value)


def as_float(function: str, name: str, value: Any) -> float:
    """Convert an argument to float; TypeError if it is not a real number, as in PyTorch's compiled functions."""
    if type(value) is float:
        return value
    if not _is_number(value) or isinstance(value, complex):
        raise TypeError(f"{function}(): argument '{name}' must be float, not {type(value).__name__}")
    return float(value)


def _check_tensors(values: Sequence[Any], position: int) -> None:
    for index, value in enumerate(values):
        if not _is_tensor(value) and not hasattr(type(value), "__torch_function__"):
            raise TypeError(
                f"expected Tensor as element {index} in argument {position}, but got {type(value).__name__}"
            ) from None
