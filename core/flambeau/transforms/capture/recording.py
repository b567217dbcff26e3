"""A stretch of time in which all kernels of a backend go through a recorder.

All doors to kernels are in the dispatch keys: their tables, their `F` and their backend.  While a recording is open, the keys of
one backend have others: a `RecordingBackend` in place of the backend, and tables that are filled with recorded kernels.  All
tensors that live, and numbers that may change from step to step, such as learning rates, become recorded values.  At the end, all
is as before.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any, Final

from ...backend import Backend, for_device_type
from ...engine.calls.tables import OPS
from ...engine.devices.devices import DispatchKey, cached_keys, device, dispatch_key, kernels_of
from ...engine.devices.state import state
from ...engine.tape.node import Node, next_seq
from ...engine.tape.transforming import open_batches
from ...engine.tensors.tensor import Tensor
from ...random import Generator
from ..batching.arrays import BatchedArray
from ..batching.keys import BatchedKey, other_kernels
from ..conjugate_views import LazyKey, lazy_keys
from .recorder import (
    COMPUTE,
    RecordedArray,
    RecordedGenerator,
    RecordedInteger,
    RecordedNumber,
    Recorder,
    Reference,
    open_recorders,
    register_own_folder,
)

__all__ = ["NotCapturable", "Recording", "TensorState"]


class NotCapturable(RuntimeError):
    """What was recorded cannot be replayed; the message says why."""


# Functions of a namespace, and operations, whose results have a shape that depends on values.
_SHAPE_FROM_VALUES = frozenset({
    "argwhere", "bincount", "compress", "extract", "flatnonzero", "histogram", "masked_select", "nonzero", "repeat",
    "repeat_interleave", "unique", "unique_all", "unique_consecutive", "unique_counts", "unique_inverse", "unique_values",
})  # fmt: skip
_LOOKS = frozenset({"item", "truth", "tolist", "to_host", "to_host_later", "to_dlpack"})
_WRITES = {"write": (0,), "add_to": (0,)}
_AS_IT_IS = frozenset({"computed", "undisturbed", "bind", "guard", "prepare", "synchronize"})


class RecordingBackend:
    """Stands in for a backend while its arrays are recorded."""

    def __init__(self, real: Backend, recorder: Recorder) -> None:
        self._real, self._recorder = real, recorder
        self.array_type = RecordedArray
        self.xp: Final = RecordingNamespace(real.xp, recorder)
        self.forward_xp: Final = self.xp
        self.all_kernels: Final = RecordingKernels(real.all_kernels, recorder, self._written_by_step)
        self.half_kernels: Final = RecordingKernels(real.half_kernels, recorder, lambda name: ())
        self.all_inplace_kernels = RecordingKernels(real.all_inplace_kernels, recorder, lambda name: (0,))
        self.inplace_kernels: Final = self.all_inplace_kernels

    @property
    def itself(self) -> Backend:
        """The backend behind the recorder."""
        return self._real

    def recorded(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, whose calls are recorded."""
        return self._recorder.wrapped(kernel, name)

    def compiled(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is: what it calls is recorded."""
        return function

    def _written_by_step(self, name: str) -> Any:
        """An optimizer's kernel writes to all its arrays but the second, which is the gradient; other kernels write to none."""
        if not self._real.mutable or not name.endswith("_step"):
            return ()
        return lambda args: [position for position in range(len(args)) if position != 1]

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if not callable(attribute) or isinstance(attribute, type) or name in _AS_IT_IS:
            return attribute
        value = (
            self._looking(name, attribute)
            if name in _LOOKS
            else self._recorder.wrapped(attribute, name, COMPUTE, _WRITES.get(name, ()))
        )
        setattr(self, name, value)
        return value

    def _looking(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self._recorder

        def look(array: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(array, RecordedArray):
                if not recorder.is_constant(array._reference):
                    recorder.spoil("it looks at a value")
                array = array._value
            return method(array, *args, **kwargs)

        return look

    def copied_to(self, other: Any, array: Any, index: int = 0) -> Any:
        """A copy of the array as one of another backend: between two that are recorded, a step of the program."""
        real = other.itself
        if real is other:
            self._recorder.missed = real if real.recordable else None
            self._recorder.spoil(f"it copies to the {real.name} backend, which was not recorded")
            return self._real.copied_to(real, array._value if isinstance(array, RecordedArray) else array, index)
        return self._recorder.call("copied_to", self._real.copied_to, (real, array, index), {})

    def is_own(self, array: Any) -> bool:
        """False: a copy is recorded, and left out of the program where it turns out not to be needed."""
        return False

    def copy(self, array: Any) -> Any:
        """A fresh array with the same elements."""
        recorder = self._recorder
        if recorder.depth or not isinstance(array, RecordedArray):
            return self._real.copy(array)
        value, array._value = array._value, None
        owned = self._real.is_own(value)
        array._value = value
        result = recorder.call("copy", self._real.copy, (array,), {})
        if result is not array:  # immutable arrays are their own copies
            recorder.calls[-1].owned = owned
        return result

    def extremes(self, array: Any) -> tuple[Any, Any]:
        """The smallest and the largest element, as numbers whose comparisons are checked in each replay."""
        real = self._real.extremes
        if self._recorder.depth or not isinstance(array, RecordedArray):
            return real(array)
        low, high = real(array._value)
        references = self._recorder.new_reference(), self._recorder.new_reference()
        self._recorder.add("extremes", real, (array,), references)
        return tuple(
            (RecordedNumber if isinstance(value, float) else RecordedInteger).of(value, reference, self._recorder)
            for value, reference in zip((low, high), references, strict=True)
        )

    def number(self, array: Any) -> Any:
        """The one element as a number that the program follows."""
        if self._recorder.depth or not isinstance(array, RecordedArray):
            return self._real.item(array)
        return self._recorder.number(self._real.item(array._value), "item", self._real.item, (array,))

    def on(self, index: int | None) -> Any:
        """The namespace for creating arrays."""
        return RecordingNamespace(self._real.on(index), self._recorder)


class RecordingNamespace:
    """A namespace of functions of arrays, which records their calls."""

    def __init__(self, real: Any, recorder: Recorder) -> None:
        self._real, self._recorder = real, recorder

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if isinstance(attribute, ModuleType):
            value: Any = RecordingNamespace(attribute, self._recorder)
        elif callable(attribute) and not isinstance(attribute, type) and name not in ("isdtype", "finfo", "iinfo", "result_type"):
            value = _recording_function(attribute, name, self._recorder)
        else:
            value = attribute
        setattr(self, name, value)
        return value


def _recording_function(function: Callable[..., Any], name: str, recorder: Recorder) -> Callable[..., Any]:
    def record(*args: Any, **kwargs: Any) -> Any:
        if name in _SHAPE_FROM_VALUES and not recorder.depth:
            recorder.spoil(f"a shape depends on values: {name}")
        if kwargs.get("out") is not None:
            recorder.spoil(f"{name} writes to an array in its own way")
        return recorder.call(name, function, args, kwargs)

    return record


class RecordingKernels(Mapping[str, Callable[..., Any]]):
    """The kernels of a backend, which record their calls."""

    def __init__(self, real: Mapping[str, Callable[..., Any]], recorder: Recorder, writes: Callable[[str], Any]) -> None:
        self._real, self._recorder, self._writes = real, recorder, writes

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._recorder.wrapped(self._real[name], name, COMPUTE, self._writes(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)


class RecordedConstants(dict[Any, Any]):
    """The constants of a dispatch key: none is kept for a number that may be another in the next step."""

    followed = frozenset({RecordedNumber, RecordedInteger})

    def get(self, key: Any, default: Any = None) -> Any:
        return default if isinstance(key, (RecordedNumber, RecordedInteger)) else super().get(key, default)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, (RecordedNumber, RecordedInteger)):
            super().__setitem__(key, value)


@dataclass(slots=True)
class TensorState:
    """What a tensor was when the recording began."""

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


@dataclass(slots=True)
class _KeyState:
    """What a dispatch key had in the places that a recording changes."""

    entries: dict[str, Any]
    values: dict[str, Any]

    @classmethod
    def of(cls, key: DispatchKey) -> _KeyState:
        return cls(dict(key), {name: getattr(key, name) for name in _CHANGED})

    def install(self, key: DispatchKey) -> None:
        """Put it back."""
        key.clear()
        key.update(self.entries)
        for name, value in self.values.items():
            setattr(key, name, value)


_CHANGED = ("backend", "array_type", "constants", "scalars", "constant_types", "F", "table")


class Recording:
    """Context in which what is computed on a backend's arrays is recorded.

    Args:
        backend: whose arrays.
        numbers: places of numbers that may change from step to step, such as the `"lr"` of a parameter group: dictionary and key.
        strict: raise at once where the program looks at a value.
    """

    def __init__(self, backend: Backend, numbers: Sequence[tuple[dict[Any, Any], Any]] = (), strict: bool = False) -> None:
        host = for_device_type("cpu")
        self.backends = [backend] if host is backend or not host.recordable else [backend, host]
        self.backend, self.recorder = backend, Recorder(backend, strict, host=self.backends[1] if self.backends[1:] else None)
        self.places: Final = list(numbers)
        self.numbers: list[RecordedNumber] = []  # the recorded ones, in the order of the places
        self.states: dict[int, TensorState] = {}  # of the tensors that were there, by id
        self.generators: list[tuple[Generator, Any]] = []
        self.first_seq = 0.0
        self.device: int | None = None  # which one is current, where a library has several
        self._tensors: list[Tensor] = []  # all that were there
        self._keys: dict[DispatchKey, _KeyState] = {}
        self._batched = ExitStack()

    # --- at the beginning ---

    def __enter__(self) -> Recording:
        if not self.backend.recordable:
            raise NotCapturable(f"steps on the {self.backend.name} backend are not recorded")
        if open_recorders:
            raise NotCapturable("another step is being recorded")
        if open_batches() or state.forward_levels or state.mutation_guards or state.anomaly_mode or state.node_observers:
            raise NotCapturable("a transform, anomaly mode or a profiler is on")
        for backend in self.backends:
            _register_folders(backend)
            for dtype in backend.dtypes:
                dispatch_key(dtype, device(backend.device_type))
        gc.unfreeze()  # objects that `gc.freeze` has put aside would not be found
        self._tensors, generators = _instances(Tensor, Generator)
        gc.freeze()  # what is found at the end is then what has been made since, and collections pass over the rest
        self._lift(self._tensors)
        self._replace_keys()
        for generator in generators:
            if any(generator.device.type == backend.device_type for backend in self.backends):
                self.generators.append((generator, generator.raw))
                generator._raw = RecordedGenerator(generator.raw, self.recorder)
        for container, key in self.places:
            number = RecordedNumber.of(container[key], self.recorder.new_reference(), self.recorder)
            self.numbers.append(number)
            container[key] = number
        watch = sys.getprofile()
        self.recorder.watch = watch if isinstance(watch, MethodType) else None  # a profiler's own cannot be set again
        self.first_seq, self.device = next_seq(), self.recorder.current_device()
        open_recorders.append(self.recorder)
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
        for tensor_state in self.states.values():
            tensor_state.tensor._array = tensor_state.lifted

    def _replace_keys(self) -> None:
        recording = [RecordingBackend(backend, self.recorder) for backend in self.backends]
        for key in {key for key in cached_keys.values() if key.backend in self.backends}:
            self._keys[key] = _KeyState.of(key)
        for key in self._keys:
            self._set_up(key, recording[self.backends.index(key.backend)])
        self._resolve = DispatchKey.resolve
        DispatchKey.resolve = staticmethod(self._resolve_recorded)
        self._batched.enter_context(other_kernels())
        self._renew_lazy_keys()

    def _renew_lazy_keys(self) -> None:
        for key in lazy_keys():
            if key.plain in self._keys:
                key.renew()

    def _set_up(self, key: DispatchKey, backend: Any) -> None:
        key.clear()
        key.backend, key.array_type = backend, RecordedArray
        key.constants, key.table = RecordedConstants(), {}
        number_types = {int: RecordedInteger, float: RecordedNumber}
        key.scalars = key.scalars | {number_types[kind] for kind in key.scalars & number_types.keys()}
        key.constant_types = key.constant_types | {number_types[kind] for kind in key.constant_types & number_types.keys()}
        key.F = kernels_of(key)

    def _resolve_recorded(self, name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
        """The kernel of an operation as outside of the recording, recorded."""
        if isinstance(key, BatchedKey) or name == "add_level":  # what it calls on the arrays within is recorded
            return self._resolve(name, key)
        if type(key) is not DispatchKey or name in _SHAPE_FROM_VALUES:
            self.recorder.spoil(f"{name} of {key!r} is not recorded")
        if key not in self._keys:
            return self._resolve(name, key)
        recorded = {other: _KeyState.of(other) for other in self._keys}
        resolve_recorded = DispatchKey.resolve
        DispatchKey.resolve = staticmethod(self._resolve)
        for other in self._keys:
            self._keys[other].install(other)
        try:
            kernel, result = key[name]
            self._keys[key].entries[name] = kernel, result
        finally:
            DispatchKey.resolve = staticmethod(resolve_recorded)
            for other, key_state in recorded.items():
                key_state.install(other)
        return self.recorder.wrapped(kernel, name, COMPUTE, OPS[name].writes), result

    # --- at the end ---

    def __exit__(self, *exception: object) -> None:
        self.recorder.active = False
        open_recorders.remove(self.recorder)
        DispatchKey.resolve = staticmethod(self._resolve)
        for key in self._keys:
            self._keys[key].install(key)
        self._batched.close()
        self._renew_lazy_keys()
        for generator, raw in self.generators:
            generator._raw = raw
        for (container, key), number in zip(self.places, self.numbers, strict=True):
            if container.get(key) is number:
                container[key] = number.plain
        for tensor in self._tensors:
            self._restore(tensor)
        for new in gc.get_objects():  # without those that were frozen when the recording began
            if issubclass(type(new), Tensor):
                self._restore(new)
            elif issubclass(type(new), Node) and getattr(new, "seq", -1.0) >= self.first_seq:
                _restore_saved(new)
        gc.unfreeze()

    def _restore(self, tensor: Tensor) -> None:
        array = getattr(tensor, "_array", None)
        if type(array) is RecordedArray:
            tensor._array = tensor._key.backend.wrap(array._value)

    # --- what was there ---

    def reference_of(self, tensor: Tensor) -> Reference | None:
        """The value that a tensor holds now, while the recording is open."""
        array = tensor._array
        return array._reference if type(array) is RecordedArray else None

    def spoiled_numbers(self) -> bool:
        """Whether the program has replaced one of the numbers that were to be followed."""
        return any(container.get(key) is not number for (container, key), number in zip(self.places, self.numbers, strict=True))


@cache
def _register_folders(backend: Backend) -> None:
    """Count the code of a backend, and of its array library, as the library's own: it is no part of the program."""
    packs = {getattr(kernel, "__module__", None) or "" for kernel in backend.all_kernels.values()}
    own = {type(backend).__module__, backend.array_type.__module__, getattr(backend.xp, "__name__", "")}
    for name in own | packs:
        file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
        if file is not None:
            register_own_folder(f"{Path(file).parent}{os.sep}")


def _instances(*classes: type) -> list[list[Any]]:
    """The live objects of each of the classes; an object refers to its class, so that the collector can tell."""
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
    """Put real arrays in the place of recorded ones in what a node keeps."""
    names = {name for cls in type(node).__mro__ for name in _slots(cls)} | set(node.__dict__)
    for name in names - {"__dict__", "__weakref__", "edges", "hooks"}:
        value: Any = getattr(node, name, None)
        if hasattr(value, "_saved"):  # the context of a Function
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
