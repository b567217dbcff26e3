"""Check and compile the code in archives, a typed subset of Python, before it runs.

Supported statements: assignments, `if`, `while`, `for`, `with` on objects of the archive, `return`, `assert`, `raise` of a
    few exceptions, `pass`, calls. Supported expressions: constants, local names, tuples, lists, dictionaries, list
    comprehensions with a single loop, indexing, arithmetic, comparisons, attributes of script objects, and calls of listed
    operators, of functions and methods of the archive, and of a few special forms such as `annotate(type, value)`. Any other
    code raises an error before anything runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from enum import Enum, EnumType
from typing import Any, NoReturn

import flambeau as torch

from ..python_operators import ARITHMETIC, FUNCTIONS
from ._async import fork
from ._operators import find_operator

__all__ = ["SYMBOLS", "compile_function"]

Resolve = Callable[[str], Any]

_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.Expr, ast.If, ast.While, ast.For, ast.Return, ast.Pass, ast.Break, ast.Continue,
               ast.AugAssign, ast.Assert, ast.Raise, ast.FunctionDef, ast.With)  # fmt: skip
_BUILTINS: dict[str, Any] = {each.__name__: each for each in (
    range, int, float, bool, str, len, complex, enumerate, zip, list, dict, min, max, abs, round, sorted, sum, print, tuple, any,
    all, ord, chr, reversed, divmod, pow, hex, oct, bin,
)}  # fmt: skip
_RAISED: dict[str, Any] = {kind.__name__: kind for kind in (
    AssertionError, Exception, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError)}  # fmt: skip
# Python operators, with the names of the equivalent TorchScript operators.
SYMBOLS: dict[type, str] = {kind: function.__name__ for kind, function in FUNCTIONS.items() if kind is not ast.MatMult} | {
    ast.Div: "div", ast.Mod: "remainder", ast.LShift: "__lshift__", ast.RShift: "__rshift__", ast.BitAnd: "__and__",
    ast.BitOr: "__or__", ast.BitXor: "__xor__", ast.Is: "__is__", ast.IsNot: "__isnot__",
}  # fmt: skip
_ROOTS = {"torch", "ops", "__torch__"}
# Special methods that classes of an archive may define and that its code may call.
CALLED_METHODS = frozenset({
    "__init__", "__call__", "__len__", "__contains__", "__getitem__", "__setitem__", "__delitem__", "__enter__", "__exit__",
    "__str__", "__repr__", "__hash__", "__bool__", "__int__", "__float__", "__neg__", "__abs__", "__invert__",
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    *(f"__{kind}{function.__name__.strip('_')}__" for kind in ("", "r", "i") for function in ARITHMETIC),
})  # fmt: skip


def compile_function(function: ast.FunctionDef, constants: list[Any], resolve: Resolve, file: str) -> Any:
    """Compile a function or method of an archive to a Python function.

    Args:
        function: its syntax tree.
        constants: the values of `CONSTANTS.c0`, `CONSTANTS.c1`, ...
        resolve: returns the function or class of the archive at a path such as `__torch__.torch.nn.functional.relu`.
        file: the name of the file, for error messages.

    Raises:
        RuntimeError: the code contains unsupported syntax.
    """
    translator = _Translator(function, constants, resolve, file)
    module = ast.fix_missing_locations(ast.Module(body=[translator.definition()], type_ignores=[]))
    names: dict[str, Any] = {"__builtins__": {}, **translator.globals}
    exec(compile(module, file, "exec", dont_inherit=True), names)  # `module` consists only of syntax built by the translator
    return names[function.name]


class _Translator:
    """Copy the syntax tree of a function, and raise an error for unsupported syntax. The copy contains no other nodes."""

    def __init__(self, function: ast.FunctionDef, constants: list[Any], resolve: Resolve, file: str) -> None:
        self.function, self.constants, self.resolve, self.file = function, constants, resolve, file
        self.locals = {parameter.arg for parameter in function.args.args}
        self.locals |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.globals: dict[str, Any] = {"_attribute": attribute_of}

    def definition(self) -> ast.FunctionDef:
        given = self.function.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or self.function.decorator_list:
            self.refuse(self.function, "decorators, or variadic, keyword-only or positional-only parameters")
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=self.local(parameter.arg)) for parameter in given.args],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[self.expression(default) for default in given.defaults],
        )
        body = self.body(self.function.body)
        new = ast.FunctionDef(name=self.function.name, args=arguments, body=body, decorator_list=[])
        return ast.copy_location(new, self.function)

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", "?")
        raise RuntimeError(f"{self.file}, line {line}: the code of the archive contains {what}, which is not supported")

    def constant(self, value: Any) -> ast.expr:
        """Register a value as a global of the compiled function, and return its name."""
        name = f"_value_{len(self.globals)}"
        self.globals[name] = value
        return ast.Name(name, ast.Load())

    def local(self, name: str) -> str:
        if name.startswith("__"):
            self.refuse(self.function, f"the name {name!r}")
        return f"v_{name}"

    # --- statements -------------------------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [self.statement(statement) for statement in statements]

    def statement(self, node: ast.stmt) -> ast.stmt:
        if not isinstance(node, _STATEMENTS):
            self.refuse(node, f"a {type(node).__name__} statement")
        new: ast.stmt
        if isinstance(node, ast.Assign):
            new = ast.Assign([self.target(target) for target in node.targets], self.expression(node.value))
        elif isinstance(node, ast.AnnAssign):
            new = ast.Pass() if node.value is None else ast.Assign([self.target(node.target)], self.expression(node.value))
        elif isinstance(node, ast.Expr):
            new = ast.Expr(self.expression(node.value))
        elif isinstance(node, ast.If):
            new = ast.If(self.expression(node.test), self.body(node.body), self.body(node.orelse))
        elif isinstance(node, ast.While):
            new = ast.While(self.expression(node.test), self.body(node.body), self.body(node.orelse))
        elif isinstance(node, ast.For):
            new = ast.For(self.target(node.target), self.expression(node.iter), self.body(node.body), self.body(node.orelse))
        elif isinstance(node, ast.AugAssign):
            if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
                self.refuse(node, f"the operator {type(node.op).__name__}")
            new = ast.AugAssign(self.target(node.target), node.op, self.expression(node.value))  # type: ignore[arg-type]
        elif isinstance(node, ast.Assert):
            failed: list[ast.expr] = [ast.Constant("AssertionError") if node.msg is None else self.expression(node.msg)]
            new = ast.If(ast.UnaryOp(ast.Not(), self.expression(node.test)), [self.raised(AssertionError, failed)], [])
        elif isinstance(node, ast.Raise):
            call = node.exc
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _RAISED):
                self.refuse(node, "a raise of a value that is not an exception")
            new = self.raised(_RAISED[call.func.id], [self.expression(argument) for argument in call.args])
        elif isinstance(node, ast.FunctionDef):
            new = self.closure(node)
        elif isinstance(node, ast.With):
            new = ast.With([self.entered(item) for item in node.items], self.body(node.body))
        elif isinstance(node, ast.Return):
            new = ast.Return(None if node.value is None else self.expression(node.value))
        else:
            new = type(node)()
        return ast.copy_location(new, node)

    def entered(self, item: ast.withitem) -> ast.withitem:
        context = ast.Call(self.constant(check_script_object), [self.expression(item.context_expr)], [])
        return ast.withitem(context, item.optional_vars and self.target(item.optional_vars))

    def closure(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Translate a nested function, as used by `fork`. It must have no parameters."""
        given = node.args
        if given.args or given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or node.decorator_list:
            self.refuse(node, "a nested function with parameters")
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.FunctionDef(name=self.forked(node.name), args=empty, body=self.body(node.body), decorator_list=[])

    def forked(self, name: str) -> str:
        """Return a name for a nested function that differs from all other names."""
        if not name.startswith("__forked_function"):
            self.refuse(self.function, f"the function {name!r}")
        return name.removeprefix("__")

    def raised(self, kind: type[Exception], arguments: list[ast.expr]) -> ast.Raise:
        return ast.Raise(ast.Call(self.constant(kind), arguments, []))

    def target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return ast.Name(self.local(node.id), ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self.target(element) for element in node.elts], ast.Store())
        if isinstance(node, ast.Attribute):
            owner = self.expression(node.value)
            if node.attr.startswith("__") or self.path(node) is not None:
                self.refuse(node, f"an assignment to {ast.unparse(node)!r}")
            return ast.Attribute(ast.Call(self.constant(check_script_object), [owner], []), node.attr, ast.Store())
        if isinstance(node, ast.Subscript):
            return ast.Subscript(self.expression(node.value), self.expression(node.slice), ast.Store())
        return self.refuse(node, f"an assignment to {ast.unparse(node)!r}")

    # --- expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> ast.expr:
        translate: Callable[[Any], ast.expr] | None = getattr(self, f"expression_{type(node).__name__}", None)
        if translate is None:
            return self.refuse(node, f"a {type(node).__name__} expression")
        return ast.copy_location(translate(node), node)

    def expression_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Constant(node.value)

    def expression_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, (ast.USub, ast.Not)):
            self.refuse(node, f"the operator {type(node.op).__name__}")
        return ast.UnaryOp(node.op, self.expression(node.operand))

    def expression_BinOp(self, node: ast.BinOp) -> ast.expr:
        if type(node.op) not in SYMBOLS:
            self.refuse(node, f"the operator {type(node.op).__name__}")
        function = self.constant(find_operator(f"torch.{SYMBOLS[type(node.op)]}"))
        return ast.Call(function, [self.expression(node.left), self.expression(node.right)], [])

    def expression_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, [self.expression(value) for value in node.values])

    def expression_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            self.refuse(node, "a chain of comparisons")
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        if isinstance(node.ops[0], ast.In):
            return ast.Call(self.constant(find_operator("torch.__contains__")), [right, left], [])
        if type(node.ops[0]) not in SYMBOLS:
            self.refuse(node, f"the operator {type(node.ops[0]).__name__}")
        return ast.Call(self.constant(find_operator(f"torch.{SYMBOLS[type(node.ops[0])]}")), [left, right], [])

    def expression_Slice(self, node: ast.Slice) -> ast.expr:
        return ast.Slice(*(None if limit is None else self.expression(limit) for limit in (node.lower, node.upper, node.step)))

    def expression_ListComp(self, node: ast.ListComp) -> ast.expr:
        if len(node.generators) > 1 or node.generators[0].ifs or node.generators[0].is_async:
            self.refuse(node, "a list comprehension with several loops or with conditions")
        loop = node.generators[0]
        return ast.ListComp(
            self.expression(node.elt), [ast.comprehension(self.target(loop.target), self.expression(loop.iter), [], 0)]
        )

    def expression_DictComp(self, node: ast.DictComp) -> ast.expr:
        if len(node.generators) > 1 or node.generators[0].ifs or node.generators[0].is_async:
            self.refuse(node, "a dictionary comprehension with several loops or with conditions")
        loop = node.generators[0]
        generator = ast.comprehension(self.target(loop.target), self.expression(loop.iter), [], 0)
        return ast.DictComp(self.expression(node.key), self.expression(node.value), [generator])

    def expression_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.locals:
            return ast.Name(self.local(node.id), ast.Load())
        if node.id in ("inf", "nan", "infj", "nanj"):
            return self.constant(complex(node.id) if node.id.endswith("j") else float(node.id))
        return self.refuse(node, f"the name {node.id!r}")

    def expression_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple([self.expression(element) for element in node.elts], ast.Load())

    def expression_List(self, node: ast.List) -> ast.expr:
        return ast.List([self.expression(element) for element in node.elts], ast.Load())

    def expression_Dict(self, node: ast.Dict) -> ast.expr:
        if None in node.keys:
            self.refuse(node, "an unpacked dictionary")
        keys = [self.expression(key) for key in node.keys if key is not None]
        return ast.Dict(keys, [self.expression(value) for value in node.values])  # type: ignore[arg-type]

    def expression_IfExp(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def expression_Subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.expression(node.value), self.expression(node.slice), ast.Load())

    def expression_Attribute(self, node: ast.Attribute) -> ast.expr:
        path = self.path(node)
        if path is None:
            return self.attribute(node.value, node.attr, node)
        if path.startswith("__torch__.") and path.endswith(".__new__"):
            return self.constant(_without_init)
        if path.startswith("CONSTANTS.c"):
            return self.constant(self.constants[int(path.removeprefix("CONSTANTS.c"))])
        if not path.startswith("__torch__."):
            return self.constant(find_operator(path))
        owner, _, member = path.rpartition(".")
        if isinstance(node.value, ast.Attribute) and self.is_enum(owner):
            return self.constant(self.resolve(owner)[member])
        return self.constant(self.resolve(path))

    def is_enum(self, path: str) -> bool:
        try:
            return isinstance(self.resolve(path), EnumType)
        except RuntimeError:
            return False

    def attribute(self, owner: ast.expr, name: str, node: ast.AST) -> ast.expr:
        if name.startswith("__") and name not in CALLED_METHODS and not is_property(name):
            self.refuse(node, f"the attribute {name!r}")
        return ast.Call(ast.Name("_attribute", ast.Load()), [self.expression(owner), ast.Constant(name)], [])

    def path(self, node: ast.expr) -> str | None:
        """Return the dotted path of a global, or None for an attribute of a value."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.locals or node.id not in {*_ROOTS, "CONSTANTS"}:
            return None
        return ".".join([node.id, *reversed(names)])

    def expression_Call(self, node: ast.Call) -> ast.expr:
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if starred or any(keyword.arg is None for keyword in node.keywords):
            self.refuse(node, "unpacked arguments")
        if isinstance(node.func, ast.Name) and node.func.id not in self.locals:
            return self.builtin_call(node, node.func.id)
        arguments = [self.expression(argument) for argument in node.args]
        keywords = [ast.keyword(keyword.arg, self.expression(keyword.value)) for keyword in node.keywords]
        return ast.Call(self.expression(node.func), arguments, keywords)

    def builtin_call(self, node: ast.Call, name: str) -> ast.expr:
        """Translate a call of a built-in name, such as `annotate`."""
        if name == "fork" and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            return ast.Call(self.constant(fork), [ast.Name(self.forked(node.args[0].id), ast.Load())], [])
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            value = self.expression(node.args[1])
            is_number = isinstance(node.args[0], ast.Name) and node.args[0].id == "number"
            return ast.Call(self.constant(_number), [value], []) if is_number else value
        if name == "uninitialized" and len(node.args) == 1:
            return ast.Constant(None)
        if name == "isinstance" and len(node.args) == 2:
            path = self.path(node.args[1])
            if path is not None and self.is_enum(path):
                return ast.Call(self.constant(isinstance), [self.expression(node.args[0]), self.constant(self.resolve(path))], [])
            kinds = ast.unparse(node.args[1])
            return ast.Call(self.constant(_has_type), [self.expression(node.args[0]), ast.Constant(kinds)], [])
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            return self.attribute(node.args[0], str(node.args[1].value), node)
        if name in _BUILTINS:
            return ast.Call(self.constant(_BUILTINS[name]), [self.expression(argument) for argument in node.args], [])
        return self.refuse(node, f"a call of {name!r}")


def _number(value: Any) -> Any:
    """Convert a 0-d tensor to a number: traces annotate tensors as numbers where an operator takes a number."""
    return value.item() if isinstance(value, torch.Tensor) else value


def is_property(name: str) -> bool:
    """Whether a method is the getter or setter of a property, by its name."""
    return name.startswith("__") and name.endswith(("_getter", "_setter"))


def _without_init(cls: Any) -> Any:
    """Create an object of a class of the archive without calling `__init__`."""
    if not (isinstance(cls, type) and issubclass(cls, ScriptObject)):
        raise RuntimeError("the code of the archive creates an object of a class outside the archive, which is not allowed")
    return object.__new__(cls)


_MEMBERS = ("_parameters", "_buffers", "_modules")


class ScriptObject:
    """Base of the objects whose attributes the code of an archive can access: modules and objects of its classes."""

    def declares(self, name: str) -> bool:
        """Whether the archive declares an attribute or method of this name. Its code cannot access others."""
        members = (vars(type(self)), self.__dict__, *(self.__dict__.get(kind, {}) for kind in _MEMBERS))
        reachable = not name.startswith("__") or is_property(name) or name in CALLED_METHODS
        return reachable and any(name in table for table in members)


def attribute_of(owner: Any, name: str) -> Any:
    """Return the attribute `name` of a value in the code of an archive.

    Only declared attributes of modules and objects of the archive, fields of named tuples, `type` and `index` of devices, and
    the method `tolist` of tensors are allowed.

    Raises:
        RuntimeError: the attribute is not allowed.
    """
    known = isinstance(owner, ScriptObject) and owner.declares(name)
    if isinstance(owner, torch.device) and name in ("type", "index"):
        return getattr(owner, name)
    if isinstance(owner, Enum) and name in ("name", "value"):
        return getattr(owner, name)
    listed = isinstance(owner, torch.Tensor) and name == "tolist"
    if known or listed or (isinstance(owner, tuple) and name in getattr(owner, "_fields", ())):
        return getattr(owner, name)
    raise RuntimeError(f"the code of the archive accesses {name!r} of a {type(owner).__name__}, which is not allowed")


def check_script_object(owner: Any) -> Any:
    """Return the argument if it is an object of the archive; otherwise raise an error. Used for assignments and `with`."""
    if not isinstance(owner, ScriptObject):
        raise RuntimeError(f"the code of the archive modifies or enters a {type(owner).__name__}, which is not allowed")
    return owner


def _has_type(value: Any, annotation: str) -> bool:
    """Whether a value matches an annotation such as `List[int]`."""
    kinds = {"Tensor": torch.Tensor, "int": int, "float": float, "bool": bool, "str": str, "NoneType": type(None)}
    containers = {"List": list, "Dict": dict, "Tuple": tuple}
    for alternative in annotation.strip("()").split(", ") if "[" not in annotation else [annotation]:
        kind = kinds.get(alternative.strip(" ,")) or containers.get(alternative.partition("[")[0])
        if kind is not None and isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return True
    return False
