"""Backends: what an array library has to offer, and the registry that finds them.

A backend owns one device type (`cpu`, `cuda`, ...), an array-API namespace `xp` and, where it has something faster
than the array API, kernels by operation name.  Everything above this file works on any of them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

import pluggy

from .runtime import hookspecs
from .runtime.hookspecs import hookimpl
from .values import dtypes
from .values.dtypes import dtype

__all__ = ["Backend", "answers", "find", "for_device_type", "hookimpl", "installed", "plugins", "selected"]

Array = Any  # an array of whichever library the backend wraps
GROUP = "flambeau.backends"
BUILTIN = {"numpy": "flambeau_backends.numpy", "cupy": "flambeau_backends.cupy"}
INSTALL_HINT = {"cupy": "pip install 'flambeau[cuda12]'  (or [cuda13])"}
DEVICE_TYPE_OWNER = {"cpu": "numpy", "cuda": "cupy"}  # so that a device type's backend is only imported when asked for


class Backend:
    """One array library behind flambeau.  Subclass it and set `name`, `device_type`, `xp` and `array_type`.

    The methods have defaults written against the array API standard; a backend overrides those that its library can do
    better.  `mutable` says whether arrays can be written and views share memory; where they cannot, `Storage` replays
    the views.
    """

    name: str
    device_type: str
    xp: Any
    array_type: type
    mutable = True
    guarded = False  # whether there are several devices, and work goes to the current one wherever its arrays are
    asynchronous = False  # whether work is queued, so that an error in values may show later, if at all
    inplace_kernels: Mapping[str, Callable[..., Any]] = {}  # `kernel(target, *others, **scalars)`, to write without a detour
    default_generator: ClassVar[Callable[[Backend, int], Any]]  # what the CPU does for a library that does not do it itself:
    default_reinterpret: ClassVar[Callable[[Backend, Any, dtype], Any]]  # set by `runtime.host`, which stands on devices
    unknown_kernels: ClassVar[Callable[[Iterable[str]], list[str]]]  # of these names, those that no operation has: set by calls
    arithmetic_errors: tuple[type[Exception], ...] = ()  # what the library raises for an infinity or NaN, if its user wants that
    takes_half: frozenset[str] = frozenset()  # operations whose kernels take half precision and add up in float32 themselves

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels that replace the array-API forward, by operation name."""
        return {}

    def compiled(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """What runs a function of arrays, such as the forward of an operation: a library that compiles does so here."""
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
        """The same for kernels that write into their first argument."""
        merged = dict(self.inplace_kernels)
        for pack in answers("flambeau_inplace_kernels", backend=self):
            merged.update(pack or {})
        return merged

    # --- infinities and NaN ---

    def undisturbed(self) -> AbstractContextManager[Any]:
        """Let the library raise no `arithmetic_errors` inside the context."""
        return nullcontext()

    def computed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a function that writes nothing returns, whether or not the library's user wants `arithmetic_errors`."""
        try:
            return function(*args, **kwargs)
        except self.arithmetic_errors:
            with self.undisturbed():
                return function(*args, **kwargs)

    # --- dtypes ---

    @cached_property
    def dtypes(self) -> Mapping[dtype, Any]:
        """The library's own dtype, as its arrays have it, for each flambeau dtype that it supports."""
        named = {each: getattr(self.xp, each.name, None) for each in dtypes.ALL}
        return {each: self.xp.zeros((), dtype=raw).dtype for each, raw in named.items() if raw is not None}

    @cached_property
    def _dtype_of_raw(self) -> Mapping[Any, dtype]:
        return {raw: each for each, raw in self.dtypes.items()}

    def dtype_of(self, array: Array) -> dtype:
        return self._dtype_of_raw[array.dtype]

    # --- devices ---

    def prepare(self) -> None:
        """Called when a device is about to be used.  RuntimeError where there is none that can be."""

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Make device `index` current inside the context."""
        return nullcontext()

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        """The kernel as it has to be called for arrays on device `index`."""
        return kernel

    def synchronize(self, index: int | None = None) -> None:
        """Wait until all work queued on the device has finished."""

    def on(self, index: int | None) -> Any:
        """`xp` for making arrays on device `index`."""
        return self.xp

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Array:
        """An array of this library from nested sequences, scalars, or any array on the host."""
        return self.computed(self.xp.asarray, data, dtype=raw_dtype, copy=copy)

    def wrap(self, array: Array) -> Array:
        """Turn what a kernel returned into an array, where the library returns scalars for 0-d results."""
        return self.xp.asarray(array)

    def to_host(self, array: Array) -> Any:
        """The array as something with `__array__` or the buffer protocol on the host, sharing memory if it can."""
        return array

    def from_host(self, data: Any, index: int = 0) -> Array:
        """A copy, on device `index`, of what another backend's `to_host` gave."""
        return self.asarray(data, index=index, copy=True)

    def copied_to(self, other: Backend, array: Array, index: int = 0) -> Any:
        """A copy of the array as one of another backend's, on its device `index`."""
        return other.from_host(self.to_host(array), index)

    def to_host_later(self, array: Array) -> Any:
        """`to_host` without waiting: in page-locked memory, where it will be once the device's current stream is done."""
        return self.to_host(array)

    def from_host_later(self, data: Any, index: int = 0) -> Array:
        """`from_host` without waiting, where the data is in page-locked memory: they must not change before it is done."""
        return self.from_host(data, index)

    def to_device(self, array: Array, index: int) -> Array:
        """A copy on another device of this backend."""
        return self.copy(array)

    def tolist(self, array: Array) -> Any:
        """Nested lists of Python scalars, or one scalar for a 0-d array."""
        if array.ndim == 0:
            return self.item(array)
        return [self.tolist(array[i, ...]) for i in range(array.shape[0])]

    def item(self, array: Array) -> Any:
        """The one element of the array as a Python scalar."""
        array = self.xp.reshape(array, ())
        category = self.dtype_of(array).category
        return (bool, int, float, complex)[category](array)

    def truth(self, array: Array) -> bool:
        """Whether the one element of the array is nonzero."""
        return bool(self.item(array))

    def extremes(self, array: Array) -> tuple[Any, Any]:
        """The smallest and the largest element, as Python scalars: for checks of what is in an array."""
        return self.item(self.wrap(self.xp.min(array))), self.item(self.wrap(self.xp.max(array)))

    def astype(self, array: Array, raw_dtype: Any) -> Array:
        """A copy in another dtype."""
        return self.computed(self.xp.astype, array, raw_dtype)

    def reinterpret(self, array: Array, wanted: dtype) -> Array:
        """The same bytes read as another dtype: a view, if the library has such.  ValueError where they do not fit."""
        return Backend.default_reinterpret(self, array, wanted)

    def copy(self, array: Array) -> Array:
        """A fresh array with the same elements."""
        return self.xp.asarray(array, copy=True)

    def is_own(self, array: Array) -> bool:
        """Whether the caller holds the only reference to the array's memory (False when in doubt)."""
        return not self.mutable

    def in_order_of(self, array: Array, like: Array) -> Array:
        """The array, or a copy of it, with the elements in memory in the order of those of `like`, if there is such a thing."""
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
        """The same elements in the same memory, but as if there were no more of that: with a `root` of their own."""
        return array

    def lender(self, array: Array) -> Any:
        """The object that lent the memory, such as a mapped file; None where the library has allocated it."""
        return None

    def is_alone(self, array: Array) -> bool:
        """Whether no other array lies in the same memory (False when in doubt)."""
        return False

    def as_strided(self, flat: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> Array:
        """A view (a copy where not `mutable`) of a one-dimensional array with these strides, in elements."""
        index = self.xp.asarray(offset)
        for length, step in zip(size, stride, strict=True):
            index = index[..., None] + self.xp.arange(length) * step
        return self.xp.reshape(self.xp.take(flat, self.xp.reshape(index, (-1,)), axis=0), tuple(size))

    def by_columns(self, array: Array) -> Array:
        """The same matrices, each of them lying in memory by columns, where the library has a say in that."""
        return array

    def shares_memory(self, array: Array, other: Array) -> bool:
        """Whether writing to one array may change the other."""
        return array is other

    def is_shared(self, array: Array) -> bool:
        """Whether other processes can see the array's memory."""
        return False

    def share(self, array: Array) -> Array:
        """A copy of a one-dimensional array in memory that other processes can see."""
        raise RuntimeError(f"the {self.name} backend cannot share memory between processes")

    def get_num_threads(self) -> int:
        """How many threads the kernels use."""
        return 1

    def set_num_threads(self, count: int) -> None:
        """Let the kernels use `count` threads, where the library can be told."""

    def record_stream(self, array: Array, stream: Any) -> None:
        """Keep the array's memory until the work queued on a stream is done."""

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        """A DLPack capsule of the array."""
        return array.__dlpack__(**{key: value for key, value in kwargs.items() if value is not None})

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        """A new random generator for device `index`, with samplers as those of `flambeau_backends.numpy.random`.

        Unless the backend has one of its own, it is the CPU's: the same seed gives the same numbers.
        """
        return Backend.default_generator(self, index)

    def report(self) -> str:
        """One line about the library for `python -m flambeau env`."""
        return f"{self.name}: {getattr(self.xp, '__name__', self.xp)} {getattr(self.xp, '__version__', '')}".rstrip()


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements; a dimension of length 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The dimensions from the slowest in memory to the fastest; those that are expanded stay where they are among the others."""
    found = list(reversed(range(len(shape))))
    for last in range(1, len(found)):
        at = last
        for before in reversed(range(last)):
            one, other = strides[found[before]], strides[found[at]]
            if one and other and one < other:
                break
            if one and other and (one > other or shape[found[before]] > shape[found[at]]):
                found[before], found[at] = found[at], found[before]
                at = before
    return tuple(reversed(found))


# --- the registry ------------------------------------------------------------------------------------------------

_manager: pluggy.PluginManager | None = None
_backends: dict[str, Backend] = {}


def plugins() -> pluggy.PluginManager:
    """The plugin manager; those that are no backends are found through their entry points when first asked for."""
    global _manager
    if _manager is None:
        _manager = pluggy.PluginManager(hookspecs.PROJECT)
        _manager.add_hookspecs(hookspecs)
        for entry in _entry_points(f"{hookspecs.PROJECT}.plugins"):
            try:
                _register(entry.name, _load(entry))
            except RuntimeError as error:  # a broken plugin is reported, and takes nothing else down
                _warn(str(error))
    return _manager


def _register(name: str, plugin: Any) -> None:
    """Let a plugin answer to hooks.  RuntimeError where it implements one that there is not, or with other arguments."""
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


def answers(hook: str, **given: Any) -> Iterator[Any]:
    """What each plugin answers to a hook.  One that raises is reported by name, and takes nothing else down."""
    for plugin in reversed(_implementations(hook)):
        try:
            answer = _ask(plugin, given)
        except RuntimeError as error:
            _warn(str(error))
        else:
            yield answer


def _implementations(hook: str) -> list[pluggy.HookImpl]:
    """The functions of all plugins for a hook; the last is to be asked first."""
    found: list[pluggy.HookImpl] = getattr(plugins().hook, hook).get_hookimpls()
    return found


def _ask(plugin: pluggy.HookImpl, given: Mapping[str, Any]) -> Any:
    """What one plugin answers.  RuntimeError, with its name, where it raises."""
    try:
        return plugin.function(*(given[each] for each in plugin.argnames))
    except Exception as error:
        raise RuntimeError(
            f"flambeau plugin {plugin.plugin_name!r} failed in {plugin.function.__name__}: {type(error).__name__}: {error}"
        ) from error


def _warn(message: str) -> None:
    import warnings

    warnings.warn(message, stacklevel=3)


def _load(entry: Any) -> Any:
    """Import what an entry point names.  RuntimeError, with all that is known about the plugin, where that fails."""
    try:
        return entry.load()
    except Exception as error:
        needs = ", ".join(each for each in entry.dist.requires or () if "extra ==" not in each)
        raise RuntimeError(
            f"flambeau plugin {entry.name!r} ({entry.dist.name} {entry.dist.version}) could not be imported: "
            f"{type(error).__name__}: {error}" + (f"; it needs {needs}" if needs else "")
        ) from error


def _entry_points(group: str) -> Sequence[Any]:
    """The installed entry points of a group; of `FLAMBEAU_PLUGINS`, where it is set, only those."""
    from importlib.metadata import entry_points

    wanted = os.environ.get("FLAMBEAU_PLUGINS")
    names = None if wanted is None else {each.strip() for each in wanted.split(",")}
    return [entry for entry in entry_points(group=group) if names is None or entry.name in names]


def installed() -> dict[str, str]:
    """Names of the backends that can be selected, and what each comes from.  Imports none of them."""
    found = dict(BUILTIN)
    for entry in _entry_points(GROUP):
        source = f"{entry.value} ({entry.dist.name} {entry.dist.version})"
        found[entry.name] = f"{found[entry.name]}; also called so: {source}" if entry.name in found else source
    return found


def find(name: str) -> Backend:
    """The backend called `name`, imported now if it has not been.

    Raises:
        RuntimeError: unknown name, a name that two plugins have, a library that is not installed, or a broken plugin; the
            message says which, and what to do.
    """
    if name not in _backends:
        plugin = _plugin_of(name)
        _register(name, plugin)
        hooks = [each for each in _implementations("flambeau_backend") if each.plugin is plugin]
        backend: Any = _ask(hooks[0], {"name": name}) if hooks else None
        _check(name, backend)
        _backends[name] = backend
    return _backends[name]


def _plugin_of(name: str) -> Any:
    if name in BUILTIN:
        try:
            return importlib.import_module(BUILTIN[name])
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
    """Refuse what is not a whole backend, or one for devices that are another's."""
    if not isinstance(backend, Backend):
        what = "no backend of that name" if backend is None else f"a {type(backend).__name__}, not a flambeau.backend.Backend"
        raise RuntimeError(f"flambeau plugin {name!r} gives {what}")
    missing = [each for each in ("name", "device_type", "xp", "array_type") if not hasattr(backend, each)]
    if missing:
        raise RuntimeError(f"the backend of flambeau plugin {name!r} has no {', '.join(missing)}")
    owner = DEVICE_TYPE_OWNER.setdefault(backend.device_type, name)
    if owner != name:
        raise RuntimeError(
            f"flambeau plugin {name!r} wants devices of type {backend.device_type!r}, which are those of the {owner} backend"
        )


def for_device_type(device_type: str) -> Backend:
    """The backend that owns `device_type`.

    Raises:
        RuntimeError: there is none, or it is broken.
        AssertionError: the same of CUDA's, because that is what programs expect there.
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
    """Whether there is a device of this type that can be used.  Never raises."""
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
    return find(SELECTED_NAME)
