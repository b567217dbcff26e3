"""The lines of a plan, which `c/plan.h` runs, and its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall, StaleWeights

from ..choice import FLOAT
from ..kernels import alone, kernels
from .lowering import KINDS, Graph, Node, Value, columns_of_blocks
from .memory import Lifetime, places
from .support import ACTIVATION_KINDS, is_key

__all__ = ["MOST_ARRAYS", "Plan"]

MOST_ARRAYS = 8  # inputs and outputs of a plan
_LINE = 32
_WIDTH = 32  # multiple of the columns of a panel, in every variant of the kernels
_LINE_OF_CACHE = 16  # elements
_GATES = (4, 3, 1, 1)  # of the kinds of recurrent layers
_SAMPLES = 4  # number of elements of a weight that each call compares, to notice writes that bypass version counters
_WEIGHTS, _ARENA, _FIRST_INPUT = 0, 1, 2  # buffers


class Plan:
    """Consecutive calls of an inference step, as one call.

    Args:
        calls: the calls.
        kinds: shape and dtype of each array.
        inputs, outputs: the keys of the arrays that the plan takes and returns.
        strides: the strides of the outputs in the captured call.

    Attributes:
        steps: the kinds of the nodes, in order, once prepared.
    """

    steps: list[str]

    def __init__(
        self,
        calls: Sequence[PlanCall],
        kinds: Mapping[Any, ArrayKind],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        strides: Sequence[tuple[int, ...] | None],
    ) -> None:
        self.calls, self.kinds, self.inputs, self.outputs = list(calls), dict(kinds), list(inputs), list(outputs)
        self.shapes = [kinds[key].shape for key in outputs]
        self._orders = [_order(shape, steps) for shape, steps in zip(self.shapes, strides, strict=True)]
        self._is_permuted = any(order is not None for order in self._orders)
        self._unused = [None] * (MOST_ARRAYS - len(inputs) - len(outputs))

    def prepare(self, constants: Mapping[Any, Any]) -> bool:
        alone()
        graph = Graph(self.kinds, constants)
        results = graph.lower(self.calls, self.inputs, self.outputs)
        used = dict.fromkeys(argument for call in self.calls for argument in call.args if is_key(argument, self.kinds))
        weights = [constants[key] for key in used if key in constants]
        self.steps = [node.kind for node in graph.nodes]
        self._prepared = _Prepared(graph.nodes, results, len(self.inputs), weights)
        return True

    def __call__(self, *inputs: Any) -> Any:
        results = [np.empty(shape, FLOAT) for shape in self.shapes]
        prepared = self._prepared  # another thread may prepare the plan again during this call
        try:
            arena = prepared.arenas.pop()
        except IndexError:
            arena = _aligned(prepared.arena_size)
        try:
            kernels.plan(prepared.lines, prepared.checks, prepared.weights, arena, *inputs, *results, *self._unused)
        except BufferError:  # of an input that is not contiguous or not aligned, or by `decline`
            if all(map(_is_usable, inputs)):
                raise StaleWeights from None
            return self(*[array if _is_usable(array) else array.copy("C") for array in inputs])
        finally:
            prepared.arenas.append(arena)
        if self._is_permuted:
            for number, order in enumerate(self._orders):
                if order is not None:
                    results[number] = results[number].transpose(order).copy().transpose(np.argsort(order))
        return results[0] if len(results) == 1 else tuple(results)


def _is_usable(array: Any) -> bool:
    flags = array.flags
    return bool(flags.c_contiguous and flags.aligned)


def _aligned(size: int) -> Any:
    """Return zeros at the start of a cache line: vectors that cross two lines are loaded at half the speed."""
    memory = np.zeros(size + _LINE_OF_CACHE, FLOAT)
    start = -memory.ctypes.data // FLOAT.itemsize % _LINE_OF_CACHE
    return memory[start : start + size]


class _Prepared:
    """The lines of a plan, its packed weights, and its arenas.

    Args:
        nodes: the nodes, in order.
        results: the values to return.
        inputs: the number of inputs.
        weights: the original weights, of which each call compares some elements.
    """

    def __init__(self, nodes: Sequence[Node], results: Sequence[Value], inputs: int, weights: Sequence[Any]) -> None:
        self._last: tuple[Node, Any] | None = None  # a node and its folded weight
        self._pieces: list[tuple[int, int, Callable[[Any], None]]] = []  # start, size and writer of each packed array
        self._length = 0
        self._originals = list(weights)  # keeps their memory, which `checks` refers to by address
        self.checks = _samples(weights)
        order = {id(node): number for number, node in enumerate(nodes)}
        last = dict(order)
        for number, node in enumerate(nodes):
            for value in (*node.inputs, *([] if node.residual is None else [node.residual])):
                if value.node is not None:
                    last[id(value.node)] = number
            if node.part_of is not None:
                last[id(node.part_of)] = number
        returned = {id(value.node): _FIRST_INPUT + inputs + number for number, value in enumerate(results)}
        inside = [node for node in nodes if id(node) not in returned and node.part_of is None]
        offsets, self.arena_size = places([Lifetime(node.size, order[id(node)], last[id(node)]) for node in inside])
        self._place = {id(node): (_ARENA << 40) | offset for node, offset in zip(inside, offsets, strict=True)}
        self._place.update({key: buffer << 40 for key, buffer in returned.items()})
        self._place.update({id(node): self._place[id(node.part_of)] + node.offset for node in nodes if node.part_of is not None})
        lines = []
        for node in nodes:
            lines += [self._line(node, group) for group in range(node.groups)]
        self.lines = np.zeros((len(lines), _LINE), np.int64)
        for line, numbers in zip(self.lines, lines, strict=True):
            line[: len(numbers)] = numbers
        self.weights = _aligned(self._length)
        for start, size, write in self._pieces:  # folded weights exist one at a time
            write(self.weights[start : start + size])
        self._pieces.clear()
        self._last = None
        self.arenas: list[Any] = []  # unused arenas: each call takes one, so that threads do not share it

    def _line(self, node: Node, group: int) -> list[int]:
        numbers = [KINDS.index(node.kind), self._place[id(node)], *self._parameters(node)]
        return self._of_group(node, group, numbers) if node.kind == "product" else numbers

    def _of_group(self, node: Node, group: int, numbers: list[int]) -> list[int]:
        """Complete the line of a product, which computes one group of a convolution."""
        columns, depth, channels = node.numbers[1], node.numbers[2], node.numbers[6] if node.groups > 1 else 0
        if _is_read_in_place(node):
            self._originals.append(node.weight)
            numbers[0], numbers[3:5] = KINDS.index("linear"), [node.weight.ctypes.data, self._stored(node.bias)]
            return numbers
        bias = None if node.bias is None else node.bias[group * columns : (group + 1) * columns]
        numbers[3:5] = [self._panels(node, depth, columns, group), self._stored(bias)]
        numbers[1] += group * columns
        numbers[2] += group * channels
        numbers[5] += group * columns if numbers[5] >= 0 else 0
        is_image = len(node.numbers) > 4
        pixel = node.numbers[6] * node.groups if is_image else depth
        return [*numbers, *[0] * (26 - len(numbers)), pixel, columns * node.groups]

    def _parameters(self, node: Node) -> list[int]:
        first, activation = self._address(node.inputs[0]), _activation(node)
        if node.kind == "product":
            residual = -1 if node.residual is None else self._address(node.residual)
            return [first, -1, -1, residual, *node.numbers[:3], *activation, *node.numbers[3:]]
        if node.kind == "strided":
            other = self._address(node.inputs[1]) if len(node.inputs) > 1 else -1
            numbers = [*node.numbers, *[0] * (25 - len(node.numbers))]
            return [first, other, *numbers, *activation]
        if node.kind == "attention":
            addresses = [self._address(value) for value in node.inputs]
            return [*addresses, *[-1] * (4 - len(addresses)), *node.numbers]
        if node.kind == "batched":
            return [first, self._address(node.inputs[1]), *node.numbers]
        if node.kind == "recurrent":
            kind, steps, batch, size, reverse, cells, keeps = node.numbers
            state = self._address(node.inputs[1])
            cell = self._address(node.inputs[2]) if len(node.inputs) > 2 else -1
            numbers = [
                state,
                cell,
                self._stored(node.bias),
                kind,
                steps,
                batch,
                size,
                reverse,
                self._place[id(node)] + cells,
                keeps,
            ]
            return [first, self._panels(node, size, columns_of_blocks(size, _GATES[kind])), *numbers]
        if node.kind == "depthwise":
            taps, channels = node.numbers[6] * node.numbers[7], node.numbers[3]
            return [first, self._panels(node, taps, channels), self._stored(node.bias), *node.numbers, *activation]
        if node.kind in ("max_pool", "average_pool"):
            return [first, -1, -1, *node.numbers]
        if node.kind == "layer_norm":
            epsilon = int(np.float32(node.epsilon).view(np.int32))
            return [first, self._stored(node.weight), *node.numbers, self._stored(node.bias), epsilon]
        if node.kind == "unary":
            return [first, -1, node.size, 0, *activation]
        if node.kind in ("add", "multiply"):
            return [first, self._address(node.inputs[1]), *node.numbers, *activation]
        if node.kind == "scale":
            return [first, self._address(node.inputs[1]), *node.numbers[:2], *activation, node.numbers[2]]
        return [first, *node.numbers]

    def _address(self, value: Value) -> int:
        if value.constant is not None:
            return self._stored(value.constant)
        place = self._place[id(value.node)] if value.node is not None else (_FIRST_INPUT + (value.input or 0)) << 40
        return place + value.offset

    def _stored(self, array: Any) -> int:
        """Append an array to the weights, and return its address; -1 for None."""
        if array is None:
            return -1

        def write(piece: Any) -> None:
            piece[: array.size] = array.reshape(-1)

        return self._append(-(-array.size // _LINE_OF_CACHE) * _LINE_OF_CACHE, write)

    def _panels(self, node: Node, depth: int, columns: int, group: int | None = None) -> int:
        """Append the weight of a node, or of one group, as panels of a matrix `(depth, column)`."""

        def write(piece: Any) -> None:
            if self._last is None or self._last[0] is not node:
                self._last = None
                self._last = node, node.scaled_weight()
            matrix = self._last[1] if group is None or node.groups == 1 else self._last[1][group]
            kernels.pack_panels(piece, matrix.astype(FLOAT, copy=False))

        return self._append(depth * (-(-columns // _WIDTH) * _WIDTH), write)

    def _append(self, size: int, write: Callable[[Any], None]) -> int:
        self._pieces.append((self._length, size, write))
        self._length += size
        return (_WEIGHTS << 40) | (self._length - size)


def _is_read_in_place(node: Node) -> bool:
    """Whether a product reads its weight from the memory of the parameter, which is `(column, depth)` and not scaled."""
    if len(node.numbers) > 4 or node.scale is not None or callable(node.weight):
        return False
    return bool(node.weight.T.flags.c_contiguous and node.weight.flags.aligned)


def _samples(arrays: Sequence[Any]) -> Any:
    """Return addresses and bits of some elements of each array."""
    pairs = []
    for array in arrays:
        if array.itemsize != 4:  # a mask: compare 4 bytes at a time
            if array.flags.c_contiguous and array.ctypes.data % 4 == 0:
                array = array.reshape(-1).view(np.uint8)[: array.nbytes // 4 * 4].view(np.int32)
            else:
                continue
        for number in range(min(_SAMPLES, array.size)):
            index = np.unravel_index(number * (array.size - 1) // max(1, _SAMPLES - 1), array.shape)
            offset = sum(int(position) * step for position, step in zip(index, array.strides, strict=True))
            pairs.append((array.ctypes.data + offset, int(array[index].view(np.int32))))
    return np.array(pairs, np.int64).reshape(-1, 2)


def _order(shape: Sequence[int], strides: Sequence[int] | None) -> list[int] | None:
    """Return the dimensions from the longest to the shortest stride; None for an array in the order of its shape."""
    if strides is None:
        return None
    order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
    kept = [dim for dim in order if shape[dim] > 1]
    return None if kept == sorted(kept) else order


def _activation(node: Node) -> list[int]:
    kind, low, high = node.activation
    number = ACTIVATION_KINDS.index(kind)
    return [number, int(np.float32(low).view(np.int32)), int(np.float32(high).view(np.int32))]
