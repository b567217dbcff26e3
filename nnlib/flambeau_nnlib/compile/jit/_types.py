"""TorchScript types as text, such as `Optional[List[Tensor]]`."""

from __future__ import annotations

import enum
import keyword
import numbers
import re
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau as torch

from .annotations import BroadcastingList

__all__ = [
    "OF_TORCH",
    "ModuleDescription",
    "NoType",
    "check_enum",
    "class_path",
    "container_without_elements",
    "is_enum",
    "is_interface",
    "is_member",
    "is_named_tuple",
    "is_script_class",
    "literal",
    "missing_elements",
    "type_of_annotation",
    "type_of_value",
]

# Prefixes of modules that TorchScript treats as part of `torch`. `"torch."` applies when flambeau is imported under the name
# `torch`.
OF_TORCH = ("flambeau.", "flambeau_nnlib.", "torch.")


class NoType(Exception):
    """Raised when a value or annotation has no TorchScript type."""


def class_path(cls: type) -> str:
    """Return the TorchScript path of a class, such as `__torch__.torch.nn.modules.linear.Linear`."""
    from ..fx._names import public_module

    module = public_module(cls.__module__)
    parts = [part for part in module.split(".") if part != "__main__"]
    named = [part if part.isidentifier() and not keyword.iskeyword(part) else f"_{abs(hash(part))}" for part in parts]
    return ".".join(["__torch__", *named, cls.__name__])


class ModuleDescription(NamedTuple):
    """A module in an archive: the path of its class, and the value and type of each attribute."""

    path: str
    attributes: dict[str, tuple[Any, str]]


Classes = Callable[[type], str]


def reject_class(cls: type) -> str:
    """Raise `NoType`. Default of the `classes` arguments below: user-defined classes have no type."""
    raise NoType(f"the class {cls.__name__}")


def is_named_tuple(cls: Any) -> bool:
    """Whether a class is a named tuple."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_interface(cls: Any) -> bool:
    """Whether a class is marked with `torch.jit.interface`."""
    return isinstance(cls, type) and "__torch_script_interface__" in vars(cls)


def is_enum(cls: Any) -> bool:
    """Whether a class is an enumeration."""
    return isinstance(cls, type) and issubclass(cls, enum.Enum)


def is_member(value: Any) -> bool:
    """Whether a value is a member of an enumeration, and not at the same time a text or number, as in `enum.StrEnum`."""
    return isinstance(value, enum.Enum) and not isinstance(value, (str, int, float))


def check_enum(cls: type[enum.Enum]) -> None:
    """Raise RuntimeError if TorchScript has no type for an enumeration: the values must be of one type, int, float or str."""
    kinds = {type(member.value) for member in cls}
    if len(kinds) > 1:
        raise RuntimeError(f"Could not unify type list of the values of {cls.__name__}: {_names_of(kinds)}")
    if not kinds <= {int, float, str}:
        raise RuntimeError(f"Cannot create Enum with value type '{_names_of(kinds)}'; it must be int, float or str")


def _names_of(kinds: set[type]) -> str:
    return ", ".join(sorted(kind.__name__ for kind in kinds))


def is_script_class(cls: Any) -> bool:
    """Whether a class is user-defined and its methods can be compiled."""
    library = not isinstance(cls, type) or cls.__module__.startswith((*OF_TORCH, "builtins", "collections", "typing"))
    return not library and not issubclass(cls, (torch.nn.Module, torch.Tensor, BaseException, tuple, enum.Enum))


def type_of_value(value: Any, classes: Classes = reject_class) -> str:
    """Return the TorchScript type of an attribute.

    Args:
        value: the value of the attribute.
        classes: returns the path of a user-defined class.

    Raises:
        NoType: the value has no TorchScript type.
    """
    plain: dict[type, str] = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str", type(None): "NoneType"}
    if type(value) in plain:
        return plain[type(value)]
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, torch.device):
        return "Device"
    if isinstance(value, torch.dtype):
        return "int"
    if type(value) in (tuple, torch.Size):
        return f"Tuple[{', '.join(map(type_of_value, value))}]" if value else "Tuple[()]"
    if type(value) is list and value:
        return f"List[{_common(value)}]"
    if type(value) is dict and value:
        return f"Dict[{_common(list(value))}, {_common(list(value.values()))}]"
    if is_script_class(type(value)) or is_member(value):
        return classes(type(value))
    raise NoType(f"a {type(value).__name__}" + (" that is empty" if type(value) in (list, dict) else ""))


def _common(values: list[Any]) -> str:
    types = {type_of_value(value) for value in values}
    if len(types) > 1:
        raise NoType(f"a container of values of several types, {' and '.join(sorted(types))}")
    return types.pop()


_CONTAINERS: dict[Any, str] = {list: "List", dict: "Dict", tuple: "Tuple", typing.Optional: "Optional"}
_CONTAINERS |= {getattr(typing, name): name for name in ("List", "Dict", "Tuple")}
_ORDER = ("Tensor", "Tuple", "List", "Dict", "number", "float", "complex", "Future", "int", "NoneType", "str", "bool")


def container_without_elements(annotation: Any) -> str:
    """Return the name of a container type without element types, such as `typing.List`, or an empty string for other types."""
    if annotation is torch.jit.Future:
        return "Future"
    try:
        return _CONTAINERS.get(annotation, "")
    except TypeError:  # the annotation is not hashable
        return ""


def missing_elements(name: str) -> str:
    """Return the message of the error for a container type without element types."""
    example = "[int, int]" if name == "Dict" else "[int]"
    return f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}{example}"


_PLAIN = {
    int: "int", float: "float", bool: "bool", str: "str", complex: "complex", None: "NoneType", type(None): "NoneType",
    torch.Tensor: "Tensor", torch.device: "Device", torch.dtype: "int", torch.layout: "int", torch.Size: "List[int]",
    typing.Any: "Any", numbers.Number: "number",
}  # fmt: skip


def type_of_annotation(annotation: Any, classes: Classes = reject_class) -> str:
    """Return the TorchScript type of an annotation.

    Args:
        annotation: the annotation.
        classes: returns the path of a user-defined class.

    Raises:
        NoType: the annotation has no TorchScript type.
    """
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass
    if isinstance(annotation, BroadcastingList):
        return f"List[{type_of_annotation(annotation.element, classes)}]"
    if container_without_elements(annotation):
        raise NoType(missing_elements(container_without_elements(annotation)))
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:
        return f"List[{type_of_annotation(inside[0], classes)}]"
    if origin is dict:
        return f"Dict[{type_of_annotation(inside[0], classes)}, {type_of_annotation(inside[1], classes)}]"
    if origin is tuple and (not inside or inside[-1] is not ...):
        return f"Tuple[{', '.join(type_of_annotation(kind, classes) for kind in inside)}]" if inside else "Tuple[()]"
    if origin is torch.jit.Future:
        return f"Future[{type_of_annotation(inside[0], classes)}]"
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        kinds = [type_of_annotation(kind, classes) for kind in inside]
        if len(kinds) == 2 and "NoneType" in kinds:
            return f"Optional[{kinds[kinds[0] == 'NoneType']}]"
        return "number" if set(kinds) == _NUMBER else f"Union[{', '.join(sorted(kinds, key=_place))}]"
    if origin is typing.Final or annotation is typing.Final:
        if not inside:
            raise NoType("Final without a type")
        return type_of_annotation(inside[0], classes)
    if isinstance(annotation, type) and issubclass(annotation, torch.Tensor):
        return "Tensor"
    if annotation is torch.nn.Parameter:
        return "Tensor"
    if is_named_tuple(annotation) or is_script_class(annotation) or is_enum(annotation) or is_interface(annotation):
        return classes(annotation)
    raise NoType(f"the annotation {annotation!r}")


_NUMBER = {"int", "float", "complex"}  # the union that PyTorch prints as `Scalar`


def _place(kind: str) -> tuple[int, ...]:
    """Return the place of a type, and of the types of its elements, in the order of the members of a union."""
    names = re.findall(r"[\w.]+", kind)
    return tuple(_ORDER.index(name) if name in _ORDER else len(_ORDER) for name in names)


def literal(value: Any) -> str:
    """Convert a constant to TorchScript code.

    Raises:
        NoType: the constant cannot be written as a literal.
    """
    from ._operators import DTYPES

    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        return repr(value)  # `inf` and `nan` are valid TorchScript literals
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, torch.dtype):
        return str(DTYPES.index(value))
    if isinstance(value, torch.device):
        return f"torch.device({quote(str(value))})"
    if isinstance(value, torch.layout):
        return "0" if value is torch.strided else "1"
    if isinstance(value, torch.memory_format):
        return str(_FORMATS.index(value))
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(entry)}" for key, entry in value.items()) + "}"
    raise NoType(f"a {type(value).__name__}")


_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


def quote(text: str) -> str:
    """Convert a string to code, with escapes that PyTorch's parser supports."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{escaped}"'
