"""Functionalization: replace in-place operators in a graph by out-of-place operators.

    y = x[0]; y.mul_(2)     becomes     y = x[0]; z = y * 2; x = select_scatter(x, z, 0, 0)

Each value that is a view stores its base and the chain of view operators from that base. A write to the view applies the
inverse operators (`select_scatter`, `slice_scatter`, ...) in reverse order. The result replaces the base, and views of it are
computed again when they are next used.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import flambeau as torch
from flambeau.extension import Kind, facts_of
from flambeau.extension.schemas import namespace_of

from ..fx.graph import Graph
from ..fx.node import Node, map_arg

__all__ = ["functionalize", "is_view", "operator_name"]

# Operators that return a view or a copy, depending on strides. They are treated as copies.
_SOMETIMES_VIEWS = frozenset(["flatten", "reshape", "reshape_as", "ravel"])
_WITHOUT_EFFECT = frozenset(["detach_", "requires_grad_"])


class _Base:
    """Memory shared by several views. `node` computes its current content, and `origin` is its placeholder, if any."""

    def __init__(self, node: Node, origin: Node | None = None) -> None:
        self.node, self.origin, self.version = node, origin, 0


class _Value:
    """The value of a node of the original graph: a base, and the chain of view operators from the base to the value."""

    def __init__(self, base: _Base, steps: list[Node], node: Any) -> None:
        self.base, self.steps, self.node, self.version = base, steps, node, base.version


def operator_name(node: Node) -> str:
    """Return the name of a node's operator, such as `add_` or `getitem`."""
    packet = getattr(node.target, "overloadpacket", node.target)
    return getattr(packet, "__name__", str(packet))


def functionalize(graph: Graph) -> tuple[Graph, list[tuple[Node, Node]]]:
    """Return a graph without in-place operators.

    Args:
        graph: the graph.

    Returns:
        The new graph, and pairs `(placeholder, node)` of each mutated placeholder with the node of its new value.

    Raises:
        RuntimeError: a write has no out-of-place equivalent, such as a write to an expanded tensor.
    """
    rewriter = _Rewriter()
    for node in graph.nodes:
        if node.op != "output":
            rewriter.add(node)
    written = [(base.origin, base.node) for base in rewriter.bases if base.origin is not None and base.version]
    result = graph.output_node().args[0]
    rewriter.graph.output(rewriter.map_nodes(result))
    return rewriter.graph, written


def is_view(node: Node, name: str) -> bool:
    """Whether the result of a node shares the memory of its first argument."""
    facts = facts_of(name)
    always = facts is not None and facts.kind is Kind.VIEW and name not in _SOMETIMES_VIEWS
    return always or name in ("getitem", "mT") or bool(node.meta.get("is_view"))


class _Rewriter:
    def __init__(self) -> None:
        self.graph = Graph()
        self.values: dict[Node, _Value] = {}
        self.bases: list[_Base] = []

    def add(self, node: Node) -> None:
        name = operator_name(node) if node.op == "call_function" else ""
        first = node.args[0] if node.args and isinstance(node.args[0], Node) else None
        if name in _WITHOUT_EFFECT and first is not None:
            self.values[node] = self.values[first]
        elif name.endswith("_") and not name.endswith("__") and first is not None:
            self._write(node, name, first)
        elif name == "batch_norm" and len(node.args) > 5 and node.args[5] and isinstance(node.args[3], Node):
            self._train_batch_norm(node)
        elif first is not None and is_view(node, name):
            value = self.values[first]
            self.values[node] = _Value(value.base, [*value.steps, node], self._copy(node))
        else:
            copied = self._copy(node)
            base = _Base(copied, copied if node.op == "placeholder" else None)
            self.bases.append(base)
            self.values[node] = _Value(base, [], copied)

    def map_nodes(self, argument: Any) -> Any:
        """Replace nodes of the original graph in an argument by nodes of the new graph."""
        return map_arg(argument, self._read)

    def _copy(self, node: Node, first: Any = None) -> Node:
        """Copy a node to the new graph. If `first` is given, it replaces the first argument."""
        args = self.map_nodes(node.args) if first is None else (first, *self.map_nodes(node.args[1:]))
        copied = self.graph.create_node(node.op, node.target, args, self.map_nodes(node.kwargs), node.name, node.type)
        copied.meta.update(node.meta)
        return copied

    def _call(self, name: str, args: tuple[Any, ...], like: Node, overload: str = "default") -> Node:
        packet = getattr(getattr(torch.ops, namespace_of(name)), name, None)
        if packet is None:
            raise RuntimeError(f"functionalization: operator {name} does not exist; {like.format_node()} requires it")
        called = self.graph.create_node("call_function", getattr(packet, overload, packet.default), args, {}, name)
        called.meta.update(like.meta)
        return called

    # --- current values ---

    def _read(self, node: Node) -> Node:
        value = self.values[node]
        if value.version != value.base.version:
            value.node, value.version = self._apply_views(value)[-1], value.base.version
        current: Node = value.node
        return current

    def _apply_views(self, value: _Value) -> list[Node]:
        """Apply the view operators of a value to its base. Return the base and all intermediate nodes."""
        nodes = [value.base.node]
        for step in value.steps:
            nodes.append(self._copy(step, nodes[-1]))
        return nodes

    # --- writes ---

    def _write(self, node: Node, name: str, first: Node) -> None:
        target: Any = node.target
        overload = target.__name__.partition(".")[2]
        if name == "zero_":
            new = self._call("zeros_like", (self._read(first),), node)
        else:
            new = self._call(name.removesuffix("_"), self.map_nodes(node.args), node, overload)
            new.kwargs = self.map_nodes(node.kwargs)
        self._set_content(self.values[first], new)
        self.values[node] = self.values[first]

    def _set_content(self, value: _Value, new: Node) -> None:
        """After an in-place operation, map the tensor, and the tensor that it is a view of, to the result of a node."""
        written, whole = new, self._apply_views(value)[:-1] if value.steps else []
        for step, before in zip(reversed(value.steps), reversed(whole), strict=True):
            written = self._scatter_part(step, before, written)
        value.base.node = written
        value.base.version += 1
        value.node, value.version = new, value.base.version

    def _scatter_part(self, step: Node, whole: Node, part: Node) -> Node:
        """Replace, in `whole`, the elements that the view operator `step` selects by `part`, and return the result."""
        name, like = operator_name(step), step.args[0]
        assert isinstance(like, Node)
        if name in ("alias", "detach"):
            return part
        if name == "getitem":
            return self._scatter_chunk(like, step.args[1], whole, part)
        if name in ("select", "slice"):
            return self._call(f"{name}_scatter", (whole, part, *self.map_nodes(step.args[1:])), like)
        if name in ("transpose", "swapaxes", "swapdims", "t", "numpy_T", "mT"):
            return self._call(name, (part, *step.args[1:]), like, step.target.__name__.partition(".")[2])
        if name == "permute":
            dims = [dim % len(step.args[1]) for dim in step.args[1]]
            return self._call("permute", (part, sorted(range(len(dims)), key=dims.__getitem__)), like)
        if isinstance(step.meta.get("val"), tuple):
            return part  # `part` is already the new input of `split`, see `_scatter_chunk`
        if name != "diagonal" and step.meta["val"].shape.numel() == like.meta["val"].shape.numel():
            return self._call("view_as", (part, whole), like)
        raise RuntimeError(
            f"functionalization: a write to a view made by {step.target} is not supported; write to the base tensor instead"
        )

    def _scatter_chunk(self, pieces: Node, place: Any, whole: Node, part: Node) -> Node:
        """Replace chunk `place` of the input of `split`, `chunk` or `unbind` by `part`, and return the new input."""
        source: Any = whole.args[0]  # `whole` is the `split`, `chunk` or `unbind` node
        dim = pieces.args[2] if len(pieces.args) > 2 else 0
        if operator_name(pieces) == "unbind":
            return self._call(
                "select_scatter", (source, part, pieces.args[1] if len(pieces.args) > 1 else 0, place), pieces.args[0]
            )
        sizes = [spec.shape[dim] for spec in pieces.meta["val"]]
        start = sum(sizes[:place])
        return self._call("slice_scatter", (source, part, dim, start, start + sizes[place]), pieces.args[0])

    def _train_batch_norm(self, node: Node) -> None:
        """Replace a training batch norm by the functional operator that also returns the updated running statistics."""
        args = node.args[:8]
        results = self._call("_native_batch_norm_legit_functional", self.map_nodes(args), node)
        nodes = [self.graph.call_function(getitem, (results, place)) for place in (0, 3, 4)]
        nodes[0].meta.update(node.meta)
        for statistics, new in zip(args[3:5], nodes[1:], strict=True):
            assert isinstance(statistics, Node)
            new.meta["val"] = statistics.meta.get("val")
            self._set_content(self.values[statistics], new)
        base = _Base(nodes[0])
        self.bases.append(base)
        self.values[node] = _Value(base, [], nodes[0])
