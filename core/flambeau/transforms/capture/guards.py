"""Conditions for a replay: properties of external tensors, gradients of arguments, and shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...backend import is_mutable
from ...engine.devices.interceptor import real_backend
from ...engine.tensors.storage import how_viewed, memory_root, source_of
from ...engine.tensors.tensor import Tensor
from .effects import Effects
from .recorder import RecordedArray
from .recording import NotCapturable, Recording
from .sources import Source

__all__ = ["Aliasing", "ArgumentGradient", "Outside", "all_hold", "describe", "gradients_of_arguments", "tensors_from_outside"]


def describe(tensor: Any) -> Any:
    """Return the properties of a tensor that a program depends on: type, dispatch key, shape, strides and `requires_grad`."""
    array = tensor._array
    return type(tensor), tensor._key, array.shape, getattr(array, "strides", None), tensor._requires_grad, tensor._inference


def _description_before(recording: Recording, tensor: Tensor) -> Any:
    before = recording.states[id(tensor)]
    array = before.array
    return type(tensor), before.key, array.shape, getattr(array, "strides", None), before.requires_grad, tensor._inference


@dataclass(slots=True)
class Outside:
    """The expected state of an external tensor: one that existed before the call and is not an argument."""

    tensor: Tensor
    array: Any  # the array at the latest check
    description: Any
    requires_grad: bool
    has_gradient: bool | None  # None if a replay does not depend on it
    gradient_description: Any = None  # set if the program uses the gradient's memory
    aliasing: Aliasing | None = None  # its `moved` is set if the tensor gets another array

    def has_moved(self) -> bool:
        """Whether another array has the same description; it is the expected one from now on."""
        if describe(self.tensor) != self.description:
            return False
        self.array = self.tensor._array
        if self.aliasing is not None:
            self.aliasing.moved = True
        return True

    def gradient_holds(self) -> bool:
        gradient = self.tensor._grad
        if (gradient is not None) is not self.has_gradient:
            return False
        return self.gradient_description is None or describe(gradient) == self.gradient_description


def all_hold(outside: Sequence[Outside]) -> bool:
    """Whether all external tensors are as expected."""
    for expected in outside:  # inlined, because each replay checks all parameters
        tensor = expected.tensor
        if tensor._requires_grad is not expected.requires_grad or tensor._has_hooks:
            return False
        if tensor._array is not expected.array and not expected.has_moved():
            return False
        if expected.has_gradient is not None and not expected.gradient_holds():
            return False
    return True


@dataclass(slots=True)
class ArgumentGradient:
    """The expected gradient of an argument."""

    position: int
    description: Any  # None if the argument had no gradient

    def holds(self, arguments: Sequence[Any]) -> bool:
        grad = arguments[self.position]._grad
        return bool((None if grad is None else describe(grad)) == self.description)


class Aliasing:
    """A record of which arguments and external tensors share memory; needed for programs that write to some of them.

    Args:
        arguments: the arguments of the captured call.
        outside: the external tensors that the program uses; they may be assigned new arrays.

    Attributes:
        moved: whether an external tensor has been assigned another array.
    """

    moved: bool

    def __init__(self, arguments: Sequence[Tensor], outside: Sequence[Outside]) -> None:
        self.outside: list[Outside] = list(outside)
        self.moved = False
        self._update_outside()
        self._pattern, self._pattern_outside = self._pattern_of(arguments), self._outside_now
        for tensor in self.outside:
            tensor.aliasing = self if tensor.tensor._key.backend.mutable else None

    def _update_outside(self) -> None:
        numbers: dict[int, int] = {}
        memories = [id(_memory(outside.tensor)) for outside in self.outside]
        self._outside_now = [numbers.setdefault(memory, -number) for number, memory in enumerate(memories, 1)]
        self._numbers = numbers

    def _pattern_of(self, arguments: Sequence[Tensor]) -> list[Any]:
        numbers: dict[int, int] = {}
        pattern: list[Any] = []
        for position, argument in enumerate(arguments):
            memory = id(_memory(argument))
            number = self._numbers.get(memory) or numbers.setdefault(memory, position)
            pattern.append(number if argument._key.backend.mutable else (number, _view_path(argument)))
        return pattern

    def holds(self, arguments: Sequence[Tensor]) -> bool:
        """Whether the same tensors share memory as at capture."""
        if self.moved:
            self._update_outside()
            if self._outside_now != self._pattern_outside:
                return False
            self.moved = False
        return self._pattern_of(arguments) == self._pattern


def _memory(tensor: Tensor) -> Any:
    """Return the object that owns the tensor's memory."""
    backend, array = real_backend(tensor._key.materialized.backend), tensor._array
    if not is_mutable(backend):
        return memory_root(tensor)
    return backend.allocation(array._value if type(array) is RecordedArray else array)


def _view_path(tensor: Tensor) -> list[Any]:
    """Return the view operations that lead from the owner of the memory to the tensor.

    If arrays are immutable, a write computes a new owner, and views of it by the same operations.
    """
    steps: list[Any] = []
    while (source := source_of(tensor)) is not None:
        steps.append(None if tensor._view is None else how_viewed(tensor)[1:])
        tensor = source
    return steps


def tensors_from_outside(recording: Recording, sources: Sequence[Source], effects: Effects) -> list[Outside]:
    """Build the checks of the external tensors that a replay uses.

    Raises:
        NotCapturable: one of them has hooks.
    """
    of_gradient = {
        id(place.tensor): place.tensor
        for place in (*(gradient.tensor for gradient in effects.gradients), *effects.cleared)
        if place.tensor is not None
    }
    uses_gradient = {id(source.tensor) for source in sources if source.kind == "gradient" and source.tensor is not None}
    tensors = {id(source.tensor): source.tensor for source in sources if source.tensor is not None}
    expected = []
    for tensor in (tensors | of_gradient).values():
        before = recording.states[id(tensor)]
        grad = before.grad
        if tensor._has_hooks:
            raise NotCapturable("a tensor has hooks")
        matters = id(tensor) in of_gradient or id(tensor) in uses_gradient
        expected.append(
            Outside(
                tensor, before.array, _description_before(recording, tensor), before.requires_grad,
                (grad is not None) if matters else None,
                _description_before(recording, grad) if grad is not None and id(tensor) in uses_gradient else None,
            )
        )  # fmt: skip
    return expected


def gradients_of_arguments(
    recording: Recording, arguments: Sequence[Tensor], sources: Sequence[Source], effects: Effects
) -> list[ArgumentGradient]:
    """Build the checks of the arguments' gradients."""
    places = [place.position for place in (*(new.tensor for new in effects.gradients), *effects.cleared) if place.tensor is None]
    places += [source.position for source in sources if source.kind == "gradient" and source.tensor is None]
    expected = []
    for position in dict.fromkeys(places):
        grad = recording.states[id(arguments[position])].grad
        expected.append(ArgumentGradient(position, None if grad is None else _description_before(recording, grad)))
    return expected
