"""While a step is recorded, replace backends, array namespaces and kernels by others that record their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from ...backend import Backend, RecordableBackend
from ...engine.calls.facts import names
from ...engine.calls.tables import OPS
from ...engine.devices.devices import DispatchKey
from ...engine.devices.interceptor import real_backend
from ..batching.keys import BatchedKey
from .interceptor import TransformInterceptor
from .recorder import COMPUTE, RecordedArray, RecordedInteger, RecordedNumber, Recorder

__all__ = ["RecordingInterceptor"]

# Names of operations and array functions whose result shapes depend on the values of their arguments.
_SHAPE_FROM_VALUES = names(dynamic_shape=True) | {
    "compress", "extract", "flatnonzero", "histogram", "repeat", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
}  # fmt: skip
_LOOKS = frozenset({"item", "truth", "tolist", "to_host", "to_host_async", "to_dlpack"})
_WRITES = {"write": (0,), "add_to": (0,)}
_UNRECORDED = frozenset({"compute", "ignoring_arithmetic_errors", "bind", "guard", "prepare", "synchronize"})


class RecordingBackend:
    """Replacement of a backend whose arrays are recorded: it records calls of the backend's methods."""

    def __init__(self, real: Backend, recorder: Recorder) -> None:
        self._real, self._recorder = real, recorder
        self.array_type = RecordedArray
        self.xp: Final = RecordingNamespace(real.xp, recorder)
        self.forward_xp: Final = self.xp
        self.all_kernels: Final = RecordingKernels(real.all_kernels, recorder, self._written_by_step)
        self.half_kernels: Final = RecordingKernels(real.half_kernels, recorder, lambda name: ())
        self.all_inplace_kernels: RecordingKernels = RecordingKernels(real.all_inplace_kernels, recorder, lambda name: (0,))

    def compile_forward(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged: the calls inside it are recorded."""
        return function

    def _written_by_step(self, name: str) -> Any:
        """Return the positions of the arguments that a kernel writes to.

        Optimizer steps write to all arguments except the gradient, at position 1.  Other kernels write to none.
        """
        if not self._real.mutable or not name.endswith("_step"):
            return ()
        return lambda args: [position for position in range(len(args)) if position != 1]

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._real, name)
        if not callable(attribute) or isinstance(attribute, type) or name in _UNRECORDED:
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
        """Copy the array to another backend.  If both are recorded, the copy is recorded as a call."""
        real = real_backend(other)
        if real is other:
            self._recorder.missed = real if isinstance(real, RecordableBackend) else None
            self._recorder.spoil(f"it copies to the {real.name} backend, which is not recorded")
            return self._real.copied_to(real, array._value if isinstance(array, RecordedArray) else array, index)
        return self._recorder.call("copied_to", self._real.copied_to, (real, array, index), {})

    def is_own(self, array: Any) -> bool:
        """Return False, so that callers make a copy, which is recorded.  The program omits the copy if it is not needed."""
        return False

    def copy(self, array: Any) -> Any:
        """Return a copy of an array."""
        recorder = self._recorder
        if recorder.depth or not isinstance(array, RecordedArray):
            return self._real.copy(array)
        value, array._value = array._value, None
        owned = self._real.is_own(value)
        array._value = value
        result = recorder.call("copy", self._real.copy, (array,), {})
        if result is not array:  # immutable arrays are not copied
            recorder.calls[-1].owned = owned
        return result

    def extremes(self, array: Any) -> tuple[Any, Any]:
        """Return the smallest and the largest element, as numbers whose comparisons are checked in each replay."""
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

    def namespace_on(self, index: int | None) -> Any:
        """Return the namespace for creating arrays on a device."""
        return RecordingNamespace(self._real.namespace_on(index), self._recorder)


class RecordingNamespace:
    """A namespace of array functions that records their calls."""

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
            recorder.spoil(f"{name} writes to an array given as `out=`")
        return recorder.call(name, function, args, kwargs)

    return record


class RecordingKernels(Mapping[str, Callable[..., Any]]):
    """The kernels of a backend, each wrapped to record its calls."""

    def __init__(self, real: Mapping[str, Callable[..., Any]], recorder: Recorder, writes: Callable[[str], Any]) -> None:
        self._real, self._recorder, self._writes = real, recorder, writes

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._recorder.wrapped(self._real[name], name, COMPUTE, self._writes(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)


class RecordedConstants(dict[Any, Any]):
    """The constants cached by a dispatch key.

    It caches neither recorded numbers, which may change between steps, nor constants used inside a recorded call.
    """

    followed: frozenset[type[RecordedNumber] | type[RecordedInteger]] = frozenset({RecordedNumber, RecordedInteger})

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def _is_cached(self, key: Any) -> bool:
        return not self.recorder.depth and not isinstance(key, (RecordedNumber, RecordedInteger))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default) if self._is_cached(key) else default

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._is_cached(key):
            super().__setitem__(key, value)


class RecordingInterceptor(TransformInterceptor):
    """Record the kernel calls of backends, also for conjugate views and inside `vmap`."""

    def __init__(self, backends: Sequence[Backend], recorder: Recorder) -> None:
        super().__init__(backends)
        self.recorder = recorder

    def stand_in(self, backend: Backend) -> RecordingBackend:
        return RecordingBackend(backend, self.recorder)

    def wrap_kernel(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        return self.recorder.wrapped(kernel, name, COMPUTE, OPS[name].writes if name in OPS else ())

    def read_number(self, backend: Any, array: Any) -> Any:
        """Return the element of a one-element array as a recorded number."""
        item = self.real_backends[backend].item
        if self.recorder.depth or not isinstance(array, RecordedArray):
            return item(array)
        return self.recorder.number(item(array._value), "item", item, (array,))

    def set_up(self, key: DispatchKey) -> None:
        key.constants = RecordedConstants(self.recorder)
        number_types = {int: RecordedInteger, float: RecordedNumber}
        key.scalars = key.scalars | {number_types[kind] for kind in key.scalars & number_types.keys()}
        key.constant_types = key.constant_types | {number_types[kind] for kind in key.constant_types & number_types.keys()}

    def resolve(self, name: str, key: DispatchKey) -> tuple[Callable[..., Any], Any]:
        if isinstance(key, BatchedKey) or name == "add_level":  # these operations call kernels on raw arrays, which are recorded
            return self._resolve(name, key)
        if type(key) is not DispatchKey or name in _SHAPE_FROM_VALUES:
            self.recorder.spoil(f"{name} of {key!r} is not recorded")
        return super().resolve(name, key)
