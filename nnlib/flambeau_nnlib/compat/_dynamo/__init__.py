"""The names of `torch._dynamo` that libraries use."""

from __future__ import annotations

from typing import Any

from flambeau.extension.capture import refuse
from flambeau_nnlib.compile.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

from . import config, eval_frame, exc, utils
from .eval_frame import OptimizedModule
from .explaining import explain

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "eval_frame", "exc",
    "explain", "export",
    "forbid_in_graph", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "nonstrict_trace", "optimize", "reset", "utils",
]  # fmt: skip


def graph_break(msg: str = "") -> None:
    """Make the function that is being compiled run eagerly: flambeau compiles whole calls, and cannot split them into graphs.

    Args:
        msg: the reason, which becomes part of the warning or error.
    """
    refuse(f"it calls torch._dynamo.graph_break(){f': {msg}' if msg else ''}")


def disallow_in_graph(fn: Any) -> Any:
    """Return the function unchanged."""
    return fn


forbid_in_graph = disallow_in_graph
nonstrict_trace = disallow_in_graph  # all functions are traced by calling them


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Do nothing: all sizes are dynamic."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Do nothing: all sizes are dynamic."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: compiled code is not specialized to sizes."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Do nothing: compiled code is not specialized to tensor addresses."""


def optimize(
    backend: Any = "inductor", *, nopython: bool = False, dynamic: bool | None = None, disable: bool = False, **_: Any
) -> Any:
    """Return the decorator `torch.compile` with these options; `nopython` is its `fullgraph`.  Other options are ignored."""
    from flambeau_nnlib.compile.compiler import compile

    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def export(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function that exports `f` for example arguments; see `torch.export.export`.  Options are ignored."""
    from flambeau_nnlib.compile import export

    def trace(*args: Any, **kwargs: Any) -> Any:
        program = export.export(f, args, kwargs)
        return program.module(), program

    return trace
