"""Sources of a replay's inputs: arguments, external tensors, gradients and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...engine.devices.devices import DispatchKey
from ...engine.tensors.tensor import Tensor
from .recorder import Call, RecordedArray, Reference, references_in
from .recording import Recording

__all__ = ["Source", "Sources"]


@dataclass(slots=True)
class Source:
    """The source of an array in a replay: an argument, an external tensor, or the gradient of either; or a number.

    Attributes:
        kind: `"argument"`, `"tensor"`, `"gradient"` or `"number"`.
        position: the index of the argument or of the number.
        tensor: the external tensor, which existed before the call and is not an argument; otherwise None.
    """

    kind: str
    position: int
    tensor: Tensor | None
    key: DispatchKey | None

    def tensor_in(self, arguments: Sequence[Any]) -> Any:
        """Return the tensor in a call with these arguments."""
        owner = arguments[self.position] if self.tensor is None else self.tensor
        return owner._grad if self.kind == "gradient" else owner


class Sources:
    """Finds the sources, for a replay, of the values that existed before a recording."""

    def __init__(self, recording: Recording, arguments: list[Tensor]) -> None:
        self.recording = recording
        self.positions: dict[int, int] = {id(tensor): position for position, tensor in reversed(list(enumerate(arguments)))}
        self.found: dict[Reference, Source] = {}
        gradient_of = {id(state.grad): state.tensor for state in recording.states.values() if state.grad is not None}
        for state in recording.states.values():
            self.found[state.lifted._reference] = self._source(state.tensor, gradient_of)
        for position, number in enumerate(recording.numbers):
            self.found[number.reference] = Source("number", position, None, None)
        self.lifted: dict[Reference, RecordedArray] = {
            state.lifted._reference: state.lifted for state in recording.states.values()
        }

    def _source(self, tensor: Tensor, gradient_of: dict[int, Tensor]) -> Source:
        owner = None if id(tensor) in self.positions else gradient_of.get(id(tensor))
        return self._place("tensor", tensor) if owner is None else self._place("gradient", owner)

    def _place(self, kind: str, tensor: Tensor) -> Source:
        position = self.positions.get(id(tensor))
        if position is None:
            return Source(kind, 0, tensor, tensor._key)
        return Source("argument" if kind == "tensor" else kind, position, None, tensor._key)

    def gradient_of(self, tensor: Tensor) -> Source:
        """Return the source from which a replay reads the `.grad` of a tensor."""
        return self._place("gradient", tensor)

    def of_tensor(self, tensor: Tensor) -> Source:
        """Return the source from which a replay reads a tensor that existed before the recording."""
        return self.found[self.recording.states[id(tensor)].lifted._reference]

    def source_of(self, reference: Reference) -> Source:
        """Return a description of where a replay finds a value that existed before the recording."""
        return self.found[reference]

    def tensors(self) -> dict[Reference, Tensor]:
        """Return the external tensors by the value that is their array, without gradients."""
        return {
            reference: source.tensor
            for reference, source in self.found.items()
            if source.kind == "tensor" and source.tensor is not None
        }

    def all_references(self) -> list[Reference]:
        """Return references to all values that existed before the recording."""
        return list(self.found)

    def needed_by(self, calls: Sequence[Call], outputs: Sequence[Reference]) -> list[Reference]:
        """Return the values that existed before the recording and are used by calls or are outputs."""
        used = [reference for call in calls for reference in references_in((call.args, call.kwargs))]
        return [reference for reference in dict.fromkeys([*used, *outputs]) if reference in self.found]

    def find_shared_memory(self, calls: Sequence[Call]) -> None:
        """Put values that share memory, such as a parameter and a view of it, into one memory group."""
        used = dict.fromkeys(reference for call in calls for reference in references_in((call.args, call.kwargs)))
        arrays = [self.lifted[reference] for reference in used if reference in self.lifted]
        recorder = self.recording.recorder
        for i, array in enumerate(arrays):
            backend = recorder.backend_of(array._value)
            for other in arrays[:i]:
                if backend is recorder.backend_of(other._value) and backend.shares_memory(array._value, other._value):  # type: ignore[union-attr]  # a backend
                    recorder.join(array._reference, other._reference)
