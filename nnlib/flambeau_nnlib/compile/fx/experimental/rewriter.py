"""`torch.fx.experimental.rewriter`: rewrite `assert` statements before tracing, so that they become nodes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

from flambeau import nn

from ...source_text import unindented
from .._symbolic_trace import Tracer
from ..graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):  # PyTorch's name
    """Replace `assert condition, message` in the source of a function by `torch._assert(condition, message)`.

    Types of assigned variables (`y: int = x`) become types of nodes.
    """

    def rewrite(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function compiled from the rewritten source; it shares globals, defaults and closure with `fn`.

        Args:
            fn: a function or method whose source is available.
        """
        function: Any = fn.__func__ if isinstance(fn, MethodType) else fn
        definition: Any = ast.parse(unindented(inspect.getsource(function))).body[0]
        definition.decorator_list = []
        enclosing: Any = ast.parse(f"def enclosing({', '.join(function.__code__.co_freevars)}): pass").body[0]
        enclosing.body = [self.visit(definition)]  # the free variables of `function` are free in its copy as well
        tree = ast.fix_missing_locations(ast.Module([enclosing], []))
        code = _inner_code(_inner_code(compile(tree, function.__code__.co_filename, "exec", dont_inherit=True)))
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        rewritten = FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[name] for name in code.co_freevars)
        )
        rewritten.__kwdefaults__ = function.__kwdefaults__
        rewritten.__annotations__ = function.__annotations__
        return rewritten

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Return a call of `torch._assert` with the condition and the message."""
        call = _call("__import__('flambeau')._assert", node.test, node.msg or ast.Constant(""))
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Return an assignment of `torch.fx.annotate.annotate(value, type)`."""
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        annotated = _call("__import__('flambeau').fx.annotate.annotate", node.value, node.annotation)
        return ast.copy_location(ast.Assign([node.target], annotated), node)


class RewritingTracer(Tracer):
    """A `Tracer` that records the `assert` statements of the traced function, or of the `forward` of the traced module.

    >>> from flambeau.fx.experimental.rewriter import RewritingTracer
    >>> def double(x, size):
    ...     assert size == 2
    ...     return x + x
    >>> [node.name for node in RewritingTracer().trace(double).nodes]
    ['x', 'size', 'eq', '_assert', 'add', 'output']
    """

    def trace(self, root: nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: nn.Module | Callable[..., Any]) -> nn.Module | Callable[..., Any]:
    """Return a function or module with rewritten `assert` statements; the module shares the members of `root`."""
    if not isinstance(root, nn.Module):
        return AST_Rewriter().rewrite(root)

    rewritten = AST_Rewriter().rewrite(root.forward)

    class RewrittenModule(nn.Module):
        forward = rewritten

    module = RewrittenModule()
    module.__dict__.update(root.__dict__)
    return module


def _call(function: str, *args: ast.expr) -> ast.expr:
    """Return a call of the function that an expression names."""
    call: Any = ast.parse(f"{function}()", mode="eval").body
    call.args = list(args)
    return call  # type: ignore[no-any-return]


def _inner_code(code: CodeType) -> CodeType:
    """Return the code object of the function that a code object defines."""
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))
