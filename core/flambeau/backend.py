"""Base classes for backends, and the registry that finds them.

A backend has one device type (`cpu`, `cuda`, ...), an array-API namespace `xp`, and optionally kernels by operation name that are
faster than implementations by the array API.  All other modules work with any backend.

- `Backend`: for a library that follows the array API standard; its arrays are treated as immutable.
- `MutableBackend`: for a library whose arrays can be written to and whose views share memory.
- `AcceleratorBackend`: adds devices with queues of work, and page-locked copies.
- `RecordableBackend`: adds the compilation and replay of steps that `torch.compile` records.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, TypeGuard

from .engine.devices.aliases import without_aliases
from .engine.devices.hookspecs import (
    ArrayKind,
    Fusion,
    FusionChain,
    FusionInput,
    FusionStep,
    InferencePlanner,
    Operand,
    PlanCall,
    StaleWeights,
    hookimpl,
)  # fmt: skip
from .engine.devices.plugins import backend_plugin, installed, plugins, register, registry_lock, warn
from .engine.values import dtypes
from .engine.values.dtypes import dtype

__all__ = [
    "AcceleratorBackend", "ArrayKind", "Backend", "Creating", "FusionChain", "FusionInput", "FusionStep", "MutableBackend",
    "Operand", "PlanCall", "RecordableBackend", "StaleWeights", "find", "for_device_type", "hookimpl", "installed", "plugins",
    "selected", "without_aliases",
]  # fmt: skip

Array = Any  # an array of whichever library the backend wraps
DEVICE_TYPE_OWNER = {"cpu": "numpy", "cuda": "cupy", "meta": "meta"}  # device types known before their backends are imported
DEPRECATED_NAMES = {
    "compiled": "compile_forward", "forget": "clear_caches", "on": "namespace_on", "undisturbed": "ignoring_arithmetic_errors",
}  # fmt: skip

_NO_GUARD = nullcontext()


class UpperLayers:
    """Functions of higher layers that `Backend` calls.

    This module cannot import those layers, because they import it; they assign the functions to `upper_layers` instead.
    """

    unknown_kernels: Callable[[Iterable[str]], list[str]]  # returns the kernel names that match no operation
    host_generator: Callable[[Backend, int], Any]  # returns a random number generator that draws on the CPU
    host_reinterpret: Callable[[Backend, Any, dtype], Any]
    standard_namespace: Callable[[Backend], Any]  # returns `xp` wrapped to raise `MissingError` for missing functions


upper_layers: UpperLayers = UpperLayers()


class Backend:
    """An array library used by flambeau.  Subclass it and set `name`, `device_type`, `xp` and `array_type`.

    The default methods only use the array API standard; override those that the library can do faster.  Arrays are treated as
    immutable: a write to a tensor creates new arrays.  For libraries with mutable arrays and views, subclass `MutableBackend`.
    """

    name: str
    device_type: str
    xp: Any
    array_type: type
    mutable = False  # whether arrays can be written to, and views share memory: True for a `MutableBackend`
    complete = False  # whether `xp` has all functions and dtypes that forwards use; if not, the CPU computes the missing ones
    guarded = False  # whether kernels run on the current device, so that the device of their arrays must be made current
    has_data = True  # whether arrays have elements; if not, values are not checked, as on the device `meta`
    asynchronous = False  # whether work is queued, so that errors about values may be raised later, or never
    arithmetic_errors: tuple[type[Exception], ...] = ()  # raised for infinities and NaN if enabled in the library
    index_dtype: dtype = dtypes.int64  # of indices that the library's functions return; others are cast to PyTorch's int64
    checks_indices: frozenset[str] = frozenset()  # operations whose kernels raise for an index out of range
    all_inplace_kernels: Mapping[str, Callable[..., Any]] = {}  # in-place kernels, only of a `MutableBackend` and its packs
    takes_half: frozenset[str] = frozenset()  # operations whose kernels take half precision and accumulate in float32

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Accept methods defined under a deprecated name, with a warning."""
        super().__init_subclass__(**kwargs)
        for old, new in DEPRECATED_NAMES.items():
            if old in cls.__dict__ and new not in cls.__dict__:
                warnings.warn(
                    f"Backend.{old} is now called {new}: {cls.__name__} defines {old}", DeprecationWarning, stacklevel=2
                )
                setattr(cls, new, cls.__dict__[old])

    # --- kernels ---

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """The kernels of the backend, by operation name. A kernel replaces the implementation by array-API functions."""
        return {}

    @cached_property
    def half_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels for half precision, for operations whose kernel in `all_kernels` is slow in it; both round in the same way."""
        return {}

    @cached_property
    def all_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """The kernels of the backend; installed kernel packs replace those that they also define."""
        merged = dict(self.kernels)
        for pack in plugins().hook.flambeau_kernels(backend=self):
            for name in upper_layers.unknown_kernels(pack):
                warn(f"a kernel pack for the {self.name} backend has a kernel {name!r}, but there is no operation of that name")
            merged.update(pack)
        return merged

    @cached_property
    def forward_xp(self) -> Any:
        """The array namespace that operations compute with: `xp`, or a wrapper of it.

        The wrapper raises `MissingError` for functions and dtypes that the library lacks.
        """
        return self.xp if self.complete else upper_layers.standard_namespace(self)

    def compile_forward(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` (of arrays, such as the forward of an operation), compiled if the library can compile it."""
        return function

    # --- infinities and NaN ---

    def ignoring_arithmetic_errors(self) -> AbstractContextManager[Any]:
        """Return a context in which the library raises none of `arithmetic_errors`."""
        return nullcontext()

    def compute(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function without side effects; if it raises one of `arithmetic_errors`, call it again with these ignored."""
        try:
            return function(*args, **kwargs)
        except self.arithmetic_errors:
            with self.ignoring_arithmetic_errors():
                return function(*args, **kwargs)

    # --- dtypes ---

    @cached_property
    def dtypes(self) -> Mapping[dtype, Any]:
        """The library's dtype object, as in `array.dtype`, for each flambeau dtype that it supports."""
        found = {dtype_: self._raw_dtype(dtype_.name) for dtype_ in dtypes.ALL}
        return {dtype_: raw for dtype_, raw in found.items() if raw is not None}

    @property
    def missing_dtypes(self) -> Mapping[dtype, str]:
        """Dtypes that are unavailable because a package is not installed, with the package's name, which errors print."""
        return {}

    def _raw_dtype(self, name: str) -> Any:
        """Return the library's dtype called `name` or `name_` (as in `bool_`), or None if it has no arrays of that dtype."""
        raw = getattr(self.xp, name, None)
        raw = getattr(self.xp, f"{name}_", None) if raw is None else raw
        try:
            return None if raw is None else self.xp.zeros((), dtype=raw).dtype
        except (TypeError, ValueError, RuntimeError):  # a dtype in `xp` may be unsupported, such as float64 on some GPUs
            return None

    @cached_property
    def _dtype_of_raw(self) -> Mapping[Any, dtype]:
        return {raw: dtype_ for dtype_, raw in self.dtypes.items()}

    def dtype_of(self, array: Array) -> dtype:
        return self._dtype_of_raw[array.dtype]

    # --- devices ---

    def prepare(self) -> None:
        """Prepare a device before its first use.  Raise RuntimeError if no device is usable."""

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Return a context in which device `index` is the current one."""
        return _NO_GUARD

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        """Return the kernel for arrays on device `index`, for example wrapped so that this device is current."""
        return kernel

    def synchronize(self, index: int | None = None) -> None:
        """Wait until all work queued on the device has finished."""

    def evaluate(self, arrays: Sequence[Array]) -> None:
        """In lazy libraries, start computing `arrays` together. Optimizers call this with the parameters after a step."""

    def clear_caches(self) -> None:
        """Free memory kept for later calls, such as compiled programs; conformance tests call this after each op family."""

    def namespace_on(self, index: int | None) -> Any:
        """Return the namespace `xp` whose functions create arrays on device `index`."""
        return self.xp

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Array:
        """Convert nested sequences, scalars, or any array on the host to an array of this library."""
        return self.compute(self.xp.asarray, data, dtype=raw_dtype, copy=copy)

    def wrap(self, array: Array) -> Array:
        """Convert the result of a kernel to an array, for libraries that return scalars instead of 0-d arrays."""
        return array if isinstance(array, self.array_type) else self.asarray(array)

    def to_host(self, array: Array) -> Any:
        """Return an object with `__array__` or the buffer protocol on the host, sharing the array's memory if possible."""
        return array

    def from_host(self, data: Any, index: int = 0) -> Array:
        """Copy data returned by another backend's `to_host` to device `index`, in the same dtype."""
        own = {dtype_.name: raw for dtype_, raw in self.dtypes.items()}
        raw = own.get(str(getattr(data, "dtype", "")))  # given, because some libraries' `asarray` narrows float64 and int64
        return self.asarray(data, raw, index=index, copy=True)

    def copied_to(self, other: Backend, array: Array, index: int = 0) -> Any:
        """Copy the array to device `index` of another backend."""
        return other.from_host(self.to_host(array), index)

    def to_device(self, array: Array, index: int) -> Array:
        """Copy the array to another device of this backend."""
        return self.copy(array)

    def tolist(self, array: Array) -> Any:
        """Return nested lists of Python scalars, or one scalar for a 0-d array."""
        host = self.to_host(array)
        if hasattr(host, "tolist"):
            return host.tolist()
        return [self.tolist(array[i, ...]) for i in range(array.shape[0])] if array.ndim else self.item(array)

    def item(self, array: Array) -> Any:
        """Return the only element of the array as a Python scalar."""
        if hasattr(array, "item"):  # most libraries define `item`, although the standard does not
            return array.item()
        array = self.xp.reshape(array, ())
        category = self.dtype_of(array).category
        return (bool, int, float, complex)[category](array)

    def truth(self, array: Array) -> bool:
        """Whether the only element of the array is nonzero."""
        return bool(self.item(array))

    def extremes(self, array: Array) -> tuple[Any, Any]:
        """Return the smallest and the largest element as Python scalars, for checks of values."""
        return self.item(self.wrap(self.xp.min(array))), self.item(self.wrap(self.xp.max(array)))

    def equal(self, array: Array, other: Array) -> bool:
        """Whether two arrays of the same shape and dtype have the same elements; NaN equals NaN."""
        same = (array == other) | ((array != array) & (other != other))
        return bool(self.xp.all(self.wrap(same)))

    def astype(self, array: Array, raw_dtype: Any) -> Array:
        """Copy the array to another dtype; from complex to real dtypes, keep the real parts."""
        category = self._dtype_of_raw[raw_dtype].category
        if category < dtypes.COMPLEX and self.dtype_of(array).is_complex:  # the standard's `astype` raises for complex to real
            array = self.xp.real(array) if category > dtypes.BOOL else array != self.xp.zeros((), dtype=array.dtype)
        return self.compute(self.xp.astype, array, raw_dtype)

    def reinterpret(self, array: Array, wanted: dtype) -> Array:
        """Return the same bytes as another dtype, as a view if the library has views.  Raise ValueError if the sizes differ."""
        return upper_layers.host_reinterpret(self, array, wanted)

    def copy(self, array: Array) -> Array:
        """Return an array that does not change when `array` is written to: here the same immutable array."""
        return array

    def is_own(self, array: Array) -> bool:
        """Whether the caller holds the only reference to the array's memory (False if unknown)."""
        return True

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        """Return a DLPack capsule of the array."""
        return array.__dlpack__(**{key: value for key, value in kwargs.items() if value is not None})

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        """Return a new random generator for device `index`, with the samplers of `flambeau_backends.numpy.random`.

        The default is the CPU's generator, which gives the same numbers for the same seed.
        """
        return upper_layers.host_generator(self, index)

    def report(self) -> str:
        """Return one line about the library for `python -m flambeau env`."""
        return f"{self.name}: {getattr(self.xp, '__name__', self.xp)} {getattr(self.xp, '__version__', '')}".rstrip()

    def share(self, array: Array) -> Array:
        """Copy a one-dimensional array to memory that is shared with other processes."""
        raise RuntimeError(f"the {self.name} backend cannot share memory between processes")

    # --- memory: methods that a `MutableBackend` overrides ---

    def strides(self, array: Array) -> tuple[int, ...]:
        """Return the strides in elements."""
        return contiguous_strides(array.shape)

    def is_contiguous(self, array: Array) -> bool:
        """Whether the elements are stored in row-major order."""
        return self.strides(array) == contiguous_strides(array.shape)

    def data_ptr(self, array: Array) -> int:
        """Return the address of the first element, or a number that identifies the array."""
        return id(array)

    def root(self, array: Array) -> tuple[Array, int]:
        """Return the one-dimensional array over all memory that `array` is a view of, and the view's offset in elements."""
        return self.xp.reshape(array, (-1,)), 0

    def memory(self, array: Array) -> Array:
        """Return the memory of `array` as a one-dimensional uint8 array."""
        return self.reinterpret(self.root(array)[0], dtypes.uint8)

    def as_strided(self, flat: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> Array:
        """Return the elements of a one-dimensional array at the given strides and offset, in elements."""
        index = self.xp.asarray(offset)
        for length, step in zip(size, stride, strict=True):
            index = index[..., None] + self.xp.arange(length) * step
        return self.xp.reshape(self.xp.take(flat, self.xp.reshape(index, (-1,)), axis=0), tuple(size))

    def shares_memory(self, array: Array, other: Array) -> bool:
        """Whether writing to one array may change the other."""
        return array is other

    def in_order_of_first(self, array: Array, first: Any) -> Array:
        """Return the result of an operation on several operands in the memory order of the first, as PyTorch does."""
        return array


class MutableBackend(Backend, ABC):
    """A backend for a library whose arrays can be written to, and whose views share memory.

    Define the abstract methods, which the standard has no functions for; the others have defaults.
    """

    mutable = True
    inplace_kernels: Mapping[str, Callable[..., Any]] = {}  # functions `kernel(target, *others, **scalars)`, which write `target`

    @cached_property
    def all_inplace_kernels(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[override]  # computed at the first use
        """The in-place kernels of the backend; installed kernel packs replace those that they also define."""
        merged = dict(self.inplace_kernels)
        for pack in plugins().hook.flambeau_inplace_kernels(backend=self):
            merged.update(pack)
        return merged

    # --- memory ---

    @abstractmethod
    def strides(self, array: Array) -> tuple[int, ...]:
        """Return the strides in elements."""

    @abstractmethod
    def data_ptr(self, array: Array) -> int:
        """Return the address of the first element."""

    @abstractmethod
    def root(self, array: Array) -> tuple[Array, int]:
        """Return the one-dimensional array over all memory that `array` is a view of, and the view's offset in elements."""

    @abstractmethod
    def as_strided(self, flat: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> Array:
        """Return a view of a one-dimensional array with these strides, in elements."""

    @abstractmethod
    def shares_memory(self, array: Array, other: Array) -> bool:
        """Whether writing to one array may change the other."""

    def window(self, array: Array) -> Array:
        """Return the same elements in the same memory, as an array whose `root` covers only these elements."""
        return array

    def allocation(self, array: Array) -> Any:
        """Return an object that is the same for all arrays in the same memory."""
        while (base := getattr(array, "base", None)) is not None:
            array = base
        return array

    def memory_owner(self, array: Array) -> Any:
        """Return the object that owns the memory, such as a mapped file; None if the library allocated it."""
        return None

    def is_unaliased(self, array: Array) -> bool:
        """Whether no other array shares the memory (False if unknown)."""
        return False

    def is_shared(self, array: Array) -> bool:
        """Whether the array's memory is shared with other processes."""
        return False

    # --- copies and writes ---

    def copy(self, array: Array) -> Array:
        return self.xp.asarray(array, copy=True)

    def is_own(self, array: Array) -> bool:
        return False

    def in_order_of(self, array: Array, like: Array) -> Array:
        """Return the array, or a copy, whose strides have the same order as those of `like`."""
        return array

    def by_columns(self, array: Array) -> Array:
        """Return the matrices in column-major order."""
        return array

    def write(self, target: Array, value: Array) -> None:
        """Overwrite all elements of `target` with `value`."""
        target[...] = value

    def add_to(self, target: Array, value: Array) -> None:
        """Add `value` to the elements of `target` in place."""
        target += value


def is_mutable(backend: Backend) -> TypeGuard[MutableBackend]:
    """Whether a backend, or a proxy for one, has the methods of a `MutableBackend`."""
    return backend.mutable


class AcceleratorBackend(Backend):
    """A backend for a library with several devices or asynchronous copies.

    A backend for CUDA devices also has the methods of `engine.devices.cuda_capabilities.Accelerator`, which `torch.cuda` calls.
    """

    def device_of(self, array: Array) -> int:
        """Return the index of the device that an array is on."""
        return 0

    def to_host_async(self, array: Array) -> Any:
        """Copy to page-locked host memory without waiting; the copy is complete when the device's current stream has finished."""
        return self.to_host(array)

    def from_host_async(self, data: Any, index: int = 0) -> Array:
        """Copy to the device without waiting, if `data` is page-locked; do not change `data` before the copy is complete."""
        return self.from_host(data, index)


class RecordableBackend(Backend):
    """A backend that compiles or replays steps recorded by `torch.compile`; on other backends compiled functions run eagerly.

    A recorded step is a Python function of a list of arrays and numbers, which calls the kernels in order.
    """

    scalar_types: tuple[type, ...] = ()  # types that functions of the library may return instead of 0-d arrays
    compiles_programs = False  # whether `compile_program` compiles all calls of a step together

    def compile_program(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Compile the function of a recorded step as a whole; `name` appears in the library's messages."""
        return function

    def wrap_program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the function of a recorded step before it is called, for example in a context."""
        return function

    def specialize_kernel(self, kernel: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return a faster kernel for these argument kinds (`ArrayKind` for an array), or None to keep `kernel`.

        Replayed steps call it in place of `kernel`, inside `wrap_program`.
        """
        return None

    @cached_property
    def fusion(self) -> Fusion | None:
        """The compiler of fused loops for chains of elementwise operations, from a kernel pack; None if none is installed."""
        fusion: Fusion | None = plugins().hook.flambeau_fusion(backend=self)
        return fusion

    @cached_property
    def inference(self) -> InferencePlanner | None:
        """The compiler of inference steps, from a kernel pack or the backend, or None."""
        planner: InferencePlanner | None = plugins().hook.flambeau_inference(backend=self)
        return planner


class Creating:
    """A namespace like `xp` with replaced creation functions (except `asarray`): for `Backend.namespace_on`.

    Args:
        xp: the namespace to wrap.
        created: takes a creation function and returns its replacement, for example one for a certain device.

    >>> import functools, numpy
    >>> small = Creating(numpy, lambda function: functools.partial(function, dtype="float32"))
    >>> small.zeros(2).dtype, small.asarray(2.0).dtype
    (dtype('float32'), dtype('float64'))
    """

    FUNCTIONS = frozenset({"arange", "empty", "eye", "full", "linspace", "ones", "zeros"})

    def __init__(self, xp: Any, created: Callable[[Any], Any]) -> None:
        self._xp, self._created = xp, created

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._xp, name)
        attribute = self._created(attribute) if name in self.FUNCTIONS else attribute
        self.__dict__[name] = attribute  # cached, so that later lookups do not call this method
        return attribute


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return row-major strides in elements; a dimension of length 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return the dimensions from the largest stride to the smallest; expanded dimensions (stride 0) keep their positions."""
    order = list(reversed(range(len(shape))))
    for last in range(1, len(order)):
        at = last
        for before in reversed(range(last)):
            outer, inner = strides[order[before]], strides[order[at]]
            if outer and inner and outer < inner:
                break
            if outer and inner and (outer > inner or shape[order[before]] > shape[order[at]]):
                order[before], order[at] = order[at], order[before]
                at = before
    return tuple(reversed(order))


def has_channels_last_strides(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides are those of channels-last images or volumes, or of a slice of such a tensor."""
    if len(shape) not in (4, 5) or not strides[1]:
        return False
    least = 0
    for dim in (1, *range(len(shape) - 1, 1, -1), 0):
        length, stride = shape[dim], strides[dim]
        if length == 1 and dim != 1:
            continue
        if not length or stride < least or (dim == 0 and least == strides[1]):
            return False
        least = stride * length
    return True


# --- the registry ------------------------------------------------------------------------------------------------

_backends: dict[str, Backend] = {}


def find(name: str) -> Backend:
    """Return the backend called `name`, importing its plugin on first use.

    Raises:
        RuntimeError: the name is unknown or belongs to two plugins, the library is not installed, or the plugin is broken;
            the message gives the cause and what to do.
    """
    if name not in _backends:
        plugin = backend_plugin(name)  # imported before the lock is held: another thread may be importing it
        with registry_lock:
            if name not in _backends:
                hooks = register(name, plugin)
                others = [plugin for plugin in plugins().get_plugins() if plugin is not hooks]
                backend: Any = plugins().subset_hook_caller("flambeau_backend", others)(name=name)
                _check(name, backend)
                _backends[name] = backend
    return _backends[name]


def _check(name: str, backend: Any) -> None:
    """Raise if a backend is incomplete, or if its device type belongs to another backend."""
    if not isinstance(backend, Backend):
        what = "no backend of that name" if backend is None else f"a {type(backend).__name__}, not a flambeau.backend.Backend"
        raise RuntimeError(f"flambeau plugin {name!r} gives {what}")
    missing = [attribute for attribute in ("name", "device_type", "xp", "array_type") if not hasattr(backend, attribute)]
    if missing:
        raise RuntimeError(f"the backend of flambeau plugin {name!r} has no {', '.join(missing)}")
    if backend.mutable and not isinstance(backend, MutableBackend):
        raise RuntimeError(
            f"the backend of flambeau plugin {name!r} has `mutable = True`: subclass flambeau.backend.MutableBackend instead of "
            "Backend, and define its abstract methods; or leave out `mutable`"
        )
    owner = DEVICE_TYPE_OWNER.setdefault(backend.device_type, name)
    if owner != name:
        raise RuntimeError(
            f"flambeau plugin {name!r} wants devices of type {backend.device_type!r}, which are those of the {owner} backend"
        )


def for_device_type(device_type: str) -> Backend:
    """Return the backend that owns `device_type`.

    Raises:
        RuntimeError: no installed backend has this device type, or its plugin is broken.
        AssertionError: the same for `"cuda"`, as in PyTorch.
    """
    owner = DEVICE_TYPE_OWNER.get(device_type)
    if owner is None and device_type in installed():
        owner = device_type
    if owner is None:
        raise RuntimeError(f"no installed flambeau backend has devices of type {device_type!r}")
    try:
        return find(owner)
    except RuntimeError as error:
        if device_type != "cuda":
            raise
        raise AssertionError(f"Torch not compiled with CUDA enabled: {error}") from error


def has_devices(device_type: str) -> bool:
    """Whether a device of this type is usable.  Never raises."""
    try:
        return for_device_type(device_type).device_count() > 0
    except (AssertionError, RuntimeError):
        return False


def _parse_selection(text: str) -> tuple[str, int | None]:
    name, _, index = text.partition(":")
    if index and not index.isdecimal():
        raise RuntimeError(f"FLAMBEAU_BACKEND={text!r}: expected NAME or NAME:INDEX")
    return name, int(index) if index else None


SELECTED_NAME, SELECTED_INDEX = _parse_selection(os.environ.get("FLAMBEAU_BACKEND") or "numpy")


def selected() -> Backend:
    """Return the backend chosen by the environment variable `FLAMBEAU_BACKEND` (by default `numpy`)."""
    return _backends.get(SELECTED_NAME) or find(SELECTED_NAME)
