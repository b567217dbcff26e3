"""Translate scripted Python functions and methods to TorchScript, statement by statement.

TorchScript is a typed subset of Python, and PyTorch infers the types of expressions when it loads the code. The translation
resolves what depends on Python objects: names become operators, functions, modules and constants; loops over modules are
unrolled; branches with constant conditions are eliminated. Other `if` statements and loops are kept.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import flambeau as torch

from ... import nn
from ..source_text import unindented
from ._arguments import with_broadcasting_sizes
from ._expressions import Expressions, NotScriptable, Static, is_container, is_plain, not_exported
from ._kinds import interface_methods
from ._layers import layer_method
from ._printing import attribute_path
from ._sources import parsed
from ._types import NoType, is_interface, is_script_class, type_of_annotation, type_of_value

if TYPE_CHECKING:
    from ._program import Program

__all__ = ["compile_class", "compile_function", "compile_interface", "compile_method", "exported_methods", "methods_with_hooks"]


def exported_methods(module: nn.Module) -> list[str]:
    """Return the names of the methods that are always compiled: `forward`, and methods marked as exported or scripted."""
    names = ["forward"] if type(module).forward is not nn.Module.forward and not is_container(module) else []
    for cls in type(module).__mro__:
        for name, value in list(vars(cls).items()):
            marked = getattr(value, "_torchscript_modifier", "") == "export" or hasattr(value, "_is_script_method")
            if marked and name not in names:
                names.append(name)
    return names


def compile_method(program: Program, module: nn.Module, name: str, self_type: str) -> list[str]:
    """Return the TorchScript lines of a method of a scripted module.

    Raises:
        RuntimeError: the method cannot be written as TorchScript.
    """
    if name == "forward":
        lines = layer_method(module, self_type)
        if lines is not None:
            for child in module.modules():
                if child is not module and not is_container(child) and type(child).forward is not nn.Module.forward:
                    program.method(child, "forward")
            return lines
    if name.startswith("__") and name.endswith("_getter"):
        getter = inspect.getattr_static(type(module), name.removeprefix("__").removesuffix("_getter")).fget
        return _Compiler(program, getter, module, self_type).lines(name)
    function = inspect.unwrap(getattr(type(module), name))
    if isinstance(module, nn.Sequential) and name == "forward" and function is nn.Sequential.forward:
        lines = [f"def forward(self: {self_type}, input):"]
        for path, child in module._modules.items():
            assert child is not None
            program.method(child, "forward")
            lines.append(f"  input = ({attribute_path(path)}).forward(input)")
        return _typed_sequence([*lines, "  return input"], program, module)
    if str(getattr(function, "_torchscript_modifier", "")).startswith("ignore"):
        raise NotScriptable(not_exported(name))
    unannotated = _type_of_state(program, module) if name == "__setstate__" else "Tensor"
    return _Compiler(program, function, module, self_type).lines(name, unannotated=unannotated)


def _type_of_state(program: Program, module: nn.Module) -> str:
    """Return the type of the value that `__getstate__` returns, or Tensor if the value has no TorchScript type."""
    try:
        return type_of_value(module.__getstate__(), program.named_class)
    except NoType:
        return "Tensor"


def methods_with_hooks(program: Program, module: nn.Module, forward: list[str], self_type: str) -> dict[str, list[str]]:
    """Return the lines of `forward` with calls of the forward hooks and pre-hooks, and of the methods that it calls.

    Args:
        program: the program that collects called functions.
        module: the module with hooks. Each hook is a function with annotated types.
        forward: the lines of `forward` without hooks.
        self_type: the type of the module in the code.

    Raises:
        RuntimeError: a hook cannot be written as TorchScript.
    """
    if module._forward_hooks_with_kwargs or module._forward_pre_hooks_with_kwargs:
        raise NotScriptable(f"hooks of {type(module).__name__} with keyword arguments cannot be written as TorchScript")
    methods = {"_forward_without_hooks": [forward[0].replace("def forward(", "def _forward_without_hooks(", 1), *forward[1:]]}
    definition = ast.parse(f"{forward[0].replace(self_type, 'S')}\n  pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    names = [argument.arg for argument in definition.args.args[1:]]
    lines = [forward[0]]

    def call(hook: Any, name: str, arguments: str) -> str:
        methods[name] = _Compiler(program, inspect.unwrap(hook), module, self_type).lines(name)
        head = ast.parse(f"{methods[name][0].replace(self_type, 'S')}\n  pass").body[0]
        lines.append(f"  {name}_result = self.{name}({arguments})")
        assert isinstance(head, ast.FunctionDef)
        if head.returns is not None:
            return ast.unparse(head.returns)
        body = ast.parse("\n".join(methods[name]).replace(self_type, "S"))
        return "Tensor" if any(isinstance(part, ast.Return) and part.value for part in ast.walk(body)) else "None"

    inputs = f"({''.join(f'{name}, ' for name in names)})"
    for number, hook in enumerate(module._forward_pre_hooks.values()):
        name = f"_pre_hook_{number}"
        kind = call(hook, name, inputs)
        if kind.startswith("Tuple["):
            lines += [f"  {argument} = {name}_result[{place}]" for place, argument in enumerate(names)]
        elif kind not in ("None", "NoneType"):
            lines.append(f"  {names[0]} = {name}_result")
    lines.append(f"  _result = self._forward_without_hooks({', '.join(names)})")
    for number, hook in enumerate(module._forward_hooks.values()):
        if call(hook, f"_hook_{number}", f"{inputs}, _result") not in ("None", "NoneType"):
            lines.append(f"  _result = _hook_{number}_result")
    return {**methods, "forward": [*lines, "  return _result"]}


def _typed_sequence(lines: list[str], program: Program, module: nn.Module) -> list[str]:
    """Annotate the input of a `Sequential` with the input type of its first module."""
    kind = "Tensor"
    for child in module._modules.values():
        head = next(iter(program.method_lines(child, "forward")), "")
        _, found, rest = head.partition("self: ")
        if found and ": " in rest:
            kind = _first_type(rest)
        break
    return [lines[0].replace("input)", f"input: {kind})"), *lines[1:]]


def _first_type(parameters: str) -> str:
    """Return the type of the first parameter after `self`, given the text of a definition after `def f(self: `."""
    tree = ast.parse(f"def f(self: {parameters.replace(chr(0), 'S')}\n  pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    arguments = tree.args.args
    annotation = arguments[1].annotation if len(arguments) > 1 else None
    return ast.unparse(annotation) if annotation is not None else "Tensor"


def compile_function(program: Program, function: Any, name: str, first: str | None) -> list[str]:
    """Return the TorchScript lines of a scripted function.

    Args:
        program: the program that collects called functions.
        function: the function.
        name: the name of the function in the archive.
        first: an additional first parameter, or None.

    Raises:
        RuntimeError: the function cannot be written as TorchScript.
    """
    return _Compiler(program, inspect.unwrap(function), None, "").lines(name, first)


def compile_class(program: Program, cls: type, path: str) -> tuple[list[str], dict[str, str]]:
    """Return the TorchScript lines of a user-defined class, and the types of its attributes.

    Raises:
        RuntimeError: the class cannot be written as TorchScript.
    """
    methods: list[str] = []
    declared: dict[str, str] = {}
    for name, annotation in typing.get_type_hints(cls).items():
        declared[name] = type_of_annotation(annotation, program.named_class)
    for name, member in list(vars(cls).items()):
        function = member.fget if isinstance(member, property) else member
        if not inspect.isfunction(function) or str(getattr(function, "_torchscript_modifier", "")).startswith(("un", "ig")):
            continue
        written = f"__{name}_getter" if isinstance(member, property) else name
        lines = _Compiler(program, function, None, path, cls).lines(written)
        if isinstance(member, property) and member.fset is not None:
            methods += _Compiler(program, member.fset, None, path, cls).lines(f"__{name}_setter")
        if name == "__init__":
            declared = {**_assigned_types("\n".join(lines)), **declared}
            lines[0] = lines[0].replace("):", ") -> NoneType:")
        methods += lines
    return [*(f"{name} : {kind}" for name, kind in declared.items()), *methods], declared


def compile_interface(program: Program, cls: type, path: str) -> list[str]:
    """Return the TorchScript lines of an interface: its methods without code."""
    heads = [_Compiler(program, vars(cls)[name], None, path, cls).lines(name)[0] for name in interface_methods(cls)]
    return [line for head in heads for line in (head.replace(f": {path}", "", 1), "  pass")]


def _assigned_types(text: str) -> dict[str, str]:
    """Return the types of the attributes that an `__init__` assigns."""
    definition: Any = ast.parse(text).body[0]
    me, *parameters = definition.args.args
    kinds = {parameter.arg: ast.unparse(parameter.annotation) for parameter in parameters}
    found: dict[str, str] = {}
    for statement in ast.walk(definition):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(statement, ast.Assign) and isinstance(target, ast.Name):
            kinds[target.id] = _infer_type(statement.value, kinds)
        elif isinstance(statement, ast.Assign) and isinstance(target, ast.Attribute) and ast.unparse(target.value) == me.arg:
            found.setdefault(target.attr, _infer_type(statement.value, kinds))
    return found


def _infer_type(value: ast.expr, names: dict[str, str]) -> str:
    """Infer the type of an expression; Tensor if it cannot be inferred."""
    if isinstance(value, ast.Name):
        return names.get(value.id, "Tensor")
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    if isinstance(value, ast.UnaryOp):
        return _infer_type(value.operand, names)
    if isinstance(value, ast.BinOp):
        kinds = {_infer_type(value.left, names), _infer_type(value.right, names)}
        return kinds.pop() if len(kinds) == 1 else "float" if kinds == {"int", "float"} else "Tensor"
    if isinstance(value, ast.List) and value.elts:
        return f"List[{_infer_type(value.elts[0], names)}]"
    if isinstance(value, ast.Tuple):
        return f"Tuple[{', '.join(_infer_type(part, names) for part in value.elts)}]"
    if isinstance(value, ast.Dict) and value.keys and value.keys[0] is not None:
        return f"Dict[{_infer_type(value.keys[0], names)}, {_infer_type(value.values[0], names)}]"
    if isinstance(value, ast.Call):
        function = ast.unparse(value.func)
        if function == "annotate":
            return ast.unparse(value.args[0])
        known = {"int": "int", "float": "float", "bool": "bool", "str": "str", "len": "int", "torch.len": "int"}
        return known.get(function, function if function.startswith("__torch__.") else "Tensor")
    return "Tensor"


class _Compiler(Expressions):
    """Translate a single function."""

    def __init__(
        self, program: Program, function: Any, module: nn.Module | None, self_type: str, cls: type | None = None
    ) -> None:
        self.program, self.function, self.module, self.self_type, self.cls = program, function, module, self_type, cls
        try:
            known = parsed(function.__code__, function.__code__.co_filename)
            if known is not None:  # also for a file that was deleted
                source, self.first_line, self.file = known.text.splitlines(keepends=True), known.first_line, known.file
            else:
                source, self.first_line = inspect.getsourcelines(function)
                self.file = inspect.getsourcefile(function) or "?"
        except (OSError, TypeError) as error:
            raise NotScriptable(f"Can't get source for {function}. TorchScript requires source access in order to carry out "
                                "compilation, make sure original .py files are available.") from error  # fmt: skip
        definition = ast.parse(unindented("".join(source))).body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise NotScriptable(f"{self.file}, line {self.first_line}: expected a function defined with def, not a lambda")
        self.definition = definition
        self.source = source
        closure = inspect.getclosurevars(function)
        self.names = {**function.__globals__, **closure.nonlocals}
        self.static: dict[str, Static] = {}
        self.locals: set[str] = set()
        self.instances: dict[str, type] = {}
        self.lists: set[str] = set()
        self.parts: dict[str, ast.expr] = {}
        self.before: list[ast.stmt] = []
        self.number = 0

    def lines(self, name: str, first: str | None = None, unannotated: str = "Tensor") -> list[str]:
        """Return the source lines of the function, from `def` to the last statement.

        Args:
            name: the name of the function in the archive.
            first: an additional first parameter, or None.
            unannotated: the type of parameters without annotation.
        """
        arguments = self.definition.args
        if arguments.vararg or arguments.kwarg:
            self.refuse(self.definition, "Compiled functions can't take variable number of arguments or use keyword-only "
                        "arguments with defaults")  # fmt: skip
        try:
            own = {} if self.cls is None else {self.cls.__name__: self.cls}
            hints = typing.get_type_hints(self.function, localns={**self.names, **own})
        except Exception:
            hints = dict(getattr(self.function, "__annotations__", {}))
            hints = {key: self.evaluated(value) for key, value in hints.items()}
        hints = with_broadcasting_sizes(hints, "".join(self.source))
        parameters = [first] if first else []
        defaults = inspect.signature(self.function).parameters
        for place, argument in enumerate([*arguments.args, *arguments.kwonlyargs]):
            if place == 0 and self.module is not None:
                self.static[argument.arg] = Static(self.module, "self")
                parameters.append(f"self: {self.self_type}")
                continue
            self.locals.add(argument.arg)
            if place == 0 and self.cls is not None:
                self.instances[argument.arg] = self.cls
                parameters.append(f"{argument.arg}: {self.self_type}")
                continue
            if is_script_class(hints.get(argument.arg)):
                self.instances[argument.arg] = hints[argument.arg]
            kind = self.annotation(hints[argument.arg], argument) if argument.arg in hints else unannotated
            typed = f"{argument.arg}: {kind}"
            if kind.startswith(("List", "Tuple")):
                self.lists.add(argument.arg)
            default = defaults[argument.arg].default
            if isinstance(default, torch.Tensor):
                parameters.append(f"{typed}={self.program.constant(default)}")
            else:
                parameters.append(typed if default is inspect.Parameter.empty else f"{typed}={self.literal(default, argument)}")
        comment = self._type_comment()
        if comment:
            parameters = self._with_comment(parameters, comment)
        returned = f" -> {self.annotation(hints['return'], self.definition)}" if "return" in hints else ""
        if comment:
            returned = f" -> {comment[1]}"
        body = self.definition.body
        if ast.get_docstring(self.definition) is not None:
            body = body[1:]
        statements = self.block(body) or [ast.Pass()]
        module = ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[]))
        text = ast.unparse(module).splitlines()
        return [f"def {name}({', '.join(parameters)}){returned}:", *(f"  {line}" for line in text)]

    def _type_comment(self) -> tuple[list[str], str] | None:
        import re

        for line in self.source[:12]:
            found = re.search(r"#\s*type:\s*\((.*)\)\s*->\s*(.+)$", line)
            if found:
                kinds = ast.parse(f"({found[1]},)" if found[1].strip() else "()", mode="eval").body
                assert isinstance(kinds, ast.Tuple)
                return [
                    self.annotation(self.evaluated(ast.unparse(kind)), self.definition) for kind in kinds.elts
                ], self.annotation(self.evaluated(found[2].strip()), self.definition)
        return None

    def _with_comment(self, parameters: list[str], comment: tuple[list[str], str]) -> list[str]:
        skipped = len(parameters) - len(comment[0])
        typed = parameters[:skipped]
        for text, kind in zip(parameters[skipped:], comment[0], strict=True):
            name, _, default = text.partition(": ")
            typed.append(f"{name}: {kind}" + (f"={default.partition('=')[2]}" if "=" in default else ""))
        return typed

    # --- statements -------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in statements:
            translate: Callable[[Any], list[ast.stmt]] | None = getattr(self, f"statement_{type(statement).__name__}", None)
            if translate is None:
                self.refuse(statement, f"{type(statement).__name__} statements aren't supported")
            former, self.before = self.before, []
            translated = translate(statement)
            out += [*self.before, *translated]
            self.before = former
            if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                break
        return out

    def statement_Pass(self, node: ast.Pass) -> list[ast.stmt]:
        return [ast.Pass()]

    def statement_Break(self, node: ast.Break) -> list[ast.stmt]:
        if self.unrolling:
            self.refuse(node, "break is not supported in a loop over modules")
        return [ast.Break()]

    def statement_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        if self.unrolling:
            self.refuse(node, "continue is not supported in a loop over modules")
        return [ast.Continue()]

    unrolling = False

    def statement_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        return []

    def statement_Return(self, node: ast.Return) -> list[ast.stmt]:
        if self.inside_with:
            self.refuse(node, "return is not supported inside with")
        return [ast.Return(None if node.value is None else self.dynamic(node.value))]

    inside_with = False

    def statement_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []
        value = self.value(node.value)
        return [] if isinstance(value, Static) else [ast.Expr(value)]

    def statement_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        test = self.value(node.test)
        if isinstance(test, Static) and test.value:
            return []
        message = self.dynamic(node.msg) if node.msg is not None else ast.Constant("AssertionError")
        return [ast.Assert(self.code_of(test, node), message)]

    def statement_Raise(self, node: ast.Raise) -> list[ast.stmt]:
        call = node.exc
        kind = self.value(call.func) if isinstance(call, ast.Call) else None if call is None else self.value(call)
        if not (isinstance(kind, Static) and isinstance(kind.value, type) and issubclass(kind.value, Exception)):
            self.refuse(node, "raise is only supported with an exception class or a call of one")
        message = self.dynamic(call.args[0]) if isinstance(call, ast.Call) and call.args else ast.Constant("")
        raises = self.parse("ops.prim.RaiseException")
        name = ast.Constant(f"{kind.value.__module__}.{kind.value.__name__}")
        # PyTorch's parser does not recognize that `RaiseException` ends a branch, so an `assert False` follows it.
        return [ast.Expr(ast.Call(raises, [message, name], [])), ast.Assert(ast.Constant(False), message)]

    def statement_If(self, node: ast.If) -> list[ast.stmt]:
        test = self.value(node.test)
        if isinstance(test, Static):
            return self.block(node.body if test.value else node.orelse)
        before = dict(self.static)
        body = self.block(node.body)
        self.static = dict(before)
        orelse = self.block(node.orelse)
        self.static = before
        return [ast.If(test, body or [ast.Pass()], orelse)]

    def statement_While(self, node: ast.While) -> list[ast.stmt]:
        if node.orelse:
            self.refuse(node, "else branches of while loops aren't supported")
        return [ast.While(self.dynamic(node.test), self.loop_body(node.body), [])]

    def loop_body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        former, self.unrolling = self.unrolling, False
        body = self.block(statements)
        self.unrolling = former
        return body or [ast.Pass()]

    def statement_For(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            self.refuse(node, "else branches of for loops aren't supported")
        items = self.unrolled(node.iter)
        if items is None:
            iterated = self.dynamic(node.iter)
            target = self.target(node.target)
            return [ast.For(target, iterated, self.loop_body(node.body), [])]
        out: list[ast.stmt] = []
        former, self.unrolling = self.unrolling, True
        for item in items:
            out += self.bind(node.target, item, node)
            out += self.block(node.body)
        self.unrolling = former
        return out

    def statement_With(self, node: ast.With) -> list[ast.stmt]:
        modes = {torch.no_grad: False, torch.enable_grad: True}
        call = node.items[0].context_expr
        kind = self.value(call.func) if isinstance(call, ast.Call) else None
        if len(node.items) > 1 or not isinstance(kind, Static) or kind.value not in modes:
            self.refuse(node, "with is only supported for torch.no_grad() and torch.enable_grad()")
        self.number += 1
        name = f"_grad_mode_{self.number}"
        former, self.inside_with = self.inside_with, True
        body = self.block(node.body)
        self.inside_with = former
        return [
            *ast.parse(f"{name} = torch.is_grad_enabled()\ntorch.set_grad_enabled({modes[kind.value]})").body,
            *body,
            *ast.parse(f"torch.set_grad_enabled({name})").body,
        ]

    def statement_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        target = node.targets[0]
        if len(node.targets) > 1:
            value = self.dynamic(node.value)
            self.number += 1
            name = f"_assigned_{self.number}"
            first: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value)]
            return first + [ast.Assign([self.target(target)], ast.Name(name, ast.Load())) for target in node.targets]
        value = self.value(node.value)
        if isinstance(value, Static) and isinstance(target, ast.Name) and not is_plain(value.value):
            self.static[target.id] = value
            self.locals.discard(target.id)
            return []
        code = self.code_of(value, node)
        setter = self.setter(target)
        if setter is not None:
            return [ast.Expr(ast.Call(setter, [code], []))]
        is_list = self.is_list(node.value)
        written = self.target(target)
        if isinstance(target, ast.Name):
            self.note_class(target.id, self.class_of(code))
            (self.lists.add if is_list else self.lists.discard)(target.id)
        return [ast.Assign([written], code)]

    def setter(self, target: ast.expr) -> ast.expr | None:
        """Return the setter that an assignment to a property of an object of a user-defined class calls, or None."""
        if not isinstance(target, ast.Attribute):
            return None
        owner = self.value(target.value)
        cls = None if isinstance(owner, Static) else self.class_of(owner)
        if not isinstance(inspect.getattr_static(cls, target.attr, None), property):
            return None
        return ast.Attribute(owner, f"__{target.attr}_setter", ast.Load())

    def note_class(self, name: str, cls: type | None) -> None:
        if cls is None:
            self.instances.pop(name, None)
        else:
            self.instances[name] = cls

    def statement_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return []
        annotation = self.evaluated(ast.unparse(node.annotation))
        kind = self.annotation(annotation, node)
        target = self.target(node.target)
        if isinstance(node.target, ast.Name):
            has_methods = is_script_class(annotation) or is_interface(annotation)
            self.note_class(node.target.id, annotation if has_methods else None)
        if is_interface(annotation) and isinstance(node.value, ast.Subscript):
            container = self.value(node.value.value)
            if isinstance(container, Static) and isinstance(container.value, nn.Module):
                value = self.implementation(container, annotation, node.value)
                return [ast.AnnAssign(target, self.parse(kind), value, simple=1)]  # type: ignore[call-overload]  # a name
        value = self.listed(node.value) or self.dynamic(node.value)
        return [ast.Assign([target], self.annotated(kind, value))]

    def implementation(self, container: Static, interface: type, node: ast.Subscript) -> ast.expr:
        """Translate an item of a container whose modules all implement an interface; the index may be any value."""
        for child, name in itertools.product(container.value.children(), interface_methods(interface)):
            self.program.method(child, name)
        return ast.Subscript(self.parse(container.path), self.dynamic(node.slice), ast.Load())

    def statement_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            read = ast.parse(ast.unparse(node.target), mode="eval").body
            ast.copy_location(read, node)
            value = self.dynamic(ast.copy_location(ast.BinOp(read, node.op, node.value), node))
            return [ast.Assign([self.target(node.target)], value)]
        target: Any = self.target(node.target)
        return [ast.AugAssign(target, node.op, self.dynamic(node.value))]
