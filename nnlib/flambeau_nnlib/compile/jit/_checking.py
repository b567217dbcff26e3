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
import types
import typing
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, NoReturn

import flambeau as torch

from ... import nn
from ._arguments import annotations_of_function, is_of_library, missing_method, problem_of_type_comment
from ._expression_checks import ExpressionChecks
from ._kinds import (
    NUMBERS,
    SIMPLE,
    VALUES,
    argument_conflict,
    class_of_kind,
    conflict,
    members_of,
    named_type,
    parts_of,
    simple,
    union_of,
)
from ._object_checks import literal_kind
from ._sources import Source, annotations_of, constants_of, marked_source, parsed
from ._syntax import METHODS_OF_OPERATORS, as_load, ends_early, is_call_of, is_call_of_method, may_be_static
from ._types import (
    check_enum,
    container_without_elements,
    is_enum,
    is_interface,
    is_named_tuple,
    is_script_class,
    missing_elements,
)
from .frontend import FrontendError, NotSupportedError, UnsupportedNodeError

__all__ = ["check_class", "check_constants", "check_function"]

_STATEMENTS = {
    "AsyncFor": "async for loops", "AsyncFunctionDef": "async function definitions", "AsyncWith": "async with statements",
    "ClassDef": "class definitions", "FunctionDef": "function definitions", "Global": "global variables",
    "Import": "import statements", "ImportFrom": "import statements", "Match": "match statements",
    "Nonlocal": "nonlocal variables", "Try": "try blocks", "TryStar": "try blocks",
}  # fmt: skip
_VARIADIC = "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults"
_KEYS = (*VALUES, "Device")  # types of the keys of dictionaries
# Functions without errors that do not depend on a module, and the types of their results.
_CHECKED: dict[tuple[types.CodeType, str], str] = {}
# The methods of modules that are checked while one function and the functions that it calls are checked.
_CHECKED_METHODS: weakref.WeakKeyDictionary[nn.Module, dict[Any, str]] = weakref.WeakKeyDictionary()
_CHECKED_CLASSES: weakref.WeakSet[type] = weakref.WeakSet()
_KINDS_OF_ATTRIBUTES: weakref.WeakKeyDictionary[type, dict[str, str]] = weakref.WeakKeyDictionary()


def check_function(function: Any, owner: Any = None, callers: tuple[Any, ...] = ()) -> str:
    """Check a function, or a method of a module or class, and the functions that it calls. Return the type of its result.

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
    if not isinstance(plain, types.FunctionType) or is_of_library(plain):
        return ""
    if _key(plain) in _CHECKED:
        return _CHECKED[_key(plain)]
    modifier = str(getattr(function, "_torchscript_modifier", getattr(plain, "_torchscript_modifier", "")))
    if modifier.startswith(("ignore", "unused", "_drop")) or hasattr(function, "__script_if_tracing_wrapper"):
        return ""
    if plain in callers:
        _refuse_recursion(plain)
    if not callers:
        _CHECKED_METHODS.clear()
    methods = _CHECKED_METHODS.setdefault(owner, {}) if isinstance(owner, nn.Module) else {}
    if plain in methods:
        return methods[plain]
    source = parsed(plain.__code__, plain.__code__.co_filename)
    found = ""
    if source is not None:
        checker = _Checker(plain, source, owner, (*callers, plain))
        checker.run()
        found = checker.result()
    methods[plain] = found
    if not isinstance(owner, nn.Module):
        _CHECKED[_key(plain)] = found
    return found


_CONSTANTS = (int, float, complex, bool, str, type(None), torch.device, torch.layout, torch.dtype)


def check_constants(module: nn.Module) -> None:
    """Raise TypeError if a constant attribute of a module has a value that is not a number, string, None or tuple of them."""
    registered = {*module._modules, *module._parameters, *module._buffers}
    for name in (constants_of(type(module)) & set(vars(module))) - registered:
        for value in _leaves(getattr(module, name)):
            if not isinstance(value, _CONSTANTS):
                raise TypeError(
                    f"'{torch.typename(value)}' object in attribute '{type(module).__name__}.{name}' is not a valid constant.\n"
                    f"Valid constants are: {', '.join(kind.__name__ for kind in _CONSTANTS)}, and tuples and lists of them"
                )


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def check_class(cls: type, callers: tuple[Any, ...] = ()) -> None:
    """Check the methods of a user-defined class that scripted code uses."""
    if issubclass(cls, nn.Module):
        raise RuntimeError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead"
        )
    if not is_script_class(cls) or cls in _CHECKED_CLASSES:
        return
    if len(cls.__mro__) > 2:
        raise RuntimeError("TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.")
    _CHECKED_CLASSES.add(cls)
    try:
        for member in list(vars(cls).values()):
            if inspect.isfunction(member) and member not in callers:
                check_function(member, cls, callers)
    except Exception:
        _CHECKED_CLASSES.discard(cls)
        raise


def attribute_kinds(cls: type) -> dict[str, str]:
    """Return the types of the attributes of the objects of a user-defined class, from annotations and from `__init__`."""
    if cls not in _KINDS_OF_ATTRIBUTES:
        declared = {name: simple(named_type(kind)) for name, kind in annotations_of(cls).items()}
        _KINDS_OF_ATTRIBUTES[cls] = declared
        initialize: Any = inspect.unwrap(cls.__init__)  # type: ignore[misc]
        source = parsed(initialize.__code__, initialize.__code__.co_filename) if inspect.isfunction(initialize) else None
        if source is not None:
            checker = _Checker(initialize, source, cls, (initialize,))
            checker.run()
            _KINDS_OF_ATTRIBUTES[cls] = {**checker.kinds_of_attributes, **declared}
    return _KINDS_OF_ATTRIBUTES[cls]


def _key(function: types.FunctionType) -> tuple[types.CodeType, str]:
    return function.__code__, function.__code__.co_filename


def _refuse_recursion(function: Any) -> NoReturn:
    raise RuntimeError(f"function '{function.__name__}' is called recursively. Recursive calls are not supported")


def _differ(first: str, second: str) -> bool:
    """Whether no type accepts values of both types, except for an optional."""
    return "NoneType" not in (first, second) and conflict(first, second) and conflict(second, first)


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


class _Checker(ExpressionChecks):
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
        self.depth = 0  # number of enclosing branches and loops
        self.current: ast.stmt = source.definition
        self.is_text = source.file.startswith("<torch.jit source")
        self.outer: set[str] = set()  # the names that are defined outside of the current branch or loop
        self.hinted: ast.expr | None = None  # the value of the last annotated assignment
        self.returned: list[str] = []
        self.known: dict[int, tuple[ast.expr, str]] = {}  # types of expressions, until a name is assigned
        self.attribute_kinds = attribute_kinds

    def refuse(self, node: ast.AST, what: str, error: type[Exception] = RuntimeError) -> NoReturn:
        if error is not RuntimeError and self.is_text:  # the parser of text has no other errors
            error = RuntimeError
        raise error(f"{what}:\n{marked_source(self.source, node)}")

    def check_called(self, function: Any, owner: Any, node: ast.AST) -> str:
        """Check a function or class that this one calls, and return the type of its result. Errors show the call as well."""
        try:
            if isinstance(function, type):
                check_class(function, self.callers)
                return ""
            return check_function(function, owner, self.callers)
        except (RuntimeError, FrontendError) as error:
            name = getattr(function, "__name__", "a function")
            caller = self.function.__name__ if self.module is None else f"{type(self.module).__name__}.{self.function.__name__}"
            where = f"'{name}' is being compiled since it was called from '{caller}'\n{marked_source(self.source, node)}"
            raise type(error)(f"{error}\n{where}") from error.__cause__

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
        problem = problem_of_type_comment(self.function, self.source.text)
        if problem:
            self.refuse(definition, problem)
        for name, kind in self.hints.items():
            if name != self.me:
                self.check_contained(kind, definition)
        self.check_defaults()
        exits = self.raises = self.block(definition.body)
        declared = self.hints.get("return")
        if not exits and declared is not None and declared is not type(None) and declared is not Any:
            self.refuse(definition, "Function was not annotated as having type None, but does not return along all paths")

    def check_contained(self, kind: Any, node: ast.AST) -> None:
        """Refuse types without TorchScript type: containers without the types of their elements, modules, and some keys."""
        if is_enum(kind):
            check_enum(kind)
        name = container_without_elements(kind)
        if name:
            self.refuse(node, missing_elements(name))
        if isinstance(kind, type) and issubclass(kind, nn.Module) and not is_interface(kind):
            self.refuse(node, f"Unknown type annotation: '{kind.__module__}.{kind.__name__}'", ValueError)
        if is_named_tuple(kind) and any(isinstance(default, torch.Tensor) for default in kind._field_defaults.values()):
            self.refuse(node, f"Tensors are not supported as default values of the fields of a NamedTuple: {kind.__name__}")
        inside = typing.get_args(kind)
        if typing.get_origin(kind) is dict and len(inside) == 2 and simple(named_type(inside[0])) not in ("", *_KEYS):
            self.refuse(node, f"Cannot create dict for key type '{named_type(inside[0])}', only int, float, complex, Tensor, "
                        "device and string keys are supported")  # fmt: skip
        for element in inside if typing.get_origin(kind) is not None else ():
            self.check_contained(element, node)

    def result(self) -> str:
        """Return the type of the result, as declared or of the values that are returned."""
        if "return" in self.hints:
            return simple(named_type(self.hints["return"]))
        kinds = set(self.returned)
        return "NoneType" if not kinds and not self.raises else kinds.pop() if len(kinds) == 1 else ""

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
            converts = found in NUMBERS and not {"float", "bool", "complex"}.isdisjoint(members_of(declared))
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
        self.known.clear()
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
            if argument_conflict(found, declared):
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
        if may_be_static(node.test):
            self.forget_unions()
            for child in ast.walk(node.test):
                if isinstance(child, ast.Subscript):
                    self.check_index_of_modules(self.module_at(child.value), child)
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
            for call in ast.walk(node.test):
                if is_call_of(call, "isinstance"):
                    self.kind(call.args[0])  # type: ignore[attr-defined]
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
        outer, self.outer = self.outer, set(before.kinds)
        for branch in (node.body, node.orelse):
            self.scope = before.copy()
            exits.append(self.block(branch))
            ends.append(self.scope)
        self.depth, self.outer = self.depth - 1, outer
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
        if first != second and ((first in VALUES and second in VALUES) or _differ(first, second)):
            self.scope.lost[name] = (
                f"Type mismatch: {name} is set to type {first} in the true branch and type {second} in the false branch"
            )
            return
        self.scope.lost.pop(name, None)
        self.scope.kinds[name] = first if first == second else union_of([first, second]) if "NoneType" in (first, second) else ""

    def forget_unions(self) -> None:
        """Forget the types of names that a test such as `x is not None` may refine."""
        for name, kind in self.scope.kinds.items():
            if len(members_of(kind)) > 1:
                self.scope.kinds[name] = ""

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
        if may_be_static(node.test):
            self.forget_unions()
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
        self.check_length_of_modules(node.iter)
        if isinstance(node.target, ast.Tuple) and any(part.startswith("List[") for part in parts_of(found) or ()):
            self.refuse(node.iter, "List of iterables is not supported currently")
        self.loop(node.body, node.target, self.iterated_kind(node.iter), keeps=is_unrolled)

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
        outer = self.outer
        if not keeps:
            self.outer = set(before.kinds)
        self.block(body)
        self.depth, self.outer = self.depth - 1, outer
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
            if (
                isinstance(target, ast.Name)
                and target.id in self.scope.kinds
                and self.is_me(node.value)
                and self.module is not None
            ):
                self.refuse(node, f"Cannot re-assign '{target.id}' to a value of type module")
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(self.static(node.value), types.FunctionType):
                self.refuse(node, "a function cannot be used as a tuple")
            self.assign(target, found)

    def statement_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.refuse(node, "AnnAssign aren't supported: without assigned value", UnsupportedNodeError)
        self.hinted = node.value
        found = self.kind(node.value)
        hints = self.annotation(node.annotation)
        self.check_declaration(node)
        self.check_candidates(node, hints)
        if conflict(found, hints):
            self.refuse(node, f"Variable '{ast.unparse(node.target)}' is annotated with type {hints} but is being assigned to a "
                        f"value of type {found}")  # fmt: skip
        self.check_invariance(node, found, hints)
        self.check_implementations(node)
        self.assign(node.target, simple(hints))

    def check_implementations(self, node: ast.AnnAssign) -> None:
        """Check that all modules of a container implement the interface that is declared for one of them."""
        interface = self.evaluated(node.annotation)
        if not isinstance(node.value, ast.Subscript) or not is_interface(interface):
            return
        container = self.module_at(node.value.value)
        for name, child in container.named_children() if container is not None else ():
            problem = missing_method(type(child), interface)
            if problem:
                self.refuse(node.value, f"Attribute {name} is not of annotated type {interface.__name__}: {problem}")

    def check_declaration(self, node: ast.AnnAssign) -> None:
        """Refuse to declare the type of a name again in a branch or loop, or that of an attribute outside of `__init__`."""
        target = node.target
        if isinstance(target, ast.Name) and target.id in self.outer:
            self.refuse(node, f"Attempting to declare and annotate the type of variable '{target.id}' that is already defined in "
                        "an outer block")  # fmt: skip
        is_attribute = isinstance(target, ast.Attribute) and self.is_me(target.value)
        if is_attribute and self.module is None and self.function.__name__ != "__init__":
            self.refuse(node, "Type annotations on instance attributes must be declared in __init__, not "
                        f"'{self.function.__name__}'", ValueError)  # fmt: skip

    def annotation(self, node: ast.expr) -> str:
        kind = self.evaluated(node)
        self.check_contained(kind, node)
        return named_type(kind)

    def evaluated(self, node: ast.expr) -> Any:
        """Evaluate an annotation; return `Any` if it is unknown."""
        names = {**vars(typing), **vars(builtins), "Tensor": torch.Tensor, **self.globals, **self.nonlocals}
        if isinstance(self.owner, type):
            names[self.owner.__name__] = self.owner
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
        cls, name = class_of_kind(left), METHODS_OF_OPERATORS.get(type(node.op), "")
        if name and is_script_class(cls) and not (hasattr(cls, f"__i{name}__") or hasattr(cls, f"__{name}__")):
            self.refuse(node, f"Cannot emit inplace op on a value of type {left}: it does not define __i{name}__ or __{name}__")
        if isinstance(node.target, ast.Name):
            kept = left == "Tensor" or (left == right and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)))
            self.scope.kinds[node.target.id] = left if kept else ""

    def assign(self, target: ast.expr, kind: str) -> None:
        """Define the names of a target of an assignment."""
        self.known.clear()
        if isinstance(target, ast.Name):
            if target.id == self.me and self.me:
                self.refuse(target, f"Cannot re-assign '{target.id}' because it is a module, and not a first-class value")
            if self.depth and kind == "Tensor" and self.scope.kinds.get(target.id) in NUMBERS:
                kind = ""  # the compiler converts the tensor to the type of the number
            former = self.scope.kinds.get(target.id, "")
            if target.id in self.outer and former != kind and (conflict(kind, former) or (former, kind) == ("int", "bool")):
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
        if kind in SIMPLE:
            self.refuse(target, f"{kind} cannot be used as a tuple")
        parts = parts_of(kind)
        if parts is not None and not starred and len(parts) != len(target.elts):
            wrong = "need" if len(parts) < len(target.elts) else "too many values to unpack: need"
            self.refuse(target, f"{wrong} {len(target.elts)} values but found {'only ' * (wrong == 'need')}{len(parts)}")
        for place, element in enumerate(target.elts):
            self.assign(element, parts[place] if parts is not None and not starred else "")
