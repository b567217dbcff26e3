"""Flatten the arguments of generated code like those of the traced function."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from flambeau.utils import pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_flattened_by: dict[type, Callable[[Any, pytree.TreeSpec], list[Any]]] = {}


def register_pytree_flatten_spec(
    cls: type,
    flatten_fn_spec: Callable[[Any, pytree.TreeSpec], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, pytree.TreeSpec], bool] | None = None,
) -> None:
    """Register how `tree_flatten_spec` finds the children of a container, which may be a proxy.

    Args:
        cls: the class of the container in the structure.
        flatten_fn_spec: returns the children of a container; it receives the container and its structure.
        flatten_fn_exact_match_spec: ignored; containers with too few children raise an error.
    """
    _flattened_by[cls] = flatten_fn_spec


def tree_flatten_spec(pytree_given: Any, spec: pytree.TreeSpec) -> list[Any]:
    """Flatten a tree by a given structure; values that are leaves in `spec` are not flattened further.

    Args:
        pytree_given: the tree to flatten. It may contain proxies instead of containers.
        spec: the structure. Where its root is a tuple, `pytree_given` may be a list.

    >>> tree_flatten_spec([1, {"b": 2}], pytree.tree_structure((0, {"b": 0})))
    [1, 2]
    """
    if spec.type is None:
        return [pytree_given]
    children = _children(pytree_given, spec)
    if len(children) < len(spec.children_specs):
        raise RuntimeError(f"expected {len(spec.children_specs)} values, as in the traced function, but got {len(children)}")
    return [leaf for child, below in zip(children, spec.children_specs, strict=False) for leaf in tree_flatten_spec(child, below)]


def _children(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    if spec.type in _flattened_by:
        return _flattened_by[spec.type](tree, spec)
    kind: Any = spec.type if isinstance(spec.type, type) else tuple  # the type of named tuples is `collections.namedtuple`
    if issubclass(kind, dict):
        return [tree[key] for key in (spec.context[1] if kind is collections.defaultdict else spec.context)]
    if issubclass(kind, (list, tuple)):
        return list(tree) if isinstance(tree, (list, tuple)) else [tree[place] for place in range(len(spec.children_specs))]
    return pytree.tree_flatten(tree, is_leaf=lambda value: value is not tree)[0]
