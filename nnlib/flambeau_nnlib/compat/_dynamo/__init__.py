"""The names of PyTorch's compiler that libraries import."""

from __future__ import annotations

from typing import Any

from flambeau.extension.capture import refuse
from flambeau_nnlib.compile.compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset

from . import config, eval_frame, exc
from .eval_frame import OptimizedModule
from .explaining import explain

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "eval_frame", "exc",
    "explain",
    "forbid_in_graph", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "optimize", "reset",
]  # fmt: skip


def graph_break(msg: str = "") -> None:
    """Let the function that is being compiled, if one is, run eagerly: graphs here hold a whole call, or nothing of it.

    Args:
        msg: part of the message that says why.
    """
    refuse(f"it asks for a break of its graph{f': {msg}' if msg else ''}")


def disallow_in_graph(fn: Any) -> Any:
    """Give back a function."""
    return fn


forbid_in_graph = disallow_in_graph


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Nothing: all sizes may change."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Nothing: all sizes may change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: no code is made for certain sizes."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing: no code is made for certain tensors."""


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator, as `torch.compile` is one."""
    from flambeau_nnlib.compile.compiler import compile

    return compile()
