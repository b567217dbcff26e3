"""Types of expressions in scripted code, and checks of calls; a part of the checker of `_checking`."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import flambeau as torch

from ... import nn
from ._arguments import annotations_of_function, is_of_library
from ._decorators import unwrap_optional
from ._expressions import BUILTINS
from ._kinds import (
    NUMBERS,
    SIMPLE,
    argument_conflict,
    arguments_of,
    class_of_kind,
    conflict,
    element_kind,
    fields_of,
    interface_methods,
    kind_of_class,
    named_type,
    parameter_kind,
    parts_of,
    simple,
    union_of,
)
from ._object_checks import ObjectChecks, dict_parts
from ._sources import annotations_of, assigned_attributes, attributes_of, has_annotation, source_of
from ._syntax import is_call_of, is_call_of_method, may_be_static
from ._types import is_interface, is_named_tuple, is_script_class
from .frontend import FrontendError, NotSupportedError, UnsupportedNodeError

__all__ = ["UNKNOWN", "ExpressionChecks"]

_EXPRESSIONS = ("Await", "Lambda", "NamedExpr", "Set", "SetComp", "Yield", "YieldFrom")
_CLOSED_OVER = (
    "python value of type '{}' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider "
    "passing it in as an argument or use a local variable instead."
)
_KNOWN_CALLS: dict[Any, str] = {int: "int", float: "float", bool: "bool", str: "str", complex: "complex", len: "int", ord: "int",
                                id: "int", chr: "str", hex: "str", oct: "str", bin: "str"}  # fmt: skip
_OF_MATH = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "degrees", "erf", "erfc",
    "exp", "expm1", "fabs", "factorial", "floor", "fmod", "frexp", "gamma", "gcd", "isfinite", "isinf", "isnan", "ldexp",
    "lgamma", "log", "log10", "log1p", "modf", "pow", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh",
})  # fmt: skip
_OF_MODULES = {"math": _OF_MATH, "cmath": _OF_MATH | {"phase", "polar", "rect"}, "builtins": BUILTINS}
UNKNOWN = object()


class ExpressionChecks(ObjectChecks):
    """Check expressions and compute their types."""

    scope: Any
    hinted: ast.expr | None
    known: dict[int, tuple[ast.expr, str]]
    globals: dict[str, Any]
    nonlocals: dict[str, Any]
    me: str
    callers: tuple[Any, ...]
    annotation: Callable[[ast.expr], str]
    evaluated: Callable[[ast.expr], Any]
    assign: Callable[[ast.expr, str], None]
    check_contained: Callable[[Any, ast.AST], None]
    check_called: Callable[[Any, Any, ast.AST], str]
    attribute_kinds: Callable[[type], dict[str, str]]

    # --- expressions ------------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> None:
        """Check the condition of an `if` or `while`."""
        found = self.kind(node)
        if found.startswith("Tuple") or found == "NoneType":
            self.refuse(node, f"Could not cast value of type {found} to bool")
        converts = getattr(class_of_kind(found), "__bool__", None)
        if inspect.isfunction(converts) and self.check_called(converts, class_of_kind(found), node) not in ("", "bool"):
            self.refuse(node, "expected a bool expression for condition")

    def names_constant(self, node: ast.expr) -> bool:
        """Whether a condition names something outside the function, which may be known when it is compiled."""
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        values = [self.lookup(name) for name in names - set(self.scope.kinds) - set(self.scope.lost)]
        return any(value is not torch and value is not UNKNOWN and not isinstance(value, (type, types.FunctionType))
                   and not hasattr(builtins, getattr(value, "__name__", "")) for value in values)  # fmt: skip

    def lookup(self, name: str) -> Any:
        if isinstance(self.owner, type) and name == self.owner.__name__:  # a decorator runs before the class has its name
            return self.owner
        for names in (self.nonlocals, self.globals, vars(builtins)):
            if name in names:
                return names[name]
        return UNKNOWN

    def static(self, node: ast.expr) -> Any:
        """Return the Python object that an expression names, such as `torch.nn.functional.relu`, or `UNKNOWN`."""
        if isinstance(node, ast.Name) and node.id not in self.scope.kinds:
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if isinstance(owner, types.ModuleType):
                return getattr(owner, node.attr, UNKNOWN)
        return UNKNOWN

    def kind(self, node: ast.expr) -> str:
        """Check an expression and return its type, or an empty string if it is not simple."""
        if id(node) not in self.known:  # checks of a call need the type of its owner several times
            found = self.computed_kind(node)
            self.known[id(node)] = node, found
        return self.known[id(node)][1]

    def computed_kind(self, node: ast.expr) -> str:
        name = type(node).__name__
        if name in _EXPRESSIONS:
            self.refuse(node, f"{name} aren't supported", UnsupportedNodeError)
        check: Callable[[Any], str] | None = getattr(self, f"kind_{name}", None)
        if check is not None:
            return check(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.kind(child)
        return ""

    def kind_Constant(self, node: ast.Constant) -> str:
        if type(node.value) is int and not -(2**63) <= node.value < 2**63:
            self.refuse(node, "Integral literal is out of range for 64 bits")
        return simple(type(node.value).__name__)

    def kind_Name(self, node: ast.Name) -> str:
        if node.id in self.scope.kinds:
            found: str = self.scope.kinds[node.id]
            return found
        if node.id in self.scope.lost:
            self.refuse(node, self.scope.lost[node.id])
        value = self.lookup(node.id)
        if value is UNKNOWN:
            self.refuse(node, f"undefined value {node.id}")
        if value is math.inf or value is math.nan:  # the compiler has these constants
            return "float"
        if type(value) in (int, float, complex, str, list, dict, set) or isinstance(value, torch.Tensor):
            self.refuse(node, _CLOSED_OVER.format(type(value).__name__))
        return ""

    def check_value(self, value: Any, node: ast.expr) -> None:
        """Refuse to use a class as a value."""
        if type(value) is type and not is_of_library(value):
            self.refuse(node, _CLOSED_OVER.format("type"))

    def kind_JoinedStr(self, node: ast.JoinedStr) -> str:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.kind(part.value)
        return "str"

    def kind_List(self, node: ast.List) -> str:
        found = [self.kind(element) for element in node.elts]
        element = union_of(found)
        return f"List[{element}]" if element else "List" if found else ""

    def kind_Tuple(self, node: ast.Tuple) -> str:
        return f"Tuple[{', '.join(self.kind(element) or '?' for element in node.elts) or '()'}]"

    def kind_Dict(self, node: ast.Dict) -> str:
        if None in node.keys:
            self.refuse(node, "Dict expansion (e.g. `{**dict}`) is not supported", NotSupportedError)
        key, value = (union_of([self.kind(part) for part in parts if part is not None]) for parts in (node.keys, node.values))
        return f"Dict[{key}, {value}]" if key and value else "Dict" if node.keys else ""

    def kind_BoolOp(self, node: ast.BoolOp) -> str:
        if not may_be_static(node):
            for value in node.values:
                self.condition(value)
        return "" if may_be_static(node) else "bool"

    def kind_UnaryOp(self, node: ast.UnaryOp) -> str:
        found = self.kind(node.operand)
        return "bool" if isinstance(node.op, ast.Not) else found

    def kind_IfExp(self, node: ast.IfExp) -> str:
        if may_be_static(node.test) or self.names_constant(node.test):
            return ""
        self.condition(node.test)
        found = {self.kind(node.body), self.kind(node.orelse)}
        return found.pop() if len(found) == 1 else ""

    def kind_BinOp(self, node: ast.BinOp) -> str:
        left, right = self.kind(node.left), self.kind(node.right)
        if (left in SIMPLE and right in SIMPLE) or any(kind.startswith(("List[", "Tuple[")) for kind in (left, right)):
            self.check_operands(node, left, right)
        if "Tensor" in (left, right) and {left, right} <= {"Tensor", *NUMBERS}:
            return "Tensor"
        if isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and "Tensor" not in (left, right):
            return left if left == right else ""
        if left in NUMBERS and right in NUMBERS and not isinstance(node.op, ast.Pow):
            return "float" if isinstance(node.op, ast.Div) and "complex" not in (left, right) else max(
                left, right, "int", key=NUMBERS.index
            )  # fmt: skip
        return "str" if left == right == "str" else ""

    def check_operands(self, node: ast.BinOp, left: str, right: str) -> None:
        """Refuse an operator of a number or tensor with a tuple, a string or None."""
        numeric = {"Tensor", *NUMBERS}
        kinds = (left, right) if left in numeric else (right, left)
        sequences = ("Tuple", "List")
        has_sequence = left.startswith(sequences) or (isinstance(node.op, ast.Mult) and right.startswith(sequences))
        repeats = isinstance(node.op, (ast.Mult, ast.Mod)) and ("str" in kinds or has_sequence)
        if left.startswith("List[") and right.startswith("List[") and conflict(left, right) and conflict(right, left):
            self.refuse(node, f"Arguments for call are not valid: {left} and {right}")
        if kinds[0] in numeric and kinds[1] and kinds[1] not in numeric and not repeats:
            self.refuse(node, f"Arguments for call are not valid: {left} and {right}")

    def kind_Compare(self, node: ast.Compare) -> str:
        found = {self.kind(part) for part in (node.left, *node.comparators)}
        is_test = any(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops)
        return "bool" if is_test or found <= set(NUMBERS) else "Tensor" if found <= {"Tensor", *NUMBERS} else ""

    def kind_Subscript(self, node: ast.Subscript) -> str:
        self.check_index_of_modules(self.module_at(node.value), node)
        owner, index = self.kind(node.value), self.kind(node.slice)
        if owner in (*NUMBERS, "NoneType"):
            self.refuse(node, f"'{owner}' object is not subscriptable")
        items = dict_parts(owner)
        if items is not None and conflict(index, items[0]):
            self.refuse(node, f"Expected a value of type '{items[0]}' for the key but instead found type '{index}'")
        parts = parts_of(owner)
        if parts is None or isinstance(node.slice, ast.Slice):
            return owner if owner == "Tensor" else ""
        if index in ("float", "str", "Tensor"):
            self.refuse(node, "tuple index must be an integer")
        try:
            place = ast.literal_eval(node.slice)
            return simple(parts[place])
        except (ValueError, TypeError):
            if all(parts) and len(set(parts)) > 1 and index == "int":
                self.refuse(
                    node, f"Cannot index into a {owner} with a non-constant index because we cannot resolve the output type"
                )
            return simple(parts[0]) if len(set(parts)) == 1 and index == "int" else ""
        except IndexError:
            self.refuse(node, "Tuple index out of range")

    def check_length_of_modules(self, node: ast.expr) -> None:
        """Refuse a loop over modules together with values of unknown number, because such loops are unrolled."""
        if not is_call_of(node, "zip"):
            return
        arguments: list[ast.expr] = node.args  # type: ignore[attr-defined]
        has_modules = any(self.module_at(argument) is not None for argument in arguments)
        for argument in arguments if has_modules else ():
            is_range = is_call_of(argument, "range")
            constant = is_range and all(isinstance(each, ast.Constant) for each in argument.args)  # type: ignore[attr-defined]
            if (is_range and not constant) or self.kind(argument).startswith(("List", "Dict", "Tensor")):
                self.refuse(node, f"'{ast.unparse(argument)}' is iterated together with modules, but is a value that does not "
                            "have a statically determinable length")  # fmt: skip

    def check_index_of_modules(self, container: Any, node: ast.Subscript) -> None:
        """Check an index of a container of modules. It must be a literal, unless the type of the module is declared."""
        if not isinstance(container, (nn.ModuleList, nn.Sequential, nn.ModuleDict)) or isinstance(node.slice, ast.Slice):
            return
        try:
            index = ast.literal_eval(node.slice)
        except ValueError:
            if node is self.hinted:
                return
            if isinstance(container, nn.ModuleDict):
                self.refuse(node, "Unable to extract string literal index. ModuleDict indexing is only supported with string "
                            "literals.")  # fmt: skip
            self.refuse(node, "Expected integer literal for index. ModuleList/Sequential indexing is only supported with integer "
                        "literals. Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'")  # fmt: skip
        if isinstance(container, nn.ModuleDict) and index not in container:
            self.refuse(node, f"Key Error, {index}")
        if isinstance(index, int) and not -len(container) <= index < len(container):
            self.refuse(node, f"Index {index} out of range of length {len(container)}")

    def kind_Attribute(self, node: ast.Attribute) -> str:
        if self.is_me(node.value):
            if self.module is not None:
                return self.kind_of_attribute(node)
            if node.attr not in attributes_of(self.owner):
                self.refuse(node, f"'{self.owner.__name__}' object has no attribute or method '{node.attr}'")
            return ""
        owner = self.static(node.value)
        submodule = self.module_at(node.value)
        if submodule is not None:
            if not hasattr(submodule, node.attr):
                self.refuse(node, f"Module '{type(submodule).__name__}' has no attribute '{node.attr}'")
            return ""
        if isinstance(owner, types.ModuleType):
            if not hasattr(owner, node.attr):
                self.refuse(node, f"module '{owner.__name__}' has no attribute '{node.attr}'")
            self.check_value(getattr(owner, node.attr), node)
            return ""
        if owner is not UNKNOWN:
            if isinstance(owner, types.FunctionType) and is_of_library(owner):
                self.refuse(node, "attribute lookup is not defined on builtin")
            if not hasattr(owner, node.attr):
                self.refuse(node, f"'{type(owner).__name__}' object has no attribute '{node.attr}'")
            return ""
        found = self.kind(node.value)
        if found == "Tensor":
            self.check_member(node)
            if callable(getattr(torch.Tensor, node.attr)):
                self.refuse(node, "builtin cannot be used as a value")
        cls = class_of_kind(found)
        if cls is None and parts_of(found) is not None:
            self.refuse(node, f"'{found}' object has no attribute or method '{node.attr}'")
        return "" if cls is None else self.kind_of_member(cls, node)

    def kind_of_member(self, cls: type, node: ast.Attribute) -> str:
        """Return the type of an attribute of an object of a user-defined class."""
        if is_named_tuple(cls) and node.attr in cls._fields:  # type: ignore[attr-defined]
            return simple(fields_of(cls)[cls._fields.index(node.attr)])  # type: ignore[attr-defined]
        if is_named_tuple(cls) and not hasattr(cls, node.attr):
            self.refuse(node, f"'{kind_of_class(cls)}' object has no attribute or method '{node.attr}'")
        if is_interface(cls):
            known: Any = interface_methods(cls)
        elif is_script_class(cls) and len(cls.__mro__) == 2:
            known = attributes_of(cls)
        else:
            return ""
        if node.attr not in known:
            self.refuse(node, f"'{kind_of_class(cls)}' object has no attribute or method '{node.attr}'")
        if is_interface(cls):
            return ""
        if node.attr in vars(cls) and node.attr not in assigned_attributes(cls) and not is_method(vars(cls)[node.attr]):
            self.refuse(node, f"'{kind_of_class(cls)}' object has no attribute or method '{node.attr}'. Did you forget to "
                        f"initialize an attribute in __init__()? '{node.attr}' is defined as a class attribute")  # fmt: skip
        return self.attribute_kinds(cls).get(node.attr, "")

    def module_at(self, node: ast.expr) -> nn.Module | None:
        """Return the module that an expression such as `self.encoder.layers` names, or None."""
        if self.is_me(node):
            return self.module
        owner = self.module_at(node.value) if isinstance(node, ast.Attribute) else None
        found = None if owner is None else owner._modules.get(node.attr)  # type: ignore[attr-defined]
        return found if isinstance(found, nn.Module) else None

    def is_me(self, node: ast.expr) -> bool:
        """Whether an expression is the first parameter of a method."""
        return bool(self.me) and isinstance(node, ast.Name) and node.id == self.me

    def check_member(self, node: ast.Attribute) -> None:
        """Check that tensors have an attribute or method."""
        if not hasattr(torch.Tensor, node.attr):
            self.refuse(node, f"'Tensor' object has no attribute or method '{node.attr}'")

    def kind_of_attribute(self, node: ast.Attribute) -> str:
        if isinstance(inspect.getattr_static(type(self.module), node.attr, None), property):
            return ""
        if not hasattr(self.module, node.attr) and not has_annotation(type(self.module), node.attr):
            self.refuse(node, f"Module '{type(self.module).__name__}' has no attribute '{node.attr}'")
        if self.is_untyped(node.attr):
            self.refuse_conversion(node, type(getattr(self.module, node.attr)).__name__)
        if node.attr in getattr(self.module, "__jit_ignored_attributes__", ()):
            self.refuse(node, f"Module '{type(self.module).__name__}' has no attribute '{node.attr}' (This attribute exists on "
                        "the Python module, but this attribute was ignored during compilation)")  # fmt: skip
        value = getattr(self.module, node.attr, ...)
        registered = node.attr in self.module._parameters or node.attr in self.module._buffers  # type: ignore[union-attr]
        declared = annotations_of(type(self.module)).get(node.attr)
        if declared is not None and not registered:
            return simple(named_type(declared))
        if isinstance(value, type):
            self.refuse_conversion(node, "type")
        is_shared = node.attr not in vars(self.module) and type(value) in (int, float, str, bool)
        if is_shared and isinstance(self.module, torch.jit.ScriptModule) and node.attr != "training":
            self.refuse_conversion(node, type(value).__name__)
        if is_script_class(type(value)) and node.attr in vars(self.module):
            return self.kind_of_object(value, node)
        plain = type(value).__name__ if type(value) in (int, float, str, bool) else ""
        return "Tensor" if isinstance(value, torch.Tensor) else plain

    def refuse_conversion(self, node: ast.Attribute, kind: str) -> NoReturn:
        value = getattr(self.module, node.attr)
        reason = " Could not infer type of list element: Cannot infer concrete type of torch.nn.Module" * (
            isinstance(value, list) and any(isinstance(element, nn.Module) for element in value)
        )
        self.refuse(node, f"Module '{type(self.module).__name__}' has no attribute '{node.attr}' (This attribute exists on "
                    f"the Python module, but we failed to convert Python type: '{kind}' to a TorchScript type."
                    f"{reason})")  # fmt: skip

    def kind_of_object(self, value: Any, node: ast.Attribute) -> str:
        """Return the type of an attribute of a module that is an object of a user-defined class, and check the class."""
        try:
            self.check_called(type(value), None, node)
        except (RuntimeError, FrontendError):
            self.refuse_conversion(node, type(value).__name__)
        for name, declared in self.attribute_kinds(type(value)).items():
            if conflict(_kind_of_value(getattr(value, name, None)), declared):
                self.refuse(node, f"Could not cast attribute '{name}' to type {declared}")
        return kind_of_class(type(value))

    def kind_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> str:
        if len(node.generators) > 1:
            self.refuse(node, "Only a single generator is currently supported", NotSupportedError)
        loop = node.generators[0]
        if loop.ifs:
            self.refuse(node, "Comprehension ifs are not supported yet", NotSupportedError)
        self.kind(loop.iter)
        former, self.scope = self.scope, self.scope.copy()
        self.assign(loop.target, self.iterated_kind(loop.iter))
        found = [self.kind(part) for part in ([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])]
        self.scope = former
        return f"{'Dict' if isinstance(node, ast.DictComp) else 'List'}[{', '.join(found)}]" if all(found) else ""

    def iterated_kind(self, node: ast.expr) -> str:
        """Return the type of the values in an iteration over an expression."""
        if is_call_of(node, "range"):
            return "int"
        if is_call_of(node, "zip") or is_call_of(node, "enumerate"):
            found = [self.iterated_kind(argument) or "?" for argument in node.args]  # type: ignore[attr-defined]
            return f"Tuple[{', '.join(['int', *found[:1]] if is_call_of(node, 'enumerate') else found)}]" if found else ""
        return element_kind(self.kind(node))

    kind_DictComp = kind_GeneratorExp = kind_ListComp

    # --- calls ------------------------------------------------------------------------------------------------------

    def kind_Call(self, node: ast.Call) -> str:
        if any(keyword.arg is None for keyword in node.keywords):
            self.refuse(node, "keyword-arg expansion is not supported", NotSupportedError)
        target = self.static(node.func)
        if target is UNKNOWN:
            self.check_callee(node)
        if target is isinstance or target is torch.jit.isinstance:
            if target is torch.jit.isinstance and len(node.args) == 2:
                self.check_contained(self.evaluated(node.args[1]), node)
            return "bool"
        if target is hasattr and len(node.args) == 2 and not isinstance(node.args[1], ast.Constant):
            self.refuse(node.args[1], "hasattr's second argument must be a string literal")
        if target is torch.jit.annotate and len(node.args) == 2:
            self.kind(node.args[1])
            return simple(self.annotation(node.args[0]))
        if target in (torch.jit.fork, torch.jit.wait):
            return self.kind_of_future_call(target, node)
        args = [self.kind(argument) for argument in node.args]
        if is_call_of_method(node, "append"):
            self.check_append(node, args)
        kwargs = {keyword.arg or "": self.kind(keyword.value) for keyword in node.keywords}
        self.check_builtin(target, node)
        if isinstance(target, torch.jit.ScriptFunction):
            target = target.function
        if isinstance(target, (types.FunctionType, types.MethodType)) and is_of_library(target):
            return self.check_library_call(target, node, args, kwargs)
        if isinstance(target, types.FunctionType):
            return self.check_call(target, node, args, kwargs)
        if is_named_tuple(target):
            self.check_named_tuple(target, node, args, kwargs)
            return kind_of_class(target)
        if isinstance(target, torch.jit.ScriptModule):
            self.refuse(node, "Cannot call a ScriptModule that is not a submodule of the caller")
        if isinstance(target, type) and issubclass(target, nn.Module):
            self.refuse(node, f"Class '{target.__name__}' cannot be compiled since it inherits from nn.Module")
        if isinstance(target, types.MethodType) and not isinstance(target.__self__, nn.Module) and not is_of_library(target):
            self.refuse(node, f"python value of type 'method' cannot be called: {target.__qualname__}")
        if isinstance(target, type) and issubclass(target, BaseException):
            self.refuse(node, "python value of type 'type' cannot be used as a value")
        if is_script_class(target):
            return self.check_construction(target, node, args, kwargs)
        if isinstance(node.func, ast.Attribute) and target is UNKNOWN:
            return self.kind_of_method_call(node.func, node, args, kwargs)
        if target in (list, sorted, tuple, dict) and len(args) == 1:
            return self.kind_of_copy(target, node, args[0])
        return _KNOWN_CALLS.get(target, "") if isinstance(target, (type, types.BuiltinFunctionType)) else ""

    def check_library_call(self, function: Any, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> str:
        """Check the number and the names of the arguments of a function of flambeau, and return the type of its result."""
        hints = getattr(function, "__annotations__", {})
        result = "Tensor" if hints.get("return") in ("Tensor", torch.Tensor) else ""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return result
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return result
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            self.refuse(node, f"Arguments for call are not valid: {function.__name__}{signature}: {error}")
        for name, found in bound.arguments.items():
            of_tensors = hints.get(name) == "Sequence[Tensor]" and isinstance(found, str)
            if of_tensors and argument_conflict(found, "List[Tensor]"):
                self.refuse(node, f"{function.__name__}: Expected a value of type 'List[Tensor]' for argument '{name}' but "
                            f"instead found type '{found}'")  # fmt: skip
        if "requires_grad" in kwargs and function is not torch.tensor:
            self.refuse(node, "Keyword argument requires_grad unknown")
        return result

    def kind_of_copy(self, target: Any, node: ast.Call, found: str) -> str:
        """Return the type of a call such as `list(x)` or `dict(x)`."""
        if target is tuple:
            if found.startswith("List"):
                self.refuse(node, "cannot statically infer the expected size of a list in this context")
            return found if found.startswith("Tuple") else ""
        if target is dict:
            pair = parts_of(element_kind(found)) if found.startswith("List") else None
            return f"Dict[{pair[0]}, {pair[1]}]" if pair is not None and len(pair) == 2 and all(pair) else ""
        element = self.iterated_kind(node.args[0])
        return f"List[{element}]" if element else ""

    def kind_of_future_call(self, target: Any, node: ast.Call) -> str:
        """Check a call of `fork` or `wait`, and return its type."""
        if target is torch.jit.wait:
            found = self.kind(node.args[0]) if node.args else ""
            return arguments_of(found)[0] if found.startswith("Future[") else ""
        if node.args and self.static(node.args[0]) is UNKNOWN:
            function = self.kind(node.args[0])
            if function in SIMPLE:
                self.refuse(node, f"cannot call a value of type '{function}'")
        call = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
        found = self.kind(call)
        return f"Future[{found}]" if found else ""

    def check_construction(self, cls: type, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> str:
        """Check a call of a user-defined class, and the class; return the type of the object."""
        if str(getattr(cls, "_torchscript_modifier", "")).startswith("ignore"):
            self.refuse(node, f"Cannot instantiate class '{cls.__name__}' in a script function", FrontendError)
        self.check_called(cls, None, node)
        initialize: Any = cls.__init__  # type: ignore[misc]
        if inspect.isfunction(initialize) and not any(isinstance(argument, ast.Starred) for argument in node.args):
            hints = annotations_of_function(initialize, source_of(initialize))
            self.check_arguments(initialize, {**hints, "self": Any}, node, ["", *args], kwargs)
        return kind_of_class(cls)

    def kind_of_method_call(self, function: ast.Attribute, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> str:
        """Check a call of a method of an object, and return its type."""
        if self.is_me(function.value):
            return ""
        owner = self.kind(function.value)
        if owner == "Tensor":
            return self.check_library_call(getattr(torch.Tensor, function.attr), node, ["Tensor", *args], kwargs)
        if owner.startswith("Future[") and function.attr == "wait":
            return arguments_of(owner)[0]
        cls, parts = class_of_kind(owner), dict_parts(owner)
        if parts is not None:
            return kind_of_dict_method(function.attr, *parts, len(args))
        method = vars(cls).get(function.attr) if cls is not None else None
        if cls is None or not inspect.isfunction(method):
            return ""
        hints = annotations_of_function(method, source_of(method))
        if not any(isinstance(argument, ast.Starred) for argument in node.args):
            self.check_arguments(method, {**hints, next(iter(inspect.signature(method).parameters), ""): Any}, node, ["", *args],
                                 kwargs)  # fmt: skip
        if not is_interface(cls) and inspect.unwrap(method) not in self.callers:
            return self.check_called(method, cls, node)
        return simple(named_type(hints["return"])) if "return" in hints else ""

    def check_callee(self, node: ast.Call) -> None:
        """Check the called expression of a call whose function is not known."""
        if isinstance(node.func, ast.Attribute) and isinstance(self.static(node.func.value), types.ModuleType):
            self.kind(node.func)
        if not isinstance(node.func, ast.Attribute):
            found = self.kind(node.func)
            if isinstance(node.func, ast.Name) and found in SIMPLE:
                self.refuse(node, f"cannot call a value of type '{found}'")
            return
        if not self.is_me(node.func.value) or self.module is None:
            found = self.kind(node.func.value)
            if self.module_at(node.func.value) is not None:
                self.kind(node.func)
            if found == "Tensor":
                self.check_member(node.func)
            elif found in NUMBERS:
                self.refuse(node, f"'{found}' object has no attribute or method '{node.func.attr}'")
            elif class_of_kind(found) is not None:
                self.kind_of_member(class_of_kind(found), node.func)  # type: ignore[arg-type]
            return
        self.kind(node.func)
        name = node.func.attr
        own = vars(self.module).get(name)
        if isinstance(own, types.FunctionType) and not is_of_library(own):
            self.check_called(own, None, node)
        method = getattr(type(self.module), name, None)
        if inspect.isfunction(method) and name not in vars(nn.Module) and name not in vars(self.module):
            bound = not isinstance(inspect.getattr_static(type(self.module), name), staticmethod)
            self.check_count(method, node, *([self.module] if bound else []))
            self.check_called(method, self.module if bound else None, node)

    def check_count(self, method: Callable[..., Any], node: ast.Call, *before: Any) -> None:
        """Check the number and the names of the arguments of a method."""
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return
        try:
            inspect.signature(method).bind(*before, *node.args, **{keyword.arg or "": None for keyword in node.keywords})
        except TypeError as error:
            self.refuse(node, f"{method.__name__}{inspect.signature(method)}: {error}")

    def check_builtin(self, target: Any, node: ast.Call) -> None:
        """Check the number of arguments of Python's functions."""
        if target in (print, slice) and node.keywords:
            name = "print doesn't" if target is print else "Slice does not"
            self.refuse(node, f"{name} accept any keyword arguments")
        if target in (range, enumerate, zip) and not node.args and not node.keywords:
            self.refuse(node, f"{target.__name__} expected at least 1 arguments, got 0")
        if target is range and (float_at := next((each for each in node.args if self.kind(each) in ("float", "str")), None)):
            self.refuse(float_at, f"range() expects integers, but found {self.kind(float_at)}")
        if target is unwrap_optional and node.args and self.kind(node.args[0]) == "NoneType":
            self.refuse(node, "the type of the result could not be inferred from actual type None")
        if target is range and len(node.args) > 3:
            self.refuse(node, f"range expected at most 3 arguments, got {len(node.args)}")
        if target is enumerate and len(node.args) > 2:
            self.refuse(node, f"enumerate expected at most 2 arguments, got {len(node.args)}")
        name = getattr(target, "__name__", "")
        if getattr(math, name, None) is target and not node.args:
            self.refuse(node, f"aten::{name}() is missing value for argument 'a'")
        known = _OF_MODULES.get(str(getattr(target, "__module__", "")), ())
        if isinstance(target, types.BuiltinFunctionType) and target is not warnings.warn and name not in known:
            self.refuse(node, f"Python builtin {target!r} is currently not supported in Torchscript")

    def check_call(self, target: types.FunctionType, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> str:
        """Check a call of a function of the program, and the function; return its annotated type."""
        modifier = str(getattr(target, "_torchscript_modifier", ""))
        internal: Any = torch._jit_internal
        overloads = internal._get_fn_overloads(internal._qualified_name(target))
        wrapped = hasattr(target, "__wrapped__") or hasattr(target, "__script_if_tracing_wrapper")
        if modifier.startswith(("unused", "_drop")) or overloads or wrapped:
            return ""
        hints = annotations_of_function(target, source_of(target))
        if modifier.startswith("ignore"):  # the compiler sees only the annotations of an ignored function
            hints.setdefault("return", torch.Tensor)
        if not any(isinstance(argument, ast.Starred) for argument in node.args):
            self.check_arguments(target, hints, node, args, kwargs)
        found = self.check_called(target, None, node)
        return simple(named_type(hints["return"])) if "return" in hints else found

    def check_arguments(
        self, target: types.FunctionType, hints: dict[str, Any], node: ast.Call, args: list[str], kwargs: dict[str, str]
    ) -> None:
        signature = inspect.signature(target)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            self.refuse(node, f"{target.__name__}{signature}: {error}")
        for name, found in bound.arguments.items():
            if not isinstance(found, str):
                continue
            declared = parameter_kind(hints.get(name, torch.Tensor))
            if argument_conflict(found, declared):
                self.refuse(node, f"{target.__name__}: Expected a value of type '{declared}' for argument '{name}' but instead "
                            f"found type '{found}'")  # fmt: skip


def is_method(member: Any) -> bool:
    """Whether a member of a class is a method, property or nested class, and not a plain value."""
    return inspect.isroutine(member) or isinstance(
        member, (property, staticmethod, classmethod, type, types.MemberDescriptorType)
    )


def kind_of_dict_method(name: str, key: str, value: str, count: int) -> str:
    """Return the type of the result of a method of `Dict[key, value]` that is called with `count` arguments."""
    kinds = {"keys": f"List[{key}]", "values": f"List[{value}]", "items": f"List[Tuple[{key}, {value}]]"}
    kinds |= {"copy": f"Dict[{key}, {value}]", "get": value if count > 1 else union_of([value, "NoneType"])}
    return kinds.get(name, "")


def _kind_of_value(value: Any) -> str:
    return "Tensor" if isinstance(value, torch.Tensor) else simple(type(value).__name__)
