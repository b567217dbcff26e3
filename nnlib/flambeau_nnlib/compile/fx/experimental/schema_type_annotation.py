"""`torch.fx.experimental.schema_type_annotation`: annotate the nodes of a graph with types."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import flambeau as torch
from flambeau import nn

from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Argument, Target
from ..proxy import Proxy

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Set the `type` of nodes without a type to the annotated type of their result.

    Args:
        module: the module with the graph.
        annotate_functionals: annotate calls of `torch.nn.functional`.
        annotate_modules: annotate calls of the modules of `torch.nn`.
        annotate_get_attrs: annotate attributes that are tensors, numbers or strings.

    >>> from flambeau.fx.experimental.schema_type_annotation import AnnotateTypesWithSchema
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.type is torch.Tensor for node in AnnotateTypesWithSchema(traced).transform().graph.nodes]
    [False, True, False]
    """

    def __init__(
        self,
        module: GraphModule,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a function, with its type, into the new graph."""
        annotates = self.annotate_functionals and getattr(target, "__module__", None) == nn.functional.__name__
        return _annotated(super().call_function(target, args, kwargs), _return_type(target) if annotates else None)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Insert a call of a module, with its type, into the new graph."""
        module = self.fetch_attr(str(target))
        annotates = self.annotate_modules and getattr(nn, type(module).__name__, None) is type(module)
        return _annotated(super().call_module(target, args, kwargs), _return_type(module.forward) if annotates else None)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Insert a `get_attr` node, with its type, into the new graph."""
        value = self.fetch_attr(str(target))
        kinds = (torch.Tensor, bool, int, float, complex, str) if self.annotate_get_attrs else ()
        return _annotated(super().get_attr(target, args, kwargs), next((kind for kind in kinds if isinstance(value, kind)), None))


def _annotated(proxy: Proxy, kind: Any) -> Proxy:
    proxy.node.type = proxy.node.type or kind
    return proxy


def _return_type(function: Callable[..., Any]) -> Any:
    """Return the annotated type of a function's result. None if it has none, or can return any type."""
    try:
        found = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):  # an annotation that names an unknown type; a callable without annotations
        return None
    return None if found is Any else found
