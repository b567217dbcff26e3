"""Facts about the syntax of scripted code that the checks use."""

from __future__ import annotations

import ast

__all__ = ["METHODS_OF_OPERATORS", "as_load", "ends_early", "is_call_of", "is_call_of_method", "may_be_static"]


# The names of the methods of binary operators, without `__`.
METHODS_OF_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul", ast.Mod: "mod", ast.Pow: "pow",
    ast.FloorDiv: "floordiv", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


def may_be_static(node: ast.expr) -> bool:
    """Whether the compiler may know the value of a condition, and drop a branch."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call):
            name = ast.unparse(child.func).rpartition(".")[2]
            if name in ("is_scripting", "is_tracing", "isinstance", "hasattr", "has_torch_function", "_get_tracing_state"):
                return True
            if name.startswith("has_torch_function"):
                return True
        if isinstance(child, ast.Compare) and any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in child.ops):
            return True
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id in ("self", "torch"):
            return True
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def ends_early(statements: list[ast.stmt]) -> bool:
    """Whether statements end in `return` or `raise`, at least in one branch."""
    last = statements[-1] if statements else None
    if isinstance(last, ast.If):
        return ends_early(last.body) or ends_early(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue))


def as_load(node: ast.expr) -> ast.expr:
    """Return a target of an assignment as an expression that reads it."""
    return ast.parse(ast.unparse(node), mode="eval").body


def is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def is_call_of_method(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
