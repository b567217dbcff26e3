"""Changes that a recorded step makes to tensors that existed before it, which a replay repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine.devices.devices import DispatchKey
from ...engine.tensors.tensor import Tensor, wrap
from .recorder import RecordedArray, Reference
from .recording import NotCapturable, Recording
from .sources import Source, Sources

__all__ = ["Effects"]


@dataclass(slots=True)
class NewGradient:
    """A gradient that a step assigned to a tensor that had existed before the step."""

    tensor: Source
    reference: Reference
    key: DispatchKey
    version: int
    replaces: bool = True  # whether the step ignores the previous gradient


@dataclass(slots=True)
class Effects:
    """Changes of existing tensors: new arrays (in libraries with immutable arrays), gradients and version counters."""

    arrays: list[tuple[Source, Reference]] = field(default_factory=list)
    gradients: list[NewGradient] = field(default_factory=list)
    cleared: list[Source] = field(default_factory=list)  # tensors whose gradient the step set to None
    versions: list[tuple[Source, int]] = field(default_factory=list)

    def any(self) -> bool:
        """Whether the step changes anything."""
        return bool(self.arrays or self.gradients or self.cleared or self.versions)

    @classmethod
    def of(cls, recording: Recording, sources: Sources, arguments: Sequence[Tensor]) -> Effects:
        """Collect the effects of a recording, which must still be open.

        Raises:
            NotCapturable: a replay cannot repeat something that the step did.
        """
        effects, seen = cls(), set[int]()
        of_storage = {id(tensor._storage): sources.of_tensor(tensor) for tensor in arguments if id(tensor) in recording.states}
        for before in recording.states.values():
            tensor = before.tensor
            place = sources.of_tensor(tensor)
            if tensor._key is not before.key or tensor._view is not before.view:
                raise NotCapturable("a tensor was replaced in place, for example by `.data = ...` or `set_`")
            if tensor._node is not before.node or tensor._requires_grad != before.requires_grad:
                raise NotCapturable("a tensor that existed before was detached, or a differentiable value was written to it")
            if tensor._array is not before.lifted:
                effects.arrays.append((place, _reference(tensor._array)))
            storage = tensor._storage
            if storage is not before.storage and before.storage is not None:
                raise NotCapturable("a tensor was given another storage")
            if storage is not None and storage.version != before.version and id(storage) not in seen:
                seen.add(id(storage))
                effects.versions.append((of_storage.get(id(storage), place), storage.version - before.version))
            if tensor._grad is not before.grad:
                effects._note_gradient(place, tensor._grad)
        return effects

    def _note_gradient(self, place: Source, grad: Tensor | None) -> None:
        if grad is None:
            self.cleared.append(place)
            return
        if type(grad) is not Tensor or grad._node is not None or grad._requires_grad or grad._view is not None:
            raise NotCapturable("a gradient is a view, or has a `grad_fn`")
        version = 0 if grad._storage is None else grad._storage.version
        self.gradients.append(NewGradient(place, _reference(grad._array), grad._key, version))

    def references(self) -> list[Reference]:
        """Return references to the values to pass to `apply`."""
        return [*(reference for _, reference in self.arrays), *(gradient.reference for gradient in self.gradients)]

    def clear_gradients(self, arguments: Sequence[Tensor]) -> None:
        """Set the gradients that a replay will overwrite to None before it starts, so that their memory can be used again."""
        for gradient in self.gradients:
            if gradient.replaces:
                gradient.tensor.tensor_in(arguments)._grad = None

    def apply(self, values: Sequence[Any], arguments: Sequence[Tensor]) -> None:
        """Repeat the effects with the values that a replay computed for `references`."""
        if self.arrays:
            self._replace_arrays(values, arguments)
        for place, steps in self.versions:
            tensor = place.tensor_in(arguments)
            (tensor._storage or tensor._own_storage()).version += steps
        for gradient, value in zip(self.gradients, values[len(self.arrays) :], strict=True):
            grad = wrap(value, gradient.key)
            if gradient.version:
                grad._own_storage().version = gradient.version
            gradient.tensor.tensor_in(arguments)._grad = grad
        for place in self.cleared:
            place.tensor_in(arguments)._grad = None

    def _replace_arrays(self, values: Sequence[Any], arguments: Sequence[Tensor]) -> None:
        """Assign new arrays to tensors, and recompute the views that were created after the recording."""
        tensors = [place.tensor_in(arguments) for place, _ in self.arrays]
        viewed = []
        for tensor, value in zip(tensors, values, strict=False):
            tensor._array = value
            if tensor._storage is not None and tensor._storage.views:
                viewed.append(tensor)
        if viewed:
            known = set(map(id, tensors))
            for tensor in viewed:
                tensor._storage.renew_views(tensor, known)

    def places(self) -> list[Source]:
        """Return the tensors whose arrays or versions change."""
        return [place for place, _ in self.arrays] + [place for place, _ in self.versions]

    def tensors(self) -> list[Tensor]:
        """Return the external tensors (not arguments) that the step changes."""
        places = self.places() + [gradient.tensor for gradient in self.gradients] + self.cleared
        return [place.tensor for place in places if place.tensor is not None]


def _reference(array: Any) -> Reference:
    if type(array) is not RecordedArray:
        raise NotCapturable("a tensor has become sparse, or came from another array library")
    return array._reference
