"""Build graphs from TorchScript code: each call becomes a node, and each assignment a new value.

Branches and loops become blocks, whose outputs are the variables that they assign. If a branch returns, the statements after
the `if` move into the other branch, as in PyTorch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau.extension.schemas import Argument, namespace_of, schemas

from ... import nn
from ._dialect import SYMBOLS
from ._graph import Block, Graph, Node, Note, Type, Value
from ._types import ModuleDescription

__all__ = ["build_graph", "definitions", "graph_type"]


def definitions(code: dict[str, bytes]) -> dict[str, ast.stmt]:
    """Return the classes and functions in the code files of an archive, by path."""
    found: dict[str, ast.stmt] = {}
    for file, text in code.items():
        if file.endswith(".py"):
            package = file.removeprefix("code/").removesuffix(".py").replace("/", ".")
            for statement in ast.parse(text).body:
                found[f"{package}.{statement.name}"] = statement  # type: ignore[attr-defined]
    return found


def graph_type(annotation: ast.expr | None) -> Type:
    """Convert an annotation to a type in graph notation, such as `List[int]` to `int[]`."""
    return Type("Tensor" if annotation is None else _type_text(annotation))


def _type_text(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inside = [_type_text(part) for part in parts]
        ends = {"List": "[]", "Optional": "?"}
        if node.value.id in ends:
            return inside[0] + ends[node.value.id]
        if node.value.id == "Tuple":
            return f"({', '.join(inside)})"
        if node.value.id == "Future":
            return f"Future[{inside[0]}]"
        return f"{node.value.id}({', '.join(inside)})"
    return {"number": "Scalar"}.get(ast.unparse(node), ast.unparse(node))


# Result types of operators that do not return a tensor.
_RESULTS = {
    **dict.fromkeys(("size", "stride", "sym_size"), "int[]"),
    **dict.fromkeys(("dim", "len", "numel", "Int", "ord", "floordiv", "__range_length", "__derive_index", "dtype", "layout"),
                    "int"),
    **dict.fromkeys(("Float", "sqrt", "exp", "log"), "float"),
    **dict.fromkeys(("Bool", "is_floating_point", "__not__", "__is__", "__isnot__", "__contains__", "is_grad_enabled", "is_cuda",
                     "requires_grad", "isinstance", "is_scripting"), "bool"),
    **dict.fromkeys(("str", "format", "lower", "upper", "replace", "join"), "str"),
    "item": "Scalar", "device": "Device", "set_grad_enabled": "NoneType", "RaiseException": "NoneType", "keys": "str[]",
}  # fmt: skip
_SYMBOLS = {
    **SYMBOLS, ast.In: "__contains__", ast.Not: "__not__", ast.USub: "neg", ast.MatMult: "matmul",
}  # fmt: skip
_ARITHMETIC = {SYMBOLS[kind] for kind in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)} | {
    "neg", "abs", "max", "min", "floor", "ceil", "round",
}  # fmt: skip
_COMPARISONS = {SYMBOLS[kind] for kind in (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)}
_CONVERSIONS = {"int": "Int", "float": "Float", "bool": "Bool", "str": "str", "len": "len", "ord": "ord", "list": "list"}


def _declared_result(operator: str) -> str:
    """Return the result type of an operator according to its schema: a list of tensors, or a tensor."""
    declared = schemas(operator) if namespace_of(operator) == "aten" else ()
    is_list = bool(declared) and [each.type for each in declared[0].returns] == ["Tensor[]"]
    return "Tensor[]" if is_list else "Tensor"


def _may_take(argument: Argument, text: str) -> bool:
    """Whether an argument of an operator may be a value of a type: `Tensor` takes no numbers, and only lists take lists."""
    if argument.type == "Tensor":
        return text == "Tensor"
    return "[" in argument.type or not (text.startswith("List[") or text.endswith("[]"))


class _Member:
    """A member of an enumeration in the code of an archive.

    Args:
        path: the path of the member, such as `__torch__.Color.RED`.
        value: its value.
    """

    def __init__(self, path: str, value: Any) -> None:
        self.path, self.value = path, value

    def __repr__(self) -> str:
        return self.path


def _enums(found: dict[str, ast.stmt]) -> dict[str, dict[str, _Member]]:
    """Return the members of the enumerations among definitions, by the path of the enumeration and the name of the member."""
    enums: dict[str, dict[str, _Member]] = {}
    for path, definition in found.items():
        if isinstance(definition, ast.ClassDef) and [ast.unparse(base) for base in definition.bases] == ["Enum"]:
            assigned = [each for each in definition.body if isinstance(each, ast.Assign)]
            names = [ast.unparse(each.targets[0]) for each in assigned]
            texts = [ast.unparse(each.value) for each in assigned]
            values = [float(text) if text in ("inf", "nan") else ast.literal_eval(text) for text in texts]
            enums[path] = {name: _Member(f"{path}.{name}", value) for name, value in zip(names, values, strict=True)}
    return enums


class Scope:
    """The variables of a function while its code is converted to a graph.

    Args:
        values: the values of names.
        modules: the modules that names refer to.
        notes: the metadata of values from a trace, by name.
        prefix: the path of the function's module.
    """

    def __init__(self, values: dict[str, Value], modules: dict[str, nn.Module], notes: dict[str, Note]) -> None:
        self.values, self.modules, self.notes = values, modules, notes


class _Builder:
    def __init__(
        self,
        constants: list[Any],
        found: dict[str, ast.stmt],
        describe: Callable[[Any], ModuleDescription],
        notes: dict[tuple[int, str], dict[str, Note]],
        inline: bool,
    ) -> None:
        self.constants, self.definitions, self.describe, self.notes, self.inline = constants, found, describe, notes, inline
        self.enums = _enums(found)
        self.graph = Graph()
        self.blocks: list[Block] = [self.graph]
        self.scope = Scope({}, {}, {})
        self.known: dict[tuple[str, str], Value] = {}
        self.heads: list[Node] = []
        self.got: list[dict[tuple[Any, str], Value]] = [{}]
        self.modules_of: dict[int, nn.Module] = {}  # maps the `id` of a value to the module that it represents

    def graph_type(self, annotation: ast.expr | None) -> Type:
        """Convert an annotation to a type, such as the path of an enumeration to `Enum<path>`."""
        text = graph_type(annotation).text
        for path in self.enums:
            text = re.sub(rf"(?<![\w.<]){re.escape(path)}(?![\w.])", f"Enum<{path}>", text)
        return Type(text)

    # --- nodes ---

    def node(self, kind: str, inputs: list[Value], type: Type | None, name: str | None = None, /, **attributes: Any) -> Value:
        """Add a node with a single output, and return the output."""
        node = self.blocks[-1].add(Node(kind, inputs, attributes))
        return node.add_output(self.graph.named(name), type or Type("Tensor"))

    def constant(self, value: Any, text: str) -> Value:
        """Return the value of a constant; constants are defined at the start of the graph."""
        key = text, repr(value) if not isinstance(value, torch.Tensor) else str(id(value))
        if key not in self.known:
            node = Node("prim::Constant", [], {"value": value})
            self.heads.append(node)
            self.known[key] = node.add_output(self.graph.named(), Type(text))
        return self.known[key]

    def attribute(self, owner: Value, module: Any, name: str) -> Value:
        """Return the value of a module's attribute."""
        known = next((got[id(owner), name] for got in self.got if (id(owner), name) in got), None)
        if known is not None:
            return known
        content, text = self.describe(module).attributes.get(name, (None, "Tensor"))
        type = self.graph_type(ast.parse(text, mode="eval").body)
        value = self.node("prim::GetAttr", [owner], type, name if name.isidentifier() else f"_{name}", name=name)
        if isinstance(content, nn.Module):
            self.modules_of[id(value)] = content
        self.got[-1][id(owner), name] = value
        return value

    def in_block(self, block: Block, read: Callable[[], Any]) -> Any:
        self.blocks.append(block)
        self.got.append({})
        former = dict(self.scope.values)
        result = read()
        assigned, self.scope.values = self.scope.values, former
        self.got.pop()
        self.blocks.pop()
        return result, assigned

    # --- functions ---

    def function(
        self, definition: ast.FunctionDef, arguments: list[Value], owner: nn.Module | None, notes: dict[str, Note]
    ) -> Any:
        """Return the value that the body of a function returns."""
        former = self.scope
        names = [parameter.arg for parameter in definition.args.args]
        self.scope = Scope(dict(zip(names, arguments, strict=False)), {}, notes)
        given = len(definition.args.defaults)
        for name, default in zip(names[len(names) - given :], definition.args.defaults, strict=True):
            if name not in self.scope.values:
                self.scope.values[name] = self.value(default)
        if owner is not None:
            self.modules_of[id(arguments[0])] = owner
        result = self.body(definition.body)
        self.scope = former
        return self.constant(None, "NoneType") if result is None else result

    def body(self, statements: list[ast.stmt]) -> Value | None:
        """Process statements. Return their return value, or None if they do not return."""
        for place, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                return self.constant(None, "NoneType") if statement.value is None else self.value(statement.value)
            if isinstance(statement, ast.If) and (_returns(statement.body) or _returns(statement.orelse)):
                rest = statements[place + 1 :]
                return self.branches(statement.test, [statement.body + rest, statement.orelse + rest])
            self.statement(statement)
        return None

    def branches(self, test: ast.expr, bodies: list[list[ast.stmt]]) -> Value | None:
        """Process an `if` statement. Return its return value, or None if it does not return."""
        node = self.blocks[-1].add(Node("prim::If", [self.condition(test)]))
        ends = []
        for statements in bodies:
            block = Block()
            node.add_block(block)
            ends.append((block, *self.in_block(block, lambda statements=statements: self.body(statements))))  # type: ignore[misc]
        if any(result is not None for _, result, _ in ends):
            for block, result, _ in ends:
                none = self.constant(None, "NoneType")
                block.returnNode().add_input(none if result is None else result)
            types = [result.type() for _, result, _ in ends if result is not None]
            return node.add_output(self.graph.named(), types[0])
        before = self.scope.values
        for name in dict.fromkeys(name for _, _, assigned in ends for name in assigned):
            values = [assigned.get(name) for _, _, assigned in ends]
            if all(value is before.get(name) for value in values):
                continue
            raising = [_raises(statements) for statements in bodies]
            if any(value is None for value in values) and not any(raising):
                continue  # assigned in one branch only: undefined after the `if`
            present = next(value for value in values if value is not None)
            for (block, _, _), value in zip(ends, values, strict=True):
                block.returnNode().add_input(value or self.constant(None, "NoneType"))
            before[name] = node.add_output(self.graph.named(name), present.type())
        return None

    # --- statements ---

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            annotated = ast.Call(ast.Name("annotate", ast.Load()), [node.annotation, node.value], [])
            self.assign(node.target, annotated)
        elif isinstance(node, ast.AugAssign):
            read = ast.parse(ast.unparse(node.target), mode="eval").body
            self.assign(node.target, ast.BinOp(read, node.op, node.value))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.If):
            self.branches(node.test, [node.body, node.orelse])
        elif isinstance(node, (ast.For, ast.While)):
            self.loop(node)
        elif isinstance(node, ast.Assert):
            raising = ast.parse("ops.prim.RaiseException('')").body
            if node.msg is not None:
                raising[0].value.args = [node.msg]  # type: ignore[attr-defined]
            if not isinstance(node.test, ast.Constant):
                self.branches(node.test, [[ast.Pass()], raising])
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            self.blocks[-1].add(Node("prim::RaiseException", [self.value(argument) for argument in node.exc.args]))
        elif isinstance(node, (ast.Break, ast.Continue)):
            self.blocks[-1].add(Node(f"prim::{type(node).__name__}Stmt", []))
        elif isinstance(node, ast.Return):
            value = self.constant(None, "NoneType") if node.value is None else self.value(node.value)
            self.blocks[-1].add(Node("prim::ReturnStmt", [value]))

    def loop(self, node: ast.For | ast.While) -> None:
        true = self.constant(True, "bool")
        items = None
        if isinstance(node, ast.While):
            first = [self.constant(2**63 - 1, "int"), self.condition(node.test)]
        elif isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range":
            limits = [self.value(argument) for argument in node.iter.args]
            length = limits[0] if len(limits) == 1 else self.node("aten::__range_length", limits, Type("int"))
            first = [length, true]
        else:
            items = self.value(node.iter)
            first = [self.node("aten::len", [items], Type("int")), true]
        stored = [part.id for inner in node.body for part in ast.walk(inner) if isinstance(part, ast.Name)
                  and isinstance(part.ctx, ast.Store)]  # fmt: skip
        carried = [name for name in dict.fromkeys(stored) if name in self.scope.values]
        loop = self.blocks[-1].add(Node("prim::Loop", [*first, *(self.scope.values[name] for name in carried)]))
        block = Block()
        loop.add_block(block)
        index = block.paramNode().add_output(self.graph.named("i" if isinstance(node, ast.For) else None), Type("int"))
        inside = {name: block.paramNode().add_output(self.graph.named(name), self.scope.values[name].type()) for name in carried}

        def read() -> Value:
            self.scope.values.update(inside)
            if isinstance(node, ast.For):
                item = index if items is None else self.item(items, index)
                if items is None and len(node.iter.args) > 1:  # type: ignore[attr-defined]
                    item = self.node("aten::__derive_index", [index, *limits[:1], *limits[2:]], Type("int"))
                self.bind(node.target, item)
            for statement in node.body:
                self.statement(statement)
            return true if isinstance(node, ast.For) else self.condition(node.test)

        goes_on, assigned = self.in_block(block, read)
        for value in [goes_on, *(assigned[name] for name in carried)]:
            block.returnNode().add_input(value)
        for name in carried:
            self.scope.values[name] = loop.add_output(self.graph.named(name), assigned[name].type())

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.bind(target, self.value(value, target.id))
        elif isinstance(target, (ast.Tuple, ast.List)):
            names = [element.id if isinstance(element, ast.Name) else None for element in target.elts]
            for element, part in zip(target.elts, self.unpack(value, names), strict=True):
                self.bind(element, part)
        else:
            self.bind(target, self.value(value))

    def unpack(self, node: ast.expr, names: list[str | None]) -> list[Value]:
        """Return the values that a tuple assignment unpacks. For operator calls, they are the outputs of one node."""
        operator = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] in ("torch", "ops")
        whole = self.value(node)
        taken = whole.node() if operator and not whole.type().text.endswith("[]") else None
        if taken is None:
            kind = "List" if whole.type().text.endswith("[]") else "Tuple"
            taken = self.blocks[-1].add(Node(f"prim::{kind}Unpack", [whole]))
        else:
            taken._outputs.clear()
        types = _parts(whole.type().text)
        types = types if len(types) == len(names) else [(types or ["Tensor"])[0]] * len(names)
        return [taken.add_output(self.graph.named(name), Type(text)) for name, text in zip(names, types, strict=True)]

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.scope.values[target.id] = value
            note = self.scope.notes.get(target.id)
            if note is not None and value.type().text == "Tensor" and value.node().kind() != "prim::Param":
                value._type, value.node().scope, value.node().source = note.type, note.scope, note.source
        elif isinstance(target, (ast.Tuple, ast.List)):
            types = _parts(value.type().text)
            node = self.blocks[-1].add(Node("prim::TupleUnpack", [value]))
            for place, element in enumerate(target.elts):
                name = element.id if isinstance(element, ast.Name) else None
                self.bind(
                    element, node.add_output(self.graph.named(name), Type(types[place] if place < len(types) else "Tensor"))
                )
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            self.blocks[-1].add(Node("prim::SetAttr", [owner, value], {"name": target.attr}))
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value)
            if owner.type().text == "Tensor":
                self.blocks[-1].add(
                    Node("aten::copy_", [self.value(ast.Subscript(target.value, target.slice, ast.Load())), value])
                )
            else:
                self.blocks[-1].add(Node("aten::_set_item", [owner, self.value(target.slice), value]))

    # --- expressions ---

    def condition(self, node: ast.expr) -> Value:
        value = self.value(node)
        return value if value.type().text == "bool" else self.node("aten::Bool", [value], Type("bool"))

    def item(self, owner: Value, index: Value) -> Value:
        text = owner.type().text
        if text == "Tensor":
            return self.node("aten::select", [owner, self.constant(0, "int"), index], Type("Tensor"))
        parts = _parts(text)
        place = index.toIValue() if text.startswith("(") and isinstance(index.toIValue(), int) else -1
        element = parts[place] if parts and -len(parts) <= place < len(parts) else "Tensor"
        return self.node("prim::TupleIndex" if text.startswith("(") else "aten::__getitem__", [owner, index], Type(element))

    def value(self, node: ast.expr, name: str | None = None) -> Value:
        """Return the value of an expression; `name` is the name for a new value."""
        read: Callable[..., Value] = getattr(self, f"value_{type(node).__name__}", self.value_other)
        return read(node, name)

    def value_other(self, node: ast.expr, name: str | None) -> Value:
        return self.node(f"prim::{type(node).__name__}", [], None, name)

    def value_Constant(self, node: ast.Constant, name: str | None) -> Value:
        kinds: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str", complex: "complex"}
        return self.constant(None if node.value is ... else node.value, kinds.get(type(node.value), "NoneType"))

    def value_Name(self, node: ast.Name, name: str | None) -> Value:
        if node.id in self.scope.values:
            return self.scope.values[node.id]
        if node.id in ("inf", "nan"):
            return self.constant(float(node.id), "float")
        return self.node("prim::Uninitialized", [], None, node.id)

    def value_Attribute(self, node: ast.Attribute, name: str | None) -> Value:
        text = ast.unparse(node)
        owner, _, member = text.rpartition(".")
        if owner in self.enums and member in self.enums[owner]:
            return self.constant(self.enums[owner][member], f"Enum<{owner}>")
        if text.startswith("CONSTANTS.c"):
            return self.constant(self.constants[int(text.removeprefix("CONSTANTS.c"))], "Tensor")
        return self.got_from(node.value, node.attr)

    def got_from(self, node: ast.expr, attribute: str) -> Value:
        owner = self.value(node)
        path = owner.type().text.removeprefix("Enum<").removesuffix(">")
        if path in self.enums and attribute in ("name", "value"):
            kinds = [type(member.value).__name__ for member in self.enums[path].values()]
            kind = "str" if attribute == "name" else kinds[0]
            return self.node(f"prim::Enum{attribute.capitalize()}", [owner], Type(kind))
        module = self.modules_of.get(id(owner))
        if module is None:
            return self.node("prim::GetAttr", [owner], None, attribute, name=attribute)
        return self.attribute(owner, module, attribute)

    def value_Tuple(self, node: ast.Tuple, name: str | None) -> Value:
        values = [self.value(element) for element in node.elts]
        text = f"({', '.join(value.type().text for value in values)})"
        return self.node("prim::TupleConstruct", values, Type(text), name)

    def value_List(self, node: ast.List, name: str | None) -> Value:
        values = [self.value(element) for element in node.elts]
        return self.node("prim::ListConstruct", values, Type((values[0].type().text if values else "Tensor") + "[]"), name)

    def value_Dict(self, node: ast.Dict, name: str | None) -> Value:
        pairs = [(self.value(key), self.value(item)) for key, item in zip(node.keys, node.values, strict=True) if key]
        text = f"Dict({pairs[0][0].type()}, {pairs[0][1].type()})" if pairs else "Dict(str, Tensor)"
        return self.node("prim::DictConstruct", [part for pair in pairs for part in pair], Type(text), name)

    def value_ListComp(self, node: ast.ListComp, name: str | None) -> Value:
        generator = node.generators[0]
        made = self.node("prim::ListConstruct", [], Type("Tensor[]"), name)
        former = dict(self.scope.values)
        self.scope.values["_made"] = made
        append = ast.Expr(ast.Call(_expression("torch.append"), [ast.Name("_made", ast.Load()), node.elt], []))
        self.loop(ast.For(generator.target, generator.iter, [append], []))
        self.scope.values = former
        return made

    def value_IfExp(self, node: ast.IfExp, name: str | None) -> Value:
        return self.chosen(self.condition(node.test), [node.body, node.orelse], name)

    def chosen(self, test: Value, parts: list[ast.expr | Value], name: str | None) -> Value:
        branch = self.blocks[-1].add(Node("prim::If", [test]))
        types = []
        for part in parts:
            block = Block()
            branch.add_block(block)
            read = self.in_block(block, lambda part=part: part if isinstance(part, Value) else self.value(part))  # type: ignore[misc]
            block.returnNode().add_input(read[0])
            types.append(read[0].type())
        chosen = types[0] if types[0].text != "NoneType" else types[1]
        return branch.add_output(self.graph.named(name), chosen)

    def value_BoolOp(self, node: ast.BoolOp, name: str | None) -> Value:
        first, rest = node.values[0], node.values[1:]
        after: ast.expr = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        is_or = isinstance(node.op, ast.Or)
        decided = self.constant(is_or, "bool")
        parts: list[ast.expr | Value] = [decided, after] if is_or else [after, decided]
        return self.chosen(self.condition(first), parts, name)

    def value_UnaryOp(self, node: ast.UnaryOp, name: str | None) -> Value:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number: Any = node.operand.value
            return self.constant(-number, type(number).__name__)
        return self.operator(f"aten::{_SYMBOLS.get(type(node.op), 'bitwise_not')}", [self.value(node.operand)], name)

    def value_BinOp(self, node: ast.BinOp, name: str | None) -> Value:
        values = [self.value(node.left), self.value(node.right)]
        return self.operator(f"aten::{_SYMBOLS.get(type(node.op), type(node.op).__name__)}", values, name)

    def value_Compare(self, node: ast.Compare, name: str | None) -> Value:
        values = [self.value(node.left), self.value(node.comparators[0])]
        inside = isinstance(node.ops[0], ast.In)
        return self.operator(f"aten::{_SYMBOLS[type(node.ops[0])]}", values[::-1] if inside else values, name)

    def value_Subscript(self, node: ast.Subscript, name: str | None) -> Value:
        owner = self.value(node.value)
        if id(owner) in self.modules_of:
            return self.node("prim::ModuleContainerIndex", [owner, self.value(node.slice)], None, name)
        if owner.type().text != "Tensor":
            if isinstance(node.slice, ast.Slice):
                return self.node("aten::slice", [owner, *self.limits(node.slice)], owner.type(), name)
            return self.item(owner, self.value(node.slice))
        dim = 0
        for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            place = self.constant(dim, "int")
            if isinstance(index, ast.Slice):
                owner = self.node("aten::slice", [owner, place, *self.limits(index)], None, name)
                dim += 1
            elif isinstance(index, ast.Constant) and index.value is None:
                owner, dim = self.node("aten::unsqueeze", [owner, place], None, name), dim + 1
            elif isinstance(index, ast.Constant) and index.value is ...:
                continue
            else:
                value = self.value(index)
                if value.type().text == "int":
                    owner = self.node("aten::select", [owner, place, value], None, name)
                else:
                    indices = self.node("prim::ListConstruct", [value], Type("Tensor?[]"))
                    owner, dim = self.node("aten::index", [owner, indices], None, name), dim + 1
        return owner

    def limits(self, node: ast.Slice) -> list[Value]:
        parts = [ast.Constant(None) if part is None else part for part in (node.lower, node.upper)]
        return [self.value(part) for part in [*parts, node.step or ast.Constant(1)]]

    # --- calls ---

    def operator(self, kind: str, inputs: list[Value], name: str | None) -> Value:
        operator = kind.rpartition("::")[2]
        of_tensors = any(value.type().text == "Tensor" for value in inputs)
        if operator in ("add", "sub") and len(inputs) == 2 and of_tensors:
            inputs = [*inputs, self.constant(1, "int")]  # `add` and `sub` take a third argument, alpha
        text = _RESULTS.get(operator) or _declared_result(operator)
        if operator == "size" and len(inputs) > 1:
            text = "int"
        elif operator in _COMPARISONS:
            text = "Tensor" if of_tensors else "bool"
        elif operator in _ARITHMETIC and inputs and not of_tensors:
            texts = [value.type().text for value in inputs]
            text = "float" if operator == "div" or "float" in texts else texts[0]
        elif operator in ("floordiv", "sqrt", "exp", "log") and of_tensors:
            text = "Tensor"
        if text == "NoneType":
            self.blocks[-1].add(Node(kind, inputs))
            return self.constant(None, "NoneType")
        return self.node(kind, inputs, Type(text), name)

    def value_Call(self, node: ast.Call, name: str | None) -> Value:
        function = node.func
        text = ast.unparse(function)
        if isinstance(function, ast.Name):
            return self.builtin_call(node, function.id, name)
        if text.startswith("__torch__."):
            return self.called(text, node, name)
        root = text.split(".")[0]
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if root in ("torch", "ops") and root not in self.scope.values:
            path = text.split(".")
            kind = f"aten::{'.'.join(path[1:])}" if root == "torch" else f"{path[1]}::{'.'.join(path[2:])}"
            values = [self.value(argument) for argument in given]
            if text.startswith("ops.python."):
                return self.node("prim::PythonOp", values, None, name, pyname=path[2])
            return self.operator(kind, self.completed(kind, node, values) if root == "torch" else values, name)
        assert isinstance(function, ast.Attribute)
        owner = self.value(function.value)
        module = self.modules_of.get(id(owner))
        arguments = [self.value(argument) for argument in given]
        definition = self.method_of(owner.type().text if module is None else self.describe(module).path, function.attr)
        if definition is None:
            return self.node("prim::CallMethod", [owner, *arguments], None, name, name=function.attr)
        if self.inline and module is not None and not _is_deep(definition):
            notes = self.notes.get((id(module), function.attr), {})
            result: Value = self.function(definition, [owner, *self.ordered(definition, node, arguments, 1)], module, notes)
            return result
        return self.node("prim::CallMethod", [owner, *arguments], self.graph_type(definition.returns), name, name=function.attr)

    def completed(self, kind: str, node: ast.Call, values: list[Value]) -> list[Value]:
        """Return the inputs of an operator in the order of its schema, with the defaults of those that a call leaves out."""
        operator = kind.rpartition("::")[2]
        if namespace_of(operator) != "aten" or not any("Tensor" in value.type().text for value in values):
            return values
        by_name = {keyword.arg: value for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True)}
        for schema in schemas(operator):
            if not all(result.is_tensor for result in schema.returns):
                continue
            places = [argument for argument in schema.arguments if not argument.kwarg_only][: len(node.args)]
            if len(places) < len(node.args) or not by_name.keys() <= {argument.name for argument in schema.arguments}:
                continue
            found = {argument.name: value for argument, value in zip(places, values, strict=False)} | by_name
            if not all(_may_take(argument, found[argument.name].type().text) for argument in places):
                continue
            if all(argument.name in found or argument.has_default_value() for argument in schema.arguments):
                return [
                    found.get(argument.name) or self.value(ast.parse(repr(argument.default), mode="eval").body)
                    for argument in schema.arguments
                ]
        return values

    def ordered(self, definition: ast.FunctionDef, node: ast.Call, arguments: list[Value], skipped: int) -> list[Value]:
        """Return the arguments of a call in the order of the function's parameters."""
        places = {keyword.arg: value for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=True)}
        ordered = arguments[: len(node.args)]
        names = [parameter.arg for parameter in definition.args.args][skipped:]
        defaults = dict(zip(names[::-1], definition.args.defaults[::-1], strict=False))
        for name in names[len(ordered) :]:
            ordered.append(places[name] if name in places else self.value(defaults[name]))
        return ordered

    def method_of(self, path: str, name: str) -> ast.FunctionDef | None:
        """Return a method of the class at a path, or None."""
        definition = self.definitions.get(path)
        parts = definition.body if isinstance(definition, ast.ClassDef) else []
        return next((part for part in parts if isinstance(part, ast.FunctionDef) and part.name == name), None)

    def called(self, path: str, node: ast.Call, name: str | None) -> Value:
        arguments = [self.value(argument) for argument in [*node.args, *(keyword.value for keyword in node.keywords)]]
        definition = self.definitions.get(path)
        if not isinstance(definition, ast.FunctionDef):
            return self.node("prim::CreateObject", arguments, Type(path), name)
        if self.inline and not _is_deep(definition):
            result: Value = self.function(definition, self.ordered(definition, node, arguments, 0), None, {})
            return result
        function = self.node("prim::Constant", [], Type("Function"), definition.name, name=definition.name)
        return self.node("prim::CallFunction", [function, *arguments], self.graph_type(definition.returns), name)

    def builtin_call(self, node: ast.Call, function: str, name: str | None) -> Value:
        """Process a call of a built-in name, such as `annotate`."""
        if function == "annotate":
            value = self.value(node.args[1], name)
            if value.node().kind() != "prim::Constant" and value._type.sizes() is None:
                value._type = self.graph_type(node.args[0])
            return value
        if function == "unchecked_cast":
            return self.node("prim::unchecked_cast", [self.value(node.args[1])], self.graph_type(node.args[0]), name)
        if function == "uninitialized":
            return self.node("prim::Uninitialized", [], self.graph_type(node.args[0]), name)
        if function == "isinstance":
            return self.node("prim::isinstance", [self.value(node.args[0])], Type("bool"), name)
        if function == "getattr":
            return self.got_from(node.args[0], str(node.args[1].value))  # type: ignore[attr-defined]
        values = [self.value(argument) for argument in node.args]
        if function in _CONVERSIONS:
            return self.operator(f"aten::{_CONVERSIONS[function]}", values, name)
        return self.operator(f"prim::{function}", values, name)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _parts(text: str) -> list[str]:
    """Return the element types of a tuple, list or dictionary type."""
    if text.endswith("[]"):
        return [text.removesuffix("[]")]
    inside = text[text.index("(") + 1 : -1] if text.endswith(")") else ""
    parts, depth = [""], 0
    for sign in inside:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def _returns(statements: list[ast.stmt]) -> bool:
    """Whether any of the statements is a `return` or an `if` that contains one. Loops are not searched."""
    return any(
        isinstance(statement, ast.Return)
        or (isinstance(statement, ast.If) and (_returns(statement.body) or _returns(statement.orelse)))
        for statement in statements
    )


def _raises(statements: list[ast.stmt]) -> bool:
    return any("RaiseException" in ast.unparse(statement) or isinstance(statement, ast.Raise) for statement in statements)


def _is_deep(definition: ast.FunctionDef) -> bool:
    """Whether a function returns inside a loop, so that it cannot be inlined."""
    loops = (node for node in ast.walk(definition) if isinstance(node, (ast.For, ast.While)))
    return any(isinstance(node, ast.Return) for loop in loops for node in ast.walk(loop))


def build_graph(
    root: nn.Module,
    method: str,
    code: dict[str, bytes],
    constants: list[Any],
    describe: Callable[[Any], ModuleDescription],
    notes: dict[tuple[int, str], dict[str, Note]] | None = None,
    inline: bool = False,
    has_self: bool = True,
) -> Graph:
    """Build the graph of a method from its TorchScript code.

    Args:
        root: the module.
        method: the name of the method.
        code, constants: the code files and constants that an archive of the module would contain.
        describe: returns the class path and the attributes of a module in the archive.
        notes: shapes and source lines of the values of traced methods, by `(id of the module, method name)`.
        inline: inline the methods and functions that the method calls.
        has_self: whether the first input is the module; False for functions.
    """
    builder = _Builder(constants, definitions(code), describe, notes or {}, inline)
    definition = builder.method_of(describe(root).path, method)
    if definition is None:
        raise RuntimeError(f"the module has no method {method!r}")
    graph, inputs = builder.graph, []
    known = builder.notes.get((id(root), method), {})
    for place, parameter in enumerate(definition.args.args):
        type = Type(describe(root).path) if place == 0 else builder.graph_type(parameter.annotation)
        if parameter.arg in known:
            type = known[parameter.arg].type
        inputs.append(graph.paramNode().add_output(graph.named(f"{parameter.arg}.1"), type))
    result = builder.function(definition, inputs, root, known)
    graph.returnNode().add_input(result)
    for parameter, value in zip(definition.args.args, inputs, strict=True):
        if not value.uses() and not known:
            value.rename(parameter.arg)
    graph._nodes[:0] = builder.heads
    if not has_self:
        del graph.paramNode()._outputs[0]
    return graph
