"""`torch.fx.experimental.normalize`: write equivalent calls of a graph in the same way."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import flambeau as torch

from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Argument, Node, Target, map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module
from ..proxy import Proxy
from .schema_type_annotation import AnnotateTypesWithSchema

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Bind the arguments of functions and of `torch.nn` modules to their parameters, and fill in defaults.

    Calls whose parameters are unknown, or that have `*args` or `**kwargs`, remain as they are.

    Args:
        module: the module with the graph. The types that `ShapeProp` stores in its nodes choose between overloads.
        normalize_to_only_use_kwargs: pass all arguments as keyword arguments.

    >>> from flambeau.fx.experimental.normalize import NormalizeArgs
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
    >>> [node.kwargs for node in NormalizeArgs(traced).transform().graph.nodes if node.op == "call_function"]
    [{'input': x, 'inplace': False}]
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Insert a node into the new graph; its type and `meta` remain."""
        if n.op == "call_function":
            types = map_aggregate(n.args, _type), map_aggregate(n.kwargs, _type)
            arg_types = tuple(create_type_hint(kind) for kind in types[0])
            out = self.call_function(n.target, *self.fetch_args_kwargs_from_env(n), arg_types, dict(types[1]))
        else:
            out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(
        self,
        target: Any,
        args: tuple[Argument, ...],
        kwargs: dict[str, Any],
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
    ) -> Any:
        """Insert a call of a function into the new graph."""
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a module into the new graph."""
        found = normalize_module(self.module, str(target), args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Replace functions that Python operators call, such as `torch.add(x, y)`, by the operators: `x + y`.

    Calls with keyword arguments, such as `torch.add(x, y, alpha=2)`, remain as they are.  Nodes are annotated with types, as
    by `AnnotateTypesWithSchema`.

    >>> from flambeau.fx.experimental.normalize import NormalizeOperators
    >>> traced = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y))
    >>> [node.target for node in NormalizeOperators(traced).transform().graph.nodes if node.op == "call_function"]
    [<built-in function add>]
    """

    binary_magic_method_remap: dict[Callable[..., Any], Callable[[Any, Any], Any]] = {
        torch.add: operator.add,
        torch.mul: operator.mul,
        torch.sub: operator.sub,
        torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv,
        torch.remainder: operator.mod,
        torch.eq: operator.eq,
        torch.ne: operator.ne,
        torch.lt: operator.lt,
        torch.le: operator.le,
        torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a function into the new graph."""
        if len(args) == 2 and not kwargs:
            target = self.binary_magic_method_remap.get(target, target)
        return super().call_function(target, args, kwargs)


def _type(argument: Any) -> Any:
    return argument.meta.get("type") if isinstance(argument, Node) else type(argument)
