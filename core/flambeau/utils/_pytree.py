"""Pytrees: nested tuples, lists and dicts, flattened into leaves and rebuilt from them, under PyTorch's names.

>>> from flambeau.utils._pytree import tree_map
>>> tree_map(lambda x: x + 1, {"a": (1, 2), "b": [3]})
{'a': (2, 3), 'b': [4]}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any

from ..values.trees import Spec as TreeSpec
from ..values.trees import count, flatten, flatten_up_to, unflatten

__all__ = [
    "TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_structure",
    "tree_unflatten",
]  # fmt: skip

IsLeaf = Callable[[Any], bool] | None


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and its structure; a node for which `is_leaf` returns True is a leaf."""
    return flatten(tree, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves; ValueError if their number does not fit."""
    leaves = list(leaves)
    if len(leaves) != count(treespec):
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree "
            f"that holds {count(treespec)} items ({treespec})."
        )
    return unflatten(leaves, treespec)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with `func` applied to its leaves, together with the corresponding subtrees of `rests`."""
    leaves, spec = flatten(tree, is_leaf)
    return unflatten(map(func, leaves, *(flatten_up_to(rest, spec) for rest in rests)), spec)


def tree_map_only(
    type_or_types_or_pred: type | tuple[type, ...] | UnionType | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: Any,
    is_leaf: IsLeaf = None,
) -> Any:
    """The tree with `func` applied to those leaves that have the given type or types, or for which a predicate holds."""
    condition = type_or_types_or_pred

    def chosen(leaf: Any) -> bool:
        return isinstance(leaf, condition) if isinstance(condition, (type, tuple, UnionType)) else condition(leaf)

    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
