"""Pytrees: nested tuples, lists and dicts, flattened into leaves and rebuilt from them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .sizes import Size

__all__ = ["Spec", "broadcast_prefix", "count", "flatten", "flatten_up_to", "tree_map", "unflatten"]


class Spec(NamedTuple):
    """The structure of a tree: the type of its root (None for a leaf), the keys of a dict, and the structures below."""

    type: Any
    keys: tuple[Any, ...]
    children: tuple[Spec, ...]

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = ",\n  ".join(map(repr, self.children))
        return f"TreeSpec({self.type.__name__}, {list(self.keys) or None}, [{inside}])"

    def drawn(self) -> Any:
        """A tree of this structure with asterisks as leaves, for error messages."""
        return unflatten(iter(_Star, None), self)


class _Star:
    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __repr__(self) -> str:
        return "*"


LEAF = Spec(None, (), ())
_SEQUENCES = (tuple, list, deque, Size)
_MAPPINGS = (dict, OrderedDict, defaultdict)


def _parts(tree: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """The keys and children of a node; None for a leaf."""
    kind = type(tree)
    if kind in _MAPPINGS:
        return tuple(tree), list(tree.values())
    if kind in _SEQUENCES or (isinstance(tree, tuple) and (hasattr(tree, "_fields") or hasattr(tree, "n_fields"))):
        return (), list(tree)
    return None


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Spec]:
    """The leaves of a tree, in order, and its structure; a node for which `is_leaf` returns True is a leaf.

    >>> flatten({"a": (1, 2), "b": 3})[0]
    [1, 2, 3]
    """
    parts = None if is_leaf is not None and is_leaf(tree) else _parts(tree)
    if parts is None:
        return [tree], LEAF
    leaves: list[Any] = []
    children = []
    for child in parts[1]:
        child_leaves, spec = flatten(child, is_leaf)
        leaves += child_leaves
        children.append(spec)
    kind = tuple if type(tree) is Size else type(tree)  # a Size has int items, but the new leaves may be anything
    return leaves, Spec(kind, parts[0], tuple(children))


def unflatten(leaves: Any, spec: Spec) -> Any:
    """A tree of this structure from its leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Iterator[Any], spec: Spec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_build(leaves, child) for child in spec.children]
    if spec.type in _MAPPINGS:
        pairs = zip(spec.keys, children, strict=True)
        return defaultdict(None, pairs) if spec.type is defaultdict else spec.type(pairs)
    return spec.type._make(children) if hasattr(spec.type, "_make") else spec.type(children)


def tree_map(function: Callable[..., Any], tree: Any) -> Any:
    """The tree with `function` applied to its leaves."""
    leaves, spec = flatten(tree)
    return unflatten(map(function, leaves), spec)


def broadcast_prefix(prefix: Any, spec: Spec) -> list[Any] | None:
    """For each leaf of a tree of structure `spec`, the leaf of `prefix` above it; None if the structures do not fit."""
    if spec.type is None:
        return [prefix] if _parts(prefix) is None else None
    parts = _parts(prefix)
    if parts is None:
        return [prefix] * count(spec)
    if type(prefix) is not spec.type or parts[0] != spec.keys or len(parts[1]) != len(spec.children):
        return None
    leaves: list[Any] = []
    for subtree, child in zip(parts[1], spec.children, strict=True):
        below = broadcast_prefix(subtree, child)
        if below is None:
            return None
        leaves += below
    return leaves


def flatten_up_to(tree: Any, spec: Spec) -> list[Any]:
    """The subtrees of `tree` in the places where `spec` has leaves; ValueError if the structures differ above them."""
    if spec.type is None:
        return [tree]
    parts = _parts(tree)
    if parts is None or type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    keys, children = parts
    if len(children) != len(spec.children):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children)}, but got {len(children)}.")
    if set(keys) != set(spec.keys):
        raise ValueError(f"Node keys mismatch; expected {list(spec.keys)}, but got {list(keys)}.")
    children = [tree[key] for key in spec.keys] or children
    return [leaf for child, below in zip(children, spec.children, strict=True) for leaf in flatten_up_to(child, below)]


def count(spec: Spec) -> int:
    """The number of leaves of a structure."""
    return 1 if spec.type is None else sum(map(count, spec.children))
