"""Checks of attributes, user-defined classes and containers in scripted code; a part of the checker of `_checking`."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, NoReturn

from ... import nn
from ._kinds import argument_conflict, arguments_of, conflict, kind_of_class, members_of, named_type
from ._sources import attributes_of, constants_of, has_annotation

__all__ = ["ObjectChecks", "dict_parts", "literal_kind"]


class ObjectChecks:
    """Checks that need only the types of expressions and the scope of the function."""

    function: Any
    owner: Any
    module: nn.Module | None
    current: ast.stmt
    depth: int
    kinds_of_attributes: dict[str, str]
    refuse: Callable[..., NoReturn]
    kind: Callable[[ast.expr], str]
    is_me: Callable[[ast.expr], bool]

    def assign_attribute(self, target: ast.Attribute, found: str) -> None:
        self.kind(target.value)
        if not self.is_me(target.value):
            return
        if self.module is None:
            self.assign_attribute_of_object(target, found)
            return
        if not hasattr(self.module, target.attr) or self.is_untyped(target.attr):
            self.refuse(
                self.current, f"Tried to set nonexistent attribute: {target.attr}. Did you forget to initialize it in __init__()?"
            )
        value = getattr(self.module, target.attr)
        if isinstance(value, nn.Module) and self.function.__name__ != "__setstate__":
            self.refuse(self.current, f"Cannot re-assign modules in a ScriptModule with non-scripted module, '{target.attr}'")
        if target.attr in constants_of(type(self.module)):
            self.refuse(self.current, f"'{target.attr}' is a constant, and cannot be assigned to")
        if value is None and found != "NoneType" and not self.is_declared(target.attr):
            self.refuse(self.current, f"Wrong type for attribute assignment. Expected NoneType but got {found or 'another type'}")

    def assign_attribute_of_object(self, target: ast.Attribute, found: str) -> None:
        """Check an assignment to an attribute in a method of a user-defined class."""
        if self.function.__name__ == "__init__":
            if re.search(rf"{re.escape(kind_of_class(self.owner))}\b", found):
                self.refuse(self.current, f"Class '{self.owner.__name__}' does not exist yet: recursive class types are not "
                            "supported")  # fmt: skip
            known = self.kinds_of_attributes.setdefault(target.attr, found)
            if conflict(found, known):
                self.refuse(self.current, f"Wrong type for attribute assignment. Expected {known} but got {found}")
            if self.depth:
                self.refuse(
                    self.current, "assignment cannot be in a control-flow block: attributes are defined at the top of __init__"
                )
        elif target.attr not in attributes_of(self.owner):
            self.refuse(
                self.current, f"Tried to set nonexistent attribute: {target.attr}. Did you forget to initialize it in __init__()?"
            )

    def is_declared(self, name: str) -> bool:
        """Whether the type of an attribute of the module is declared."""
        return has_annotation(type(self.module), name) or name in vars(self.module).get("_attribute_types", {}) or (
            name in self.module._parameters or name in self.module._buffers  # type: ignore[union-attr]
        )  # fmt: skip

    def is_untyped(self, name: str) -> bool:
        """Whether an attribute of the module is a container whose type is unknown."""
        value = vars(self.module).get(name)
        if not isinstance(value, (list, dict)) or self.is_declared(name):
            return False
        return not value or any(isinstance(part, nn.Module) for part in (value if isinstance(value, list) else value.values()))

    # --- containers -------------------------------------------------------------------------------------------------

    def assign_item(self, target: ast.Subscript, found: str) -> None:
        """Check an assignment to an element of a container."""
        owner, index = self.kind(target.value), self.kind(target.slice)
        if owner.startswith("Tuple"):
            self.refuse(self.current, f"'{owner}' does not support subscripted assignment")
        parts = dict_parts(owner)
        if parts is not None and (conflict(index, parts[0]) or conflict(found, parts[1])):
            self.refuse(self.current, f"Arguments for call are not valid: {owner} with a key of type {index} and a value of type "
                        f"{found}")  # fmt: skip

    def check_append(self, node: ast.Call, args: list[str]) -> None:
        """Refuse to append a value to a list of another type. An empty list without annotation is one of tensors."""
        owner = self.kind(node.func.value)  # type: ignore[attr-defined]
        if owner.startswith("List[") and args and conflict(args[0], owner[5:-1]):
            self.refuse(node, f"Could not match type {args[0]} to {owner[5:-1]} in the argument of append")

    def check_deletion(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            self.kind(target.value)
            if isinstance(target.slice, ast.Slice):
                self.refuse(target, "del statements only support deletion at a single index, slicing is not supported")

    def check_invariance(self, node: ast.AnnAssign, found: str, declared: str) -> None:
        """Refuse to assign a container to a variable whose declared type has other elements, such as `Optional[int]`."""
        is_literal = isinstance(node.value, (ast.List, ast.Dict, ast.ListComp, ast.DictComp, ast.Call))
        if not is_literal and found != declared and found[:5] == declared[:5] and found[:5] in ("List[", "Dict["):
            name = ast.unparse(node.target)
            self.refuse(
                node, f"Variable '{name}' is annotated with type {declared} but is being assigned to a value of type {found}"
            )

    def check_candidates(self, node: ast.AnnAssign, declared: str) -> None:
        """Refuse an empty container, or a call of `dict`, for a union that has several types of this kind of container."""
        is_empty = isinstance(node.value, (ast.List, ast.Dict)) and not list(ast.iter_child_nodes(node.value))[:-1]
        is_call = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "dict"
        for name in ("List", "Dict") if is_empty or is_call else ():
            candidates = [member for member in members_of(declared) if member.startswith(f"{name}[")]
            is_kind = isinstance(node.value, ast.List) if name == "List" else not isinstance(node.value, ast.List)
            if is_kind and len(members_of(declared)) > 1 and len(candidates) != 1:
                what = f"there are multiple possible {name} type candidates" if candidates else f"Expected an inner {name} type"
                self.refuse(node, f"{what} in the annotation {declared}")

    def check_named_tuple(self, cls: Any, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> None:
        """Check the fields in a call of the constructor of a named tuple."""
        try:
            bound = inspect.signature(cls).bind(*args, **kwargs).arguments
            hints = typing.get_type_hints(cls)
        except (TypeError, NameError):  # `*` in the call, or an annotation that names a class local to a function
            return
        for name, found in bound.items():
            declared = named_type(hints[name]) if name in hints else "Tensor"
            if isinstance(found, str) and argument_conflict(found, declared):
                self.refuse(node, f"Expected a value of type '{declared}' for argument '{name}' but instead found type '{found}'")


def dict_parts(kind: str) -> tuple[str, str] | None:
    """Return the types of the keys and values of a dictionary type, or None for another type."""
    if not kind.startswith("Dict["):
        return None
    key, value = arguments_of(kind)
    return key, value


def literal_kind(node: ast.expr) -> str:
    """Return the type that an empty list or dictionary gets when it is assigned to a name, or an empty string."""
    if isinstance(node, ast.List) and not node.elts:
        return "List[Tensor]"
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args
    if (is_call and not node.keywords) or (isinstance(node, ast.Dict) and not node.keys):  # type: ignore[attr-defined]
        return "Dict[str, Tensor]"
    return ""
