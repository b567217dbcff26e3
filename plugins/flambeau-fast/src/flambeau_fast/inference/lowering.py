"""Calls of an inference step as nodes: batch normalization is folded, and activations and residuals become part of products.

Images are channels-last in a plan.  A value is `flat` (the order of its shape) or `last` (images with channels last).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall

from .support import ACTIVATIONS

__all__ = ["KINDS", "Graph", "Node", "Value"]

# the order of the enumeration in `c/plan.h`
KINDS = (
    "product", "depthwise", "mean", "max_pool", "to_last", "to_first", "unary", "add", "multiply", "scale", "layer_norm",
)  # fmt: skip
NO_ACTIVATION = ("", 0.0, 0.0)


@dataclass(eq=False, slots=True)
class Value:
    """An array: the node that computes it (None for an input), its shape, and the order of its elements."""

    shape: tuple[int, ...]
    order: str = "flat"
    node: Node | None = None
    input: int | None = None


@dataclass(eq=False, slots=True)
class Node:
    """A step of the plan."""

    kind: str
    inputs: list[Value]
    size: int  # number of elements of the result
    numbers: tuple[int, ...] = ()
    weight: Any = None
    bias: Any = None
    epsilon: float = 0.0
    activation: tuple[str, float, float] = NO_ACTIVATION
    residual: Value | None = None
    users: int = 0

    @property
    def is_linear(self) -> bool:
        """Whether nothing follows the product."""
        return self.activation == NO_ACTIVATION and self.residual is None


@dataclass(eq=False, slots=True)
class Graph:
    """The nodes of a plan, in order.

    Args:
        kinds: shape and dtype of each array.
        constants: the weights as arrays.
    """

    kinds: Mapping[Any, ArrayKind]
    constants: Mapping[Any, Any]
    nodes: list[Node] = field(default_factory=list)
    values: dict[Any, Value] = field(default_factory=dict)
    uses: dict[Any, int] = field(default_factory=dict)
    transposed: dict[Value, Value] = field(default_factory=dict)  # of each value, the value in the other order

    def lower(self, calls: Sequence[PlanCall], inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Value]:
        """Add nodes for all calls, and return the values of the outputs."""
        for call in calls:
            for argument in call.args[1:] if call.name == "write" else call.args:
                if type(argument) is not dict and not isinstance(argument, list) and argument in self.kinds:
                    self.uses[argument] = self.uses.get(argument, 0) + 1
        for output in outputs:
            self.uses[output] = self.uses.get(output, 0) + 1
        for number, key in enumerate(inputs):
            self.values[key] = Value(self.kinds[key].shape, input=number)
        for call in calls:
            if call.name in ACTIVATIONS:
                self._activation(call)
            else:
                _LOWER[call.name](self, call)
        return [self.flat(self.values[output]) for output in outputs]

    # --- values ---

    def add(self, call: PlanCall, node: Node, order: str = "flat") -> None:
        self.nodes.append(node)
        self.values[call.result] = Value(self.kinds[call.result].shape, order, node)

    def unshared_node(self, key: Any) -> Node | None:
        """Return the node that computes a value, if the value has a single use, so that this use can become part of the node."""
        value = self.values[key]
        return value.node if value.node is not None and self.uses.get(key) == 1 and value.node.users == 0 else None

    def share(self, key: Any) -> None:
        """Let another key have the same node; if the value is used elsewhere, nothing may become part of the node."""
        if self.uses.get(key) != 1:
            _use(self.values[key])

    def flat(self, value: Value) -> Value:
        """Return a value in the order of its shape."""
        if value.order == "flat":
            return value
        batch, channels, height, width = value.shape
        if height * width == 1 or channels == 1:
            return Value(value.shape, "flat", value.node, value.input)
        return self._transposed(value, "to_first", (batch, height * width, channels), "flat")

    def last(self, value: Value) -> Value:
        """Return images with channels last."""
        batch, channels, height, width = value.shape
        if value.order == "last":
            return value
        if height * width == 1 or channels == 1:
            return Value(value.shape, "last", value.node, value.input)
        return self._transposed(value, "to_last", (batch, channels, height * width), "last")

    def _transposed(self, value: Value, kind: str, numbers: tuple[int, ...], order: str) -> Value:
        if value not in self.transposed:
            _use(value)
            node = Node(kind, [value], prod(value.shape), numbers)
            self.nodes.append(node)
            self.transposed[value] = Value(value.shape, order, node)
        return self.transposed[value]

    def constant(self, key: Any) -> Any:
        return None if key is None else np.asarray(self.constants[key], np.float32)

    # --- activations ---

    def _activation(self, call: PlanCall) -> None:
        activation = _described(call)
        node = self.unshared_node(call.args[0])
        if node is not None and node.activation == NO_ACTIVATION and node.kind in _WITH_ACTIVATION:
            node.activation = activation
            self.values[call.result] = self.values[call.args[0]]
            return
        value = self.values[call.args[0]]
        _use(value)
        node = Node("unary", [value], prod(value.shape), activation=activation)
        self.nodes.append(node)
        self.values[call.result] = Value(value.shape, value.order, node)


_WITH_ACTIVATION = frozenset({"product", "depthwise", "unary", "add", "multiply", "scale"})


def _use(*values: Value) -> None:
    for value in values:
        if value.node is not None:
            value.node.users += 1


def _described(call: PlanCall) -> tuple[str, float, float]:
    if call.name in ("hardtanh", "clamp"):
        low, high = call.args[1:3]
        return "clamp", -inf if low is None else float(low), inf if high is None else float(high)
    return call.name, 0.0, 0.0


# --- calls ---


def _convolution(graph: Graph, call: PlanCall) -> None:
    input, weight, bias, stride, padding, dilation, groups, *_ = call.args
    images, kernel = graph.last(graph.values[input]), graph.constant(weight)
    batch, channels, height, width = images.shape
    outputs, _, tall, wide = kernel.shape
    space = graph.kinds[call.result].shape[2:]
    _use(images)
    steps = (*stride, *padding, *dilation)
    if groups > 1:
        taps = kernel.reshape(outputs, tall * wide).T
        numbers = (batch, height, width, channels, *space, tall, wide, *steps)
        node = Node("depthwise", [images], batch * outputs * prod(space), numbers, taps, graph.constant(bias))
    else:
        matrix = kernel.transpose(2, 3, 1, 0).reshape(tall * wide * channels, outputs)
        is_plain = (tall, wide) == (1, 1) and steps[:4] == (1, 1, 0, 0)
        taps_count = 0 if is_plain else tall * wide
        numbers = (batch * prod(space), outputs, len(matrix), taps_count, height, width, channels, *space, tall, wide, *steps)
        node = Node("product", [images], batch * outputs * prod(space), numbers, matrix, graph.constant(bias))
    graph.add(call, node, "last")


def _product(graph: Graph, call: PlanCall, input: Any, matrix: Any, bias: Any) -> None:
    value = graph.flat(graph.values[input])
    _use(value)
    rows = prod(value.shape[:-1])
    graph.add(call, Node("product", [value], rows * matrix.shape[1], (rows, matrix.shape[1], len(matrix), 0), matrix, bias))


def _linear(graph: Graph, call: PlanCall) -> None:
    bias, input, weight = call.args
    _product(graph, call, input, graph.constant(weight).T, graph.constant(bias))


def _mm(graph: Graph, call: PlanCall) -> None:
    _product(graph, call, call.args[0], graph.constant(call.args[1]), None)


def _layer_norm(graph: Graph, call: PlanCall) -> None:
    value = graph.flat(graph.values[call.args[0]])
    _use(value)
    weight, bias = graph.constant(call.args[1]), graph.constant(call.args[2])
    numbers = prod(value.shape[:-1]), value.shape[-1]
    graph.add(call, Node("layer_norm", [value], prod(value.shape), numbers, weight, bias, call.args[6]))


def _fixed_norm(graph: Graph, call: PlanCall) -> None:
    """Fold batch normalization with running statistics into the weight before it, or add a depthwise convolution of 1 x 1."""
    weight, bias, mean, variance = (graph.constant(key) for key in call.args[1:5])
    scale = 1.0 / np.sqrt(variance.astype(np.float64) + call.args[6]).reshape(-1)
    scale = scale if weight is None else scale * weight.reshape(-1)
    shift = -mean.reshape(-1) * scale + (0.0 if bias is None else bias.reshape(-1))
    node, value = graph.unshared_node(call.args[0]), graph.values[call.args[0]]
    by_columns = value.order == "last" or value.shape[2:] == (1, 1)  # the columns of a product are its channels
    if node is not None and node.kind in ("product", "depthwise") and node.is_linear and by_columns:
        node.bias = (shift if node.bias is None else shift + node.bias * scale).astype(np.float32)
        node.weight = (node.weight * scale).astype(np.float32)
        graph.values[call.result] = value
        return
    images = graph.last(value)
    _use(images)
    batch, channels, height, width = images.shape
    numbers = (batch, height, width, channels, height, width, 1, 1, 1, 1, 0, 0, 1, 1)
    node = Node("depthwise", [images], prod(images.shape), numbers, scale.astype(np.float32)[None], shift.astype(np.float32))
    graph.add(call, node, "last")


def _add(graph: Graph, call: PlanCall) -> None:
    """Add one operand to a product as its residual, at the place of the sum; or add a node."""
    for key, other in (call.args, call.args[::-1]):
        node, value, residual = graph.unshared_node(key), graph.values[key], graph.values[other]
        if key is other or node is None or node.kind != "product" or not node.is_linear:
            continue
        residual = (graph.last if value.order == "last" else graph.flat)(residual)
        _use(residual)
        node.residual = residual
        graph.nodes.remove(node)
        graph.nodes.append(node)
        graph.values[call.result] = value
        return
    _both(graph, call, "add")


def _both(graph: Graph, call: PlanCall, kind: str) -> None:
    one, other = (graph.values[key] for key in call.args)
    if "last" in (one.order, other.order):
        one, other = graph.last(one), graph.last(other)
    _use(one, other)
    graph.add(call, Node(kind, [one, other], prod(one.shape), (prod(one.shape), 0)), one.order)


def _mul(graph: Graph, call: PlanCall) -> None:
    one, other = (graph.values[key] for key in call.args)
    if one.shape == other.shape:
        _both(graph, call, "multiply")
        return
    large, small = (graph.last(value) for value in sorted((one, other), key=lambda value: -prod(value.shape)))
    _use(large, small)
    batch, channels, height, width = large.shape
    numbers = (batch * height * width, channels, height * width)
    graph.add(call, Node("scale", [large, small], prod(large.shape), numbers), "last")


def _mean(graph: Graph, call: PlanCall) -> None:
    images = graph.last(graph.values[call.args[0]])
    _use(images)
    batch, channels, height, width = images.shape
    graph.add(call, Node("mean", [images], batch * channels, (batch, height * width, channels)))
    value = graph.values[call.result]
    graph.values[call.result] = Value(value.shape, "flat", value.node)


def _max_pool(graph: Graph, call: PlanCall) -> None:
    input, size, stride, padding, dilation, space = call.args
    images = graph.last(graph.values[input])
    _use(images)
    batch, channels, height, width = images.shape
    numbers = (batch, height, width, channels, *space, *size, *stride, *padding, *dilation)
    graph.add(call, Node("max_pool", [images], batch * channels * prod(space), numbers), "last")


def _view(graph: Graph, call: PlanCall) -> None:
    value, shape = graph.values[call.args[0]], graph.kinds[call.result].shape
    flat = graph.flat(value)
    if flat.node is value.node:  # not copied
        graph.share(call.args[0])
    graph.values[call.result] = Value(shape, "flat", flat.node, flat.input)


def _write(graph: Graph, call: PlanCall) -> None:
    graph.share(call.args[1])
    graph.values[call.result] = graph.values[call.args[1]]


_LOWER: dict[str, Callable[[Graph, PlanCall], None]] = {
    "convolution": _convolution, "linear": _linear, "mm": _mm, "layer_norm": _layer_norm, "fixed_norm": _fixed_norm, "add": _add,
    "mul": _mul, "mean": _mean, "max_pool2d": _max_pool, "view": _view, "reshape": _view, "permute": _view, "transpose": _view,
    "write": _write,
}  # fmt: skip
