"""Generate the code of a frozen module: attributes become constants, and methods of submodules become functions.

It transforms the code that an archive of the module would contain, so that scripted, traced and loaded modules are frozen in
the same way. Attributes that the code modifies, by assignment or by an in-place operator, remain attributes, and their
modules remain modules.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import flambeau as torch

from ... import nn
from ._graph_building import definitions
from ._types import ModuleDescription, NoType, literal

__all__ = ["FrozenProgram"]

Attribute = tuple[int, str]  # the `id` of the module or object, and the name of its attribute


class _MutableAttributeFound(Exception):
    """Raised when an attribute turns out to be modified by the code, so that the code must be generated again."""


class FrozenProgram:
    """The code, constants and attributes of a frozen module.

    Args:
        root: the module.
        code: the code files of its archive.
        constants: the constants of its archive.
        describe: returns the class path and the attributes that a module or object has in the archive.
        preserved: the names of attributes and methods of the module that are kept.

    Raises:
        RuntimeError: the code uses modules in an unsupported way.
    """

    def __init__(
        self,
        root: nn.Module,
        code: dict[str, bytes],
        constants: list[Any],
        describe: Callable[[Any], ModuleDescription],
        preserved: Iterable[str] = (),
    ) -> None:
        self.root, self.constants, self._describe = root, list(constants), describe
        self._definitions = definitions(code)
        self._attributes: dict[int, dict[str, Any]] = {}
        self._mutable: set[Attribute] = set()
        self._modules = list(root.modules())
        for name in preserved:
            if name in self.methods_of(root):
                continue
            value = self.attributes_of(root)[name]
            self._mutable.add((id(root), name))
            if isinstance(value, nn.Module):
                self._mutable.update((id(child), other) for child in value.modules() for other in self.attributes_of(child))
        kept = [name for name in ("forward", *preserved) if name in self.methods_of(root)]
        while True:
            self._functions: dict[Attribute, str] = {}
            self._texts: dict[str, list[str]] = {}
            self._live_methods: dict[Attribute, str] = {}
            self._class_paths: dict[int, str] = {}
            self._number = len(constants)
            self.constants = list(constants)
            self._kept_modules = self._mutable_modules()
            try:
                for name in kept:
                    self.called(root, name, "self")
                break
            except _MutableAttributeFound:
                continue
        self.described: dict[int, ModuleDescription] = {}
        self._classes: list[tuple[str, str]] = []
        self._describe_live(root)

    # --- the original code of the module ---

    def methods_of(self, owner: Any) -> dict[str, ast.FunctionDef]:
        """Return the methods of a module or object."""
        definition = self._definitions[self._describe(owner).path]
        return {part.name: part for part in definition.body if isinstance(part, ast.FunctionDef)}  # type: ignore[attr-defined]

    def attributes_of(self, owner: Any) -> dict[str, Any]:
        """Return the attributes of a module by name, as values. Constants of its class are returned as code."""
        if id(owner) not in self._attributes:
            path, described = self._describe(owner)
            found: dict[str, Any] = {name: value for name, (value, _) in described.items()}
            for part in self._definitions[path].body:  # type: ignore[attr-defined]
                if isinstance(part, ast.AnnAssign) and part.value is not None and isinstance(part.target, ast.Name):
                    found[part.target.id] = part.value
            self._attributes[id(owner)] = found
        return self._attributes[id(owner)]

    def is_mutable(self, owner: Any, name: str) -> bool:
        """Whether an attribute cannot become a constant, because the code may modify it or a part of it."""
        value = self.attributes_of(owner)[name]
        return (id(owner), name) in self._mutable or (isinstance(value, nn.Module) and id(value) in self._kept_modules)

    def mark_mutable(self, owner: Any, name: str) -> None:
        """Record that an attribute cannot become a constant, because the code modifies it."""
        if not self.is_mutable(owner, name):
            self._mutable.add((id(owner), name))
            raise _MutableAttributeFound

    def _mutable_modules(self) -> set[int]:
        owners = {owner for owner, _ in self._mutable}
        return {id(module) for module in self._modules if any(id(child) in owners for child in module.modules())} | {
            id(self.root)
        }

    # --- the generated code ---

    def constant(self, owner: Any, name: str) -> ast.expr:
        """Return the code for an attribute that is constant."""
        value = self.attributes_of(owner)[name]
        if isinstance(value, ast.expr):
            return value
        if isinstance(value, torch.Tensor):
            place = next((place for place, known in enumerate(self.constants) if known is value), None)
            if place is None:
                place = len(self.constants)
                self.constants.append(value)
            return _expression(f"CONSTANTS.c{place}")
        kind = self._describe(owner).attributes[name][1]
        try:
            text = literal(value)
        except NoType:
            self.mark_mutable(owner, name)
            raise
        return _expression(f"annotate({kind}, {text})" if isinstance(value, (list, dict)) else text)

    def called(self, owner: nn.Module, name: str, path: str) -> str:
        """Generate a method that other methods call, and return the code that refers to it."""
        key = id(owner), name
        alive = id(owner) in self._kept_modules
        if key not in self._functions:
            package, _, cls = self._describe(owner).path.rpartition(".")
            self._functions[key] = f"({path}).{name}" if alive else self._free(f"{package}.{cls}_{name}")
            self_type = self.class_of(owner) if alive else None
            method = _Method(self, owner, self.methods_of(owner)[name], self_type).translated(self._functions[key])
            text = ast.unparse(ast.fix_missing_locations(method))
            if alive:
                self._live_methods[key] = text
            else:
                self._texts.setdefault(self._functions[key].rpartition(".")[0], []).append(text)
        return f"({path}).{name}" if alive else self._functions[key]

    def _free(self, path: str) -> str:
        package, _, name = path.rpartition(".")
        package = package if package.startswith("__torch__") else "__torch__"
        taken = set(self._functions.values()) | set(self._definitions)
        number = 0
        while f"{package}.{name}" in taken:
            name, number = f"{path.rpartition('.')[2]}_{number}", number + 1
        return f"{package}.{name}"

    def _describe_live(self, module: nn.Module) -> ModuleDescription:
        if id(module) in self.described:
            return self.described[id(module)]
        attributes: dict[str, tuple[Any, str]] = {}
        for name, (value, kind) in self._describe(module).attributes.items():
            if self.is_mutable(module, name):
                attributes[name] = (value, self._describe_live(value).path if isinstance(value, nn.Module) else kind)
        parameters = [name for name in attributes if name in module._parameters]
        buffers = [name for name in attributes if name in module._buffers]
        new = self.class_of(module)
        lines = [f"  {list_name} = [{''.join(json.dumps(name) + ', ' for name in names)}]"
                 for list_name, names in (("__parameters__", parameters), ("__buffers__", buffers))]  # fmt: skip
        for name, (_, kind) in attributes.items():
            lines.append(f"  {name} : {kind}" if name.isidentifier() else f"  __annotations__[{json.dumps(name)}] = {kind}")
        for (owner, _), text in self._live_methods.items():
            if owner == id(module):
                lines += [f"  {line}" for line in text.splitlines()]
        self._classes.append((new, "\n".join([f"class {new.rpartition('.')[2]}(Module):", *lines])))
        self.described[id(module)] = ModuleDescription(new, attributes)
        return self.described[id(module)]

    def class_of(self, module: nn.Module) -> str:
        """Return a separate class path for each module, because modules of the same class may keep different attributes."""
        if id(module) not in self._class_paths:
            path = self._describe(module).path
            package, _, name = path.rpartition(".")
            number = 0
            while path in self._class_paths.values():
                path, number = f"{package}.___torch_mangle_{number}.{name}", number + 1
            self._class_paths[id(module)] = path
        return self._class_paths[id(module)]

    def code(self) -> dict[str, bytes]:
        """Return the code files."""
        files: dict[str, list[str]] = {}
        for path, definition in self._definitions.items():
            if isinstance(definition, ast.FunctionDef) or not _is_module(definition):
                files.setdefault(path.rpartition(".")[0], []).append(ast.unparse(definition))
        for package, texts in self._texts.items():
            files.setdefault(package, []).extend(texts)
        for path, text in self._classes:
            files.setdefault(path.rpartition(".")[0], []).append(text)
        return {f"code/{package.replace('.', '/')}.py": ("\n".join(texts) + "\n").encode() for package, texts in files.items()}

    def text_of_forward(self) -> str:
        """Return the code of `forward`."""
        return self._live_methods.get((id(self.root), "forward"), "") + "\n"


class _Method(ast.NodeTransformer):
    """Rewrite a method: attributes become constants, and the method becomes a function if its module is not kept."""

    def __init__(self, program: FrozenProgram, owner: nn.Module, definition: ast.FunctionDef, self_type: str | None) -> None:
        self.program, self.definition, self.self_type = program, definition, self_type
        self.self_name = definition.args.args[0].arg
        self.modules: dict[str, tuple[nn.Module, str]] = {self.self_name: (owner, self.self_name)}
        self.aliases: dict[str, tuple[nn.Module, str]] = {}  # maps local names to the attributes that they refer to
        self.literals: dict[str, ast.Constant] = {}  # maps local names to the constants that they refer to
        stores = [node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        self.once = {name for name in stores if stores.count(name) == 1}

    def translated(self, path: str) -> ast.FunctionDef:
        given = self.definition.args
        arguments = given.args[1:]
        if self.self_type is not None:
            arguments = [ast.arg(self.self_name, _expression(self.self_type)), *arguments]
        body = self.statements(self.definition.body) or [ast.Pass()]
        defaults = [self.visit(copy.deepcopy(default)) for default in given.defaults]
        return ast.FunctionDef(
            name=path.rpartition(".")[2],
            args=ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=defaults),
            body=body,
            decorator_list=[],
            returns=self.definition.returns,
        )

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            new = self.visit(copy.deepcopy(statement))
            found += new if isinstance(new, list) else [] if new is None else [new]
            if found and isinstance(found[-1], ast.Return):
                break
        return found

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise RuntimeError(f"torch.jit.freeze: {what}: {ast.unparse(node)}")

    def module_of(self, node: ast.AST) -> tuple[nn.Module, str] | None:
        """Return the module that an expression evaluates to, with its code, or None."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        found = self.attribute_of(node)
        if found is None:
            return None
        (owner, path), name = found
        value = self.program.attributes_of(owner).get(name)
        text = f"{path}.{name}" if name.isidentifier() else f"getattr({path}, {json.dumps(name)})"
        return (value, text) if isinstance(value, nn.Module) else None

    def attribute_of(self, node: ast.AST) -> tuple[tuple[nn.Module, str], str] | None:
        """Return the module and the attribute name that an expression accesses, or None."""
        if isinstance(node, ast.Attribute):
            inner, name = node.value, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            inner, name = node.args[0], str(node.args[1].value)  # type: ignore[attr-defined]
        else:
            return None
        owner = self.module_of(inner)
        return None if owner is None else (owner, name)

    def attribute(self, node: Any) -> Any:
        found = self.attribute_of(node)
        if found is None:
            return self.generic_visit(node)
        (owner, path), name = found
        if name not in self.program.attributes_of(owner):
            self.refuse(node, "a method is used as a value")
        if isinstance(self.program.attributes_of(owner)[name], nn.Module):
            self.refuse(node, "a module is used as a value")
        if self.program.is_mutable(owner, name):
            return _expression(f"{path}.{name}" if name.isidentifier() else f"getattr({path}, {json.dumps(name)})")
        return self.program.constant(owner, name)

    visit_Attribute = attribute

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.modules and isinstance(node.ctx, ast.Load):
            self.refuse(node, "a module is used as a value")
        return self.literals.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "getattr":
            return self.attribute(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("annotate", "unchecked_cast", "isinstance", "uninitialized"):
            # The index of the argument that is a value; the other argument is a type.
            places = (0,) if node.func.id == "isinstance" else (1,)
            node.args = [self.visit(part) if place in places else part for place, part in enumerate(node.args)]
            return node
        arguments = node.args
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            owner = self.module_of(node.func.value)
            if owner is not None:
                node.args = [self.visit(argument) for argument in arguments]
                node.keywords = [ast.keyword(word.arg, self.visit(word.value)) for word in node.keywords]
                node.func = _expression(self.program.called(owner[0], name, owner[1]))
                return node
            if name.endswith("_") and not name.startswith("_") and arguments:
                self.changed(arguments[0])
        return self.generic_visit(node)

    def changed(self, node: ast.expr) -> None:
        """Mark the value of an expression as modified."""
        if isinstance(node, ast.Name) and node.id in self.aliases:
            self.program.mark_mutable(*self.aliases[node.id])
        found = self.attribute_of(node)
        if found is not None:
            self.program.mark_mutable(found[0][0], found[1])

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        found = self.attribute_of(target)
        if found is not None:
            self.program.mark_mutable(found[0][0], found[1])
            (_, path), name = found
            node.targets = [ast.Attribute(_expression(path), name, ast.Store())]
            node.value = self.visit(node.value)
            return node
        if isinstance(target, ast.Subscript):
            self.changed(target.value)
        if isinstance(target, ast.Name):
            module = self.module_of(node.value)
            if module is not None:
                self.modules[target.id] = module
                return None
            read = self.attribute_of(node.value)
            if read is not None:
                self.aliases[target.id] = read[0][0], read[1]
            node.value = self.visit(node.value)
            if isinstance(node.value, ast.Constant) and target.id in self.once:
                self.literals[target.id] = node.value
            return node
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        found = self.attribute_of(node.target)
        if found is None:
            self.changed(node.target)
            return self.generic_visit(node)
        self.program.mark_mutable(found[0][0], found[1])
        node.target = ast.Attribute(_expression(found[0][1]), found[1], ast.Store())
        node.value = self.visit(node.value)
        return node

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.statements(node.body if test.value else node.orelse)
        node.test = test
        node.body, node.orelse = self.statements(node.body) or [ast.Pass()], self.statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter = self.visit(node.iter)
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.visit(node.test)
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        node.test, node.body, node.orelse = test, self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        known = [isinstance(side, ast.Constant) or ast.unparse(side).startswith("CONSTANTS.") for side in sides]
        if all(known) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            same = all(isinstance(side, ast.Constant) and side.value is None for side in sides)
            return ast.Constant(same is isinstance(node.ops[0], ast.Is))
        return node


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _is_module(definition: Any) -> bool:
    return [ast.unparse(base) for base in definition.bases] == ["Module"]
