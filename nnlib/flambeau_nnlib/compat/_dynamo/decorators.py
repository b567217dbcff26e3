"""`torch._dynamo.decorators`: marks for sizes and functions."""

from __future__ import annotations

from typing import Any

from . import forbid_in_graph, graph_break, mark_dynamic, mark_static, mark_static_address, maybe_mark_dynamic

__all__ = [
    "forbid_in_graph", "graph_break", "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic",
]  # fmt: skip


def mark_unbacked(t: Any, index: Any, *args: Any, **kwargs: Any) -> None:
    """Do nothing: all sizes are dynamic."""
