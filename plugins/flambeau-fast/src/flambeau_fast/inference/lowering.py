"""Calls of an inference step as nodes: batch normalization is folded, and activations and residuals become part of products.

Images are channels-last in a plan.  A value is `flat` (the order of its shape), `last` (images with channels last), or `strided`,
such as the heads of a projection.  Views are resolved: they are values of the same node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall

from .strides import collapsed, contiguous, is_contiguous, is_permuted, order_of, ordered, selected, viewed
from .support import ACTIVATIONS, is_key

__all__ = ["KINDS", "Graph", "Node", "Value", "columns_of_blocks"]

# the order of the enumeration in `c/plan.h`
KINDS = (
    "product", "linear", "depthwise", "mean", "max_pool", "to_last", "to_first", "unary", "add", "multiply", "scale",
    "layer_norm", "average_pool", "strided", "softmax", "batched", "attention", "recurrent",
)  # fmt: skip
NO_ACTIVATION = ("", 0.0, 0.0)
_OPERATIONS = ("copy", "add", "sub", "mul", "div")
_LAST = (0, 2, 3, 1)  # dimensions of images in memory
_LEAST_COLUMNS = 16  # of a product: groups of a convolution with fewer are merged, because vectors have as many elements


@dataclass(eq=False, slots=True)
class Value:
    """An array: the node that computes it (None for an input or a constant), its shape, and the order of its elements.

    A view starts at element `offset` of the result of the node.  `strides` are those of a `strided` value.
    """

    shape: tuple[int, ...]
    order: str = "flat"
    node: Node | None = None
    input: int | None = None
    offset: int = 0
    strides: tuple[int, ...] = ()
    constant: Any = None

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, in elements."""
        if self.order == "strided":
            return self.strides
        return ordered(self.shape, _LAST) if self.order == "last" else contiguous(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether the value contains all results of its node, in the order of memory."""
        return self.node is not None and self.order != "strided" and self.node.size == prod(self.shape)


@dataclass(eq=False, slots=True)
class Node:
    """A step of the plan."""

    kind: str
    inputs: list[Value]
    size: int  # number of elements of the result
    numbers: tuple[int, ...] = ()
    weight: Any = None  # an array, or a function that returns a new array
    scale: Any = None  # factors of the columns of the weight
    bias: Any = None
    epsilon: float = 0.0
    activation: tuple[str, float, float] = NO_ACTIVATION
    residual: Value | None = None
    users: int = 0
    groups: int = 1  # of a convolution, each with a weight
    part_of: Node | None = None  # the node that has the memory for the result, if it is a part of a larger array
    offset: int = 0  # in that memory

    @property
    def is_linear(self) -> bool:
        """Whether nothing follows the product."""
        return self.activation == NO_ACTIVATION and self.residual is None

    @property
    def columns(self) -> int:
        """The number of columns of a product, or of channels of a depthwise convolution."""
        return self.groups * self.numbers[1] if self.kind == "product" else self.numbers[3]

    def scale_columns(self, scale: Any) -> None:
        """Multiply the weight and the bias of a product or convolution."""
        self.scale = scale if self.scale is None else self.scale * scale
        self.bias = None if self.bias is None else (self.bias * scale).astype(np.float32)

    def scaled_weight(self) -> Any:
        """Return the weight, multiplied by the scale.  Called when the weight is packed, so that one scaled weight exists."""
        weight = self.weight() if callable(self.weight) else self.weight
        if self.scale is None:
            return weight
        scale = self.scale.reshape(self.groups, 1, -1) if self.groups > 1 else self.scale
        out = weight if callable(self.weight) else np.empty(weight.shape, np.float32)
        return np.multiply(weight, scale, out=out, casting="same_kind")


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
                if is_key(argument, self.kinds):
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
        results: list[Value] = []
        for output in outputs:
            value = self.flat(self.values[output])
            is_returned = any(other.node is value.node for other in results)
            results.append(self.copied(value) if is_returned or value.offset or not value.is_whole else value)
        return results

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

    def operand(self, key: Any) -> Value:
        """Return the value of an argument, which may be a constant."""
        if key in self.values:
            return self.values[key]
        array = np.asarray(self.constants[key])
        if array.dtype == bool:  # a mask
            array = np.where(array, np.float32(0), np.float32(-inf))
        array = np.ascontiguousarray(array, np.float32)
        return Value(self.kinds[key].shape, constant=array.reshape(self.kinds[key].shape))

    def view(self, key: Any, result: Any, shape: Sequence[int], steps: Sequence[int], offset: int = 0) -> None:
        """Let `result` be a view of the value of `key`."""
        value, is_all = self.values[key], prod(shape) == prod(self.values[key].shape)
        if is_all:
            self.share(key)
        else:
            _use(value)  # nothing that follows a part may become part of the node
        self.values[result] = _view_of(value, tuple(shape), tuple(steps), value.offset + offset)

    def flat(self, value: Value) -> Value:
        """Return a value in the order of its shape."""
        if value.order == "flat":
            return value
        if is_contiguous(value.shape, value.steps):
            return replace(value, order="flat", strides=())
        if value.order == "last" and value.offset == 0:
            batch, channels, height, width = value.shape
            return self._transposed(value, "to_first", (batch, height * width, channels), "flat")
        return self.copied(value)

    def last(self, value: Value) -> Value:
        """Return images with channels last."""
        batch, channels, height, width = value.shape
        if value.order == "last":
            return value
        if value.constant is not None:
            return Value(value.shape, "last", constant=np.ascontiguousarray(value.constant.transpose(_LAST)))
        if height * width == 1 or channels == 1:
            return replace(self.flat(value), order="last")
        if value.order == "strided":
            return self.copied(value, _LAST)
        return self._transposed(value, "to_last", (batch, channels, height * width), "last")

    def copied(self, value: Value, dims: Sequence[int] | None = None) -> Value:
        """Return a copy that is contiguous if its dimensions are in the given order."""
        dims = range(len(value.shape)) if dims is None else dims
        node = self.strided(value.shape, dims, "copy", value)
        return _view_of(Value(value.shape, node=node), value.shape, ordered(value.shape, dims), 0)

    def strided(self, shape: Sequence[int], dims: Sequence[int], operation: str, *inputs: Value) -> Node:
        """Add an element-wise node of broadcast inputs; its result is contiguous in the given order of dimensions."""
        _use(*inputs)
        steps = [ordered(shape, dims), *[_broadcast(value, len(shape)) for value in inputs], (0,) * len(shape)]
        numbers = collapsed([shape[dim] for dim in dims], *[[one[dim] for dim in dims] for one in steps[:3]])
        node = Node("strided", list(inputs), prod(shape), (_OPERATIONS.index(operation), *numbers))
        self.nodes.append(node)
        return node

    def rows(self, value: Value) -> tuple[Value, list[int]]:
        """Return a value whose rows are contiguous and adjacent, and the order of its dimensions in memory."""
        if value.order != "flat" and is_permuted(value.shape, value.steps):
            return value, [*order_of(value.steps[:-1]), len(value.shape) - 1]
        return self.flat(value), list(range(len(value.shape)))

    def add_rows(self, call: PlanCall, node: Node, dims: Sequence[int]) -> None:
        """Add a node whose result has its rows in the given order."""
        self.add(call, node)
        value = self.values[call.result]
        self.values[call.result] = _view_of(value, value.shape, ordered(value.shape, dims), 0)

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
        if value.order == "strided":
            value = self.copied(value)
            value.node.activation = activation  # type: ignore[union-attr]
            self.values[call.result] = value
            return
        _use(value)
        node = Node("unary", [value], prod(value.shape), activation=activation)
        self.nodes.append(node)
        self.values[call.result] = Value(value.shape, value.order, node)


_WITH_ACTIVATION = frozenset({"product", "depthwise", "unary", "add", "multiply", "scale", "strided"})


def _view_of(value: Value, shape: tuple[int, ...], steps: tuple[int, ...], offset: int) -> Value:
    order = "strided"
    if is_contiguous(shape, steps):
        order = "flat"
    elif len(shape) == 4 and is_contiguous([shape[dim] for dim in _LAST], [steps[dim] for dim in _LAST]):
        order = "last"
    return replace(value, shape=shape, order=order, offset=offset, strides=steps if order == "strided" else ())


def _broadcast(value: Value, dims: int) -> tuple[int, ...]:
    """Return strides for a shape with more dimensions, 0 where elements are repeated."""
    steps = [0 if size == 1 else step for size, step in zip(value.shape, value.steps, strict=True)]
    return (0,) * (dims - len(steps)) + tuple(steps)


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
    size = batch * outputs * prod(space)
    if groups == channels == outputs and groups > 1:
        taps = kernel.reshape(outputs, tall * wide).T
        numbers = (batch, height, width, channels, *space, tall, wide, *steps)
        node = Node("depthwise", [images], size, numbers, taps, bias=graph.constant(bias))
    else:
        merged = _merged(outputs, groups)
        is_plain = (tall, wide) == (1, 1) and steps[:4] == (1, 1, 0, 0)
        taps_count, groups = 0 if is_plain else tall * wide, groups // merged
        numbers = (
            batch * prod(space),
            outputs // groups,
            tall * wide * channels // groups,
            taps_count,
            height,
            width,
            channels // groups,
            *space,
            tall,
            wide,
            *steps,
        )
        matrices = partial(_matrices, kernel, groups, merged)
        node = Node("product", [images], size, numbers, matrices, bias=graph.constant(bias), groups=groups)
    graph.add(call, node, "last")


def _merged(outputs: int, groups: int) -> int:
    """Return the number of groups of a convolution that are merged to one, because they have few outputs."""
    merged = 1
    while groups % (2 * merged) == 0 and 2 * merged * outputs // groups <= _LEAST_COLUMNS:
        merged *= 2
    return merged


def _matrices(kernel: Any, groups: int, merged: int) -> Any:
    """Return the weight of each of `groups` groups, after merging, as `(group, tap and channel, output)`."""
    outputs, channels, tall, wide = kernel.shape
    size = outputs // groups // merged
    parts = kernel.reshape(groups, merged, size, channels, tall, wide).transpose(0, 1, 4, 5, 3, 2)
    result = np.zeros((groups, tall, wide, merged, channels, merged, size), np.float32)
    for part in range(merged):
        result[:, :, :, part, :, part] = parts[:, part]
    result = result.reshape(groups, tall * wide * merged * channels, merged * size)
    return result if groups > 1 else result[0]


def _product(graph: Graph, call: PlanCall, input: Any, matrix: Any, bias: Any) -> None:
    value, dims = graph.rows(graph.values[input])
    _use(value)
    rows, (depth, columns) = prod(value.shape[:-1]), matrix.shape
    graph.add_rows(call, Node("product", [value], rows * columns, (rows, columns, depth, 0), matrix, bias=bias), dims)


def _linear(graph: Graph, call: PlanCall) -> None:
    bias, input, weight = call.args
    _product(graph, call, input, graph.constant(weight).T, graph.constant(bias))


def _mm(graph: Graph, call: PlanCall) -> None:
    _product(graph, call, call.args[0], graph.constant(call.args[1]), None)


def _layer_norm(graph: Graph, call: PlanCall) -> None:
    value, dims = graph.rows(graph.values[call.args[0]])
    _use(value)
    weight, bias = graph.constant(call.args[1]), graph.constant(call.args[2])
    numbers = prod(value.shape[:-1]), value.shape[-1]
    graph.add_rows(call, Node("layer_norm", [value], prod(value.shape), numbers, weight, bias=bias, epsilon=call.args[6]), dims)


def _softmax(graph: Graph, call: PlanCall) -> None:
    value, dims = graph.rows(graph.values[call.args[0]])
    _use(value)
    graph.add_rows(call, Node("softmax", [value], prod(value.shape), (prod(value.shape[:-1]), value.shape[-1])), dims)


def _fixed_norm(graph: Graph, call: PlanCall) -> None:
    """Fold batch normalization with running statistics into the weight before it, or add a depthwise convolution of 1 x 1."""
    weight, bias, mean, variance = (graph.constant(key) for key in call.args[1:5])
    scale = 1.0 / np.sqrt(variance.astype(np.float64) + call.args[6]).reshape(-1)
    scale = scale if weight is None else scale * weight.reshape(-1)
    shift = -mean.reshape(-1) * scale + (0.0 if bias is None else bias.reshape(-1))
    node, value = graph.unshared_node(call.args[0]), graph.values[call.args[0]]
    by_columns = value.is_whole and (value.order == "last" or value.shape[2:] == (1, 1))  # the last dimension is the channel
    if (
        node is not None
        and node.kind in ("product", "depthwise")
        and by_columns
        and node.columns == len(scale)
        and node.is_linear
    ):
        node.scale_columns(scale)
        node.bias = (shift if node.bias is None else shift + node.bias).astype(np.float32)
        graph.values[call.result] = value
        return
    images = graph.last(value)
    _use(images)
    batch, channels, height, width = images.shape
    numbers = (batch, height, width, channels, height, width, 1, 1, 1, 1, 0, 0, 1, 1)
    node = Node("depthwise", [images], prod(images.shape), numbers, scale.astype(np.float32)[None], bias=shift.astype(np.float32))
    graph.add(call, node, "last")


def _add(graph: Graph, call: PlanCall) -> None:
    """Add one operand to a product as its bias, or as its residual at the place of the sum; or add a node."""
    shape = graph.kinds[call.result].shape
    for key, other in (call.args, call.args[::-1]):
        node = graph.unshared_node(key) if key in graph.values else None
        if key is other or node is None or node.kind != "product" or not node.is_linear or not graph.values[key].is_whole:
            continue
        value, residual = graph.values[key], graph.operand(other)
        if value.shape != shape:
            continue
        if residual.constant is not None and _is_of_columns(value, node, residual):
            node.bias = residual.constant.reshape(-1) + (0.0 if node.bias is None else node.bias)
        elif residual.shape == shape and value.order != "strided":
            residual = (graph.last if value.order == "last" else graph.flat)(residual)
            _use(residual)
            node.residual = residual
            graph.nodes.remove(node)
            graph.nodes.append(node)
        else:
            continue
        graph.values[call.result] = value
        return
    _both(graph, call)


def _is_of_columns(value: Value, node: Node, constant: Value) -> bool:
    """Whether a constant has one element per column of a product."""
    return value.order == "flat" and node.columns == value.shape[-1] == prod(constant.shape) == constant.shape[-1:][0]


def _both(graph: Graph, call: PlanCall) -> None:
    one, other = (graph.operand(key) for key in call.args)
    shape, is_last = graph.kinds[call.result].shape, "last" in (one.order, other.order)
    dims = _LAST if is_last and len(shape) == 4 else range(len(shape))
    if one.shape == other.shape and is_last:
        one, other = graph.last(one), graph.last(other)
    if one.shape == other.shape and one.order == other.order != "strided" and call.name in ("add", "mul"):
        kind = "add" if call.name == "add" else "multiply"
        _use(one, other)
        graph.add(call, Node(kind, [one, other], prod(one.shape), (prod(one.shape), 0)), one.order)
        return
    node = graph.strided(shape, dims, call.name, one, other)
    graph.values[call.result] = _view_of(Value(shape, node=node), shape, ordered(shape, dims), 0)


def _mul(graph: Graph, call: PlanCall) -> None:
    one, other = (graph.operand(key) for key in call.args)
    for key, factor in ((call.args[0], other), (call.args[1], one)):
        node = graph.unshared_node(key) if factor.constant is not None else None
        if node is None or node.kind != "product" or not node.is_linear or not graph.values[key].is_whole or node.groups > 1:
            continue
        if prod(factor.shape) == 1 or _is_of_columns(graph.values[key], node, factor):
            node.scale_columns(np.broadcast_to(factor.constant.reshape(-1), (node.columns,)))
            graph.values[call.result] = graph.values[key]
            return
    large, small = sorted((one, other), key=lambda value: -prod(value.shape))
    if len(large.shape) != 4 or small.shape != (*large.shape[:2], 1, 1) or large.shape == small.shape:
        _both(graph, call)
        return
    large, small = graph.last(large), graph.last(small)
    _use(large, small)
    batch, channels, height, width = large.shape
    numbers = (batch * height * width, channels, height * width)
    graph.add(call, Node("scale", [large, small], prod(large.shape), numbers), "last")


def _bmm(graph: Graph, call: PlanCall) -> None:
    one, other = (graph.operand(key) for key in call.args)
    _use(one, other)
    shape = (1, *graph.kinds[call.result].shape)[-4:]
    steps = [(0, *value.steps)[-4:] for value in (one, other)]
    node = Node("batched", [one, other], prod(shape), (*shape, one.shape[-1], *steps[0], *steps[1]))
    graph.add(call, node)


def _attention(graph: Graph, call: PlanCall) -> None:
    query, key, value, mask, causal, scale, *_ = call.args
    inputs = [graph.operand(argument) for argument in (query, key, value)]
    inputs = [one if one.steps[3] == 1 and one.steps[2] > 0 else graph.copied(one) for one in inputs]
    (batch, heads, rows, features), keys, width = inputs[0].shape, inputs[1].shape[2], inputs[2].shape[3]
    shape, dims = (batch, heads, rows, width), (0, 2, 1, 3)  # each row of the result contains all heads
    steps = ordered(shape, dims)
    inputs += [] if mask is None else [graph.operand(mask)]
    _use(*inputs)
    bias = (0, 0, 0, 0) if mask is None else _broadcast(inputs[3], 4)
    numbers = (*shape[:3], keys, features, width, *steps[:3], *[step for one in inputs[:3] for step in one.steps[:3]], *bias)
    node = Node("attention", inputs, prod(shape), (int(causal), int(np.float32(scale).view(np.int32)), *numbers))
    graph.add(call, node)
    graph.values[call.result] = _view_of(graph.values[call.result], shape, steps, 0)


# --- recurrent layers ---

_UNITS, _COLUMNS = 32, 128  # of a block; also in `c/plan_sequences.h`


def columns_of_blocks(size: int, gates: int) -> int:
    """Return the number of columns of the packed weight of a recurrent layer with `size` units."""
    units = _UNITS if gates > 1 else _COLUMNS
    return -(-size // units) * units * gates


def _by_blocks(weight: Any, gates: int) -> Any:
    """Return a weight or bias `(gate and unit, ...)` as `(block of units, gate, unit in block, ...)`, padded with zeros."""
    units = _UNITS if gates > 1 else _COLUMNS
    size = len(weight) // gates
    blocks = -(-size // units)
    result = np.zeros((gates, blocks * units, *weight.shape[1:]), np.float32)
    result[:, :size] = weight.reshape(gates, size, *weight.shape[1:])
    result = result.reshape(gates, blocks, units, *weight.shape[1:]).swapaxes(0, 1)
    return result.reshape(-1, *weight.shape[1:])


def _transposed_blocks(weight: Any, gates: int) -> Any:
    return _by_blocks(weight, gates).T


def _recurrent(graph: Graph, call: PlanCall) -> None:
    """Add an LSTM, GRU or Elman layer; the memory of the cells follows that of the output."""
    if call.name == "lstm_layer":
        gates, h, c, weight, reverse, _ = call.args
        kind, number, bias = 0, 4, None
    elif call.name == "gru_layer":
        gates, h, weight, bias, reverse, _ = call.args
        kind, number, c = 1, 3, None
    else:
        gates, h, weight, relu, reverse = call.args
        kind, number, c, bias = 3 if relu else 2, 1, None, None
    inputs = [graph.flat(graph.operand(key)) for key in (gates, h, c) if key is not None]
    _use(*inputs)
    steps, (batch, size) = inputs[0].shape[0], inputs[1].shape
    added = np.zeros(len(graph.constant(weight))) if bias is None and number == 3 else graph.constant(bias)
    elements, result = steps * batch * size, call.result[0] if c is not None else call.result
    keeps = c is not None and graph.uses.get(call.result[1], 0) > 0
    cells = 0 if c is None else elements if keeps else batch * size
    numbers = (kind, steps, batch, size, int(reverse), elements, int(keeps))
    node = Node("recurrent", inputs, elements + cells, numbers, partial(_transposed_blocks, graph.constant(weight), number))
    node.bias = None if added is None else _by_blocks(added, number)
    graph.nodes.append(node)
    graph.values[result] = Value(graph.kinds[result].shape, node=node)
    if keeps:
        graph.values[call.result[1]] = Value(graph.kinds[result].shape, node=node, offset=elements)


def _mean(graph: Graph, call: PlanCall) -> None:
    if len(graph.values[call.args[0]].shape) == 3:  # of positions
        value = graph.flat(graph.values[call.args[0]])
        _use(value)
        graph.add(call, Node("mean", [value], value.shape[0] * value.shape[2], value.shape))
        return
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


def _average_pool(graph: Graph, call: PlanCall) -> None:
    input, size, stride, padding, space, includes_padding, divisor = call.args
    images = graph.last(graph.values[input])
    _use(images)
    batch, channels, height, width = images.shape
    numbers = (batch, height, width, channels, *space, *size, *stride, *padding, 1, 1, int(includes_padding), int(divisor or 0))
    graph.add(call, Node("average_pool", [images], batch * channels * prod(space), numbers), "last")


# --- views ---


def _view(graph: Graph, call: PlanCall) -> None:
    key, shape = call.args[0], graph.kinds[call.result].shape
    value = graph.values[key]
    steps = viewed(value.shape, value.steps, shape)
    if steps is not None:
        graph.view(key, call.result, shape, steps)
    else:
        graph.values[call.result] = replace(graph.flat(value), shape=shape)


def _permute(graph: Graph, call: PlanCall) -> None:
    _select(graph, call, lambda array: array.transpose(call.args[1]))


def _transpose(graph: Graph, call: PlanCall) -> None:
    _select(graph, call, lambda array: array.swapaxes(call.args[1], call.args[2]))


def _expand(graph: Graph, call: PlanCall) -> None:
    _select(graph, call, lambda array: np.broadcast_to(array, graph.kinds[call.result].shape))


def _getitem(graph: Graph, call: PlanCall) -> None:
    _select(graph, call, lambda array: array[call.args[1]])


def _select(graph: Graph, call: PlanCall, select: Callable[[Any], Any], result: Any = None) -> None:
    value = graph.values[call.args[0]]
    offset, shape, steps = selected(value.shape, value.steps, select)
    graph.view(call.args[0], call.result if result is None else result, shape, steps, offset)


def _unbind(graph: Graph, call: PlanCall) -> None:
    for number, result in enumerate(call.result):
        _select(graph, call, lambda array, number=number: np.moveaxis(array, call.args[1], 0)[number], result)


def _split(graph: Graph, call: PlanCall) -> None:
    _, sizes, dim = call.args
    starts = np.cumsum((0, *sizes))
    for start, size, result in zip(starts, sizes, call.result, strict=False):
        part = slice(int(start), int(start) + size)
        _select(graph, call, lambda array, part=part: np.moveaxis(np.moveaxis(array, dim, 0)[part], 0, dim), result)


def _contiguous(graph: Graph, call: PlanCall) -> None:
    value = graph.flat(graph.values[call.args[0]])
    if value.node is graph.values[call.args[0]].node:
        graph.share(call.args[0])
    graph.values[call.result] = value


def _concatenate(graph: Graph, call: PlanCall) -> None:
    """Copy each part to its place in the memory of the first part's node."""
    shape, dim = graph.kinds[call.result].shape, call.kwargs["dim"] % len(graph.kinds[call.result].shape)
    values = [graph.operand(key) for key in call.args]
    dims = _LAST if len(shape) == 4 and any(value.order == "last" for value in values) else range(len(shape))
    steps, start, first = ordered(shape, dims), 0, None
    for value in values:
        part, of_value = value.shape, value.steps
        if call.name == "stack":
            part, of_value = (*part[:dim], 1, *part[dim:]), (*of_value[:dim], 0, *of_value[dim:])
        _use(value)
        numbers = collapsed(*[[numbers[axis] for axis in dims] for numbers in (part, steps, of_value, (0,) * len(shape))])
        node = Node("strided", [value], prod(shape), (0, *numbers), part_of=first, offset=start * steps[dim])
        graph.nodes.append(node)
        first = first or node
        start += part[dim]
    result = Value(shape, node=first)
    _use(result)  # what follows cannot become part of the first copy
    graph.values[call.result] = _view_of(result, shape, steps, 0)


def _write(graph: Graph, call: PlanCall) -> None:
    graph.share(call.args[1])
    graph.values[call.result] = graph.values[call.args[1]]


_LOWER: dict[str, Callable[[Graph, PlanCall], None]] = {
    "convolution": _convolution, "linear": _linear, "mm": _mm, "layer_norm": _layer_norm, "fixed_norm": _fixed_norm, "add": _add,
    "mul": _mul, "sub": _both, "div": _both, "mean": _mean, "max_pool2d": _max_pool, "avg_pool2d_windows": _average_pool,
    "view": _view, "reshape": _view, "unsqueeze": _view, "squeeze": _view, "permute": _permute, "transpose": _transpose,
    "expand": _expand, "getitem_select": _getitem, "unbind": _unbind, "split": _split, "contiguous": _contiguous,
    "cat": _concatenate, "stack": _concatenate, "write": _write, "softmax": _softmax, "bmm": _bmm, "attention": _attention,
    "lstm_layer": _recurrent, "gru_layer": _recurrent, "elman_layer": _recurrent,
}  # fmt: skip
