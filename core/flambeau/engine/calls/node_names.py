"""Name graph nodes as PyTorch does, and when a user inspects the graph, rewrite it to the nodes that PyTorch records.

`op(grad_fn=...)`, `composite(grad_fn=...)` and `with_grad_fn` name the node of a result.  Flambeau and PyTorch do not always
divide a computation into the same operations.  `linear` and `cross_entropy` record one node where PyTorch records several: the
node is *decomposed* into those.  Other functions, such as `glu`, record several nodes where PyTorch records one: the last node
*merges* the others.  This is done, and costs time, only when `next_functions` is read or a hook is registered on the node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..devices.state import state
from ..tape.node import Node, Output, rename_node
from ..tensors.tensor import Tensor, wrap
from ..values.dtypes import FLOATING

if TYPE_CHECKING:
    from ..devices.devices import DispatchKey

__all__ = ["become", "merge_nodes", "step", "with_grad_fn"]

C = TypeVar("C", bound=Callable[..., Any])

Rule = Callable[..., Any]  # takes `(node, F, g, unpack)` and returns the gradients for the node's edges


# --- one node into several ----------------------------------------------------------------------------------------


def step(
    original: Node,
    name: str,
    position: float,
    edges: tuple[Any, ...],
    key: DispatchKey,
    shape: tuple[int, ...],
    rule: Rule,
    *,
    takes_saved: bool = False,
) -> Node:
    """Create one of the nodes that `original` is decomposed into, except the last.

    Nodes that run later in backward have a greater `position`.
    With `takes_saved`, the step takes over the saved tensors of `original` and releases them.
    """
    cls = _by_rule(type(original) if takes_saved else Node)  # type: ignore[arg-type]  # classes are hashable
    node: Node = object.__new__(_named(cls, name))  # type: ignore[arg-type]  # classes are hashable
    if takes_saved:
        _copy_saved(original, node)
        original.saves = ()
    node.seq = original.seq - position / 8  # after the nodes recorded before `original`, and before `original`
    node.edges, node.dispatch_key, node.shape, node.hooks, node.outputs = edges, key, shape, None, None
    node.trace, node.parent = original.trace, original.parent
    node.__dict__["rule"] = rule
    return node


def become(original: Node, name: str, edges: tuple[Any, ...], rule: Rule) -> None:
    """Turn `original` into the last of the nodes that it is decomposed into; backward runs this node first."""
    original.__class__ = _named(_by_rule(type(original)), name)  # type: ignore[arg-type]  # classes are hashable
    original.edges = edges
    original.__dict__["rule"] = rule


def _apply_rule(self: Node, F: Any, g: Any, unpack: Callable[[Any, Node], Any], edges: Any = None) -> Any:
    return self.__dict__["rule"](self, F, g, unpack)


@functools.cache
def _by_rule(cls: type[Node]) -> type[Node]:
    """Return a subclass with the same slots whose `apply` calls the rule in the node's `__dict__`."""
    return type(cls.__name__, (cls,), {"__slots__": (), "apply": _apply_rule, "decompose": None})


@functools.cache
def _named(cls: type[Node], name: str) -> type[Node]:
    return type(name, (cls,), {"__slots__": (), "__module__": "flambeau", "along": None})


def _copy_saved(source: Node, target: Node) -> None:
    for cls in type(source).__mro__[: -len(Node.__mro__)]:
        for field in vars(cls).get("__slots__", ()):
            setattr(target, field, getattr(source, field))


# --- several nodes into one ---------------------------------------------------------------------------------------


def forget_view(result: Any, inputs: Iterable[Any]) -> None:
    """Make a result a regular tensor if it is a view of an intermediate value rather than of an input."""
    from ..tensors.storage import InferenceStorage

    storage = result._storage
    if storage is None or type(storage) is InferenceStorage or state.forward_levels:  # these modes need the view
        return
    for tensor in inputs:
        if getattr(tensor, "_storage", None) is storage:
            return
    result._view = result._storage = None


def merge_nodes(result: Tensor, name: str, inputs: Sequence[Tensor | None]) -> Tensor:
    """Make the result of several operations on `inputs` look like the result of one operation, with a node called `name`."""
    node, view = getattr(result, "_node", None), getattr(result, "_view", None)  # an override may have returned something else
    if node is None and view is None:
        return result
    if view is not None:
        forget_view(result, inputs)
    node = node.node if type(node) is Output else node
    if not isinstance(node, Node):
        return result
    edges = tuple([(x._node or x) if x is not None and x._requires_grad else None for x in inputs if x is None or _can_record(x)])
    if not any(edge is node for edge in edges):
        node.__class__ = _merging(type(node), name)  # type: ignore[arg-type]  # classes are hashable
        if node.outputs is None:
            node.__dict__["inputs"] = edges
    return result


def _can_record(tensor: Tensor) -> bool:
    return tensor._key.dtype.category >= FLOATING


def _tensors_in(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among the values, including those inside lists and tuples."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors_in(value)
    return found


def with_grad_fn(name: str) -> Callable[[C], C]:
    """Return a decorator that names the node of a function's results, unless the function returns its first argument."""

    def decorate(function: C) -> C:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if type(result) is Tensor and result._node is None and result._view is None:
                return result
            inputs = _tensors_in((*args, *kwargs.values()) if kwargs else args)
            if not isinstance(result, tuple):
                return result if args and result is args[0] else merge_nodes(result, name, inputs)
            for output in result:
                if getattr(output, "_view", None) is not None:  # the result of an override may lack the attribute
                    forget_view(output, inputs)
            recorded = [output for output in result if getattr(output, "_node", None) is not None]
            for output in recorded:
                if len(recorded) > 1:  # the outputs may share nodes, which then cannot be merged separately
                    rename_node(output, name)
                elif not (args and output is args[0]):
                    merge_nodes(output, name, inputs)
            return result

        return call  # type: ignore[return-value]  # it has the signature of `function`

    return decorate


@functools.cache
def _merging(cls: type[Node], name: str) -> type[Node]:
    members = {"__slots__": (), "__module__": cls.__module__, "along": None, "decompose": _merge}
    return type(name, (cls,), members)


def _merge(last: Node) -> None:
    """Turn the last of several nodes into a node whose backward runs all of them."""
    edges = last.__dict__.pop("inputs", None)
    if edges is None:
        return
    inner: Node = object.__new__(type(last))
    _copy_saved(last, inner)
    inner.seq, inner.edges, inner.dispatch_key, inner.shape = last.seq, last.edges, last.dispatch_key, last.shape
    inner.hooks = inner.outputs = None
    inner.trace, inner.parent = last.trace, last.parent
    ends = {edge: _leaf_in_place_of(edge) for edge in edges if edge is not None}
    _cut_at(inner, ends)
    become(last, type(last).__name__, edges, functools.partial(_run_inner, inner=inner, ends=ends))
    last.saves, last.takes_tensors = (), True


def _leaf_in_place_of(edge: Any) -> Tensor:
    """Return a new leaf, with the shape and dispatch key of an edge, that ends the inner graph in place of the edge."""
    from ..tape.engine import key_of_edge, shape_of

    key = key_of_edge(edge)
    leaf = wrap(key.backend.xp.broadcast_to(key.backend.xp.zeros((), dtype=key.raw_dtype), shape_of(edge)), key)
    leaf._requires_grad = True
    return leaf


def _cut_at(inner: Node, ends: dict[Any, Tensor]) -> None:
    """End the graph that begins at `inner` with the leaves `ends`, which replace the edges of the merging node."""
    stack, seen = [inner], {inner}
    while stack:
        node = stack.pop()
        for edge in node.edges:
            next_node = edge.node if type(edge) is Output else edge
            if edge not in ends and isinstance(next_node, Node) and next_node not in seen:
                seen.add(next_node)
                stack.append(next_node)
        node.edges = tuple(ends.get(edge, edge) for edge in node.edges)


def _run_inner(self: Node, F: Any, gradients: Any, unpack: Any, *, inner: Node, ends: dict[Any, Tensor]) -> list[Any]:
    """Compute the gradients for the edges by a backward pass over the inner graph.

    The first occurrence of a repeated edge gets the sum of its gradients, the other occurrences get None.
    """
    from ..tape.engine import current_task, run

    task = current_task.get()
    (gradient,) = gradients
    captured = run(
        [(inner, gradient)],
        retain_graph=task is None or task.retain_graph,
        create_graph=task is not None and task.create_graph,
        inputs=list(ends.values()),
        capture=True,
    )
    by_edge = dict(zip(ends, captured or (), strict=True))
    return [None if edge is None else by_edge.pop(edge, None) for edge in self.edges]
