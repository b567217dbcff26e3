"""What is known about the origin of nodes, handed from the nodes of one graph to those that are made from them.

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
    """A context in which nodes that are made get the `meta` of the node that is being interpreted.

    Args:
        enable: do so; False changes nothing.
    """
    global _meta, _preserving
    former = _preserving, _meta
    _preserving, _meta = enable, dict(_meta)
    try:
        yield
    finally:
        _preserving, _meta = former


def has_preserved_node_meta() -> bool:
    """Whether such a context is open."""
    return _preserving


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """A context whose annotations are kept in the `meta["custom"]` of nodes that are made in it.

    Args:
        annotation_dict: the annotations, beside those of contexts around this one.
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
    """A context in which a node is being interpreted.

    Args:
        node: the node.
        pass_name: by what.
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
    """The `meta` that nodes get now."""
    return _meta


def format_stack() -> list[str]:
    """The stack trace of the node that is being interpreted, in a list; the present one outside of that."""
    import traceback

    if _preserving:
        return [_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
