"""Backends: the interface between flambeau and an array library, and the registry that finds them.

A backend has one device type (`cpu`, `cuda`, ...), an array-API namespace `xp` and, where it has something faster
than the array API, kernels by operation name.  Everything above this file works with any backend.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

import pluggy

from .engine.devices import hookspecs
from .engine.devices.aliases import without_aliases
from .engine.devices.hookspecs import FusionChain, FusionInput, FusionStep, Operand, hookimpl
from .engine.values import dtypes
from .engine.values.dtypes import dtype

__all__ = [
    "Backend", "Creating", "FusionChain", "FusionInput", "FusionStep", "Operand", "answers", "find", "for_device_type",
    "hookimpl", "installed", "plugins", "selected", "without_aliases",
]  # fmt: skip

Array = Any  # an array of whichever library the backend wraps
GROUP = "flambeau.backends"
BUILTIN = {"numpy": "flambeau_backends.numpy", "cupy": "flambeau_backends.cupy"}
WITHOUT_DATA = {"meta": "flambeau_backends.meta"}  # found by its device type, and not for selection
INSTALL_HINT = {"cupy": "pip install 'flambeau[cuda12]'  (or [cuda13])"}
DEVICE_TYPE_OWNER = {
    "cpu": "numpy",
    "cuda": "cupy",
    "meta": "meta",
}  # of each device type, known before the import


_NO_GUARD = nullcontext()


class Backend:
    """One array library behind flambeau.  Subclass it and set `name`, `device_type`, `xp` and `array_type`.

    The methods have defaults that use the array API standard only; a backend overrides those that its library can do better.
    `mutable` says whether arrays can be written to and views share memory; if not, `Storage` replays views after a write.
    A mutable backend has to define what `OF_MUTABLE` lists, too: the defaults suit arrays that never change.
    """

    name: str
    device_type: str
    xp: Any
    array_type: type
    scalar_types: tuple[type, ...] = ()  # what the library's functions return in place of 0-d arrays, if they do
    mutable = False
    complete = False  # whether `xp` has all functions and dtypes that forwards use; if not, the CPU computes what they lack
    recordable = False  # whether steps can be recorded for `torch.compile`; if not, compiled functions run eagerly
    guarded = False  # whether kernels run on the current device, which must then be set to that of their arrays
    has_data = True  # whether arrays have elements; if not, values are not checked, as on the device `meta`
    asynchronous = False  # whether work is queued, so that errors about values may be raised later, or never
    inplace_kernels: Mapping[str, Callable[..., Any]] = {}  # `kernel(target, *others, **scalars)`, which write into `target`
    default_generator: ClassVar[Callable[[Backend, int], Any]]  # fallbacks on the CPU, for libraries without their own: this one
    default_reinterpret: ClassVar[Callable[[Backend, Any, dtype], Any]]  # and this one are set by `runtime.host`, a layer above
    default_namespace: ClassVar[Callable[[Backend], Any]]  # and this one: `xp`, where what it lacks is an error of its own type
    number: Callable[[Array], Any] | None = None  # while a step is recorded: `item`, as a number that each replay computes again
    whole_program: Callable[[Callable[..., Any], str], Callable[..., Any]] | None = None  # compiles the function of a captured
    # step, of a list of arrays and numbers: a method with the function and a name, where the library compiles whole programs
    unknown_kernels: ClassVar[
        Callable[[Iterable[str]], list[str]]
    ]  # those names that no operation has; set by the layer of calls
    arithmetic_errors: tuple[
        type[Exception], ...
    ] = ()  # what the library raises for infinities and NaN, if its user enabled that
    refuses_indices: frozenset[str] = frozenset()  # operations whose kernels raise for an index out of range: nobody looks before
    takes_half: frozenset[str] = frozenset()  # operations whose kernels take half precision and accumulate in float32 themselves

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels that replace the array-API forward, by operation name."""
        return {}

    @cached_property
    def half_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels for half precision, where those in `all_kernels` would be slow in it; they round as these do."""
        return {}

    @cached_property
    def forward_xp(self) -> Any:
        """The namespace that forwards get: `xp`, or, if that may lack something, one that says what it lacks."""
        return self.xp if self.complete else Backend.default_namespace(self)

    def compiled(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` (of arrays, such as the forward of an operation), compiled if the library can compile it."""
        return function

    @cached_property
    def all_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """The backend's own kernels and, over them, those of installed kernel packs."""
        merged = dict(self.kernels)
        for pack in answers("flambeau_kernels", backend=self):
            for name in Backend.unknown_kernels(pack or {}):
                _warn(f"a kernel pack for the {self.name} backend has a kernel {name!r}, but there is no operation of that name")
            merged.update(pack or {})
        return merged

    @cached_property
    def all_inplace_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """The in-place kernels of the backend and, over them, those of installed kernel packs."""
        merged = dict(self.inplace_kernels)
        for pack in answers("flambeau_inplace_kernels", backend=self):
            merged.update(pack or {})
        return merged

    @property
    def itself(self) -> Backend:
        """This backend; while a step is recorded, the one behind the recorder."""
        return self

    def recorded(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel; while a step is recorded, one that is recorded."""
        return kernel

    @cached_property
    def fusion(self) -> hookspecs.Fusion | None:
        """What compiles loops for chains of element-wise operations, of an installed kernel pack; None if there is none."""
        return next((found for found in answers("flambeau_fusion", backend=self) if found is not None), None)

    def chosen(self, kernel: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """What a kernel comes down to for arguments of these kinds (`ArrayKind` for an array), if that is another function.

        Captured steps call it in place of the kernel, inside `program`.
        """
        return None

    def program(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a captured step, as it is to be called."""
        return run

    # --- infinities and NaN ---

    def undisturbed(self) -> AbstractContextManager[Any]:
        """Context in which the library raises no `arithmetic_errors`."""
        return nullcontext()

    def computed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of a function without side effects, even if the library's user enabled `arithmetic_errors`."""
        try:
            return function(*args, **kwargs)
        except self.arithmetic_errors:
            with self.undisturbed():
                return function(*args, **kwargs)

    # --- dtypes ---

    @cached_property
    def dtypes(self) -> Mapping[dtype, Any]:
        """The library's own dtype, as its arrays have it, for each flambeau dtype that it supports."""
        found = {dtype_: self._raw_dtype(dtype_.name) for dtype_ in dtypes.ALL}
        return {dtype_: raw for dtype_, raw in found.items() if raw is not None}

    def _raw_dtype(self, name: str) -> Any:
        """The library's dtype of this name (some say `bool_`), or None where it has no arrays of that dtype."""
        raw = getattr(self.xp, name, None)
        raw = getattr(self.xp, f"{name}_", None) if raw is None else raw
        try:
            return None if raw is None else self.xp.zeros((), dtype=raw).dtype
        except (TypeError, ValueError, RuntimeError):  # a name alone, as float64 on a GPU that does not compute in it
            return None

    @cached_property
    def _dtype_of_raw(self) -> Mapping[Any, dtype]:
        return {raw: dtype_ for dtype_, raw in self.dtypes.items()}

    def dtype_of(self, array: Array) -> dtype:
        return self._dtype_of_raw[array.dtype]

    # --- devices ---

    def prepare(self) -> None:
        """Called before a device is used.  RuntimeError if there is no usable device."""

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def device_of(self, array: Array) -> int:
        """The index of the device that an array is on."""
        return 0

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Context in which device `index` is the current one."""
        return _NO_GUARD

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        """The kernel for arrays on device `index`, for instance wrapped so that this device is current."""
        return kernel

    def synchronize(self, index: int | None = None) -> None:
        """Wait until all work queued on the device has finished."""

    def evaluate(self, arrays: Sequence[Array]) -> None:
        """Called with the parameters after a step of an optimizer: a lazy library begins to compute them, all at once."""

    def forget(self) -> None:
        """Drop what is kept in memory for later calls, such as compiled programs; conformance asks for that after each family."""

    def on(self, index: int | None) -> Any:
        """The namespace `xp` for creating arrays on device `index`."""
        return self.xp

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Array:
        """An array of this library from nested sequences, scalars, or any array on the host."""
        return self.computed(self.xp.asarray, data, dtype=raw_dtype, copy=copy)

    def wrap(self, array: Array) -> Array:
        """The result of a kernel as an array, for libraries that return scalars instead of 0-d arrays."""
        return array if isinstance(array, self.array_type) else self.asarray(array)

    def to_host(self, array: Array) -> Any:
        """The array as an object with `__array__` or the buffer protocol on the host, sharing memory if possible."""
        return array

    def from_host(self, data: Any, index: int = 0) -> Array:
        """A copy, on device `index`, of data that another backend's `to_host` returned, in the same dtype."""
        own = {dtype_.name: raw for dtype_, raw in self.dtypes.items()}
        raw = own.get(str(getattr(data, "dtype", "")))  # named, because some libraries' `asarray` narrows float64 and int64
        return self.asarray(data, raw, index=index, copy=True)

    def copied_to(self, other: Backend, array: Array, index: int = 0) -> Any:
        """A copy of the array as an array of another backend, on its device `index`."""
        return other.from_host(self.to_host(array), index)

    def to_host_later(self, array: Array) -> Any:
        """`to_host` without waiting: the copy, in page-locked memory, is complete when the device's current stream is done."""
        return self.to_host(array)

    def from_host_later(self, data: Any, index: int = 0) -> Array:
        """`from_host` without waiting, if the data is in page-locked memory; it must not change before the copy is complete."""
        return self.from_host(data, index)

    def to_device(self, array: Array, index: int) -> Array:
        """A copy on another device of this backend."""
        return self.copy(array)

    def tolist(self, array: Array) -> Any:
        """Nested lists of Python scalars, or one scalar for a 0-d array."""
        host = self.to_host(array)
        if hasattr(host, "tolist"):
            return host.tolist()
        return [self.tolist(array[i, ...]) for i in range(array.shape[0])] if array.ndim else self.item(array)

    def item(self, array: Array) -> Any:
        """The one element of the array as a Python scalar."""
        if hasattr(array, "item"):  # most libraries have it, the standard does not
            return array.item()
        array = self.xp.reshape(array, ())
        category = self.dtype_of(array).category
        return (bool, int, float, complex)[category](array)

    def truth(self, array: Array) -> bool:
        """Whether the one element of the array is nonzero."""
        return bool(self.item(array))

    def extremes(self, array: Array) -> tuple[Any, Any]:
        """The smallest and the largest element as Python scalars, for checks of values."""
        return self.item(self.wrap(self.xp.min(array))), self.item(self.wrap(self.xp.max(array)))

    def equal(self, array: Array, other: Array) -> bool:
        """Whether two arrays of the same shape and dtype have the same elements; NaN equals NaN."""
        same = (array == other) | ((array != array) & (other != other))
        return bool(self.xp.all(self.wrap(same)))

    def astype(self, array: Array, raw_dtype: Any) -> Array:
        """A copy in another dtype; of complex numbers as real ones, the real parts."""
        category = self._dtype_of_raw[raw_dtype].category
        if category < dtypes.COMPLEX and self.dtype_of(array).is_complex:  # which the standard's `astype` refuses
            array = self.xp.real(array) if category > dtypes.BOOL else array != self.xp.zeros((), dtype=array.dtype)
        return self.computed(self.xp.astype, array, raw_dtype)

    def reinterpret(self, array: Array, wanted: dtype) -> Array:
        """The same bytes as another dtype, as a view if the library has views.  ValueError if the sizes do not fit."""
        return Backend.default_reinterpret(self, array, wanted)

    def copy(self, array: Array) -> Array:
        """An array with the same elements, which writes to the other do not change: the same one where not `mutable`."""
        return self.xp.asarray(array, copy=True) if self.mutable else array

    def is_own(self, array: Array) -> bool:
        """Whether the caller holds the only reference to the array's memory (False when in doubt)."""
        return not self.mutable

    def in_order_of(self, array: Array, like: Array) -> Array:
        """The array, or a copy of it, with strides in the same order as those of `like`, if the library has strides."""
        return array

    def write(self, target: Array, value: Array) -> None:
        """Overwrite all elements of `target`; only called where `mutable`."""
        target[...] = value

    def add_to(self, target: Array, value: Array) -> None:
        """Add to the elements of `target`; only called where `mutable`."""
        target += value

    # --- memory ---

    def strides(self, array: Array) -> tuple[int, ...]:
        """Strides in elements."""
        return contiguous_strides(array.shape)

    def is_contiguous(self, array: Array) -> bool:
        """Whether the elements lie in row-major order."""
        return self.strides(array) == contiguous_strides(array.shape)

    def data_ptr(self, array: Array) -> int:
        """The address of the first element, or a number that serves as one."""
        return id(array)

    def root(self, array: Array) -> tuple[Array, int]:
        """The one-dimensional array over all memory that `array` is a view of, and the view's offset in elements."""
        return self.xp.reshape(array, (-1,)), 0

    def memory(self, array: Array) -> Array:
        """The same memory as bytes: a one-dimensional array of uint8."""
        return self.reinterpret(self.root(array)[0], dtypes.uint8)

    def window(self, array: Array) -> Array:
        """The same elements in the same memory, as an array whose `root` has just these elements."""
        return array

    def allocation(self, array: Array) -> Any:
        """An object that all arrays in the same memory have in common, where arrays are `mutable`."""
        while (base := getattr(array, "base", None)) is not None:
            array = base
        return array

    def lender(self, array: Array) -> Any:
        """The object that owns the memory, such as a mapped file; None if the library has allocated it."""
        return None

    def is_alone(self, array: Array) -> bool:
        """Whether no other array shares the memory (False when in doubt)."""
        return False

    def as_strided(self, flat: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> Array:
        """A view (a copy where not `mutable`) of a one-dimensional array with these strides, in elements."""
        index = self.xp.asarray(offset)
        for length, step in zip(size, stride, strict=True):
            index = index[..., None] + self.xp.arange(length) * step
        return self.xp.reshape(self.xp.take(flat, self.xp.reshape(index, (-1,)), axis=0), tuple(size))

    def by_columns(self, array: Array) -> Array:
        """The same matrices in column-major order, if the library has a memory layout."""
        return array

    def shares_memory(self, array: Array, other: Array) -> bool:
        """Whether writing to one array may change the other."""
        return array is other

    def is_shared(self, array: Array) -> bool:
        """Whether the array's memory is shared with other processes."""
        return False

    def share(self, array: Array) -> Array:
        """A copy of a one-dimensional array in memory that is shared with other processes."""
        raise RuntimeError(f"the {self.name} backend cannot share memory between processes")

    def get_num_threads(self) -> int:
        """The number of threads that kernels use."""
        return 1

    def set_num_threads(self, count: int) -> None:
        """Set the number of threads that kernels use, if the library supports that."""

    def record_stream(self, array: Array, stream: Any) -> None:
        """Keep the array's memory until the work queued on a stream is done."""

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        """A DLPack capsule of the array."""
        return array.__dlpack__(**{key: value for key, value in kwargs.items() if value is not None})

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        """A new random generator for device `index`, with the same samplers as those in `flambeau_backends.numpy.random`.

        By default it is the CPU's generator: the same seed gives the same numbers.
        """
        return Backend.default_generator(self, index)

    def report(self) -> str:
        """One line about the library for `python -m flambeau env`."""
        return f"{self.name}: {getattr(self.xp, '__name__', self.xp)} {getattr(self.xp, '__version__', '')}".rstrip()


class Creating:
    """A namespace like `xp`, whose functions that create arrays (but `asarray`) are others: for `Backend.on`.

    Args:
        xp: the namespace.
        created: takes one of these functions and gives the one in its place, such as one for a device.

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
        self.__dict__[name] = attribute  # the next time it is found without this method
        return attribute


OF_MUTABLE = ("strides", "data_ptr", "root", "as_strided", "shares_memory")
"""The methods that a backend with `mutable = True` has to define."""


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements; a dimension of length 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The dimensions from the largest stride to the smallest; expanded dimensions (stride 0) keep their places."""
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


# --- the registry ------------------------------------------------------------------------------------------------

_manager: pluggy.PluginManager | None = None
_backends: dict[str, Backend] = {}


def plugins() -> pluggy.PluginManager:
    """The plugin manager; plugins other than backends are loaded from their entry points at the first call."""
    global _manager
    if _manager is None:
        _manager = pluggy.PluginManager(hookspecs.PROJECT)
        _manager.add_hookspecs(hookspecs)
        for entry in _entry_points(f"{hookspecs.PROJECT}.plugins"):
            try:
                _register(entry.name, _load(entry))
            except RuntimeError as error:  # a broken plugin is reported, and the others are loaded nevertheless
                _warn(str(error))
    return _manager


def _register(name: str, plugin: Any) -> None:
    """Register a plugin's hooks.  RuntimeError if it implements an unknown hook, or one with other arguments."""
    manager = plugins()
    if manager.is_registered(plugin):
        return
    try:
        manager.register(plugin, name=name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        reason = " ".join(str(error).split())
        raise RuntimeError(f"flambeau plugin {name!r} was made for another version of flambeau: {reason}") from error


def answers(hook: str, **arguments: Any) -> Iterator[Any]:
    """The results of a hook for all plugins.  A plugin that raises is reported by name, and does not affect the others."""
    for plugin in reversed(_implementations(hook)):
        try:
            answer = _ask(plugin, arguments)
        except RuntimeError as error:
            _warn(str(error))
        else:
            yield answer


def _implementations(hook: str) -> list[pluggy.HookImpl]:
    """The functions of all plugins for a hook; the last one is called first."""
    implementations: list[pluggy.HookImpl] = getattr(plugins().hook, hook).get_hookimpls()
    return implementations


def _ask(plugin: pluggy.HookImpl, arguments: Mapping[str, Any]) -> Any:
    """The result of one plugin's function.  RuntimeError, with the plugin's name, if it raises."""
    try:
        with without_aliases():
            return plugin.function(*(arguments[name] for name in plugin.argnames))
    except Exception as error:
        raise RuntimeError(
            f"flambeau plugin {plugin.plugin_name!r} failed in {plugin.function.__name__}: {type(error).__name__}: {error}"
        ) from error


def _warn(message: str) -> None:
    import warnings

    warnings.warn(message, stacklevel=3)


def _load(entry: Any) -> Any:
    """Import the object of an entry point.  RuntimeError, with the plugin's name and version, if that fails."""
    try:
        with without_aliases():  # a plugin's `import torch` means PyTorch, even in a program whose torch is flambeau
            return entry.load()
    except Exception as error:
        needs = ", ".join(requirement for requirement in entry.dist.requires or () if "extra ==" not in requirement)
        raise RuntimeError(
            f"flambeau plugin {entry.name!r} ({entry.dist.name} {entry.dist.version}) could not be imported: "
            f"{type(error).__name__}: {error}" + (f"; it needs {needs}" if needs else "")
        ) from error


def _entry_points(group: str) -> Sequence[Any]:
    """The installed entry points of a group; only those that `FLAMBEAU_PLUGINS` lists, if it is set."""
    from importlib.metadata import entry_points

    listed = os.environ.get("FLAMBEAU_PLUGINS")
    names = None if listed is None else {name.strip() for name in listed.split(",")}
    return [entry for entry in entry_points(group=group) if names is None or entry.name in names]


def installed() -> dict[str, str]:
    """The names of the backends that can be selected, and the module of each.  Imports none of them."""
    sources = dict(BUILTIN)
    for entry in _entry_points(GROUP):
        source = f"{entry.value} ({entry.dist.name} {entry.dist.version})"
        sources[entry.name] = f"{sources[entry.name]}; also called so: {source}" if entry.name in sources else source
    return sources


def find(name: str) -> Backend:
    """The backend called `name`, which is imported if need be.

    Raises:
        RuntimeError: the name is unknown or belongs to two plugins, the library is not installed, or the plugin is broken;
            the message says which of these, and what to do.
    """
    if name not in _backends:
        plugin = _plugin_of(name)
        _register(name, plugin)
        hooks = [implementation for implementation in _implementations("flambeau_backend") if implementation.plugin is plugin]
        backend: Any = _ask(hooks[0], {"name": name}) if hooks else None
        _check(name, backend)
        _backends[name] = backend
    return _backends[name]


def _plugin_of(name: str) -> Any:
    if name in BUILTIN or name in WITHOUT_DATA:
        try:
            return importlib.import_module((BUILTIN | WITHOUT_DATA)[name])
        except ImportError as error:
            hint = INSTALL_HINT.get(name, "is its library installed?")
            raise RuntimeError(f"flambeau backend {name!r} could not be imported: {error}; {hint}") from error
    entries = [entry for entry in _entry_points(GROUP) if entry.name == name]
    if len(entries) > 1:
        raise RuntimeError(
            f"several flambeau plugins are called {name!r}, of which only one can be installed: "
            + ", ".join(f"{entry.dist.name} {entry.dist.version}" for entry in entries)
        )
    if entries:
        return _load(entries[0])
    left_out = "" if os.environ.get("FLAMBEAU_PLUGINS") is None else " (FLAMBEAU_PLUGINS leaves out all others)"
    raise RuntimeError(
        f"unknown flambeau backend {name!r}; installed: {', '.join(sorted(installed()))}{left_out}. "
        f"A backend is added by installing its package: pip install flambeau-{name}"
    )


def _check(name: str, backend: Any) -> None:
    """Raise if a backend is incomplete, or if its device type belongs to another backend."""
    if not isinstance(backend, Backend):
        what = "no backend of that name" if backend is None else f"a {type(backend).__name__}, not a flambeau.backend.Backend"
        raise RuntimeError(f"flambeau plugin {name!r} gives {what}")
    missing = [attribute for attribute in ("name", "device_type", "xp", "array_type") if not hasattr(backend, attribute)]
    if missing:
        raise RuntimeError(f"the backend of flambeau plugin {name!r} has no {', '.join(missing)}")
    inherited = [method for method in OF_MUTABLE if getattr(type(backend), method) is getattr(Backend, method)]
    if backend.mutable and inherited:
        raise RuntimeError(
            f"the backend of flambeau plugin {name!r} says `mutable = True` and does not define {', '.join(inherited)}: "
            "with the defaults, which copy, writes to views would be lost; define them, or say `mutable = False`"
        )
    owner = DEVICE_TYPE_OWNER.setdefault(backend.device_type, name)
    if owner != name:
        raise RuntimeError(
            f"flambeau plugin {name!r} wants devices of type {backend.device_type!r}, which are those of the {owner} backend"
        )


def for_device_type(device_type: str) -> Backend:
    """The backend that owns `device_type`.

    Raises:
        RuntimeError: there is no such backend, or it is broken.
        AssertionError: the same for CUDA, as PyTorch raises it there.
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
    """Whether there is a usable device of this type.  Never raises."""
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
    """The backend chosen by `FLAMBEAU_BACKEND` (`numpy` where it is not set)."""
    return _backends.get(SELECTED_NAME) or find(SELECTED_NAME)
