"""Graphs without in-place operators: what is written is a new value, which views of the same memory are taken of anew.

    y = x[0]; y.mul_(2)     becomes     y = x[0]; z = y * 2; x = select_scatter(x, z, 0, 0)

A value that is a view knows its base and the operators on the way to it. A write goes back along that way, by the operator that
puts a part into a copy of the whole, and the base has a new value from then on.
"""

from __future__ import annotations

from operator import getitem
from typing import Any

import flambeau as torch
from flambeau.extension import Kind, facts_of
from flambeau.extension.schemas import namespace_of

from ..fx.graph import Graph
from ..fx.node import Node, map_arg

__all__ = ["functionalized", "is_view", "operator_name"]

# Views of which the operator makes a copy where it has to.
_SOMETIMES_VIEWS = frozenset(["flatten", "reshape", "reshape_as", "ravel"])
_WITHOUT_EFFECT = frozenset(["detach_", "requires_grad_"])


class _Base:
    """The memory that views share: the node of its present value."""

    def __init__(self, node: Node, origin: Node | None = None) -> None:
        self.node, self.origin, self.version = node, origin, 0


class _Value:
    """What a node of the old graph stands for: a base, and the operators that lead from it to this part of it."""

    def __init__(self, base: _Base, steps: list[Node], node: Any) -> None:
        self.base, self.steps, self.node, self.version = base, steps, node, base.version


def operator_name(node: Node) -> str:
    """The name of a node's operator: `add_`, `getitem`."""
    packet = getattr(node.target, "overloadpacket", node.target)
    return getattr(packet, "__name__", str(packet))


def functionalized(graph: Graph) -> tuple[Graph, list[tuple[Node, Node]]]:
    """The graph without in-place operators.

    Args:
        graph: the graph.

    Returns:
        The new graph, without its output; and the placeholders that it writes to, each with the node of its new value.

    Raises:
        RuntimeError: it writes to what has no such operator, such as an expanded tensor.
    """
    rewriter = _Rewriter()
    for node in graph.nodes:
        if node.op != "output":
            rewriter.add(node)
    written = [(base.origin, base.node) for base in rewriter.bases if base.origin is not None and base.version]
    result = graph.output_node().args[0]
    rewriter.graph.output(rewriter.mapped(result))
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

    def mapped(self, argument: Any) -> Any:
        """An argument with the nodes of the new graph."""
        return map_arg(argument, self._read)

    def _copy(self, node: Node, first: Any = None) -> Node:
        """A node in the new graph, maybe with another first argument."""
        args = self.mapped(node.args) if first is None else (first, *self.mapped(node.args[1:]))
        copied = self.graph.create_node(node.op, node.target, args, self.mapped(node.kwargs), node.name, node.type)
        copied.meta.update(node.meta)
        return copied

    def _call(self, name: str, args: tuple[Any, ...], like: Node, overload: str = "default") -> Node:
        packet = getattr(getattr(torch.ops, namespace_of(name)), name, None)
        if packet is None:
            raise RuntimeError(f"functionalization: there is no operator {name} for what {like.format_node()} writes")
        called = self.graph.create_node("call_function", getattr(packet, overload, packet.default), args, {}, name)
        called.meta.update(like.meta)
        return called

    # --- values as they are at present ---

    def _read(self, node: Node) -> Node:
        value = self.values[node]
        if value.version != value.base.version:
            value.node, value.version = self._along(value)[-1], value.base.version
        current: Node = value.node
        return current

    def _along(self, value: _Value) -> list[Node]:
        """The base, and what each step makes of it."""
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
            new = self._call(name.removesuffix("_"), self.mapped(node.args), node, overload)
            new.kwargs = self.mapped(node.kwargs)
        self._put(self.values[first], new)
        self.values[node] = self.values[first]

    def _put(self, value: _Value, new: Node) -> None:
        """Let a value, and with it its base, be what a node computes."""
        written, whole = new, self._along(value)[:-1] if value.steps else []
        for step, before in zip(reversed(value.steps), reversed(whole), strict=True):
            written = self._put_back(step, before, written)
        value.base.node = written
        value.base.version += 1
        value.node, value.version = new, value.base.version

    def _put_back(self, step: Node, whole: Node, part: Node) -> Node:
        """The whole, where a part of it, which an operator takes of it, has another value."""
        name, like = operator_name(step), step.args[0]
        assert isinstance(like, Node)
        if name in ("alias", "detach"):
            return part
        if name == "getitem":
            return self._put_back_piece(like, step.args[1], whole, part)
        if name in ("select", "slice"):
            return self._call(f"{name}_scatter", (whole, part, *self.mapped(step.args[1:])), like)
        if name in ("transpose", "swapaxes", "swapdims", "t", "numpy_T", "mT"):
            return self._call(name, (part, *step.args[1:]), like, step.target.__name__.partition(".")[2])
        if name == "permute":
            dims = [dim % len(step.args[1]) for dim in step.args[1]]
            return self._call("permute", (part, sorted(range(len(dims)), key=dims.__getitem__)), like)
        if isinstance(step.meta.get("val"), tuple):
            return part  # which `_put_back_piece` has put together
        if name != "diagonal" and step.meta["val"].shape.numel() == like.meta["val"].shape.numel():
            return self._call("view_as", (part, whole), like)
        raise RuntimeError(f"functionalization: a write to the result of {step.target} cannot be put back into its whole")

    def _put_back_piece(self, pieces: Node, place: Any, whole: Node, part: Node) -> Node:
        """The tensor of which `split`, `chunk` or `unbind` gives pieces, with another value in the place of one."""
        source: Any = whole.args[0]  # `whole` is the operator that gives the pieces
        dim = pieces.args[2] if len(pieces.args) > 2 else 0
        if operator_name(pieces) == "unbind":
            return self._call(
                "select_scatter", (source, part, pieces.args[1] if len(pieces.args) > 1 else 0, place), pieces.args[0]
            )
        sizes = [spec.shape[dim] for spec in pieces.meta["val"]]
        start = sum(sizes[:place])
        return self._call("slice_scatter", (source, part, dim, start, start + sizes[place]), pieces.args[0])

    def _train_batch_norm(self, node: Node) -> None:
        """A normalization that moves its running statistics gives their new values back."""
        args = node.args[:8]
        results = self._call("_native_batch_norm_legit_functional", self.mapped(args), node)
        nodes = [self.graph.call_function(getitem, (results, place)) for place in (0, 3, 4)]
        nodes[0].meta.update(node.meta)
        for statistics, new in zip(args[3:5], nodes[1:], strict=True):
            assert isinstance(statistics, Node)
            new.meta["val"] = statistics.meta.get("val")
            self._put(self.values[statistics], new)
        base = _Base(nodes[0])
        self.bases.append(base)
        self.values[node] = _Value(base, [], nodes[0])
