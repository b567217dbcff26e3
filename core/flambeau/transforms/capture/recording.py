"""The context in which a recorder records all kernel calls of a backend.

A `RecordingInterceptor` replaces the kernels.  All live tensors, and numbers that may change from step to step, such as
learning
rates, become recorded values.  All of them are restored on exit.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MethodType
from typing import Any, Final

from ...backend import Backend, RecordableBackend, for_device_type
from ...engine.devices.devices import DispatchKey, device, dispatch_key
from ...engine.devices.interceptor import real_backend
from ...engine.devices.state import state
from ...engine.tape.node import Node, next_seq
from ...engine.tape.transforming import open_batches
from ...engine.tensors.tensor import Tensor
from ...random import Generator
from ..batching.arrays import BatchedArray
from ..conjugate_views import LazyKey
from .recorder import (
    RecordedArray,
    RecordedGenerator,
    RecordedInteger,
    RecordedNumber,
    Recorder,
    Reference,
    open_recorders,
    register_own_folder,
)
from .recording_backend import RecordingInterceptor

__all__ = ["NotCapturable", "Recording", "TensorState"]


class NotCapturable(RuntimeError):
    """Raised if a recording cannot be replayed; the message gives the reason."""


@dataclass(slots=True)
class TensorState:
    """The state of a tensor at the start of a recording, to be restored at the end."""

    tensor: Tensor
    array: Any
    lifted: RecordedArray
    grad: Tensor | None
    node: Any
    requires_grad: bool
    storage: Any
    version: int
    view: Any
    key: DispatchKey


class Recording:
    """Context that records the computations on a backend's arrays.

    Args:
        backend: the backend to record.
        numbers: numbers that may change from step to step, such as the `"lr"` of a parameter group, as `(dictionary, key)`.
        strict: raise an error where the program reads a value of an array.

    Raises:
        NotCapturable: the backend does not support recording.
    """

    backend: RecordableBackend
    recorder: Recorder
    first_seq: float

    def __init__(self, backend: Backend, numbers: Sequence[tuple[dict[Any, Any], Any]] = (), strict: bool = False) -> None:
        if not isinstance(backend, RecordableBackend):
            raise NotCapturable(f"the {backend.name} backend does not support recording of steps")
        host = for_device_type("cpu")
        self.backends: list[RecordableBackend] = (
            [backend] if host is backend or not isinstance(host, RecordableBackend) else [backend, host]
        )
        self.backend, self.recorder = backend, Recorder(backend, strict, host=self.backends[1] if self.backends[1:] else None)
        self.places: Final = list(numbers)
        self.numbers: list[RecordedNumber] = []  # recorded numbers, in the order of `places`
        self.states: dict[int, TensorState] = {}  # {id: state} of the tensors that existed before
        self.generators: list[tuple[Generator, Any]] = []
        self.first_seq = 0.0
        self.device: int | None = None  # current device, in libraries with several devices
        self._tensors: list[Tensor] = []  # all tensors at the start
        self._interceptor = RecordingInterceptor(self.backends, self.recorder)

    # --- starting ---

    def __enter__(self) -> Recording:
        if open_recorders:
            raise NotCapturable("another step is being recorded")
        if open_batches() or state.forward_levels or state.mutation_guards or state.anomaly_mode or state.node_observers:
            raise NotCapturable("a transform, anomaly mode or a profiler is on")
        for backend in self.backends:
            _register_folders(backend)
            for dtype in backend.dtypes:
                dispatch_key(dtype, device(backend.device_type))
        gc.unfreeze()  # `gc.get_referrers` does not find frozen objects
        self._tensors, generators = _live_instances(Tensor, Generator)
        gc.freeze()  # at the end, `gc.get_objects` then finds only new objects; collections are faster too
        self._lift(self._tensors)
        for generator in generators:
            if any(generator.device.type == backend.device_type for backend in self.backends):
                self.generators.append((generator, generator.raw))
                generator._raw = RecordedGenerator(generator.raw, self.recorder)
        for container, key in self.places:
            number = RecordedNumber.of(container[key], self.recorder.new_reference(), self.recorder)
            self.numbers.append(number)
            container[key] = number
        watch = sys.getprofile()
        self.recorder.watch = watch if isinstance(watch, MethodType) else None  # a C profiler's function cannot be restored
        self.first_seq, self.device = next_seq(), self.recorder.current_device()
        self._interceptor.__enter__()
        open_recorders.append(self.recorder)
        # The kernels are replaced first: other threads that find a recorded array then also call a recording kernel, which waits.
        for saved in self.states.values():
            saved.tensor._array = saved.lifted
        return self

    def _lift(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            array = getattr(tensor, "_array", None)
            key = getattr(tensor, "_key", None)
            if type(key) is LazyKey:
                backend = key.plain.backend
            elif type(key) is DispatchKey:
                backend = key.backend
            else:
                continue
            if backend not in self.backends or type(array) is not backend.array_type:
                continue
            storage = tensor._storage
            version = 0 if storage is None else storage.version
            self.states[id(tensor)] = TensorState(
                tensor,
                array,
                self.recorder.lift(array),
                tensor._grad,
                tensor._node,
                tensor._requires_grad,
                storage,
                version,
                tensor._view,
                key,
            )

    # --- ending ---

    def __exit__(self, *exception: object) -> None:
        self.recorder.active = False
        open_recorders.remove(self.recorder)
        for generator, raw in self.generators:
            generator._raw = raw
        for tensor in self._tensors:
            self._restore(tensor)
        self._interceptor.__exit__(*exception)
        self.recorder.ended.set()
        for (container, key), number in zip(self.places, self.numbers, strict=True):
            if container.get(key) is number:
                container[key] = number.plain
        for new in gc.get_objects():  # `gc.freeze` at the start excludes all earlier objects
            if issubclass(type(new), Tensor):
                self._restore(new)
            elif issubclass(type(new), Node) and getattr(new, "seq", -1.0) >= self.first_seq:
                _restore_saved(new)
        gc.unfreeze()

    def _restore(self, tensor: Tensor) -> None:
        array = getattr(tensor, "_array", None)
        if type(array) is RecordedArray:
            tensor._array = real_backend(tensor._key.backend).wrap(array._value)

    # --- inspection ---

    def reference_of(self, tensor: Tensor) -> Reference | None:
        """Return the reference to the current array of a tensor, while the recording is open."""
        array = tensor._array
        return array._reference if type(array) is RecordedArray else None

    def spoiled_numbers(self) -> bool:
        """Whether the program has replaced one of the recorded numbers."""
        return any(container.get(key) is not number for (container, key), number in zip(self.places, self.numbers, strict=True))


@cache
def _register_folders(backend: Backend) -> None:
    """Register the folders of a backend and of its array library as library code, not part of the user's program."""
    packs = {getattr(kernel, "__module__", None) or "" for kernel in backend.all_kernels.values()}
    own = {type(backend).__module__, backend.array_type.__module__, getattr(backend.xp, "__name__", "")}
    for name in own | packs:
        file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
        if file is not None:
            register_own_folder(str(Path(file).parent))


def _live_instances(*classes: type) -> list[list[Any]]:
    """Return the live instances of each class, which the garbage collector finds as they refer to their class."""
    found = gc.get_referrers(*(subclass for cls in classes for subclass in _with_subclasses(cls)))
    return [[candidate for candidate in found if issubclass(type(candidate), cls)] for cls in classes]


def _with_subclasses(cls: type) -> list[type]:
    found: dict[type, None] = {cls: None}
    waiting = [cls]
    while waiting:
        below: list[type] = type.__subclasses__(waiting.pop())
        new = [subclass for subclass in below if subclass not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _restore_saved(node: Node) -> None:
    """Replace recorded arrays by real ones in a node's attributes."""
    names = {name for cls in type(node).__mro__ for name in _slots(cls)} | set(node.__dict__)
    for name in names - {"__dict__", "__weakref__", "edges", "hooks"}:
        value: Any = getattr(node, name, None)
        if hasattr(value, "_saved"):  # `value` is the context `ctx` of an `autograd.Function`
            value._saved = _without_recorded(value._saved)
        restored = _without_recorded(value)
        if restored is not value:
            setattr(node, name, restored)


def _slots(cls: type) -> Sequence[str]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _without_recorded(value: Any) -> Any:
    if type(value) is RecordedArray:
        return value._value
    if type(value) is BatchedArray:
        value.replace_raw(_without_recorded)
        return value
    if type(value) in (RecordedNumber, RecordedInteger):
        return value.plain
    if type(value) in (tuple, list):
        items = [_without_recorded(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value
