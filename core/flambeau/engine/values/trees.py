"""Trees: flatten nested tuples, lists, dicts and registered types into leaves, and unflatten them again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .sizes import Size

__all__ = [
    "LEAF", "REGISTERED", "Entry", "LeafSpec", "TreeSpec", "broadcast_prefix", "count", "flatten", "flatten_up_to",
    "is_namedtuple_class", "is_structseq_class", "node_parts", "tree_map", "unflatten",
]  # fmt: skip


class Entry(NamedTuple):
    """How to flatten and unflatten nodes of a registered type."""

    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    """Returns the children, and a context with the other data needed to rebuild the node."""
    unflatten_fn: Callable[[Any, Any], Any]
    """Returns a node with these children and this context."""


REGISTERED: dict[type, Entry] = {}


class TreeSpec:
    """The structure of a tree: its root's type (None for a leaf) and context (a dict's keys), and the children's structures."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")
    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_leaves: int

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """The number of nodes, including leaves."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_children(self) -> int:
        """The number of children of the root."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the tree is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the structures of the root's children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Return the structure of the root's child at `index`."""
        return self.children_specs[index]

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` at the positions of the leaves; ValueError if the structures do not match."""
        return flatten_up_to(tree, self)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree with this structure and these leaves; ValueError if their number is not `num_leaves`."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                f"that holds {self.num_leaves} items ({self})."
            )
        return unflatten(leaves, self)

    def with_asterisks(self) -> Any:
        """Return a tree of this structure with asterisks as leaves, for error messages."""
        return unflatten(iter(_Star, None), self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and _comparison_key(self) == _comparison_key(other)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, len(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        separator = ",\n" + " " * (indent + 2)
        inside = separator.join(child.__repr__(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"


Spec = TreeSpec  # the name in pickles of earlier versions


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _comparison_key(spec: TreeSpec) -> tuple[Any, Any, list[TreeSpec]]:
    return spec.type, spec.context, spec.children_specs


class _Star:
    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __repr__(self) -> str:
        return "*"


LEAF = LeafSpec()
_SEQUENCES = (tuple, list, Size)
_MAPPINGS = (dict, OrderedDict, defaultdict)


def _namedtuple(*_: Any) -> None:  # `TreeSpec.type` of all named tuples; their class is in `TreeSpec.context`
    raise TypeError("namedtuple is the node type of all named tuples in a TreeSpec; it cannot be called")


_namedtuple.__name__ = "namedtuple"


def is_namedtuple_class(cls: Any) -> bool:
    """Whether `cls` is a class made by `namedtuple`."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and hasattr(cls, "_fields")
        and hasattr(cls, "_make")
        and not hasattr(cls, "n_fields")
    )


def is_structseq_class(cls: Any) -> bool:
    """Whether `cls` is a class of `torch.return_types`: the named tuples that operations return."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_fields")


def node_parts(tree: Any) -> tuple[Any, Any, list[Any]] | None:
    """Return the type, context and children of a node; None for a leaf."""
    kind = type(tree)
    if kind in _MAPPINGS:
        keys = list(tree)
        return kind, [tree.default_factory, keys] if kind is defaultdict else keys, list(tree.values())
    if kind in _SEQUENCES:
        return kind, None, list(tree)
    if kind in REGISTERED:
        children, context = REGISTERED[kind].flatten_fn(tree)
        return kind, context, list(children)
    if isinstance(tree, tuple):
        if is_structseq_class(kind):
            return kind, None, list(tree)
        return (_namedtuple, kind, list(tree)) if is_namedtuple_class(kind) else None
    return (kind, tree.maxlen, list(tree)) if kind is deque else None


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, in order, and its structure; a node for which `is_leaf` returns True is a leaf.

    >>> flatten({"a": (1, 2), "b": 3})[0]
    [1, 2, 3]
    """
    parts = None if is_leaf is not None and is_leaf(tree) else node_parts(tree)
    if parts is None:
        return [tree], LEAF
    kind, context, below = parts
    leaves: list[Any] = []
    children = []
    for child in below:
        found, spec = flatten(child, is_leaf)
        leaves += found
        children.append(spec)
    return leaves, TreeSpec(kind, context, children)


def unflatten(leaves: Any, spec: TreeSpec) -> Any:
    """Return the tree with this structure and these leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_build(leaves, child) for child in spec.children_specs]
    kind, context = spec.type, spec.context
    if kind in _MAPPINGS:
        pairs = zip(keys_of(spec), children, strict=True)
        return defaultdict(context[0], pairs) if kind is defaultdict else kind(pairs)
    if kind in REGISTERED:
        return REGISTERED[kind].unflatten_fn(children, context)
    if kind is _namedtuple:
        return context._make(children)
    if kind is deque:
        return deque(children, context)
    if kind is Size:
        return tuple(children)  # not a Size, because the new leaves may not be ints
    return kind._make(children) if hasattr(kind, "_make") else kind(children)


def keys_of(spec: TreeSpec) -> list[Any]:
    """Return the keys in the structure of a dict."""
    keys: list[Any] = spec.context[1] if spec.type is defaultdict else spec.context
    return keys


def tree_map(function: Callable[..., Any], tree: Any) -> Any:
    """Return a tree with `function` applied to each leaf."""
    leaves, spec = flatten(tree)
    return unflatten(map(function, leaves), spec)


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """Repeat each leaf of `prefix` for all leaves of `spec` at or below its position; None if the structures do not match."""
    parts = node_parts(prefix)
    if parts is None:
        return [prefix] * spec.num_leaves
    kind, context, below = parts
    if kind is not spec.type or context != spec.context or len(below) != len(spec.children_specs):
        return None
    found: list[Any] = []
    for part, child in zip(below, spec.children_specs, strict=True):
        leaves = broadcast_prefix(part, child)
        if leaves is None:
            return None
        found += leaves
    return found


def flatten_up_to(tree: Any, spec: TreeSpec) -> list[Any]:
    """Return the subtrees of `tree` at the positions of the leaves of `spec`; ValueError if the nodes above them differ."""
    if spec.type is None:
        return [tree]
    parts = node_parts(tree)
    if parts is None or parts[0] is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children, expected = parts[2], spec.children_specs
    if len(children) != len(expected):
        raise ValueError(f"Node arity mismatch; expected {len(expected)}, but got {len(children)}.")
    if spec.type in _MAPPINGS:
        children = _in_order_of(spec, tree)
    elif parts[1] != spec.context and spec.type is not deque:
        raise ValueError(f"Node context mismatch for node type {spec.type!r}; expected {spec.context!r}, but got {parts[1]!r}.")
    return [leaf for child, below in zip(children, expected, strict=True) for leaf in flatten_up_to(child, below)]


def _in_order_of(spec: TreeSpec, tree: Any) -> list[Any]:
    keys = keys_of(spec)
    missing, extra = set(keys) - set(tree), set(tree) - set(keys)
    if missing or extra:
        words = [f"missing key(s): {missing}"] * bool(missing) + [f"extra key(s): {extra}"] * bool(extra)
        raise ValueError(f"Node keys mismatch; {'; '.join(words)}.")
    return [tree[key] for key in keys]


def count(spec: TreeSpec) -> int:
    """Return the number of leaves."""
    return spec.num_leaves
