"""`torch.fx`: capture programs as graphs that can be inspected, transformed and run.

>>> def f(x):
...     return torch.relu(x) * 2
>>> traced = torch.fx.symbolic_trace(f)
>>> for node in traced.graph.nodes:
...     if node.target is torch.relu:
...         node.target = torch.neg
>>> _ = traced.recompile()
>>> traced(torch.ones(2))
tensor([-2., -2.])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import _symbolic_trace, immutable_collections, traceback
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer
from ._wrapping import wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule, symbolic_trace
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
    "has_side_effect", "immutable_collections", "map_arg", "replace_pattern", "symbolic_trace", "traceback", "wrap",
]  # fmt: skip

_symbolic_trace.symbolic_trace = symbolic_trace  # libraries look for it there


def __getattr__(name: str) -> Any:
    """Import submodules that PyTorch makes available without an explicit import."""
    if name in ("annotate", "experimental", "operator_schemas"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
