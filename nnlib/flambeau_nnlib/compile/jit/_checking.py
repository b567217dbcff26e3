"""Checks of scripted code before it runs, for errors that PyTorch's compiler reports.

Scripts run as Python here, so a mistake such as an undefined name would otherwise show up only when its line is executed, and
code that PyTorch refuses would run. `check_function` walks the syntax tree once, in the order of execution, and follows the
functions of the program that it calls. It computes the types of simple expressions: numbers, strings, tensors, tuples, lists. A
type that it cannot compute is the empty string, and is never a reason for an error. In branches that the compiler may drop,
such as those of `if torch.jit.is_scripting()`, it reports nothing.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

import flambeau as torch

from ... import nn
from ._arguments import annotations_of_function, is_of_library, named_type
from ._expressions import annotations_of
from ._kinds import NUMBERS, SIMPLE, VALUES, conflict, parts_of, simple
from ._object_checks import ObjectChecks, dict_parts, literal_kind
from ._sources import Source, attributes_of, has_annotation, parsed, source_of
from ._syntax import as_load, ends_early, is_call_of, is_call_of_method, may_be_static
from ._types import check_enum, container_without_elements, is_enum, is_named_tuple, missing_elements
from .frontend import NotSupportedError, UnsupportedNodeError

__all__ = ["check_function"]

_STATEMENTS = {
    "AsyncFor": "async for loops", "AsyncFunctionDef": "async function definitions", "AsyncWith": "async with statements",
    "ClassDef": "class definitions", "FunctionDef": "function definitions", "Global": "global variables",
    "Import": "import statements", "ImportFrom": "import statements", "Match": "match statements",
    "Nonlocal": "nonlocal variables", "Try": "try blocks", "TryStar": "try blocks",
}  # fmt: skip
_EXPRESSIONS = ("Await", "Lambda", "NamedExpr", "Set", "SetComp", "Yield", "YieldFrom")
_VARIADIC = "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults"
_CLOSED_OVER = (
    "python value of type '{}' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider "
    "passing it in as an argument or use a local variable instead."
)
_KNOWN_CALLS: dict[Any, str] = {int: "int", float: "float", bool: "bool", str: "str", complex: "complex", len: "int", ord: "int",
                                id: "int", chr: "str", hex: "str", oct: "str", bin: "str"}  # fmt: skip
_UNKNOWN = object()
_CHECKED: set[tuple[types.CodeType, str]] = set()  # functions without errors that do not depend on a module


def check_function(function: Any, owner: Any = None, callers: tuple[Any, ...] = ()) -> None:
    """Check a function, or a method of a module or class, and the functions that it calls.

    Functions of flambeau, functions without source code, and functions marked with `torch.jit.ignore` or `unused` are not
    checked.

    Args:
        function: the function.
        owner: the module or class whose method it is.
        callers: the functions that are being checked.

    Raises:
        NotSupportedError: the code contains syntax that PyTorch cannot compile.
        RuntimeError: PyTorch's compiler refuses the code for another reason. The message gives the source line.
    """
    plain = inspect.unwrap(function.function if isinstance(function, torch.jit.ScriptFunction) else function)
    if not isinstance(plain, types.FunctionType) or is_of_library(plain) or _key(plain) in _CHECKED:
        return
    modifier = str(getattr(plain, "_torchscript_modifier", ""))
    if modifier.startswith(("ignore", "unused", "_drop")) or hasattr(function, "__script_if_tracing_wrapper"):
        return
    if plain in callers:
        _refuse_recursion(plain)
    source = parsed(plain.__code__, plain.__code__.co_filename)
    if source is not None:
        _Checker(plain, source, owner, (*callers, plain)).run()
    if owner is None:
        _CHECKED.add(_key(plain))


def _key(function: types.FunctionType) -> tuple[types.CodeType, str]:
    return function.__code__, function.__code__.co_filename


def _refuse_recursion(function: Any) -> NoReturn:
    raise RuntimeError(f"function '{function.__name__}' is called recursively. Recursive calls are not supported")


class _Scope(NamedTuple):
    """The local names at a point of the code.

    Attributes:
        kinds: the defined names and their types.
        lost: names that are defined only on some paths, with the reason.
    """

    kinds: dict[str, str]
    lost: dict[str, str]

    def copy(self) -> _Scope:
        return _Scope(dict(self.kinds), dict(self.lost))


class _Checker(ObjectChecks):
    """Check one function."""

    def __init__(self, function: types.FunctionType, source: Source, owner: Any, callers: tuple[Any, ...]) -> None:
        self.function, self.source, self.owner, self.callers = function, source, owner, callers
        self.module = owner if isinstance(owner, nn.Module) else None
        self.scope = _Scope({}, {})
        self.globals = function.__globals__
        self.nonlocals = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.nonlocals[name] = cell.cell_contents
            except ValueError:  # assigned after the definition
                self.scope.kinds[name] = ""
        self.hints = annotations_of_function(function, source.text)
        self.me = ""
        self.kinds_of_attributes: dict[str, str] = {}  # in `__init__` of a class
        self.defined_at: dict[str, int] = {}  # maps names to the number of branches and loops around their first assignment
        self.depth = 0  # number of enclosing branches and loops
        self.current: ast.stmt = source.definition
        self.is_text = source.file.startswith("<torch.jit source")
        self.returned: list[str] = []

    def refuse(self, node: ast.AST, what: str, error: type[Exception] = RuntimeError) -> NoReturn:
        line = getattr(node, "lineno", 1)
        text = self.source.text.splitlines()[line - 1]
        start = getattr(node, "col_offset", 0)
        end = node.end_col_offset if getattr(node, "end_lineno", None) == line else len(text)  # type: ignore[attr-defined]
        marks = " " * start + "~" * max((end or 0) - start, 1)
        place = f'File "{self.source.file}", line {self.source.first_line + line - 1}'
        if error is not RuntimeError and self.is_text:  # the parser of text has no other errors
            error = RuntimeError
        raise error(f"{what}:\n  {place}\n{text}\n{marks} <--- HERE")

    # --- the signature ----------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Check the parameters and the body."""
        definition = self.source.definition
        given = definition.args
        if given.vararg or given.kwarg or any(default is not None for default in given.kw_defaults):
            self.refuse(definition, _VARIADIC, NotSupportedError)
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        if self.owner is not None:
            if not given.args:
                self.refuse(definition, "methods must have a self argument")
            self.me = given.args[0].arg
        for argument in arguments:
            kind = self.hints.get(argument.arg, torch.Tensor)
            self.scope.kinds[argument.arg] = simple(named_type(kind)) if argument.arg != self.me else ""
        for kind in self.hints.values():
            self.check_contained(kind, definition)
        self.check_defaults()
        exits = self.block(definition.body)
        declared = self.hints.get("return")
        if not exits and declared is not None and declared is not type(None) and declared is not Any:
            self.refuse(definition, "Function was not annotated as having type None, but does not return along all paths")

    def check_contained(self, kind: Any, node: ast.AST) -> None:
        """Refuse a container type without the types of its elements, and an enumeration without a type for its values."""
        if is_enum(kind):
            check_enum(kind)
        name = container_without_elements(kind)
        if name:
            self.refuse(node, missing_elements(name))

    def check_defaults(self) -> None:
        for name, parameter in inspect.signature(self.function).parameters.items():
            default = parameter.default
            if default is parameter.empty:
                continue
            if any(isinstance(part, (list, dict, set)) for part in (default, *(default if isinstance(default, tuple) else ()))):
                self.refuse(self.source.definition, "Mutable default parameters are not supported because Python binds them to "
                            f"the function and they persist across function calls: '{name}'")  # fmt: skip
            found, inferred = simple(type(default).__name__), name not in self.hints
            declared = named_type(self.hints.get(name, torch.Tensor))
            converts = found in NUMBERS and declared in ("float", "bool", "complex")
            if conflict(found, declared) and not converts and not (declared == "Tensor" and default is None):
                note = f". Because '{name}' was not annotated with an explicit type it is assumed to be type 'Tensor'" * inferred
                self.refuse(self.source.definition, f"Expected a default value of type {declared}{' (inferred)' * inferred} on "
                            f"parameter '{name}'{note}")  # fmt: skip

    # --- statements -------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> bool:
        """Check statements; return whether all paths through them end in `return`, `raise`, `break` or `continue`."""
        return any(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        name = type(node).__name__
        self.current = node
        if name in _STATEMENTS and not (self.is_text and name == "FunctionDef"):
            self.refuse(node, f"{_STATEMENTS[name]} aren't supported", UnsupportedNodeError)
        check: Callable[[Any], bool | None] | None = getattr(self, f"statement_{name}", None)
        return bool(check is not None and check(node))

    def statement_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.scope.kinds[node.name] = ""

    def statement_Expr(self, node: ast.Expr) -> None:
        self.kind(node.value)

    def statement_Return(self, node: ast.Return) -> bool:
        found = "NoneType" if node.value is None else self.kind(node.value)
        former = next((kind for kind in self.returned if kind in VALUES), found)
        self.returned.append(found)
        if "return" not in self.hints and found in VALUES and found != former:
            self.refuse(node, f"Previous return statement returned a value of type {former} but this return statement returns a "
                        f"value of type {found}")  # fmt: skip
        if "return" in self.hints:
            declared = named_type(self.hints["return"])
            if conflict(found, declared) and not (found == "Tensor" and declared in NUMBERS):
                self.refuse(node, f"Return value was annotated as having type {declared} but is actually of type {found}")
        return True

    def statement_Raise(self, node: ast.Raise) -> bool:
        raised = node.exc
        if isinstance(raised, ast.Call):
            for argument in raised.args:
                self.kind(argument)
            raised = raised.func
        if isinstance(raised, ast.Name):
            self.kind(raised)
        return True

    def statement_Assert(self, node: ast.Assert) -> bool:
        if not may_be_static(node.test) or is_call_of_method(node.test, "isinstance"):
            self.condition(node.test)
        return isinstance(node.test, ast.Constant) and not node.test.value

    def statement_Break(self, node: ast.AST) -> bool:
        return True

    statement_Continue = statement_Break

    def statement_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.kinds.pop(target.id, None)
            self.check_deletion(target)

    def statement_With(self, node: ast.With) -> bool:
        if any("_IgnoreContextManager" in ast.unparse(item.context_expr) for item in node.items):
            self.define_all(node.body)
            return False
        for item in node.items:
            self.kind(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, "")
        return self.block(node.body)

    def statement_If(self, node: ast.If) -> bool:
        if may_be_static(node.test) or self.names_constant(node.test):
            exits = [ends_early(node.body), ends_early(node.orelse)]
            self.define_all([*node.body, *node.orelse])
            return any(exits)
        self.condition(node.test)
        return self.join(node)

    def join(self, node: ast.If) -> bool:
        """Check both branches of an `if`, and compute the names that are defined after it."""
        before = self.scope
        ends: list[_Scope] = []
        exits: list[bool] = []
        self.depth += 1
        for branch in (node.body, node.orelse):
            self.scope = before.copy()
            exits.append(self.block(branch))
            ends.append(self.scope)
        self.depth -= 1
        if exits[0] or exits[1]:
            self.scope = before if all(exits) else ends[exits[0]]
            return all(exits)
        true, false = ends
        self.scope = _Scope({}, {**true.lost, **false.lost})
        for name in {**true.kinds, **false.kinds}:
            if name in true.kinds and name in false.kinds:
                self.merge(name, true.kinds[name], false.kinds[name])
            else:
                missing = "true" if name not in true.kinds else "false"
                self.scope.lost[name] = f"{name} is not defined in the {missing} branch"
        return False

    def merge(self, name: str, first: str, second: str) -> None:
        if first in VALUES and second in VALUES and first != second:
            self.scope.lost[name] = (
                f"Type mismatch: {name} is set to type {first} in the true branch and type {second} in the false branch"
            )
            return
        self.scope.lost.pop(name, None)
        self.scope.kinds[name] = first if first == second else ""

    def define_all(self, statements: Iterable[ast.stmt]) -> None:
        """Define the names that statements may assign, with unknown types."""
        for statement in statements:
            for child in ast.walk(statement):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    self.scope.kinds[child.id] = ""
                    self.scope.lost.pop(child.id, None)
        for name in self.scope.kinds:
            self.scope.kinds[name] = ""  # a test such as `x is None` may have refined the type of any name

    def statement_While(self, node: ast.While) -> bool:
        if node.orelse:
            self.refuse(node, "else branches of while loops aren't supported", NotSupportedError)
        self.condition(node.test)
        self.loop(node.body)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return endless and not any(isinstance(child, ast.Break) for child in ast.walk(node))

    def statement_For(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse(node, "else branches of for loops aren't supported", NotSupportedError)
        if isinstance(node.target, ast.Starred):
            self.refuse(node, "Starred unpacking is only allowed in a tuple or list")
        found = self.kind(node.iter)
        if found in (*NUMBERS, "NoneType"):
            self.refuse(node.iter, f"'{found}' object is not iterable")
        is_range = is_call_of(node.iter, "range")
        is_unrolled = found.startswith("Tuple") or (found == "" and not is_range)  # a value of unknown type may be a ModuleList
        self.loop(node.body, node.target, "int" if is_range else "", keeps=is_unrolled)

    def loop(self, body: list[ast.stmt], target: ast.expr | None = None, kind: str = "", *, keeps: bool = False) -> None:
        """Check the body of a loop.

        Args:
            body: the statements.
            target: the loop variable of `for`.
            kind: its type.
            keeps: whether names that the body defines may be used after the loop: loops over modules and tuples are unrolled.
        """
        before = self.scope
        self.scope = before.copy()
        assigned = {name.id for statement in body for name in ast.walk(statement)
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}  # fmt: skip
        if keeps:
            for name in assigned & set(self.scope.kinds):
                self.scope.kinds[name] = ""
        if target is not None:
            self.assign(target, kind)
        self.depth += 1
        self.block(body)
        self.depth -= 1
        after = self.scope
        self.scope = before.copy()
        if keeps:
            self.scope.kinds.update(dict.fromkeys(after.kinds, ""))
            self.scope.kinds.update({name: kind for name, kind in before.kinds.items() if name not in assigned})
            return
        for name in assigned & set(before.kinds):
            old, new = before.kinds[name], after.kinds.get(name, "")
            if old != new and old in SIMPLE and new in SIMPLE:
                self.refuse(body[0], f"Variable '{name}' previously had type {old} but is now being assigned to a value of type "
                            f"{new}")  # fmt: skip
            if not new:
                self.scope.kinds[name] = ""

    def statement_Assign(self, node: ast.Assign) -> None:
        found = self.kind(node.value)
        if not found and not any(isinstance(target, ast.Name) and target.id in self.scope.kinds for target in node.targets):
            found = literal_kind(node.value)
        if is_call_of_method(node.value, "tolist") and self.kind(node.value.func.value) == "Tensor":  # type: ignore[attr-defined]
            self.refuse(node.value, "Expected type hint for result of tolist()")
        for target in node.targets:
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(self.static(node.value), types.FunctionType):
                self.refuse(node, "a function cannot be used as a tuple")
            self.assign(target, found)

    def statement_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.refuse(node, "AnnAssign aren't supported: without assigned value", UnsupportedNodeError)
        found = self.kind(node.value)
        hints = self.annotation(node.annotation)
        if conflict(found, hints):
            self.refuse(node, f"Variable '{ast.unparse(node.target)}' is annotated with type {hints} but is being assigned to a "
                        f"value of type {found}")  # fmt: skip
        self.check_invariance(node, found, hints)
        self.assign(node.target, simple(hints))

    def annotation(self, node: ast.expr) -> str:
        kind = self.evaluated(node)
        self.check_contained(kind, node)
        return named_type(kind)

    def evaluated(self, node: ast.expr) -> Any:
        """Evaluate an annotation; return `Any` if it is unknown."""
        names = {**vars(typing), **vars(builtins), "Tensor": torch.Tensor, **self.globals, **self.nonlocals}
        try:
            return eval(ast.unparse(node), names)
        except Exception:
            return Any

    def statement_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, (ast.Name, ast.Attribute, ast.Subscript)):
            self.refuse(node, "left-hand side of augmented assignment must be a variable, an attribute or an index")
        if isinstance(node.op, (ast.FloorDiv, ast.MatMult)):
            self.refuse(node, f"unsupported kind of augmented assignment: {type(node.op).__name__}", NotSupportedError)
        read = ast.copy_location(as_load(node.target), node.target)
        if isinstance(node.target, ast.Subscript) and self.kind(node.target.value).startswith("Tuple"):
            self.refuse(node, "Tuple does not support augmented assign, because it is immutable")
        left, right = self.kind(read), self.kind(node.value)
        if isinstance(node.target, ast.Name):
            kept = left == "Tensor" or (left == right and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)))
            self.scope.kinds[node.target.id] = left if kept else ""

    def assign(self, target: ast.expr, kind: str) -> None:
        """Define the names of a target of an assignment."""
        if isinstance(target, ast.Name):
            if target.id == self.me and self.me:
                self.refuse(target, f"Cannot re-assign '{target.id}' because it is a module, and not a first-class value")
            if self.depth and kind == "Tensor" and self.scope.kinds.get(target.id) in NUMBERS:
                kind = ""  # the compiler converts the tensor to the type of the number
            former = self.scope.kinds.get(target.id, "")
            is_outer = self.defined_at.setdefault(target.id, self.depth) < self.depth
            if is_outer and former != kind and former.startswith("List[") and kind.startswith("List["):
                self.refuse(
                    target,
                    f"Variable '{target.id}' previously had type {former} but is now being assigned to a value of type {kind}",
                )
            self.scope.kinds[target.id] = kind
            self.scope.lost.pop(target.id, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, kind)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, "")
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, kind)
        elif isinstance(target, ast.Attribute):
            self.assign_attribute(target, kind)

    def unpack(self, target: ast.Tuple | ast.List, kind: str) -> None:
        starred = sum(isinstance(element, ast.Starred) for element in target.elts)
        if starred and len(target.elts) == 1:
            self.refuse(target, "A Starred expression may only appear on the lhs within the presence of another non-starred "
                        "expression")  # fmt: skip
        if kind in (*NUMBERS, "str", "NoneType"):
            self.refuse(target, f"{kind} cannot be used as a tuple")
        parts = parts_of(kind)
        if parts is not None and not starred and len(parts) != len(target.elts):
            wrong = "need" if len(parts) < len(target.elts) else "too many values to unpack: need"
            self.refuse(target, f"{wrong} {len(target.elts)} values but found {'only ' * (wrong == 'need')}{len(parts)}")
        for place, element in enumerate(target.elts):
            self.assign(element, parts[place] if parts is not None and not starred else "")

    # --- expressions ------------------------------------------------------------------------------------------------

    def condition(self, node: ast.expr) -> None:
        """Check the condition of an `if` or `while`."""
        found = self.kind(node)
        if found.startswith("Tuple") or found == "NoneType":
            self.refuse(node, f"Could not cast value of type {found} to bool")

    def names_constant(self, node: ast.expr) -> bool:
        """Whether a condition names something outside the function, which may be known when it is compiled."""
        return any(isinstance(name, ast.Name) and name.id not in self.scope.kinds and name.id not in self.scope.lost
                   and self.lookup(name.id) is not torch and not is_enum(self.lookup(name.id)) and not hasattr(builtins, name.id)
                   and name.id in {**self.globals, **self.nonlocals} for name in ast.walk(node))  # fmt: skip

    def lookup(self, name: str) -> Any:
        if isinstance(self.owner, type) and name == self.owner.__name__:  # a decorator runs before the class has its name
            return self.owner
        for names in (self.nonlocals, self.globals, vars(builtins)):
            if name in names:
                return names[name]
        return _UNKNOWN

    def static(self, node: ast.expr) -> Any:
        """Return the Python object that an expression names, such as `torch.nn.functional.relu`, or `_UNKNOWN`."""
        if isinstance(node, ast.Name) and node.id not in self.scope.kinds:
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value)
            if isinstance(owner, types.ModuleType):
                return getattr(owner, node.attr, _UNKNOWN)
        return _UNKNOWN

    def kind(self, node: ast.expr) -> str:
        """Check an expression and return its type, or an empty string if it is not simple."""
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
            return self.scope.kinds[node.id]
        if node.id in self.scope.lost:
            self.refuse(node, self.scope.lost[node.id])
        value = self.lookup(node.id)
        if value is _UNKNOWN:
            self.refuse(node, f"undefined value {node.id}")
        if value is math.inf or value is math.nan:  # the compiler has these constants
            return "float"
        if type(value) in (int, float, complex, str, list, dict, set) or isinstance(value, torch.Tensor):
            self.refuse(node, _CLOSED_OVER.format(type(value).__name__))
        return ""

    def kind_JoinedStr(self, node: ast.JoinedStr) -> str:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.kind(part.value)
        return "str"

    def kind_List(self, node: ast.List) -> str:
        found = [self.kind(element) for element in node.elts]
        same = found and all(found) and len(set(found)) == 1
        return f"List[{found[0]}]" if same else "List" if found else ""

    def kind_Tuple(self, node: ast.Tuple) -> str:
        return f"Tuple[{', '.join(self.kind(element) or '?' for element in node.elts) or '()'}]"

    def kind_Dict(self, node: ast.Dict) -> str:
        if None in node.keys:
            self.refuse(node, "Dict expansion (e.g. `{**dict}`) is not supported", NotSupportedError)
        keys, values = ({self.kind(part) for part in parts if part is not None} for parts in (node.keys, node.values))
        if len(keys) == len(values) == 1 and all((*keys, *values)):
            return f"Dict[{keys.pop()}, {values.pop()}]"
        return "Dict" if node.keys else ""

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
        if (left in SIMPLE and right in SIMPLE) or parts_of(left) is not None or parts_of(right) is not None:
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
        has_tuple = left.startswith("Tuple") or (isinstance(node.op, ast.Mult) and right.startswith("Tuple"))
        repeats = isinstance(node.op, (ast.Mult, ast.Mod)) and ("str" in kinds or has_tuple)
        if kinds[0] in numeric and kinds[1] and kinds[1] not in numeric and not repeats:
            self.refuse(node, f"Arguments for call are not valid: {left} and {right}")

    def kind_Compare(self, node: ast.Compare) -> str:
        found = {self.kind(part) for part in (node.left, *node.comparators)}
        is_test = any(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops)
        return "bool" if is_test or found <= set(NUMBERS) else "Tensor" if found <= {"Tensor", *NUMBERS} else ""

    def kind_Subscript(self, node: ast.Subscript) -> str:
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
            return ""
        except IndexError:
            self.refuse(node, "Tuple index out of range")

    def kind_Attribute(self, node: ast.Attribute) -> str:
        if self.is_me(node.value):
            if self.module is not None:
                return self.kind_of_attribute(node)
            if node.attr not in attributes_of(self.owner):
                self.refuse(node, f"'{self.owner.__name__}' object has no attribute or method '{node.attr}'")
            return ""
        owner = self.static(node.value)
        if isinstance(owner, types.ModuleType):
            if not hasattr(owner, node.attr):
                self.refuse(node, f"module '{owner.__name__}' has no attribute '{node.attr}'")
            return ""
        if owner is not _UNKNOWN:
            if isinstance(owner, types.FunctionType) and is_of_library(owner):
                self.refuse(node, "attribute lookup is not defined on builtin")
            if not hasattr(owner, node.attr):
                self.refuse(node, f"'{type(owner).__name__}' object has no attribute '{node.attr}'")
            return ""
        if self.kind(node.value) == "Tensor":
            self.check_member(node)
            if callable(getattr(torch.Tensor, node.attr)):
                self.refuse(node, "builtin cannot be used as a value")
        return ""

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
            kind = type(getattr(self.module, node.attr)).__name__
            self.refuse(node, f"Module '{type(self.module).__name__}' has no attribute '{node.attr}' (This attribute exists on "
                        f"the Python module, but we failed to convert Python type: '{kind}' to a TorchScript type.)")  # fmt: skip
        declared = annotations_of(type(self.module)).get(node.attr)
        if declared is not None:
            return simple(named_type(declared))
        value = getattr(self.module, node.attr, ...)
        plain = type(value).__name__ if type(value) in (int, float, str, bool) else ""
        return "Tensor" if isinstance(value, torch.Tensor) else plain

    def kind_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> str:
        if len(node.generators) > 1:
            self.refuse(node, "Only a single generator is currently supported", NotSupportedError)
        loop = node.generators[0]
        if loop.ifs:
            self.refuse(node, "Comprehension ifs are not supported yet", NotSupportedError)
        self.kind(loop.iter)
        former, self.scope = self.scope, self.scope.copy()
        self.assign(loop.target, "int" if is_call_of(loop.iter, "range") else "")
        for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.kind(part)
        self.scope = former
        return ""

    kind_DictComp = kind_GeneratorExp = kind_ListComp

    # --- calls ------------------------------------------------------------------------------------------------------

    def kind_Call(self, node: ast.Call) -> str:
        if any(keyword.arg is None for keyword in node.keywords):
            self.refuse(node, "keyword-arg expansion is not supported", NotSupportedError)
        target = self.static(node.func)
        if target is _UNKNOWN:
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
        args = [self.kind(argument) for argument in node.args]
        if is_call_of_method(node, "append"):
            self.check_append(node, args)
        kwargs = {keyword.arg or "": self.kind(keyword.value) for keyword in node.keywords}
        self.check_builtin(target, node)
        if isinstance(target, torch.jit.ScriptFunction):
            target = target.function
        if isinstance(target, types.FunctionType) and not is_of_library(target):
            return self.check_call(target, node, args, kwargs)
        if is_named_tuple(target):
            self.check_named_tuple(target, node, args, kwargs)
        if isinstance(target, torch.jit.ScriptModule):
            self.refuse(node, "Cannot call a ScriptModule that is not a submodule of the caller")
        if isinstance(target, type) and issubclass(target, nn.Module):
            self.refuse(node, f"Class '{target.__name__}' cannot be compiled since it inherits from nn.Module")
        return _KNOWN_CALLS.get(target, "") if isinstance(target, (type, types.BuiltinFunctionType)) else ""

    def check_callee(self, node: ast.Call) -> None:
        """Check the called expression of a call whose function is not known."""
        if not isinstance(node.func, ast.Attribute):
            found = self.kind(node.func)
            if isinstance(node.func, ast.Name) and found in SIMPLE:
                self.refuse(node, f"cannot call a value of type '{found}'")
            return
        if not self.is_me(node.func.value) or self.module is None:
            found = self.kind(node.func.value)
            if found == "Tensor":
                self.check_member(node.func)
            elif found in NUMBERS:
                self.refuse(node, f"'{found}' object has no attribute or method '{node.func.attr}'")
            return
        self.kind(node.func)
        name = node.func.attr
        method = getattr(type(self.module), name, None)
        if inspect.isfunction(method) and name not in vars(nn.Module) and name not in vars(self.module):
            bound = not isinstance(inspect.getattr_static(type(self.module), name), staticmethod)
            self.check_count(method, node, *([self.module] if bound else []))
            if inspect.unwrap(method) not in self.callers:  # methods may be recursive
                check_function(method, self.module if bound else None, self.callers)

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
        if target is print and node.keywords:
            self.refuse(node, "print doesn't accept any keyword arguments")
        if target in (range, enumerate, zip) and not node.args and not node.keywords:
            self.refuse(node, f"{target.__name__} expected at least 1 arguments, got 0")
        if target is range and len(node.args) > 3:
            self.refuse(node, f"range expected at most 3 arguments, got {len(node.args)}")
        if target is enumerate and len(node.args) > 2:
            self.refuse(node, f"enumerate expected at most 2 arguments, got {len(node.args)}")
        name = getattr(target, "__name__", "")
        if getattr(math, name, None) is target and not node.args:
            self.refuse(node, f"aten::{name}() is missing value for argument 'a'")

    def check_call(self, target: types.FunctionType, node: ast.Call, args: list[str], kwargs: dict[str, str]) -> str:
        """Check a call of a function of the program, and the function; return its annotated type."""
        modifier = str(getattr(target, "_torchscript_modifier", ""))
        internal: Any = torch._jit_internal
        overloads = internal._get_fn_overloads(internal._qualified_name(target))
        wrapped = hasattr(target, "__wrapped__") or hasattr(target, "__script_if_tracing_wrapper")
        if modifier.startswith(("unused", "_drop")) or overloads or wrapped:
            return ""
        hints = annotations_of_function(target, source_of(target))
        if not any(isinstance(argument, ast.Starred) for argument in node.args):
            self.check_arguments(target, hints, node, args, kwargs)
        check_function(target, None, self.callers)
        return simple(named_type(hints["return"])) if "return" in hints else ""

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
            declared = named_type(hints.get(name, torch.Tensor))
            if conflict(found, declared) and not (found == "Tensor" and declared in NUMBERS):
                self.refuse(node, f"{target.__name__}: Expected a value of type '{declared}' for argument '{name}' but instead "
                            f"found type '{found}'")  # fmt: skip
