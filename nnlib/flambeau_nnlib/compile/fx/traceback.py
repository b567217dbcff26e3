"""Metadata of nodes that is propagated to nodes created from them.

>>> with torch.fx.traceback.annotate({"stage": 1}):
...     torch.fx.traceback.get_current_meta()
{'custom': {'stage': 1}}
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "annotate", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta", "set_current_meta",
]  # fmt: skip

_meta: dict[str, Any] = {}
_preserving = False


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Context manager in which new nodes receive the `meta` of the node that is being interpreted.

    Args:
        enable: if False, the context has no effect.
    """
    global _meta, _preserving
    former = _preserving, _meta
    _preserving, _meta = enable, dict(_meta)
    try:
        yield
    finally:
        _preserving, _meta = former


def has_preserved_node_meta() -> bool:
    """Whether a `preserve_node_meta` context is active."""
    return _preserving


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Context manager that stores annotations in the `meta["custom"]` of nodes created in it.

    Args:
        annotation_dict: the annotations, added to those of enclosing contexts.
    """
    global _meta
    former = _meta
    _meta = {**_meta, "custom": {**_meta.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _meta = former


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Context manager in which a node is being interpreted.

    Args:
        node: the node that is interpreted.
        pass_name: accepted and ignored.
    """
    global _meta
    if not (_preserving and node.meta):
        yield
        return
    former = _meta
    _meta = dict(node.meta)
    try:
        yield
    finally:
        _meta = former


def get_current_meta() -> dict[str, Any]:
    """Return the `meta` that new nodes receive."""
    return _meta


def format_stack() -> list[str]:
    """Return the stack trace of the node that is being interpreted, or else the current stack, as a list of strings."""
    import traceback

    if _preserving:
        return [_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
