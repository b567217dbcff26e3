"""The lines of a plan, which `c/plan.h` runs, and its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flambeau.backend import ArrayKind, PlanCall, StaleWeights

from ..choice import FLOAT
from ..kernels import alone, kernels, optional
from .lowering import ACTIVATION_KINDS, KINDS, Graph, Node, Value
from .memory import Lifetime, places

__all__ = ["MOST_ARRAYS", "Plan"]

MOST_ARRAYS = 8  # inputs and outputs of a plan
_LINE = 32
_WIDTH = 128  # multiple of the columns of a panel, in every variant of the kernels
_SAMPLES = 4  # number of elements of a weight that each call compares, to notice writes that bypass version counters
_WEIGHTS, _ARENA, _FIRST_INPUT = 0, 1, 2  # buffers


class Plan:
    """Consecutive calls of an inference step, as one call.

    Args:
        calls: the calls.
        kinds: shape and dtype of each array.
        inputs, outputs: the keys of the arrays that the plan takes and returns.
        strides: the strides of the outputs in the captured call.
    """

    def __init__(
        self,
        calls: Sequence[PlanCall],
        kinds: Mapping[Any, ArrayKind],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        strides: Sequence[tuple[int, ...]],
    ) -> None:
        self.calls, self.kinds, self.inputs, self.outputs = list(calls), dict(kinds), list(inputs), list(outputs)
        self.shapes = [kinds[key].shape for key in outputs]
        self._orders = [_order(shape, steps) for shape, steps in zip(self.shapes, strides, strict=True)]

    def prepare(self, constants: Mapping[Any, Any]) -> bool:
        alone()
        graph = Graph(self.kinds, constants)
        results = graph.lower(self.calls, self.inputs, self.outputs)
        self.nodes = graph.nodes
        if any(value.node is None for value in results) or len({id(value.node) for value in results}) < len(results):
            return False  # an output is an input, or the same array as another one
        used = dict.fromkeys(argument for call in self.calls for argument in call.args if type(argument) is not list)
        self._samples([constants[key] for key in used if key in constants])
        self._write_lines(results)
        return True

    def _samples(self, arrays: Sequence[Any]) -> None:
        """Store addresses and bits of some elements of each weight."""
        pairs = []
        for array in arrays:
            for number in range(min(_SAMPLES, array.size)):
                index = np.unravel_index(number * (array.size - 1) // max(1, _SAMPLES - 1), array.shape)
                offset = sum(int(position) * step for position, step in zip(index, array.strides, strict=True))
                pairs.append((array.ctypes.data + offset, int(array[index].view(np.int32))))
        self._sampled = list(arrays)  # keeps their memory
        self._checks = np.array(pairs, np.int64).reshape(-1, 2)

    # --- lines ---

    def _write_lines(self, results: Sequence[Value]) -> None:
        order = {id(node): number for number, node in enumerate(self.nodes)}
        last = {id(node): number for number, node in enumerate(self.nodes)}
        for number, node in enumerate(self.nodes):
            for value in (*node.inputs, *([] if node.residual is None else [node.residual])):
                if value.node is not None:
                    last[id(value.node)] = number
        returned = {id(value.node): _FIRST_INPUT + len(self.inputs) + number for number, value in enumerate(results)}
        inside = [node for node in self.nodes if id(node) not in returned]
        offsets, size = places([Lifetime(node.size, order[id(node)], last[id(node)]) for node in inside])
        self._place = {id(node): (_ARENA << 40) | offset for node, offset in zip(inside, offsets, strict=True)}
        self._place.update({key: buffer << 40 for key, buffer in returned.items()})
        self._packed: list[Any] = []
        self._length = 0
        lines = np.full((len(self.nodes), _LINE), 0, np.int64)
        for line, node in zip(lines, self.nodes, strict=True):
            numbers = [KINDS.index(node.kind), self._place[id(node)], *self._parameters(node)]
            line[: len(numbers)] = numbers
        self._lines = lines
        self._weights = np.concatenate(self._packed) if self._packed else np.zeros(0, FLOAT)
        self._packed = []
        self._arena_size = size
        self._arenas: list[Any] = []  # one for each thread that runs the plan at the same time
        self._unused = [optional(None)] * (MOST_ARRAYS - len(self.inputs) - len(self.outputs))

    def _parameters(self, node: Node) -> list[int]:
        first, activation = self._address(node.inputs[0]), _activation(node)
        if node.kind == "product":
            bias, weight = self._stored(node.bias), self._panels(node.weight)
            residual = -1 if node.residual is None else self._address(node.residual)
            return [first, weight, bias, residual, *node.numbers[:3], *activation, *node.numbers[3:]]
        if node.kind == "depthwise":
            return [first, self._stored(node.weight), self._stored(node.bias), *node.numbers, *activation]
        if node.kind == "max_pool":
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
        return self._place[id(value.node)] if value.node is not None else (_FIRST_INPUT + (value.input or 0)) << 40

    def _stored(self, array: Any) -> int:
        """Append an array to the weights, and return its address; -1 for None."""
        if array is None:
            return -1
        padded = np.zeros(-(-array.size // 16) * 16, FLOAT)
        padded[: array.size] = array.reshape(-1)
        return self._append(padded)

    def _panels(self, matrix: Any) -> int:
        """Append a matrix `(depth, column)` as panels."""
        panels = np.zeros(len(matrix) * (-(-matrix.shape[1] // _WIDTH) * _WIDTH), FLOAT)
        kernels.pack_panels(panels, matrix.astype(FLOAT, copy=False))
        return self._append(panels)

    def _append(self, array: Any) -> int:
        self._packed.append(array)
        self._length += array.size
        return (_WEIGHTS << 40) | (self._length - array.size)

    # --- the call ---

    def __call__(self, *inputs: Any) -> Any:
        arrays = [array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in inputs]
        results = [np.empty(shape, FLOAT) for shape in self.shapes]
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = np.empty(self._arena_size, FLOAT)
        try:
            kernels.plan(self._lines, self._checks, self._weights, arena, *arrays, *results, *self._unused)
        except BufferError:
            raise StaleWeights from None
        finally:
            self._arenas.append(arena)
        for number, order in enumerate(self._orders):
            if order is not None:
                results[number] = results[number].transpose(order).copy().transpose(np.argsort(order))
        return results[0] if len(results) == 1 else tuple(results)


def _order(shape: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """Return the dimensions from the longest to the shortest stride; None for an array in the order of its shape."""
    order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
    kept = [dim for dim in order if shape[dim] > 1]
    return None if kept == sorted(kept) else order


def _activation(node: Node) -> list[int]:
    kind, low, high = node.activation
    number = ACTIVATION_KINDS.index(kind)
    return [number, int(np.float32(low).view(np.int32)), int(np.float32(high).view(np.int32))]
