"""What a recorded step did to the tensors that were there before it, so that a replay can do it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..runtime.devices import DispatchKey
from ..tensors.tensor import Tensor, wrap
from .recorder import RecordedArray, Reference
from .recording import NotCapturable, Recording

__all__ = ["Effects"]


@dataclass(slots=True)
class NewGradient:
    """A gradient that a step gave to a tensor."""

    tensor: Tensor
    reference: Reference
    key: DispatchKey
    version: int


@dataclass(slots=True)
class Effects:
    """What happened to tensors: new arrays (where arrays are immutable), gradients, versions."""

    arrays: list[tuple[Tensor, Reference]] = field(default_factory=list)
    gradients: list[NewGradient] = field(default_factory=list)
    cleared: list[Tensor] = field(default_factory=list)  # whose gradient is None now
    versions: list[tuple[Tensor, int]] = field(default_factory=list)

    @classmethod
    def of(cls, recording: Recording) -> Effects:
        """The effects of what has been recorded; the recording must still be open.

        Raises:
            NotCapturable: something was done that a replay could not repeat.
        """
        effects, seen = cls(), set[int]()
        for before in recording.states.values():
            tensor = before.tensor
            if tensor._key is not before.key or tensor._view is not before.view:
                raise NotCapturable("a tensor became another one, by `.data`, `set_` or the like")
            if tensor._node is not before.node or tensor._requires_grad != before.requires_grad:
                raise NotCapturable("a tensor from outside was written to in a way that gradients flow through, or detached")
            if tensor._array is not before.lifted:
                effects.arrays.append((tensor, _reference(tensor._array)))
            storage = tensor._storage
            if storage is not before.storage and before.storage is not None:
                raise NotCapturable("a tensor was given another storage")
            if storage is not None and storage.version != before.version and id(storage) not in seen:
                seen.add(id(storage))
                effects.versions.append((tensor, storage.version - before.version))
            if tensor._grad is not before.grad:
                effects._note_gradient(tensor)
        return effects

    def _note_gradient(self, tensor: Tensor) -> None:
        grad = tensor._grad
        if grad is None:
            self.cleared.append(tensor)
            return
        if type(grad) is not Tensor or grad._node is not None or grad._requires_grad or grad._view is not None:
            raise NotCapturable("a gradient is a view, or has a history of its own")
        version = 0 if grad._storage is None else grad._storage.version
        self.gradients.append(NewGradient(tensor, _reference(grad._array), grad._key, version))

    def references(self) -> list[Reference]:
        """The values that a replay needs for them."""
        return [*(reference for _, reference in self.arrays), *(gradient.reference for gradient in self.gradients)]

    def clear_gradients(self) -> None:
        """Let go of the gradients that a replay makes anew, before it starts: at its peak it would hold both."""
        for gradient in self.gradients:
            gradient.tensor._grad = None

    def apply(self, values: list[Any]) -> None:
        """Do it again, with the values that a replay has computed for `references`."""
        for (tensor, _), value in zip(self.arrays, values, strict=False):
            tensor._array = value
        for gradient, value in zip(self.gradients, values[len(self.arrays) :], strict=True):
            grad = wrap(value, gradient.key)
            if gradient.version:
                grad._own_storage().version = gradient.version
            gradient.tensor._grad = grad
        for tensor in self.cleared:
            tensor._grad = None
        for tensor, steps in self.versions:
            (tensor._storage or tensor._own_storage()).version += steps


def _reference(array: Any) -> Reference:
    if type(array) is not RecordedArray:
        raise NotCapturable("a tensor has become sparse, or came from another array library")
    return array._reference
