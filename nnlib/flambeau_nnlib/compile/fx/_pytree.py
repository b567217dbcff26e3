"""Arguments of generated code, flattened as the traced function's were."""

from __future__ import annotations

from typing import Any

from flambeau.utils import pytree

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree_given: Any, spec: pytree.TreeSpec) -> list[Any]:
    """The leaves of a tree that is nested as `spec` says; what is not a container there is a leaf.

    Args:
        pytree_given: the tree.
        spec: the structure; the outermost sequence may be a list where it says tuple.

    >>> tree_flatten_spec([1, {"b": 2}], pytree.tree_structure((0, {"b": 0})))
    [1, 2]
    """
    return _leaves(pytree_given, spec)


def _leaves(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    if spec.type is None:
        return [tree]
    if not isinstance(tree, (dict, list, tuple)):  # of a class that the program has registered
        return pytree.tree_leaves(tree)
    children = [tree[key] for key in spec.context] if isinstance(tree, dict) else list(tree)
    count = len(spec.children_specs)
    if len(children) < count:
        raise RuntimeError(f"expected {count} values where the traced function had as many, but got {len(children)}")
    return [leaf for child, below in zip(children, spec.children_specs, strict=False) for leaf in _leaves(child, below)]
