"""Translate expressions of scripted code to TorchScript."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import numbers
import typing
import warnings
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn

import flambeau as torch

from ... import nn
from ...nn import functional as F
from ._arguments import annotations_of_function
from ._decorators import unwrap_optional
from ._functional import LISTS, TOP, space_of, torch_call
from ._methods import ScriptMethod
from ._printing import attribute_path
from ._sources import annotations_of, constants_of, source_of
from ._syntax import METHODS_OF_OPERATORS
from ._types import (
    OF_TORCH,
    NoType,
    is_enum,
    is_member,
    is_named_tuple,
    is_script_class,
    literal,
    quote,
    type_of_annotation,
    type_of_value,
)
from .annotations import BROADCASTING_LISTS

if TYPE_CHECKING:
    from ._program import Program

__all__ = ["BUILTINS", "Expressions", "NotScriptable", "Static", "is_container", "is_plain", "not_exported"]


class NotScriptable(RuntimeError):
    """Raised for code that cannot be written as TorchScript. The message gives the source line."""


class Static:
    """A value known at compile time: a module, function or constant.

    Args:
        value: the object.
        path: the TorchScript expression for the value, if it is a module.
    """

    def __init__(self, value: Any, path: str = "") -> None:
        self.value, self.path = value, path


BUILTINS = frozenset({
    "abs", "bool", "complex", "dict", "enumerate", "float", "int", "len", "list", "max", "min", "print", "range", "round",
    "sorted", "str", "sum", "tuple", "zip", "any", "all", "ord", "chr", "reversed", "divmod", "pow", "hex", "oct", "bin",
    "getattr", "hasattr", "hash", "id", "isinstance", "slice",
})  # fmt: skip
_CONSTRUCTORS = (int, float, bool, str, complex, range, list, dict, tuple, enumerate, zip, reversed)
_ATTRIBUTES = {
    "shape": "torch.size({})", "device": "ops.prim.device({})", "dtype": "ops.prim.dtype({})", "ndim": "torch.dim({})",
    "T": "torch.numpy_T({})", "mT": "torch.transpose({}, -2, -1)", "H": "torch.adjoint({})", "mH": "torch.adjoint({})",
    "is_cuda": "ops.prim.is_cuda({})", "requires_grad": "ops.prim.requires_grad({})", "data": "ops.prim.data({})",
    "real": "torch.real({})", "imag": "torch.imag({})", "layout": "ops.prim.layout({})",
}  # fmt: skip
_TO = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "long": torch.int64, "int": torch.int32,
       "bool": torch.bool, "byte": torch.uint8, "short": torch.int16, "char": torch.int8, "bfloat16": torch.bfloat16}  # fmt: skip


def not_exported(name: str) -> str:
    """Return PyTorch's message for a call of a Python function in a script that is saved."""
    return (
        f"Could not export Python function call '{name}'. Remove calls to Python functions before export. Did you forget to "
        "add @script or @script_method annotation? If this is a nn.ModuleList, add it to __constants__"
    )


def is_container(module: nn.Module) -> bool:
    """Whether a module is a container without `forward`, such as `ModuleList`."""
    containers = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
    return isinstance(module, containers) and type(module).forward is nn.Module.forward


class Expressions:
    """Translate the expressions of a function.

    Attributes:
        program: the program that collects called functions.
        names: the global and nonlocal names of the function.
        static: the local names whose values are known at compile time.
        locals: the other local names.
        instances: the classes of local names that hold objects of user-defined classes.
        lists: the local names known to hold lists or tuples.
        parts: in a comprehension with several loop variables, the code for each variable.
        before: statements to insert before the current statement.
    """

    program: Program
    module: nn.Module | None
    number: int
    source: list[str]
    file: str
    first_line: int
    names: dict[str, Any]
    static: dict[str, Static]
    locals: set[str]
    instances: dict[str, type]
    lists: set[str]
    parts: dict[str, ast.expr]
    before: list[ast.stmt]

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", 1)
        text = self.source[line - 1].strip() if line <= len(self.source) else ""
        raise NotScriptable(f'{what}:\n  File "{self.file}", line {self.first_line + line - 1}\n    {text}\n    ~~~~ <--- HERE')

    def evaluated(self, annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        known = {
            **vars(typing),
            **vars(builtins),
            "Tensor": torch.Tensor,
            "number": numbers.Number,
            **BROADCASTING_LISTS,
            **self.names,
        }
        try:
            return eval(annotation, known)
        except Exception:
            return annotation

    def annotation(self, annotation: Any, node: ast.AST) -> str:
        try:
            return type_of_annotation(annotation, self.program.named_class)
        except NoType as error:
            return self.refuse(node, f"Unknown type in an annotation, {error}")

    def annotated(self, kind: str, value: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("annotate", ast.Load()), [self.parse(kind), value], [])

    def literal(self, value: Any, node: ast.AST) -> str:
        try:
            return literal(value)
        except NoType:
            return self.refuse(node, f"python value of type '{type(value).__name__}' cannot be used as a value. Perhaps it is a "
                               "closed over global variable? If so, please consider passing it in as an argument or use a local "
                               "variable instead.")  # fmt: skip

    def unrolled(self, node: ast.expr) -> list[Any] | None:
        """Return the items that a loop over modules is unrolled to, or None for other loops."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "zip", "reversed"):
            parts = [self.unrolled(argument) for argument in node.args]
            if not any(part is not None for part in parts):
                return None
            if node.func.id == "enumerate" and parts[0] is not None:
                return [(Static(place), item) for place, item in enumerate(parts[0])]
            if node.func.id == "reversed" and parts[0] is not None:
                return parts[0][::-1]
            length = min(len(part) for part in parts if part is not None)
            filled = [part if part is not None else [ast.Subscript(self.dynamic(argument), ast.Constant(i), ast.Load())
                      for i in range(length)] for part, argument in zip(parts, node.args, strict=True)]  # fmt: skip
            return list(zip(*filled, strict=False))
        value = self.value(node)
        if isinstance(value, Static):
            return self.items_of(value)
        return None

    def items_of(self, value: Static) -> list[Any] | None:
        """Return the items of a container that is known at compile time, such as a `ModuleList`."""
        if isinstance(value.value, (nn.ModuleList, nn.Sequential)):
            return [Static(child, attribute_path(name, value.path)) for name, child in value.value._modules.items()]
        if isinstance(value.value, nn.ModuleDict):
            return [Static(name) for name in value.value._modules]
        if isinstance(value.value, (nn.ParameterList,)):
            return [self.parse(attribute_path(name, value.path)) for name in value.value._parameters]
        if isinstance(value.value, (list, tuple)) and any(isinstance(item, (Static, tuple)) for item in value.value):
            return list(value.value)
        if isinstance(value.value, tuple):
            return [Static(item) for item in value.value]
        return None

    def bind(self, target: ast.expr, item: Any, node: ast.AST) -> list[ast.stmt]:
        """Bind the variables of an unrolled loop to an item; return the assignments that this requires in the code."""
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = item if isinstance(item, tuple) else self.items_of(item) if isinstance(item, Static) else None
            if parts is None:
                return [ast.Assign([self.target(target)], self.code_of(item, node))]
            bound = [self.bind(name, part, node) for name, part in zip(target.elts, parts, strict=True)]
            return [statement for statements in bound for statement in statements]
        if not isinstance(target, ast.Name):
            self.refuse(node, "a loop over modules requires a single name or a tuple of names as its target")
        if isinstance(item, tuple):
            item = Static(item)
        if isinstance(item, Static) and not is_plain(item.value):
            self.static[target.id] = item
            return []
        return [ast.Assign([self.target(target)], self.code_of(item, node))]

    def target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            self.locals.add(node.id)
            self.static.pop(node.id, None)
            return ast.Name(node.id, ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self.target(element) for element in node.elts], ast.Store())
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if not isinstance(owner, Static) and self.class_of(owner) is not None:
                return ast.Attribute(owner, node.attr, ast.Store())
            if isinstance(owner, Static) and isinstance(owner.value, nn.Module):
                if node.attr in constants_of(type(owner.value)):
                    self.refuse(node, f"'{node.attr}' is a constant, and cannot be assigned to")
                return self.parse(f"{owner.path}.{node.attr}", ast.Store)
        if isinstance(node, ast.Subscript):
            return ast.Subscript(self.dynamic(node.value), self.index(node.slice), ast.Store())
        return self.refuse(node, "assignment to this kind of expression isn't supported")

    # --- expressions ------------------------------------------------------------------------------------------------

    @staticmethod
    def parse(text: str, context: type[ast.expr_context] = ast.Load) -> ast.expr:
        tree = ast.parse(text, mode="eval").body
        if context is ast.Store:
            tree.ctx = ast.Store()  # type: ignore[attr-defined]
        return tree

    def dynamic(self, node: ast.expr) -> ast.expr:
        """Translate an expression to code."""
        return self.code_of(self.value(node), node)

    def text(self, node: ast.expr) -> str:
        return ast.unparse(ast.fix_missing_locations(self.dynamic(node)))

    def code_of(self, value: Any, node: ast.AST) -> ast.expr:
        if not isinstance(value, Static):
            tree: ast.expr = value
            return tree
        plain = value.value
        if isinstance(plain, (list, tuple)) and any(isinstance(item, (Static, ast.AST)) for item in plain):
            items = [self.code_of(item, node) for item in plain]
            return ast.Tuple(items, ast.Load()) if isinstance(plain, tuple) else ast.List(items, ast.Load())
        if isinstance(plain, float) and not math.isfinite(plain):
            return self.parse(repr(plain))
        if is_member(plain):
            return self.parse(f"{self.program.named_class(type(plain))}.{plain.name}")
        if is_enum(plain):
            return ast.List([self.code_of(Static(member), node) for member in plain], ast.Load())
        if isinstance(plain, nn.Module):
            return self.refuse(node, f"module '{type(plain).__name__}' cannot be used as a value")
        return self.parse(self.literal(plain, node))

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression to a `Static`, or translate it to code."""
        translate: Callable[[Any], Any] | None = getattr(self, f"value_{type(node).__name__}", None)
        if translate is None:
            self.refuse(node, f"{type(node).__name__} expressions aren't supported")
        return translate(node)

    def value_Constant(self, node: ast.Constant) -> Any:
        if node.value is ... or isinstance(node.value, bytes):
            self.refuse(node, f"a constant of the type {type(node.value).__name__} isn't supported")
        return Static(node.value)

    def value_Name(self, node: ast.Name) -> Any:
        if node.id in self.parts:
            return self.parts[node.id]
        if node.id in self.static:
            return self.static[node.id]
        if node.id in self.locals:
            return ast.Name(node.id, ast.Load())
        if node.id in self.names:
            return Static(self.names[node.id])
        if hasattr(builtins, node.id):
            return Static(getattr(builtins, node.id))
        return self.refuse(node, f"undefined value {node.id}")

    def value_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, Static):
            text = _ATTRIBUTES.get(node.attr)
            cls = self.class_of(owner)
            if cls is not None and isinstance(inspect.getattr_static(cls, node.attr, None), property):
                return ast.Call(ast.Attribute(owner, f"__{node.attr}_getter", ast.Load()), [], [])
            if text is None or cls is not None:
                return ast.Attribute(owner, node.attr, ast.Load())
            return self.parse(text.format(ast.unparse(owner)))
        if isinstance(owner.value, nn.Module):
            return self.attribute(owner, node.attr, node)
        try:
            return Static(getattr(owner.value, node.attr))
        except AttributeError as error:
            return self.refuse(node, str(error))

    def attribute(self, owner: Static, name: str, node: ast.AST) -> Any:
        module, path = owner.value, attribute_path(name, owner.path)
        if name in module._modules:
            child = module._modules[name]
            return Static(None) if child is None else Static(child, path)
        for members in (module._parameters, module._buffers):
            if name in members:
                return Static(None) if members[name] is None else self.parse(path)
        if name == "training":
            return self.parse(path)
        own = inspect.getattr_static(module, name, None)
        if isinstance(own, property):
            if getattr(own.fget, "_torchscript_modifier", "default").startswith(("unused", "ignore")):
                self.refuse(node, f"the property '{name}' of a module is not compiled")
            self.program.method(module, f"__{name}_getter")
            return self.parse(f"({owner.path}).__{name}_getter()")
        if not hasattr(module, name):
            self.refuse(node, f"Module '{type(module).__name__}' has no attribute '{name}'")
        value = getattr(module, name)
        declared = annotations_of(type(module))
        is_constant = isinstance(value, Enum) and not is_member(value)
        fixed = name not in vars(module) or name in constants_of(type(module)) or callable(value) or is_constant
        if fixed or (value is None and name not in declared):
            if isinstance(value, torch.Tensor):
                self.refuse(node, f"'{name}' is a tensor attribute of the class; make it a buffer or an attribute of the module")
            return Static(value, owner.path)
        try:
            classes = self.program.named_class
            type_of_annotation(declared[name], classes) if name in declared else type_of_value(value, classes)
        except NoType as error:
            self.refuse(node, f"Module '{type(module).__name__}' has no attribute '{name}' (This attribute exists on the Python "
                        f"module, but we failed to convert Python type to a TorchScript type: {error})")  # fmt: skip
        return self.parse(path)

    def value_Tuple(self, node: ast.Tuple) -> Any:
        values = [self.value(element) for element in node.elts]
        if any(isinstance(value, Static) and not is_plain(value.value) for value in values):
            return Static(tuple(values))
        return ast.Tuple([self.code_of(value, node) for value in values], ast.Load())

    def value_List(self, node: ast.List) -> Any:
        values = [self.value(element) for element in node.elts]
        if any(isinstance(value, Static) and isinstance(value.value, nn.Module) for value in values):
            return Static(values)
        return ast.List([self.code_of(value, node) for value in values], ast.Load())

    def value_Dict(self, node: ast.Dict) -> Any:
        if None in node.keys:
            self.refuse(node, "dictionaries with ** aren't supported")
        return ast.Dict([self.dynamic(key) for key in node.keys if key], [self.dynamic(value) for value in node.values])

    def value_IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if isinstance(test, Static):
            return self.value(node.body if test.value else node.orelse)
        return ast.IfExp(test, self.dynamic(node.body), self.dynamic(node.orelse))

    def value_BoolOp(self, node: ast.BoolOp) -> Any:
        decides = isinstance(node.op, ast.Or)
        rest: list[ast.expr] = []
        for part in node.values:
            value = self.value(part)
            if isinstance(value, Static):
                if bool(value.value) is decides:
                    if not rest:
                        return value
                    rest.append(self.code_of(value, node))
                    break
                continue
            rest.append(value)
        if not rest:
            return Static(not decides)
        return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)

    def value_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(value, Static) and is_plain(value.value):
            return Static(eval(compile(ast.fix_missing_locations(ast.Expression(ast.UnaryOp(node.op, ast.Name("x", ast.Load())))),
                                       "<constant>", "eval"), {"x": value.value}))  # fmt: skip
        code = self.code_of(value, node)
        if isinstance(node.op, ast.Invert):
            return self.parse(f"torch.bitwise_not({ast.unparse(code)})")
        return code if isinstance(node.op, ast.UAdd) else ast.UnaryOp(node.op, code)

    def value_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Static) and isinstance(right, Static) and is_plain(left.value) and is_plain(right.value):
            tree = ast.Expression(ast.BinOp(ast.Name("x", ast.Load()), node.op, ast.Name("y", ast.Load())))
            return Static(
                eval(compile(ast.fix_missing_locations(tree), "<constant>", "eval"), {"x": left.value, "y": right.value})
            )
        if isinstance(node.op, ast.MatMult):
            return self.parse(f"torch.matmul({ast.unparse(self.code_of(left, node))}, {ast.unparse(self.code_of(right, node))})")
        return ast.BinOp(self.code_of(left, node), node.op, self.code_of(right, node))

    def value_Compare(self, node: ast.Compare) -> Any:
        values = [self.value(part) for part in (node.left, *node.comparators)]
        if all(isinstance(value, Static) for value in values):
            names = [f"x{place}" for place in range(len(values))]
            tree = ast.Compare(ast.Name(names[0], ast.Load()), node.ops, [ast.Name(name, ast.Load()) for name in names[1:]])
            compiled = compile(ast.fix_missing_locations(ast.Expression(tree)), "<constant>", "eval")
            return Static(eval(compiled, dict(zip(names, (value.value for value in values), strict=True))))
        pairs = [self.pair(left, op, right, node) for left, op, right in zip(values, node.ops, values[1:], strict=False)]
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)

    def pair(self, left: Any, op: ast.cmpop, right: Any, node: ast.AST) -> ast.expr:
        if isinstance(op, ast.NotIn):
            return ast.UnaryOp(ast.Not(), ast.Compare(self.code_of(left, node), [ast.In()], [self.code_of(right, node)]))
        return ast.Compare(self.code_of(left, node), [op], [self.code_of(right, node)])

    def value_Subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Static):
            index = self.value(node.slice) if not isinstance(node.slice, ast.Slice) else None
            items = self.items_of(owner)
            if isinstance(owner.value, nn.ParameterDict) and isinstance(index, Static):
                return self.parse(attribute_path(index.value, owner.path))
            if isinstance(owner.value, nn.ModuleDict) and isinstance(index, Static):
                return Static(owner.value[index.value], attribute_path(index.value, owner.path))
            if items is not None and isinstance(index, Static) and isinstance(index.value, int):
                return items[index.value]
            if items is not None and isinstance(node.slice, ast.Slice):
                limits = [
                    None if each is None else self.value(each) for each in (node.slice.lower, node.slice.upper, node.slice.step)
                ]
                if all(each is None or isinstance(each, Static) for each in limits):
                    return Static(items[slice(*(each and each.value for each in limits))])
            if isinstance(owner.value, nn.Module):
                self.refuse(node, "Expected integer literal for index. ModuleList/Sequential indexing is only supported with "
                            "integer literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. "
                            "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'")  # fmt: skip
            if isinstance(index, Static) and isinstance(owner.value, (tuple, list, dict, str)):
                return Static(owner.value[index.value])
        return ast.Subscript(self.code_of(owner, node), self.index(node.slice), ast.Load())

    def index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            return ast.Slice(*(None if each is None else self.dynamic(each) for each in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.index(element) for element in node.elts], ast.Load())
        if isinstance(node, ast.Constant) and node.value is ...:
            return ast.Constant(...)
        return self.dynamic(node)

    def iterated(self, node: ast.ListComp | ast.DictComp, kind: str) -> list[Any] | ast.comprehension:
        """Return the items of a comprehension that is unrolled, such as one over modules; for others, return the `for` clause."""
        generator = node.generators[0]
        if len(node.generators) > 1 or generator.ifs:
            self.refuse(node, f"{kind} comprehensions with several loops or with conditions aren't supported")
        items = self.unrolled(generator.iter)
        if items is not None:
            return items
        values = self.dynamic(generator.iter)
        target = generator.target
        # TorchScript supports only one loop variable: `for a, b in x` becomes `for c in x`, and `a` becomes `c[0]`.
        if not isinstance(target, ast.Name):
            self.number += 1
            target = ast.Name(f"_element_{self.number}", ast.Store())
            self.name_parts(generator.target, ast.Name(target.id, ast.Load()))
        return ast.comprehension(self.target(target), values, [], 0)

    def name_parts(self, target: ast.expr, whole: ast.expr) -> None:
        """Bind each variable in the target of a comprehension to an expression that indexes the element, such as `c[0]`."""
        if isinstance(target, ast.Name):
            self.parts[target.id] = whole
        elif isinstance(target, (ast.Tuple, ast.List)):
            for place, part in enumerate(target.elts):
                self.name_parts(part, ast.Subscript(whole, ast.Constant(place), ast.Load()))
        else:
            self.refuse(target, "this kind of target isn't supported in a comprehension")

    def bind_parts(self, target: ast.expr, item: Any, node: ast.AST) -> None:
        """Bind the variables of a comprehension to an item of the unrolled iterable."""
        for assignment in self.bind(target, item, node):
            self.name_parts(assignment.targets[0], assignment.value)  # type: ignore[attr-defined]

    def value_ListComp(self, node: ast.ListComp) -> Any:
        items = self.iterated(node, "List")
        if isinstance(items, ast.comprehension):
            before = len(self.before)
            element = self.dynamic(node.elt)
            self.parts = {}
            if len(self.before) > before:
                self.refuse(node, "torch.jit.fork isn't supported in a comprehension; append to a list in a loop")
            return ast.ListComp(element, [items])
        values = []
        for item in items:
            self.bind_parts(node.generators[0].target, item, node)
            values.append(self.dynamic(node.elt))
        self.parts = {}
        return ast.List(values, ast.Load())

    def value_DictComp(self, node: ast.DictComp) -> Any:
        items = self.iterated(node, "Dict")
        if isinstance(items, ast.comprehension):
            key, value = self.dynamic(node.key), self.dynamic(node.value)
            self.parts = {}
            return ast.DictComp(key, value, [items])
        keys, values = [], []
        for item in items:
            self.bind_parts(node.generators[0].target, item, node)
            keys.append(self.dynamic(node.key))
            values.append(self.dynamic(node.value))
        self.parts = {}
        return ast.Dict([*keys], values)

    def value_JoinedStr(self, node: ast.JoinedStr) -> Any:
        text, parts = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value).replace("{", "{{").replace("}", "}}")
            elif isinstance(part, ast.FormattedValue):
                if part.format_spec is not None or part.conversion not in (-1, 115):
                    self.refuse(node, "f-strings with formats aren't supported")
                text += "{}"
                parts.append(self.text(part.value))
        return self.parse(f"torch.format({', '.join([quote(text), *parts])})")

    # --- calls ------------------------------------------------------------------------------------------------------

    def value_Call(self, node: ast.Call) -> Any:
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(each.arg is None for each in node.keywords):
            self.refuse(node, "calls with * or ** aren't supported")
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            is_text = isinstance(owner, Static) and isinstance(owner.value, str)
            if not isinstance(owner, Static) and self.class_of(owner) is not None:
                return self.call(f"({ast.unparse(owner)}).{node.func.attr}", node)
            if is_text or not isinstance(owner, Static):
                return self.method(self.code_of(owner, node), node.func.attr, node)
            if isinstance(owner.value, nn.Module):
                return self.module_call(owner, node.func.attr, node)
        function = self.value(node.func)
        if not isinstance(function, Static):
            self.refuse(node, "only functions, methods and modules can be called")
        if isinstance(function.value, nn.Module):
            return self.module_call(function, "forward", node)
        return self.function_call(function, node)

    def arguments(self, node: ast.Call) -> tuple[list[str], dict[str, str]]:
        return [self.text(argument) for argument in node.args], {str(each.arg): self.text(each.value) for each in node.keywords}

    def call(self, name: str, node: ast.Call, *before: str) -> ast.expr:
        args, kwargs = self.arguments(node)
        return self.parse(f"{name}({', '.join([*before, *args, *(f'{key}={value}' for key, value in kwargs.items())])})")

    def module_call(self, owner: Static, name: str, node: ast.Call) -> Any:
        module = owner.value
        if name in module._modules:
            return self.module_call(Static(module._modules[name], attribute_path(name, owner.path)), "forward", node)
        of_dict = name in ("keys", "values", "items") and isinstance(module, nn.ModuleDict)
        if of_dict or name in ("children", "named_children"):
            children = [(Static(key), Static(child, attribute_path(key, owner.path))) for key, child in module._modules.items()]
            return Static([pair if name in ("items", "named_children") else pair[name != "keys"] for pair in children])
        tensors = {"parameters": module.named_parameters, "buffers": module.named_buffers}.get(name.removeprefix("named_"))
        if tensors is not None and getattr(type(module), name) is getattr(nn.Module, name) and not node.args:
            pairs = [(Static(key), self.parse(attribute_path(key, owner.path))) for key, _ in tensors()]
            return Static([pair if name.startswith("named_") else pair[1] for pair in pairs])
        if is_container(module) and name == "forward":
            self.refuse(node, f"a {type(module).__name__} cannot be called")
        own: Any = vars(module).get(name)
        if own is not None or isinstance(inspect.getattr_static(type(module), name, None), staticmethod):
            return self.function_call(Static(own or getattr(module, name)), node)
        if name not in ("forward",) and getattr(nn.Module, name, None) is getattr(type(module), name, None):
            self.refuse(node, f"Module '{type(module).__name__}' has no attribute '{name}' that TorchScript can call")
        modifier = str(getattr(getattr(type(module), name), "_torchscript_modifier", ""))
        if modifier.startswith("unused"):
            message = f"The method {name} is marked as unused, and cannot be called"
            return self.parse(f"ops.prim.RaiseException({quote(message)})")
        if owner.path == "":
            self.refuse(node, f"the module {type(module).__name__} is not a submodule of the scripted module")
        if modifier.startswith("ignore"):
            return self.python_call(getattr(type(module), name), node, owner.path)
        self.program.method(module, name)
        return self.call(f"({owner.path}).{name}", node)

    def method(self, owner: ast.expr, name: str, node: ast.Call) -> Any:
        if name == "__getitem__" and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            return self.value(ast.copy_location(ast.Subscript(node.func.value, node.args[0], ast.Load()), node))
        text = ast.unparse(ast.fix_missing_locations(owner))
        args, kwargs = self.arguments(node)
        if name in _TO and not node.args and not node.keywords:
            return self.parse(f"torch.to({text}, {literal(_TO[name])})")
        if name == "tolist":
            self.refuse(node, "Expected type hint for result of tolist()")
        if name in ("cuda", "numpy", "backward"):
            self.refuse(node, f"Tensor.{name} isn't supported in a script that is saved")
        if name == "type" and node.args:
            return self.call("torch.to", node, text)
        if name == "contiguous":
            return self.parse(f"torch.contiguous({text})")
        if name in LISTS and len(args) > 1:
            args = [f"[{', '.join(args)}]"]
        if name == "split" and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            name = "split_with_sizes"
        name = TOP.get(name, name)
        return self.parse(
            f"{space_of(name)}.{name}({', '.join([text, *args, *(f'{key}={value}' for key, value in kwargs.items())])})"
        )

    def listed(self, node: ast.expr | None) -> ast.expr | None:
        """Translate `x.tolist()`, which requires an annotated type; return None for any other expression."""
        match node:
            case ast.Call(ast.Attribute(owner, "tolist"), [], []):
                return self.parse(f"({self.text(owner)}).tolist()")
        return None

    def function_call(self, function: Static, node: ast.Call) -> Any:
        target: Any = function.value
        special = self.special_call(target, node)
        if special is not None:
            return special
        if isinstance(target, type) and target in _CONSTRUCTORS:
            return self.call(target.__name__, node)
        name = getattr(target, "__name__", "")
        if getattr(builtins, name, None) is target:
            if name not in BUILTINS:
                self.refuse(node, f"Python builtin <built-in function {name}> is currently not supported in Torchscript")
            return self.call(name, node)
        if getattr(math, name, None) is target:
            values = [self.value(argument) for argument in node.args]
            if all(isinstance(value, Static) for value in values):
                return Static(getattr(math, name)(*(value.value for value in values)))
            return self.call(f"torch.{name}", node)
        if getattr(F, name, None) is target or target is getattr(torch, name, None):
            return torch_call(self, name, target, node)
        if isinstance(target, (MethodType, ScriptMethod)) and isinstance(target.__self__, nn.Module):
            return self.module_call(Static(target.__self__, function.path), name, node)
        for family in ("linalg", "fft", "special"):
            short = name.removeprefix(f"{family}_")  # `linalg.inv` is called `linalg_inv` in `torch`
            if getattr(getattr(torch, family), short, None) is target:
                return self.call(f"torch.{family}_{short}", node)
        operators: Any = torch._ops
        if isinstance(target, operators.OpOverloadPacket):
            space = "torch" if target.namespace == "aten" else f"ops.{target.namespace}"
            return self.call(f"{space}.{target.__name__}", node)
        if isinstance(target, (FunctionType, torch.jit.ScriptFunction)):
            plain = target.function if isinstance(target, torch.jit.ScriptFunction) else inspect.unwrap(target)
            if str(getattr(plain, "_torchscript_modifier", "")).startswith("ignore"):
                return self.python_call(plain, node)
            if plain.__module__.startswith(OF_TORCH):
                self.refuse(node, f"the function {plain.__module__}.{name} cannot be written as TorchScript")
            return self.call(self.program.function(target if isinstance(target, torch.jit.ScriptFunction) else plain), node)
        if is_named_tuple(target):
            return self.named_tuple(target, node)
        if is_script_class(target):
            return self.call(self.program.named_class(target), node)
        kind = type(target).__name__ if not isinstance(target, type) else f"class {target.__name__}"
        return self.refuse(node, f"Python {kind} {name!r} cannot be called in a script that is saved")

    def python_call(self, function: Any, node: ast.Call, *before: str) -> ast.expr:
        """Translate a call of a function that is marked as ignored. Graphs contain such calls, but they cannot be saved."""
        if not self.program.python_calls:
            self.refuse(node, not_exported(function.__name__))
        returned = annotations_of_function(function, source_of(function)).get("return", torch.Tensor)
        return self.annotated(self.annotation(returned, node), self.call(f"ops.python.{function.__name__}", node, *before))

    def class_of(self, code: ast.expr) -> type | None:
        """Return the user-defined class of an expression's value, or None if unknown."""
        if isinstance(code, ast.Name):
            return self.instances.get(code.id)
        if isinstance(code, ast.Attribute) and self.module is not None and ast.unparse(code.value) == "self":
            value = vars(self.module).get(code.attr)
            return type(value) if is_script_class(type(value)) else None
        if isinstance(code, ast.BinOp):
            return self.class_returned(self.class_of(code.left), f"__{METHODS_OF_OPERATORS[type(code.op)]}__")
        if not isinstance(code, ast.Call):
            return None
        if isinstance(code.func, ast.Attribute):
            found = self.class_returned(self.class_of(code.func.value), code.func.attr)
            if found is not None:
                return found
        return self.program.class_at(ast.unparse(code.func))

    @staticmethod
    def class_returned(cls: type | None, method: str) -> type | None:
        """Return the user-defined class named by a method's return annotation, or None."""
        if not isinstance(getattr(cls, method, None), FunctionType):
            return None
        try:
            returned = typing.get_type_hints(getattr(cls, method)).get("return")
        except NameError:  # the annotation names a class that is local to a function
            return None
        return returned if is_script_class(returned) else None

    def named_tuple(self, cls: Any, node: ast.Call) -> Any:
        args, kwargs = self.arguments(node)
        bound = inspect.signature(cls).bind(*args, **kwargs).arguments
        defaults = cls._field_defaults
        fields = [bound[name] if name in bound else self.literal(defaults[name], node) for name in cls._fields]
        return self.parse(f"{self.program.named_class(cls)}({', '.join(fields)})")

    def forked(self, node: ast.Call) -> Any:
        """Translate `fork`: move the call into a nested function, defined before the statement."""
        function, *arguments = node.args
        call = ast.copy_location(ast.Call(function, arguments, node.keywords), node)
        self.number += 1
        name = f"__forked_function{self.number}"
        code = self.dynamic(call)
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        self.before.append(ast.FunctionDef(name=name, args=empty, body=[ast.Return(code)], decorator_list=[]))
        return self.parse(f"fork({name})")

    def special_call(self, target: Any, node: ast.Call) -> Any:
        """Translate calls that are evaluated at compile time or need a special form."""
        if target is torch.jit.fork:
            return self.forked(node)
        if target is torch.jit.wait:
            return self.call("torch.wait", node)
        if target is OrderedDict:
            return self.call("dict", node)
        if target is warnings.warn:
            return self.call("torch.warn", node)
        if target is torch.jit.is_scripting:
            return Static(True)
        tracing_state: Any = getattr(torch._C, "_get_tracing_state", None)
        if target in (torch.jit.is_tracing, tracing_state):
            return Static(False)
        if target is unwrap_optional:
            return self.call("torch._unwrap_optional", node)
        if target is torch.jit.annotate:
            kind = self.annotation(self.evaluated(ast.unparse(node.args[0])), node)
            return self.annotated(kind, self.dynamic(node.args[1]))
        if target in (isinstance, torch.jit.isinstance):
            value, kinds = self.value(node.args[0]), Static(self.evaluated(ast.unparse(node.args[1])))
            if isinstance(kinds.value, str):
                kinds = self.value(node.args[1])
            if isinstance(value, Static) and isinstance(kinds, Static):
                known = kinds.value if isinstance(kinds.value, tuple) else (kinds.value,)
                return Static(isinstance(value.value, tuple(each.value if isinstance(each, Static) else each for each in known)))
            types = kinds.value if isinstance(kinds, Static) else self.refuse(node, "isinstance requires a constant type")
            listed = [
                each.value if isinstance(each, Static) else each for each in (types if isinstance(types, tuple) else (types,))
            ]
            names = [self.annotation(each, node) if each not in (list, tuple) else each.__name__ for each in listed]
            kind = names[0] if len(names) == 1 else f"({', '.join(names)})"
            return self.parse(f"isinstance({ast.unparse(self.code_of(value, node))}, {kind})")
        if target is hasattr:
            value, name = self.value(node.args[0]), self.value(node.args[1])
            if isinstance(value, Static) and isinstance(name, Static):
                return Static(hasattr(value.value, name.value))
        if target is getattr and len(node.args) in (2, 3):
            name, owner = self.known(node.args[1]), self.value(node.args[0])
            if len(node.args) == 3 and isinstance(owner, Static) and not hasattr(owner.value, str(name)):
                return self.value(node.args[2])
            if isinstance(name, str):
                return self.value_Attribute(ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node))
        if target is len:
            value = self.value(node.args[0])
            module = value.value if isinstance(value, Static) else None
            length = getattr(type(module), "__len__", None)
            if isinstance(module, nn.Module) and length is not None and not length.__module__.startswith(OF_TORCH):
                return self.module_call(value, "__len__", ast.Call(node.func, [], []))
            items = self.items_of(value) if isinstance(value, Static) else None
            if items is not None:
                return Static(len(items))
        if target is super:
            self.refuse(node, "super() isn't supported in a script that is saved")
        return None

    def is_list(self, node: ast.expr) -> bool:
        """Whether an expression is known to be a list or tuple."""
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return True
        if isinstance(node, ast.Name):
            return node.id in self.lists
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice) and self.is_list(node.value)
        if isinstance(node, ast.BinOp):
            return self.is_list(node.left)
        if isinstance(node, ast.Attribute):
            return node.attr == "shape" or isinstance(self.known(node), (list, tuple))
        named = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        return named in ("size", "tolist") and not node.args  # type: ignore[attr-defined]

    def known(self, node: ast.expr) -> Any:
        """Return the value of a constant expression or of a module's attribute, or `...` if unknown."""
        if isinstance(node, (ast.Tuple, ast.List)):
            values = [self.known(element) for element in node.elts]
            return ... if ... in values else tuple(values) if isinstance(node, ast.Tuple) else values
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, Static) and isinstance(owner.value, nn.Module):
                return getattr(owner.value, node.attr, ...)
        value = self.value(node)
        return value.value if isinstance(value, Static) else ...


def is_plain(value: Any) -> bool:
    """Whether a constant can be written as a literal."""
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype, torch.device))
