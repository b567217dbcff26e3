"""Types of simple expressions, as text: `int`, `Tensor`, `List[int]`, `Tuple[Tensor, int]`, `__torch__.package.UserClass`.

The empty string is a type that is not known. In a tuple it is written as `?`.
"""

from __future__ import annotations

import inspect
import typing
import weakref
from typing import Any

from ._types import NoType, class_path, is_interface, is_named_tuple, type_of_annotation
from .annotations import BroadcastingList

__all__ = [
    "NUMBERS", "SIMPLE", "VALUES", "argument_conflict", "arguments_of", "class_of_kind", "conflict", "element_kind", "fields_of",
    "interface_methods", "kind_of_class", "members_of", "named_type", "parameter_kind", "parts_of", "simple", "union_of",
]  # fmt: skip

NUMBERS = ("bool", "int", "float", "complex")
VALUES = (*NUMBERS, "str", "Tensor")
SIMPLE = (*VALUES, "NoneType")
_CONTAINERS = ("List", "Dict", "Tuple", "Future")
_UNIONS = ("Optional", "Union")

# The user-defined classes whose paths are part of types. Classes of one path, such as those that a function defines in each
# call, get different names.
_classes: weakref.WeakValueDictionary[str, type] = weakref.WeakValueDictionary()


def kind_of_class(cls: type) -> str:
    """Return the type of the objects of a user-defined class."""
    path, number = class_path(cls), 0
    named = path
    while _classes.setdefault(named, cls) is not cls:
        number += 1
        named = f"{path}.{number}"
    return named


def class_of_kind(kind: str) -> type | None:
    """Return the user-defined class that a type names, or None."""
    return _classes.get(kind)


def named_type(annotation: object) -> str:
    """Return the type that an annotation names, or an empty string for one without a TorchScript type."""
    try:
        return type_of_annotation(annotation, kind_of_class)
    except NoType:
        return ""


def parameter_kind(annotation: object) -> str:
    """Return the type of the values that an annotated parameter accepts. `BroadcastingList2[int]` also accepts a number."""
    if isinstance(annotation, BroadcastingList):
        return union_of([named_type(annotation.element), named_type(annotation)])
    return named_type(annotation)


def simple(kind: str) -> str:
    """Return a type if the checks below can compare it, else an empty string."""
    name = kind.partition("[")[0]
    return kind if name in SIMPLE or (name in (*_CONTAINERS, *_UNIONS) and name != kind) or kind in _classes else ""


def arguments_of(kind: str) -> list[str]:
    """Return the types in the brackets of a type such as `Dict[str, int]`, as far as they are known."""
    name, _, inside = kind.partition("[")
    parts, depth, start = [], 0, len(name) + 1
    for place in range(start, len(kind) if inside != "()]" else start):
        depth += (kind[place] == "[") - (kind[place] == "]")
        if depth < 0 or (depth == 0 and kind[place] == ","):
            part = kind[start:place].strip()
            parts.append("" if part == "?" else part)
            start = place + 1
    return parts


def parts_of(kind: str) -> list[str] | None:
    """Return the types of the elements of a tuple, or None for another type or a tuple of unknown length."""
    cls = class_of_kind(kind)
    if is_named_tuple(cls):
        return fields_of(cls)
    return arguments_of(kind) if kind.startswith("Tuple[") else None


def fields_of(cls: Any) -> list[str]:
    """Return the types of the fields of a named tuple. Fields without annotation are tensors."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # an annotation that names a class local to a function
        return ["" for _ in cls._fields]
    return [named_type(hints[name]) if name in hints else "Tensor" for name in cls._fields]


def members_of(kind: str) -> list[str]:
    """Return the members of a union type, or the type itself."""
    if kind.startswith("Optional["):
        return [*members_of(arguments_of(kind)[0]), "NoneType"]
    return arguments_of(kind) if kind.startswith("Union[") else [kind]


def union_of(kinds: list[str]) -> str:
    """Return the type of values of several types, or an empty string if one is not known."""
    kinds = list(dict.fromkeys(kinds))
    if not kinds or not all(kinds):
        return ""
    if len(kinds) == 1:
        return kinds[0]
    others = [kind for kind in kinds if kind != "NoneType"]
    return f"Optional[{others[0]}]" if len(others) == 1 else f"Union[{', '.join(kinds)}]"


def element_kind(kind: str) -> str:
    """Return the type of the values in iterations over a value of a type."""
    if kind.startswith(("List[", "Dict[")):
        return arguments_of(kind)[0]
    return kind if kind in ("str", "Tensor") else ""


def conflict(found: str, declared: str) -> bool:
    """Whether a value of the first type is certainly not valid for the second."""
    if not found or not declared or found == declared or (found, declared) == ("bool", "int"):
        return False
    if found.startswith(_UNIONS):
        return any(conflict(member, declared) for member in members_of(found))
    if declared.startswith(_UNIONS):
        return all(conflict(found, member) for member in members_of(declared))
    parts, expected = parts_of(found), parts_of(declared)
    if parts is not None and expected is not None:
        return len(parts) != len(expected) or any(map(conflict, parts, expected))
    classes = class_of_kind(found), class_of_kind(declared)
    if classes[0] is not None and classes[1] is not None:
        return not _is_subtype(classes[0], classes[1])
    names = [kind.partition("[")[0] for kind in (found, declared)]
    if any(name not in (*SIMPLE, *_CONTAINERS) and cls is None for name, cls in zip(names, classes, strict=True)):
        return False
    if names[0] != names[1]:
        return True
    return any(map(conflict, arguments_of(found), arguments_of(declared)))


def argument_conflict(found: str, declared: str) -> bool:
    """Whether an argument of type `found` must be refused for a parameter of type `declared`.

    Tensors are converted to numbers, and tuples to lists.
    """
    members = members_of(declared)
    if found == "Tensor" and not set(NUMBERS).isdisjoint(members):
        return False
    if found.startswith("Tuple[") and any(member.startswith("List[") for member in members):
        elements = [arguments_of(member)[0] for member in members if member.startswith("List[")]
        return any(conflict(part, element) for part in arguments_of(found) for element in elements)
    return conflict(found, declared)


# --- interfaces -------------------------------------------------------------------------------------------------------


def interface_methods(cls: type) -> dict[str, inspect.Signature]:
    """Return the methods that an interface declares."""
    return {name: inspect.signature(member) for name, member in vars(cls).items() if inspect.isfunction(member)}


def _is_subtype(cls: type, declared: type) -> bool:
    if is_interface(declared):
        return all(callable(getattr(cls, name, None)) for name in interface_methods(declared))
    return issubclass(cls, declared)
