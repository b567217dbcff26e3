"""Nodes that become the nodes that PyTorch has where somebody looks at them.

Flambeau and PyTorch do not cut every computation into the same operations.  `linear` and `cross_entropy` record one node for
what PyTorch does in several steps: it is *decomposed* into them.  Others, such as `glu`, record several nodes for one of
PyTorch's: the last one *gathers* them.  Nobody sees the difference, and nothing is spent on it, until `next_functions` is asked
for or a hook is registered on the node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..runtime.state import state
from ..tape.node import Node, Output, shown_as

if TYPE_CHECKING:
    from ..runtime.devices import DispatchKey
    from ..tensors.tensor import Tensor

__all__ = ["become", "gathered", "naming", "step"]

Rule = Callable[..., Any]  # `(node, F, g, unpack)` to the gradients for the node's edges


# --- one node into several ----------------------------------------------------------------------------------------


def step(
    whole: Node,
    name: str,
    position: float,
    edges: tuple[Any, ...],
    key: DispatchKey,
    shape: tuple[int, ...],
    rule: Rule,
    *,
    takes_saved: bool = False,
) -> Node:
    """A step before the last of `whole`, called `name`; those that run later in backward have the greater `position`.

    A step that `takes_saved` has what the node has saved, and frees it in its place.
    """
    cls = _by_rule(type(whole) if takes_saved else Node)  # type: ignore[arg-type]  # classes are hashable
    made: Node = object.__new__(_named(cls, name))  # type: ignore[arg-type]  # classes are hashable
    if takes_saved:
        _copy_saved(whole, made)
        whole.saves = ()
    made.seq = whole.seq - position / 8  # made after everything before the node, and before the node
    made.edges, made.key, made.shape, made.hooks, made.outputs = edges, key, shape, None, None
    made.trace, made.parent = whole.trace, whole.parent
    made.__dict__["rule"] = rule
    return made


def become(whole: Node, name: str, edges: tuple[Any, ...], rule: Rule) -> None:
    """Turn a node into the last of its steps."""
    whole.__class__ = _named(_by_rule(type(whole)), name)  # type: ignore[arg-type]  # classes are hashable
    whole.edges = edges
    whole.__dict__["rule"] = rule


def _apply_rule(self: Node, F: Any, g: Any, unpack: Callable[[Any, Node], Any]) -> Any:
    return self.__dict__["rule"](self, F, g, unpack)


@functools.cache
def _by_rule(cls: type[Node]) -> type[Node]:
    """A class of the same layout, with its rule in `__dict__`."""
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
    """Let a result be no view where it is one of what only its making knew."""
    from ..tensors.storage import Storage

    if type(result._storage) is not Storage or state.forward_levels:  # in inference mode; or the view's tangent is its base's
        return
    if all(getattr(each, "_storage", None) is not result._storage for each in inputs):
        result._view = result._storage = None


def gathered(result: Tensor, name: str, inputs: Iterable[Tensor | None]) -> Tensor:
    """The result of several operations on `inputs`, shown as that of one operation, whose node is called `name`."""
    inputs = tuple(inputs)
    if getattr(result, "_view", None) is not None:
        forget_view(result, inputs)
    node = getattr(result, "_node", None)  # there is none where an override gave something else
    node = node.node if type(node) is Output else node
    if not isinstance(node, Node):
        return result
    edges = tuple((each._node or each) if each is not None and each._requires_grad else None for each in inputs)
    if not any(each is node for each in edges):
        node.__class__ = _gathering(type(node), name)  # type: ignore[arg-type]  # classes are hashable
        if node.outputs is None:
            node.__dict__["inputs"] = edges
    return result


def _tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among arguments that could have a gradient."""
    from ..tensors.tensor import Tensor

    for each in values:
        if isinstance(each, Tensor):
            if each._key.dtype.is_floating_point or each._key.dtype.is_complex:
                yield each
        elif isinstance(each, (list, tuple)):
            yield from _tensors_in(each)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from _flat(each)
        else:
            yield each


def naming(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function whose results are shown as made by `name`, unless it gave its first argument back."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        several = isinstance(result, tuple)
        for each in result if several else (result,):
            if getattr(each, "_view", None) is not None:  # an override's has none
                forget_view(each, _flat((*args, *kwargs.values())))
        recorded = [each for each in result if getattr(each, "_node", None) is not None] if several else [result]
        if len(recorded) > 1:  # they may have steps in common
            for each in recorded:
                shown_as(each, name)
        elif recorded and not (args and recorded[0] is args[0]):
            gathered(recorded[0], name, _tensors_in((*args, *kwargs.values())))
        return result

    return call


@functools.cache
def _gathering(cls: type[Node], name: str) -> type[Node]:
    members = {"__slots__": (), "__module__": cls.__module__, "along": None, "decompose": _gather}
    return type(name, (cls,), members)


def _gather(last: Node) -> None:
    """Turn the last of several nodes into one that runs them all."""
    edges = last.__dict__.pop("inputs", None)
    if edges is None:
        return
    inner: Node = object.__new__(type(last))
    _copy_saved(last, inner)
    inner.seq, inner.edges, inner.key, inner.shape = last.seq, last.edges, last.key, last.shape
    inner.hooks = inner.outputs = None
    inner.trace, inner.parent = last.trace, last.parent
    ends = {edge: _end(edge) for edge in edges if edge is not None}
    _cut(inner, ends)
    become(last, type(last).__name__, edges, functools.partial(_run_inner, inner=inner, ends=ends))
    last.saves, last.takes_tensors = (), True


def _end(edge: Any) -> Tensor:
    """A leaf in the place of an edge."""
    from ..tape.engine import key_of_edge, shape_of
    from ..tensors.tensor import wrap

    key = key_of_edge(edge)
    made = wrap(key.backend.xp.broadcast_to(key.backend.xp.zeros((), dtype=key.raw_dtype), shape_of(edge)), key)
    made._requires_grad = True
    return made


def _cut(inner: Node, ends: dict[Any, Tensor]) -> None:
    """Let the graph from `inner` on end where the edges of the whole begin."""
    stack, seen = [inner], {inner}
    while stack:
        node = stack.pop()
        for edge in node.edges:
            following = edge.node if type(edge) is Output else edge
            if edge not in ends and isinstance(following, Node) and following not in seen:
                seen.add(following)
                stack.append(following)
        node.edges = tuple(ends.get(edge, edge) for edge in node.edges)


def _run_inner(self: Node, F: Any, gradients: Any, unpack: Any, *, inner: Node, ends: dict[Any, Tensor]) -> list[Any]:
    """The gradients for the edges, from a backward of their own; for an edge that occurs twice, the first has all."""
    from ..tape.engine import current_task, run

    task = current_task.get()
    (gradient,) = gradients
    found = run(
        [(inner, gradient)],
        retain_graph=task is None or task.retain_graph,
        create_graph=task is not None and task.create_graph,
        inputs=list(ends.values()),
        capture=True,
    )
    made = dict(zip(ends, found or (), strict=True))
    return [None if edge is None else made.pop(edge, None) for edge in self.edges]
