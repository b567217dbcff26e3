"""Nodes of the recorded graph: one per recorded operation, with edges to the nodes of its inputs."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import traceback
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from ..devices.devices import DispatchKey
from ..devices.state import state
from ..values.handles import RemovableHandle

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor
    from .engine import Task

__all__ = ["AccumulateGrad", "Error", "Hooks", "Node", "Output", "StaleView", "rename_node"]

next_seq: Callable[[], int] = itertools.count().__next__


class Node:
    """One recorded operation.  Its class has PyTorch's name (`MulBackward0`), and slots for the saved values.

    `edges` has an entry for each tensor argument: the node (or Output) that computed the argument, the argument itself if it is a
    leaf, or None if it gets no gradient.  `seq` increases with each new node; backward runs nodes in decreasing order of `seq`.
    `dispatch_key` and `shape` are those of the output; its gradient is converted to them (summed, cast) before `apply`.
    """

    __slots__ = ("__dict__", "__weakref__", "dispatch_key", "edges", "hooks", "outputs", "seq", "shape")
    edges: tuple[Any, ...]
    seq: float
    dispatch_key: DispatchKey
    shape: tuple[int, ...]
    outputs: tuple[tuple[DispatchKey, tuple[int, ...]], ...] | None  # for several outputs: the dispatch key and shape of each
    hooks: Hooks | None
    saves: tuple[str, ...] = ()  # the slots that are freed by a backward that does not retain the graph
    freed: tuple[str, ...] = ()  # those of `saves` that contain parameters, such as indices; the others contain saved tensors
    takes_tensors = False  # whether `apply` always takes Tensors, as a user's Function does
    on_tensors = False  # whether the result is a wrapper subclass, whose gradients have no arrays
    decompose: ClassVar[Callable[[Node], None] | None] = None  # replaces the node by the nodes that PyTorch records
    keeps_none = False  # whether `apply` receives None, not zeros, for outputs without a gradient
    along: str | None = None  # the node's name for calls with `dim`, if PyTorch has another overload for them
    trace: list[str] | None = None  # the stack of the forward call, in anomaly mode
    parent: Node | None = None  # in anomaly mode: the node whose backward recorded this one

    def apply(self, F: Any, g: Any, unpack: Callable[[Any, Node], Any], edges: Any = None) -> tuple[Any, ...]:
        """Return the gradient, or None, for each edge, given the gradient `g` of the output.

        `edges` are the node's edges, with None in place of edges whose gradient is not requested; by default, all are requested.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Free the saved values."""
        for name in self.saves:
            setattr(self, name, RELEASED)

    @property
    def saved_tensor_slots(self) -> tuple[str, ...]:
        return tuple(name for name in self.saves if name not in self.freed)

    # --- the public interface ---

    def name(self) -> str:
        name = self.along if self.along and getattr(self, "dim", None) is not None else type(self).__name__
        return f"torch::autograd::{name}" if name in _NAMESPACED else name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """A pair `(node, output index)` for each tensor argument; the node of a leaf is an `AccumulateGrad`."""
        self.show()
        return tuple(public_edge(edge) for edge in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.__dict__.setdefault("_metadata", {})
        return metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node's backward; it may return new grad_inputs."""
        self.show()
        return self.own_hooks().add("post", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node's backward; it may return new grad_outputs."""
        return self.own_hooks().add("pre", hook)

    def show(self) -> None:
        """Replace the node by the nodes that PyTorch records.  A backward pass must not change the graph: then do nothing."""
        if self.decompose is not None and current_task.get() is None:
            self.decompose()

    def own_hooks(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {hex(id(self))}>"


class Hooks:
    """The hooks of a node, and references to its output tensors on which `retain_grad` was called."""

    def __init__(self) -> None:
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.tensor: dict[int, dict[int, Callable[..., Any]]] = {}  # hooks of the output tensors, by output index
        self.retain: dict[int, weakref.ref[Tensor]] = {}

    def add(self, table: str, hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(getattr(self, table), hook)

    def add_for_output(self, index: int, hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(self.tensor.setdefault(index, {}), hook)


def add_hook(table: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


class Output:
    """The edge to one output of a node with several outputs."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node: Node = node
        self.index: int = index

    def __eq__(self, other: object) -> bool:
        return type(other) is Output and self.node is other.node and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.node), self.index))

    @property
    def dispatch_key(self) -> DispatchKey:
        assert self.node.outputs is not None
        return self.node.outputs[self.index][0]

    @property
    def shape(self) -> tuple[int, ...]:
        assert self.node.outputs is not None
        return self.node.outputs[self.index][1]


class AccumulateGrad(Node):
    """The node that `next_functions` shows for a leaf.  In the graph itself, the edge is the leaf, without such a node."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Tensor) -> None:
        self._variable = weakref.ref(variable)
        self.hooks: Hooks | None = None
        self.outputs: tuple[tuple[DispatchKey, tuple[int, ...]], ...] | None = None
        self.edges: tuple[Any, ...] = ()
        self.dispatch_key: DispatchKey = variable._key
        self.shape: tuple[int, ...] = tuple(variable._array.shape)

    @property
    def variable(self) -> Tensor | None:
        return self._variable()

    def own_hooks(self) -> Hooks:
        leaf = self._variable()
        if leaf is not None:
            leaf._has_hooks = True
        state.leaf_hooks = True
        return super().own_hooks()


class Error(Node):
    """A node that raises RuntimeError when backward reaches it."""

    __slots__ = ("message",)
    message: str
    takes_tensors = True

    @classmethod
    def before(cls, tensor: Tensor, message: str) -> Error:
        """Return a node for `tensor` that raises RuntimeError with this message in backward."""
        node = cls()
        node.edges, node.seq, node.hooks, node.outputs = (None,), next_seq(), None, None
        node.dispatch_key, node.shape, node.message = tensor._key, tensor._array.shape, message
        return node

    def apply(self, F: Any, g: Any, unpack: Any, edges: Any = None) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


class StaleView(Error):
    """The node of a view whose base was modified in a way that leaves its history undefined; `grad_fn` raises the error."""

    __slots__ = ()


RELEASED = ("released",)
_NAMESPACED = frozenset({"AccumulateGrad", "CopyBackwards", "CopySlices"})  # nodes that PyTorch shows with their C++ namespace
current_task: ContextVar[Task | None] = ContextVar("current_backward", default=None)  # the pass that is running
running: ContextVar[Node | None] = ContextVar("running_node", default=None)


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """Return the AccumulateGrad of a leaf; the first call creates it."""
    node = leaf.__dict__.get("_accumulator")
    if node is None:
        node = leaf.__dict__["_accumulator"] = AccumulateGrad(leaf)
    return node


def public_edge(edge: Any) -> tuple[Node | None, int]:
    """Return an edge as PyTorch shows it: the node and the index of its output."""
    if edge is None:
        return None, 0
    if isinstance(edge, Output):
        return edge.node, edge.index
    if isinstance(edge, Node):
        return edge, 0
    return accumulator(edge), 0


def add_leaf_hook(leaf: Tensor, table: str, hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook of a leaf in the dictionary `table` in the leaf's `__dict__`."""
    leaf._has_hooks = True
    state.leaf_hooks = True
    return add_hook(leaf.__dict__.setdefault(table, {}), hook)


def remember_trace(node: Node) -> None:
    """For anomaly mode, store the stack of the forward call on the node, without the innermost frames, which are flambeau's."""
    frames = traceback.extract_stack(sys._getframe(1))
    while frames and (frames[-1].filename.startswith(("<flambeau", _PACKAGE))):
        frames.pop()
    node.trace = traceback.format_list(frames)
    node.parent = running.get()


def rename_node(result: Tensor, name: str) -> Tensor:
    """Rename the node of a result, and return the result."""
    node = getattr(result, "_node", None)  # an override may have returned something else
    node = node.node if type(node) is Output else node
    if isinstance(node, Node):
        node.__class__ = _named(type(node), name)  # type: ignore[arg-type]  # classes are hashable
    return result


@functools.cache
def _named(cls: type[Node], name: str) -> type[Node]:
    return type(name, (cls,), {"__slots__": (), "__module__": cls.__module__, "along": None})


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
