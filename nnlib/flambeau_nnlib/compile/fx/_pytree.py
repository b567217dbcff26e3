"""Flatten the arguments of generated code like those of the traced function."""

from __future__ import annotations

from typing import Any

from flambeau.utils import pytree

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree_given: Any, spec: pytree.TreeSpec) -> list[Any]:
    """Flatten a tree by a given structure; values that are leaves in `spec` are not flattened further.

    Args:
        pytree_given: the tree to flatten.
        spec: the structure. Where its root is a tuple, `pytree_given` may be a list.

    >>> tree_flatten_spec([1, {"b": 2}], pytree.tree_structure((0, {"b": 0})))
    [1, 2]
    """
    return _leaves(pytree_given, spec)


def _leaves(tree: Any, spec: pytree.TreeSpec) -> list[Any]:
    if spec.type is None:
        return [tree]
    if not isinstance(tree, (dict, list, tuple)):  # the class of `tree` is registered with `torch.utils._pytree`
        return pytree.tree_leaves(tree)
    children = [tree[key] for key in spec.context] if isinstance(tree, dict) else list(tree)
    count = len(spec.children_specs)
    if len(children) < count:
        raise RuntimeError(f"expected {count} values, as in the traced function, but got {len(children)}")
    return [leaf for child, below in zip(children, spec.children_specs, strict=False) for leaf in _leaves(child, below)]
