"""`torch.utils._pytree`: flatten nested tuples, lists, dicts and registered types into leaves, and rebuild them.

>>> from flambeau.utils.pytree import tree_map
>>> tree_map(lambda x: x + 1, {"a": (1, 2), "b": [3]})
{'a': (2, 3), 'b': [4]}
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from types import UnionType
from typing import Any

from ..engine.devices.aliases import private_names
from ..engine.values.trees import (
    LeafSpec,
    TreeSpec,
    flatten,
    flatten_up_to,
    is_namedtuple_class,
    is_structseq_class,
    node_parts,
    unflatten,
)
from . import pytree_registry
from .pytree_registry import (
    BUILT_IN_NODES,
    GetAttrKey,
    KeyEntry,
    MappingKey,
    SequenceKey,
    register_constant,
    register_dataclass,
    register_pytree_node,
    treespec_dumps,
    treespec_loads,
)

__all__ = [
    "Context", "DumpableContext", "FlattenFn", "FromDumpableContextFn", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec",
    "MappingKey", "PyTree", "PyTreeSpec", "SequenceKey", "ToDumpableContextFn", "TreeSpec", "UnflattenFn",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance", "key_get", "keystr", "register_constant", "register_dataclass", "register_pytree_node",
    "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
    "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip

PyTree = Any
Context = Any
DumpableContext = Any
PyTreeSpec = TreeSpec
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
KeyPath = tuple[KeyEntry, ...]
IsLeaf = Callable[[Any], bool] | None
LeafFilter = type | tuple[type, ...] | UnionType | Callable[[Any], bool]
SUPPORTED_NODES = ChainMap(pytree_registry.NODES, BUILT_IN_NODES)  # new types are added to the first, which `tree_flatten` uses
__getattr__: Callable[[str], Any] = private_names(__name__)


def is_namedtuple(obj: Any) -> bool:
    """Whether `obj` is a named tuple or a class of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether `obj` is a struct sequence such as the result of `torch.max(x, 0)`, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Whether `obj` is a struct sequence, such as the result of `torch.max(x, 0)`."""
    return is_structseq_class(type(obj))


# --- flatten and unflatten --------------------------------------------------------------------------------------------


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `tree` is a leaf: its type is not registered, or `is_leaf(tree)` is true."""
    return (is_leaf is not None and is_leaf(tree)) or node_parts(tree) is None


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return (leaves, structure) of a tree.  A node for which `is_leaf` returns True is a leaf."""
    return flatten(tree, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree in order."""
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Yield the leaves of a tree in order."""
    parts = None if is_leaf is not None and is_leaf(tree) else node_parts(tree)
    if parts is None:
        yield tree
        return
    for child in parts[2]:
        yield from tree_iter(child, is_leaf)


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return flatten(tree, is_leaf)[1]


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Build the tree with a structure and leaves.  ValueError if the number of leaves is wrong."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the text of the tree with `*` for each leaf."""
    return repr(treespec.with_asterisks())


# --- applying functions -------------------------------------------------------------------------------------------


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the tree with each leaf replaced by `func(leaf, *others)`.

    `others` are the subtrees at the same position in `rests`.
    """
    leaves, spec = flatten(tree, is_leaf)
    return unflatten(map(func, leaves, *(flatten_up_to(rest, spec) for rest in rests)), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func(leaf, *others)` for each leaf, where `others` are the values at the same position in `rests`.  Return `tree`."""
    leaves, spec = flatten(tree, is_leaf)
    for arguments in zip(leaves, *(flatten_up_to(rest, spec) for rest in rests), strict=True):
        func(*arguments)
    return tree


def _leaf_filter(leaf_filter: LeafFilter) -> Callable[[Any], bool]:
    if isinstance(leaf_filter, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, leaf_filter)
    if callable(leaf_filter):
        return leaf_filter
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: LeafFilter, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator: the function then returns values unchanged, unless they have a type, or a predicate accepts them."""
    accepts = _leaf_filter(type_or_types_or_pred)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: func(leaf) if accepts(leaf) else leaf

    return decorate


def tree_map_only(type_or_types_or_pred: LeafFilter, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the tree with `func` applied to the leaves of a type, or that a predicate accepts."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: LeafFilter, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Call `func` with the leaves of a type, or that a predicate accepts.  Return `tree`."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: LeafFilter, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true for all leaves of a type, or that a predicate accepts."""
    accepts = _leaf_filter(type_or_types)
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if accepts(leaf))


def tree_any_only(type_or_types: LeafFilter, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` is true for any leaf of a type, or that a predicate accepts."""
    accepts = _leaf_filter(type_or_types)
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if accepts(leaf))


# --- paths --------------------------------------------------------------------------------------------------------


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return (path, leaf) for each leaf of a tree.  A path is a tuple of keys."""
    return list(_with_paths((), tree, is_leaf))


def _with_paths(path: KeyPath, tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    for key, child in pytree_registry.keys_and_children(tree):
        yield from _with_paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return ([(path, leaf), ...], structure) of a tree.  A path is a tuple of keys."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Map `func(path, leaf, *others)` over the leaves of a tree; `others` are the values at the same position in `rests`.

    >>> tree_map_with_path(lambda path, leaf: keystr(path), {"a": [1]})
    {'a': ["['a'][0]"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    return unflatten(map(func, paths, leaves, *(flatten_up_to(rest, spec) for rest in rests)), spec)


def keystr(kp: KeyPath) -> str:
    """Return a path as Python source after a variable name, such as `['a'][0].x`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the value at a path of keys in `obj`."""
    for key in kp:
        obj = key.get(obj)
    return obj
