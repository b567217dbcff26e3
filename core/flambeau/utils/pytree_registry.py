"""The types that `pytree` flattens, the keys of their children, and the JSON form of tree structures."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from ..engine.values.sizes import Size
from ..engine.values.trees import LEAF, REGISTERED, Entry, TreeSpec, is_namedtuple_class, node_parts

__all__ = [
    "BUILT_IN_NODES", "NODES", "GetAttrKey", "KeyEntry", "MappingKey", "SequenceKey", "keys_and_children", "register_constant",
    "register_dataclass", "register_pytree_node", "treespec_dumps", "treespec_loads",
]  # fmt: skip

PROTOCOL = 1


class KeyEntry(Protocol):
    """One step of the path to a leaf."""

    def get(self, parent: Any) -> Any:
        """Return the child of `parent` at this key."""


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A step of a path: the element at an index of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the element at this index."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A step of a path: the value of a key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value of this key."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: an attribute of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the value of this attribute."""
        return getattr(obj, self.name)


class _JsonType(NamedTuple):
    """The name of a type in JSON, and functions that convert its contexts to and from JSON values."""

    name: str | None
    dump: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None


NODES: dict[Any, Entry] = REGISTERED


def _entry(kind: Any) -> Entry:
    """Return functions that flatten and unflatten a built-in container as `tree_flatten` does."""

    def flatten(node: Any) -> tuple[list[Any], Any]:
        parts = node_parts(node)
        if parts is None:
            raise TypeError(f"expected a container, but got {type(node)}")
        return parts[2], parts[1]

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        leaves = list(children)
        return TreeSpec(kind, context, [LEAF] * len(leaves)).unflatten(leaves)

    return Entry(flatten, unflatten)


BUILT_IN_NODES = {kind: _entry(kind) for kind in (tuple, list, dict, OrderedDict, defaultdict, deque)}
_with_keys: dict[type, Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]] = {}
_json_types: dict[Any, _JsonType] = {
    dict: _JsonType("builtins.dict"), list: _JsonType("builtins.list"), tuple: _JsonType("builtins.tuple"),
    deque: _JsonType("collections.deque"),
    OrderedDict: _JsonType("collections.OrderedDict"), Size: _JsonType("torch.Size"),
    defaultdict: _JsonType(
        "collections.defaultdict", lambda context: _dump_defaultdict(context), lambda text: _load_defaultdict(text)
    ),
}  # fmt: skip


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Register a type as a container for `tree_map`, `vmap`, `torch.func` and all other functions that take trees.

    Args:
        cls: the type; its subclasses are not registered.
        flatten_fn: returns the children of a node, and a context with all other state.
        unflatten_fn: builds a node from children and a context.
        serialized_type_name: the name of the type for `treespec_dumps`.
        to_dumpable_context: converts a context to a JSON value.
        from_dumpable_context: converts the JSON value back.
        flatten_with_keys_fn: returns the children with their keys, and the context.

    Raises:
        ValueError: the type is already registered, or only one of the two `dumpable_context` functions is given.

    >>> class Pair:
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> register_pytree_node(Pair, lambda pair: ([pair.left, pair.right], None), lambda children, _: Pair(*children))
    >>> from flambeau.utils.pytree import tree_leaves
    >>> tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in REGISTERED or cls in _json_types:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    REGISTERED[cls] = Entry(flatten_fn, unflatten_fn)
    _json_types[cls] = _JsonType(serialized_type_name, to_dumpable_context, from_dumpable_context)
    if flatten_with_keys_fn is not None:
        _with_keys[cls] = flatten_with_keys_fn


_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type) -> None:
    """Remove a type from the registry, so that its instances are leaves again."""
    for table in (REGISTERED, _json_types, _with_keys):
        table.pop(cls, None)


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Register the name of a named tuple class for `treespec_dumps`."""
    _json_types[cls] = _JsonType(serialized_type_name)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a dataclass as a container whose children are its fields that are not None.

    Args:
        cls: the dataclass.
        field_names: the fields to include; by default all fields of `__init__`.
        drop_field_names: fields to omit.
        serialized_type_name: the name of the type for `treespec_dumps`.

    Raises:
        TypeError: `cls` is not a dataclass.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass expects a dataclass, but got {cls!r}")
    every = [field.name for field in dataclasses.fields(cls) if field.init]
    names = [name for name in field_names or every if name not in (drop_field_names or ())]

    def flatten(node: Any) -> tuple[list[Any], Any]:
        present = [name for name in names if getattr(node, name) is not None]
        return [getattr(node, name) for name in present], (present, [name for name in names if name not in present])

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    def with_keys(node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(node)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children, strict=True)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys)


def register_constant(cls: type) -> None:
    """Register a type whose instances are part of the structure of a tree rather than leaves.

    Raises:
        TypeError: the type compares by identity, so that structures would never be equal.
    """
    if getattr(cls, "__eq__", None) is object.__eq__:
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation, but got {cls!r}")
    register_pytree_node(cls, lambda value: ([], value), lambda _, value: value)


def keys_and_children(tree: Any) -> list[tuple[Any, Any]]:
    """Return (key, child) for each child of a node.

    Raises:
        ValueError: its type was registered without `flatten_with_keys_fn`.
    """
    kind = type(tree)
    if kind in _with_keys:
        return list(_with_keys[kind](tree)[0])
    if isinstance(tree, dict) and kind not in REGISTERED:
        return [(MappingKey(key), value) for key, value in tree.items()]
    parts = node_parts(tree)
    assert parts is not None
    if is_namedtuple_class(kind):
        return [(GetAttrKey(name), child) for name, child in zip(tree._fields, tree, strict=True)]
    if kind in REGISTERED and parts[2]:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    return [(SequenceKey(index), child) for index, child in enumerate(parts[2])]


# --- text ---------------------------------------------------------------------------------------------------------


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a tree structure as JSON text.

    Raises:
        TypeError: `treespec` is not a tree structure.
        ValueError: `protocol` is neither 1 nor None.
        NotImplementedError: a type in the structure was registered without `serialized_type_name`.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got {type(treespec)}."
        )
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps([PROTOCOL, _to_schema(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the tree structure from the JSON text of `treespec_dumps`.

    Raises:
        ValueError: the protocol of the text is unknown.
        NotImplementedError: a type in the structure is not registered.
    """
    protocol, schema = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _from_schema(schema)


def _to_schema(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    is_namedtuple = is_namedtuple_class(spec.context)
    text = _json_types.get(spec.context if is_namedtuple else spec.type)
    if is_namedtuple and text is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    if text is None or text.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    name, context = text.name, text.name if is_namedtuple else spec.context
    name = "collections.namedtuple" if is_namedtuple else name
    dumped = json.dumps(context) if text.dump is None else text.dump(context)
    return {"type": name, "context": dumped, "children_spec": [_to_schema(child) for child in spec.children_specs]}


def _from_schema(schema: dict[str, Any]) -> TreeSpec:
    name = schema["type"]
    if name is None:
        return LEAF
    children = [_from_schema(child) for child in schema["children_spec"]]
    if name == "collections.namedtuple":
        cls = _type_named(json.loads(schema["context"]))
        parts = node_parts(cls(*children))
        assert parts is not None
        return TreeSpec(parts[0], cls, children)
    kind = _type_named(name)
    load = _json_types[kind].load
    return TreeSpec(kind, json.loads(schema["context"]) if load is None else load(schema["context"]), children)


def _type_named(name: str) -> Any:
    for kind, text in _json_types.items():
        if text.name == name:
            return kind
    raise NotImplementedError(f"Deserializing {name!r} in a TreeSpec: no type is registered under this name.")


def _dump_defaultdict(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": getattr(factory, "__module__", None),
        "default_factory_name": getattr(factory, "__qualname__", None),
        "dict_context": keys,
    }


def _load_defaultdict(text: dict[str, Any]) -> list[Any]:
    if text["default_factory_module"] is None:
        return [None, text["dict_context"]]
    factory: Any = importlib.import_module(text["default_factory_module"])
    for part in text["default_factory_name"].split("."):
        factory = getattr(factory, part)
    return [factory, text["dict_context"]]
