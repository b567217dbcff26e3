"""Differentiate recorded functions: the backward is recorded after the forward, and replayed as one autograd node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.devices.interceptor import real_backend
from ...engine.tape.engine import edge_of, node_of, run
from ...engine.tape.node import RELEASED, Node, Output, next_seq
from ...engine.tensors.tensor import Tensor, wrap
from .program import Program
from .recorder import Reference
from .recording import NotCapturable, Recording

__all__ = ["CompiledFunctionBackward", "RecordedBackward", "record_backward"]


@dataclass(slots=True)
class RecordedBackward:
    """The recorded backward pass from some of the results.

    Attributes:
        outputs: the positions of the differentiated outputs among the results.
        inputs: the tensors that existed before the recording and receive gradients.
        gradients: references to the gradients of the outputs.
        results: references to the gradients of the inputs; None for an input without a gradient.
        first: the index of the first call of the backward.  None without calls: the step has run a backward and freed the graph.
    """

    outputs: list[int]
    inputs: list[Tensor]
    gradients: list[Reference] = field(default_factory=list)
    results: list[Reference | None] = field(default_factory=list)
    first: int | None = None


def record_backward(recording: Recording, outputs: Sequence[Tensor]) -> list[RecordedBackward]:
    """Record the backward passes from the new tensors that have a `grad_fn`.

    Returns:
        at most two: one without calls, from tensors whose graph has been freed, and then one from the other tensors.

    Raises:
        NotCapturable: the graph has hooks or continues outside the recording, or the backward fails.
    """
    edges = {position: output._node for position, output in enumerate(outputs) if output._node is not None}
    known = {edge_of(before.tensor): before.tensor for before in recording.states.values() if before.requires_grad}
    freed_nodes = _freed(_Reached(edges.values(), known, recording.first_seq).nodes)
    freed = [position for position, edge in edges.items() if node_of(edge) in freed_nodes]
    retained = [position for position in edges if position not in freed]
    recorded = []
    if freed:
        reached = _Reached([edges[position] for position in freed], known, recording.first_seq)
        recorded.append(RecordedBackward(freed, reached.inputs))
    if retained:
        reached = _Reached([edges[position] for position in retained], known, recording.first_seq)
        reached.check(outputs)
        recorded.append(_record(recording, outputs, RecordedBackward(retained, reached.inputs)))
    return recorded


def _record(recording: Recording, outputs: Sequence[Tensor], backward: RecordedBackward) -> RecordedBackward:
    """Run a backward pass and record its calls in `backward`."""
    recorder = recording.recorder
    backward.first = len(recorder.calls)
    roots = []
    for position in backward.outputs:
        output = outputs[position]
        gradient = recorder.lift(ones_like(output))
        backward.gradients.append(gradient._reference)
        roots.append((edge_of(output), wrap(gradient, output._key.materialized)))
    try:
        captured = run(roots, retain_graph=True, inputs=backward.inputs, capture=True) or []
    except RuntimeError as error:  # for example, the step has modified a saved tensor in place
        raise NotCapturable(f"a backward from its results fails: {error}") from error
    backward.results = [None if gradient is None else recording.reference_of(gradient) for gradient in captured]
    return backward


def ones_like(tensor: Tensor) -> Any:
    """Return an array of ones with a tensor's shape, dtype and device, created without recording."""
    key = tensor._key.materialized
    return real_backend(key.backend).namespace_on(key.device.index).ones(tensor._array.shape, dtype=key.raw_dtype)


class _Reached:
    """The part of the recorded graph that a backward reaches.

    Attributes:
        nodes: the reached nodes.
        inputs: the reached tensors that existed before the recording.
        leaves: the reached leaves that were created during the recording.
    """

    def __init__(self, edges: Iterable[Any], known: Mapping[Any, Tensor], first_seq: float) -> None:
        nodes, inputs, leaves = dict[Node, None](), dict[int, Tensor](), dict[int, Tensor]()
        waiting = list(edges)
        while waiting:
            edge = waiting.pop()
            target = known.get(edge)
            node = node_of(edge)
            if target is not None:
                inputs[id(target)] = target
            elif not isinstance(node, Node):
                leaves[id(node)] = node
            elif node not in nodes:
                if node.seq < first_seq:
                    raise NotCapturable(
                        "gradients flow through a graph recorded before the call, to a tensor that no longer exists"
                    )
                nodes[node] = None
                waiting += [edge for edge in node.edges if edge is not None]
        self.nodes, self.inputs, self.leaves = list(nodes), list(inputs.values()), list(leaves.values())

    def check(self, outputs: Sequence[Tensor]) -> None:
        """Raise NotCapturable if a replay of the backward would miss hooks or gradients."""
        if any(tensor._has_hooks for tensor in self.inputs):
            raise NotCapturable("hooks of a tensor would have to run in the backward")
        if any(leaf._has_hooks or any(leaf is output for output in outputs) for leaf in self.leaves):
            raise NotCapturable(
                "gradients flow to a leaf tensor that was created inside"
            )  # a replay does not create this leaf, so nobody could read its gradient
        if any(node.hooks is not None for node in self.nodes):
            raise NotCapturable("hooks of a node would have to run in the backward")


def _freed(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes whose backward would fail: gradients flow from them to a node whose saved tensors were freed."""
    freed = set[Node]()
    for node in sorted(nodes, key=lambda node: node.seq):  # topological order: inputs first
        saved = [getattr(node, name, None) for name in node.saves]
        if any(getattr(value, "_saved", value) is RELEASED for value in saved) or not freed.isdisjoint(map(node_of, node.edges)):
            freed.add(node)
    return freed


class CompiledFunctionBackward(Node):
    """The autograd node of a compiled function: its backward is one program.

    Attributes:
        program: computes the gradients of the inputs from the saved values and the gradients of the outputs.
        saved: the saved values.
        watched: tensors whose memory the backward reads, each with its version at the forward.
    """

    __slots__ = ("positions", "program", "saved", "watched", "zeros")
    saves: tuple[str, ...] = ("saved",)
    program: Program
    positions: list[int | None]
    saved: Any
    watched: list[tuple[Tensor, int]]

    @classmethod
    def attach(cls, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> CompiledFunctionBackward:
        """Create a node between inputs and outputs.  Before `set_up`, its backward raises an error, as in a freed graph."""
        node = cls()
        node.seq, node.hooks = next_seq(), None
        node.edges = tuple([(tensor._node or tensor) if tensor._requires_grad else None for tensor in inputs])
        node.dispatch_key, node.shape = outputs[0]._key.materialized, outputs[0]._array.shape
        node.outputs = tuple([(output._key.materialized, output._array.shape) for output in outputs])
        node.saved = RELEASED
        for index, output in enumerate(outputs):
            output._node, output._requires_grad = Output(node, index), True
        return node

    def set_up(self, program: Program, positions: list[int | None], saved: Sequence[Any], watched: list[Tensor]) -> None:
        """Set the program that a backward runs, and its saved values."""
        self.program, self.positions, self.saved = program, positions, saved
        self.watched = [(tensor, _version(tensor)) for tensor in watched]

    def apply(self, F: Any, g: Any, unpack: Any, edges: Any = None) -> tuple[Any, ...]:
        """Return the gradients of the inputs."""
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
