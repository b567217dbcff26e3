"""Private functions of `torch.utils._pytree`; the table of private names, `compat/table.py`, refers to them."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from ...engine.values.trees import TreeSpec, broadcast_prefix, is_namedtuple_class
from ...utils.pytree import Context, KeyEntry, MappingKey, SequenceKey, tree_is_leaf, tree_leaves

__all__: list[str] = []


def _get_node_type(tree: Any) -> Any:
    """Return the type under which a container is registered: `collections.namedtuple` for all named tuples, else its type."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    """Return (values, keys) of a dictionary.  Libraries register dictionary subclasses with this function."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    """Return (elements, None) of a list.  Libraries register list subclasses with this function."""
    return list(d), None


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(SequenceKey(index), value) for index, value in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    """Return (elements, class) of a named tuple."""
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Earlier name of `tree_is_leaf`; emits a FutureWarning."""
    warnings.warn("torch.utils._pytree._is_leaf is private: use tree_is_leaf", FutureWarning, stacklevel=2)
    return tree_is_leaf(tree, is_leaf)


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """Repeat the leaves of `tree`, a prefix of the structure `treespec`, once per leaf of `treespec`; None if it is no prefix."""
    return broadcast_prefix(tree, treespec)


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of all arguments."""
    return tree_leaves((args, kwargs))
