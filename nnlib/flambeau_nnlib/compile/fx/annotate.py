"""`torch.fx.annotate`: annotate a value during tracing."""

from __future__ import annotations

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Set the type annotation of a proxy's node, and return the value.

    Args:
        val: the value; values that are not proxies remain unchanged.
        type: the annotation.

    Raises:
        RuntimeError: the node already has an annotation.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type}")
        val.node.type = type
    return val
