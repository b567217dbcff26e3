"""The derivative of a recorded function: its backward is recorded behind it, and replayed as one node of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..tape.engine import edge_of, run
from ..tape.grad_mode import is_grad_enabled
from ..tape.node import RELEASED, Node, Output, next_seq
from ..tensors.tensor import Tensor, wrap
from .program import Program
from .recorder import Reference
from .recording import NotCapturable, Recording

__all__ = ["CompiledFunctionBackward", "RecordedBackward", "record_backward"]


@dataclass(slots=True)
class RecordedBackward:
    """Where the backward stands in what has been recorded.

    Attributes:
        outputs: the positions of the differentiable ones among the results.
        gradients: the values that stand for their gradients.
        inputs: the tensors from outside that get gradients.
        results: the values of those gradients; None for what no gradient reaches.
        first: the number of the first call of the backward.
    """

    outputs: list[int]
    gradients: list[Reference]
    inputs: list[Tensor]
    results: list[Reference | None]
    first: int


def record_backward(recording: Recording, outputs: Sequence[Tensor]) -> RecordedBackward | None:
    """Record the backward from those of the new tensors that have a history; None if there are none.

    Raises:
        NotCapturable: hooks would have to run in it, the graph leads outside, or it has been freed.
    """
    positions = [i for i, output in enumerate(outputs) if output._node is not None]
    if not positions:
        return None
    inputs = _inputs_of([outputs[i]._node for i in positions], recording, outputs)
    recorder = recording.recorder
    first = len(recorder.calls)
    gradients, roots = [], []
    for i in positions:
        output = outputs[i]
        gradient = recorder.lift(recording.backend.xp.ones(output._array.shape, dtype=output._key.raw_dtype))
        gradients.append(gradient._reference)
        roots.append((edge_of(output), wrap(gradient, output._key.materialized)))
    captured = run(roots, retain_graph=True, inputs=inputs, capture=True) or []
    results = [None if gradient is None else recording.reference_of(gradient) for gradient in captured]
    return RecordedBackward(positions, gradients, inputs, results, first)


def _inputs_of(edges: Sequence[Any], recording: Recording, outputs: Sequence[Tensor]) -> list[Tensor]:
    """The tensors that were there before and that a graph leads to."""
    by_edge = {edge_of(before.tensor): before.tensor for before in recording.states.values() if before.requires_grad}
    found: dict[int, Tensor] = {}
    waiting, seen = list(edges), set[int]()
    while waiting:
        edge = waiting.pop()
        target = by_edge.get(edge)
        if target is not None:
            if target._has_hooks:
                raise NotCapturable("hooks of a tensor would have to run in the backward")
            found[id(target)] = target
            continue
        node = edge.node if type(edge) is Output else edge
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not isinstance(node, Node):  # a leaf that was made inside: nobody sees the gradient that it would get
            if node._has_hooks or any(node is output for output in outputs):
                raise NotCapturable("gradients flow to a tensor that was made inside")
            continue
        if node.seq < recording.first_seq:
            raise NotCapturable("gradients flow through a graph that was there before, to a tensor that is no longer there")
        if node.hooks is not None:
            raise NotCapturable("hooks of a node would have to run in the backward")
        if any(getattr(node, name, None) is RELEASED for name in node.saves):
            raise NotCapturable("a backward has freed the graph of a result; return its `detach()`")
        waiting += [edge for edge in node.edges if edge is not None]
    return list(found.values())


class CompiledFunctionBackward(Node):
    """The node of a compiled function: its backward is one program.

    Attributes:
        program: from saved values and the gradients of the outputs to those of the inputs.
        saved: the saved values.
        watched: tensors whose memory the backward reads, and the version that each had.
    """

    __slots__ = ("positions", "program", "saved", "watched", "zeros")
    saves = ("saved",)
    program: Program
    positions: list[int | None]
    saved: Any
    watched: list[tuple[Tensor, int]]

    @classmethod
    def attach(
        cls,
        program: Program,
        positions: list[int | None],
        saved: Sequence[Any],
        watched: list[Tensor],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
    ) -> None:
        """Make the outputs those of a new node, which leads to the inputs."""
        if not is_grad_enabled():
            return
        node = cls()
        node.seq, node.hooks = next_seq(), None
        node.edges = tuple([(tensor._node or tensor) if tensor._requires_grad else None for tensor in inputs])
        node.dispatch_key, node.shape = outputs[0]._key.materialized, outputs[0]._array.shape
        node.outputs = tuple([(output._key.materialized, output._array.shape) for output in outputs])
        node.program, node.positions, node.saved = program, positions, saved
        node.watched = [(tensor, _version(tensor)) for tensor in watched]
        for index, output in enumerate(outputs):
            output._node, output._requires_grad = Output(node, index), True

    def apply(self, F: Any, g: Any, unpack: Any, edges: Any = None) -> tuple[Any, ...]:
        """The gradients of the inputs."""
        if self.saved is RELEASED:
            unpack(RELEASED, self)
        if any(isinstance(gradient, Tensor) for gradient in g):
            raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")
        for tensor, version in self.watched:
            if _version(tensor) != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{tensor.type()} {list(tensor.shape)}] is at version {_version(tensor)}; expected version {version} "
                    "instead."
                )
        values = self.program.run([*self.saved, *g])
        return tuple([None if position is None else values[position] for position in self.positions])


def _version(tensor: Tensor) -> int:
    return 0 if tensor._storage is None else tensor._storage.version
