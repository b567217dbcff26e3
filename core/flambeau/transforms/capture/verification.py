"""Verify a capture: compare its first replay with an eager call from the same state.

They must agree bitwise, except if inference plans or a compiler of whole programs change the order of rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any
from zlib import crc32

from ...backend import is_mutable
from ...engine.tape.engine import node_of
from ...engine.tape.grad_mode import no_grad
from ...engine.tape.node import RELEASED
from ...engine.tensors.tensor import Tensor
from ...engine.values.trees import flatten
from .capture import Captured
from .recorder import EFFECT, Recorder

__all__ = ["verified"]

_ROUNDINGS = 1000  # allowed error of plans and whole-program compilers, in rounding errors of the largest element


class _Checksum(int):
    """The checksum of the bytes of an array."""


class _Snapshot:
    """A copy of the state that a step changes: arrays, gradients and version counters of tensors, and random generators.

    The array of a tensor is represented by a checksum if the step changes no tensor and calls no custom operator, which could
    change any: copies would take as much memory as the parameters.
    """

    def __init__(self, captured: Captured, arguments: Sequence[Tensor]) -> None:
        tensors = {id(tensor): tensor for tensor in (*captured.touched(), *arguments)}
        self.tensors = list(tensors.values())
        programs = [program for program in (captured.forward, captured.backward) if program is not None]
        may_write = captured.effects.any() or any(call.kind == EFFECT for program in programs for call in program.calls)
        represent = self._copy if may_write else self._checksum
        self.arrays = [represent(tensor) for tensor in self.tensors]
        self.originals = [tensor._array for tensor in self.tensors]
        self.versions = [(tensor._storage, 0 if tensor._storage is None else tensor._storage.version) for tensor in self.tensors]
        self.gradients = [tensor._grad for tensor in self.tensors]
        storages = [None if grad is None else grad._storage for grad in self.gradients]
        self.gradient_versions = [0 if storage is None else storage.version for storage in storages]
        self.gradient_arrays = [None if grad is None else self._copy(grad) for grad in self.gradients]
        self.generators = [(raw, raw.get_state()) for _, raw in captured.generators]

    @staticmethod
    def _copy(tensor: Tensor) -> Any:
        return tensor._key.backend.copy(tensor._array)

    @staticmethod
    def _checksum(tensor: Tensor) -> Any:
        """Return a checksum, or a copy of an array that is not contiguous or has no buffer."""
        try:
            return _Checksum(crc32(memoryview(tensor._array).cast("B")))
        except (TypeError, ValueError, BufferError):
            return _Snapshot._copy(tensor)

    def restore(self) -> None:
        """Restore the state.

        Raises:
            RuntimeError: the array of a tensor has changed, and the snapshot has only its checksum.
        """
        for tensor, array, original, (storage, version) in zip(
            self.tensors, self.arrays, self.originals, self.versions, strict=True
        ):
            tensor._array = original
            if tensor._key.backend.mutable:
                self._write_back(tensor, array)
            if tensor._storage is not None:
                tensor._storage.version = version
            tensor._storage = storage if storage is not None else tensor._storage
        for tensor, grad, array, version in zip(
            self.tensors, self.gradients, self.gradient_arrays, self.gradient_versions, strict=True
        ):
            tensor._grad = grad
            if grad is not None and grad._key.backend.mutable:
                self._write_back(grad, array)
            elif grad is not None:
                grad._array = array
            if grad is not None and grad._storage is not None:
                grad._storage.version = version
        for raw, state in self.generators:
            raw.set_state(state)

    @staticmethod
    def _write_back(tensor: Tensor, array: Any) -> None:
        if type(array) is _Checksum:
            if _Snapshot._checksum(tensor) != array:
                raise RuntimeError("the replay of a step that changes no tensor has changed one")
            return
        backend = tensor._key.backend
        if is_mutable(backend) and not backend.equal(tensor._array, array):  # do not write unchanged memory: it may be read-only
            backend.write(tensor._array, array)

    def arrays_now(self) -> list[Any]:
        """Return copies of all arrays, gradients and generator states that a step may have changed.

        An unchanged array is represented by its copy in the snapshot, to save memory.
        """
        now = [self._copy_of_change(tensor, array) for tensor, array in zip(self.tensors, self.arrays, strict=True)]
        now += [None if tensor._grad is None else self._copy(tensor._grad) for tensor in self.tensors]
        return now + [raw.get_state() for raw, _ in self.generators]

    def _copy_of_change(self, tensor: Tensor, before: Any) -> Any:
        array = tensor._array
        if type(before) is _Checksum:
            return before if self._checksum(tensor) == before else self._copy(tensor)
        same = array.shape == before.shape and array.dtype == before.dtype and tensor._key.backend.equal(array, before)
        return before if same else self._copy(tensor)


def verified(captured: Captured, call: Callable[[], Any], arguments: Sequence[Tensor]) -> tuple[Any, str | None]:
    """Replay a captured step, restore the state, run `call`, and compare results, tensors, gradients and random state.

    Returns:
        the result of `call`, and a description of the difference, or None if they agree.
    """
    snapshot = _Snapshot(captured, arguments)
    replayed = flatten(captured.replay(arguments))[0]
    replayed_values = [_value(leaf) for leaf in replayed]
    positions = [position for position, leaf in enumerate(replayed) if _has_backward(leaf)]
    replayed_gradients = captured.gradients_of_ones(replayed, positions, arguments)
    state = snapshot.arrays_now()
    wanting = [_wants_gradient(leaf) for leaf in replayed]
    del replayed
    snapshot.restore()
    result = call()
    leaves = flatten(result)[0]
    recorder = captured.forward.recorder
    values, state_now = [_value(leaf) for leaf in leaves], snapshot.arrays_now()
    equal = _equal if captured.exact else _Close([*values, *state_now, *(tensor._array for tensor in snapshot.tensors)])
    if not all(equal(recorder, *pair) for pair in zip(replayed_values, values, strict=True)):
        return result, "its result"
    if wanting != [_wants_gradient(leaf) for leaf in leaves]:
        return result, "which results require gradients"
    if not all(equal(recorder, *pair) for pair in zip(state, state_now, strict=True)):
        return result, "what it did to tensors or random generators"
    if replayed_gradients is not None:
        with no_grad():
            gradients = captured.gradients_of_ones(leaves, positions, arguments) or []
        if not all(equal(recorder, *pair) for pair in zip(replayed_gradients, gradients, strict=True)):
            return result, "its gradients"
    return result, None


def _has_backward(leaf: Any) -> bool:
    """Whether a result has a `grad_fn` that has not been freed."""
    return isinstance(leaf, Tensor) and leaf._node is not None and getattr(node_of(leaf._node), "saved", None) is not RELEASED


def _wants_gradient(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf._requires_grad


def _value(leaf: Any) -> Any:
    return leaf._key.backend.copy(leaf._array) if isinstance(leaf, Tensor) else leaf


def _equal(recorder: Recorder, one: Any, other: Any) -> bool:
    if one is other:
        return True
    backend = recorder.backend_of(one)
    if recorder.backend_of(other) is not backend:  # a checksum and a copy, or an array and another value
        return False
    if backend is None:
        return bool(one == other)
    return one.shape == other.shape and one.dtype == other.dtype and backend.equal(one, other)


class _Close:
    """Comparison of two values up to differences in the order of rounding.

    A gradient that is zero in exact arithmetic, such as that of a bias before batch normalization, consists of rounding errors.
    The tolerance therefore also depends on the magnitude of the other values.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.least = max((_largest(value) for value in values), default=0.0) / 1000

    def __call__(self, recorder: Recorder, one: Any, other: Any) -> bool:
        if _equal(recorder, one, other):
            return True
        if not _is_floating(one) or not _is_floating(other) or one.shape != other.shape or one.dtype != other.dtype:
            return False
        xp = _namespace(one)
        both = (one == one) & (other == other)
        zero = xp.zeros((), dtype=one.dtype)
        difference = float(xp.max(xp.where(both & (one != other), xp.abs(one - other), zero)))
        allowed = min(_ROUNDINGS * float(xp.finfo(one.dtype).eps), 0.05)
        return bool(xp.all((one == one) == (other == other))) and difference <= allowed * max(_largest(other), self.least)


def _is_floating(value: Any) -> bool:
    return hasattr(value, "dtype") and _namespace(value).isdtype(value.dtype, "real floating")


def _largest(value: Any) -> float:
    """Return the largest finite absolute value."""
    if not _is_floating(value) or 0 in value.shape:
        return 0.0
    xp = _namespace(value)
    low, high = float(xp.min(value)), float(xp.max(value))
    if isfinite(low) and isfinite(high):  # otherwise, compute it with temporary arrays
        return max(-low, high)
    return float(xp.max(xp.where(xp.isfinite(value), xp.abs(value), xp.zeros((), dtype=value.dtype))))


def _namespace(array: Any) -> Any:
    return array.__array_namespace__()
