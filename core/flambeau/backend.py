"""Backends: what an array library has to offer, and the registry that finds them.

A backend owns one device type (``cpu``, ``cuda``, ...), an array-API namespace ``xp`` and, where it has something faster
than the array API, kernels by operation name.  Everything above this file works on any of them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import pluggy

from . import dtypes, hookspecs
from .dtypes import dtype
from .hookspecs import hookimpl

__all__ = ["Backend", "find", "for_device_type", "hookimpl", "installed", "plugins", "selected"]

Array = Any  # an array of whichever library the backend wraps
GROUP = "flambeau.backends"
BUILTIN = {"numpy": "flambeau_backends.numpy", "cupy": "flambeau_backends.cupy"}
INSTALL_HINT = {"cupy": "pip install 'flambeau[cuda12]'  (or [cuda13])"}
DEVICE_TYPE_OWNER = {"cpu": "numpy", "cuda": "cupy"}  # so that a device type's backend is only imported when asked for


class Backend:
    """One array library behind flambeau.  Subclass it and set ``name``, ``device_type``, ``xp`` and ``array_type``.

    The methods have defaults written against the array API standard; a backend overrides those that its library can do
    better.  ``mutable`` says whether arrays can be written and views share memory; where they cannot, ``Storage`` replays
    the views.
    """

    name: str
    device_type: str
    xp: Any
    array_type: type
    mutable = True
    inplace_kernels: Mapping[str, Callable[..., Any]] = {}  # ``kernel(target, *others, **scalars)``, to write without a detour

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels that replace the array-API forward, by operation name."""
        return {}

    @cached_property
    def all_kernels(self) -> Mapping[str, Callable[..., Any]]:
        """The backend's own kernels and, over them, those of installed kernel packs."""
        merged = dict(self.kernels)
        for pack in plugins().hook.flambeau_kernels(backend=self):
            merged.update(pack or {})
        return merged

    # --- dtypes ---

    @cached_property
    def dtypes(self) -> Mapping[dtype, Any]:
        """The library's own dtype for each flambeau dtype that it supports."""
        found = {each: getattr(self.xp, each.name, None) for each in dtypes.ALL}
        return {each: raw for each, raw in found.items() if raw is not None}

    @cached_property
    def _dtype_of_raw(self) -> Mapping[Any, dtype]:
        return {raw: each for each, raw in self.dtypes.items()}

    def dtype_of(self, array: Array) -> dtype:
        return self._dtype_of_raw[array.dtype]

    # --- devices ---

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def guard(self, index: int) -> AbstractContextManager[Any]:
        """Make device ``index`` current inside the context."""
        return nullcontext()

    def bind(self, kernel: Callable[..., Any], index: int) -> Callable[..., Any]:
        """The kernel as it has to be called for arrays on device ``index``."""
        return kernel

    def synchronize(self, index: int | None = None) -> None:
        """Wait until all work queued on the device has finished."""

    def on(self, index: int | None) -> Any:
        """``xp`` for making arrays on device ``index``."""
        return self.xp

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Array:
        """An array of this library from nested sequences, scalars, or any array on the host."""
        return self.xp.asarray(data, dtype=raw_dtype, copy=copy)

    def wrap(self, array: Array) -> Array:
        """Turn what a kernel returned into an array, where the library returns scalars for 0-d results."""
        return self.xp.asarray(array)

    def to_host(self, array: Array) -> Any:
        """The array as something with ``__array__`` or the buffer protocol on the host, sharing memory if it can."""
        return array

    def from_host(self, data: Any, index: int = 0) -> Array:
        """A copy, on device ``index``, of what another backend's ``to_host`` gave."""
        return self.asarray(data, index=index, copy=True)

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
        return self.xp.astype(array, raw_dtype)

    def copy(self, array: Array) -> Array:
        """A fresh array with the same elements."""
        return self.xp.asarray(array, copy=True)

    def is_own(self, array: Array) -> bool:
        """Whether the caller holds the only reference to the array's memory (False when in doubt)."""
        return not self.mutable

    def write(self, target: Array, value: Array) -> None:
        """Overwrite all elements of ``target``; only called where ``mutable``."""
        target[...] = value

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
        """The one-dimensional array over all memory that ``array`` is a view of, and the view's offset in elements."""
        return self.xp.reshape(array, (-1,)), 0

    def as_strided(self, flat: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> Array:
        """A view (a copy where not ``mutable``) of a one-dimensional array with these strides, in elements."""
        index = self.xp.asarray(offset)
        for length, step in zip(size, stride, strict=True):
            index = index[..., None] + self.xp.arange(length) * step
        return self.xp.reshape(self.xp.take(flat, self.xp.reshape(index, (-1,)), axis=0), tuple(size))

    def shares_memory(self, array: Array, other: Array) -> bool:
        """Whether writing to one array may change the other."""
        return array is other

    def is_pinned(self, array: Array) -> bool:
        """Whether the array lies in page-locked host memory."""
        return False

    def pin(self, array: Array) -> Array:
        """A copy in page-locked memory, where a device of this process can use one; else the array."""
        return array

    def is_shared(self, array: Array) -> bool:
        """Whether other processes can see the array's memory."""
        return False

    def share(self, array: Array) -> Array:
        """A copy in memory that other processes can see."""
        raise RuntimeError(f"the {self.name} backend cannot share memory between processes")

    def get_num_threads(self) -> int:
        """How many threads the kernels use."""
        return 1

    def set_num_threads(self, count: int) -> None:
        """Let the kernels use ``count`` threads, where the library can be told."""

    def record_stream(self, array: Array, stream: Any) -> None:
        """Keep the array's memory until the work queued on a stream is done."""

    def to_dlpack(self, array: Array, **kwargs: Any) -> Any:
        """A DLPack capsule of the array."""
        return array.__dlpack__(**{key: value for key, value in kwargs.items() if value is not None})

    # --- random numbers ---

    def generator(self, index: int) -> Any:
        """A new random generator for device ``index``, with the samplers of ``flambeau_backends.numpy.random``."""
        from flambeau_backends.numpy.random import Generator

        return Generator()

    def report(self) -> str:
        """One line about the library for ``python -m flambeau env``."""
        return f"{self.name}: {getattr(self.xp, '__name__', self.xp)} {getattr(self.xp, '__version__', '')}".rstrip()


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements; a dimension of length 0 counts as 1, as in PyTorch."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


# --- the registry ------------------------------------------------------------------------------------------------

_manager: pluggy.PluginManager | None = None
_backends: dict[str, Backend] = {}
_failures: dict[str, BaseException] = {}


def plugins() -> pluggy.PluginManager:
    """The plugin manager; kernel packs and report lines are found through the entry points when first asked for."""
    global _manager
    if _manager is None:
        _manager = pluggy.PluginManager(hookspecs.PROJECT)
        _manager.add_hookspecs(hookspecs)
        for entry in _entry_points(f"{hookspecs.PROJECT}.plugins"):
            _register(_manager, entry.name, entry.load)
    return _manager


def _register(manager: pluggy.PluginManager, name: str, load: Callable[[], Any]) -> None:
    """Load one plugin; a broken one is remembered and reported, and takes nothing else down."""
    try:
        manager.register(load(), name=name)
    except Exception as error:
        import warnings

        _failures[name] = error
        warnings.warn(f"flambeau plugin {name!r} could not be loaded: {type(error).__name__}: {error}", stacklevel=2)


def _entry_points(group: str) -> Sequence[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def installed() -> dict[str, str]:
    """Names of the backends that can be selected, and the module or entry point of each.  Imports none of them."""
    found = dict(BUILTIN)
    found.update({entry.name: entry.value for entry in _entry_points(GROUP)})
    return found


def find(name: str) -> Backend:
    """The backend called ``name``, imported now if it has not been.

    Raises:
        RuntimeError: unknown name, or a library that is not installed; the message says what to do.
    """
    if name in _backends:
        return _backends[name]
    try:
        if name in BUILTIN:
            plugin = importlib.import_module(BUILTIN[name])
        else:
            plugin = _load_entry_point(name)
    except ImportError as error:
        hint = INSTALL_HINT.get(name, "is its library installed?")
        raise RuntimeError(f"flambeau backend {name!r} could not be imported: {error}; {hint}") from error
    manager = plugins()
    if not manager.is_registered(plugin):
        manager.register(plugin, name=name)
    backend = manager.hook.flambeau_backend(name=name)
    if backend is None:
        raise RuntimeError(f"flambeau plugin {name!r} gives no backend of that name")
    _backends[name] = backend
    DEVICE_TYPE_OWNER.setdefault(backend.device_type, name)
    return backend  # type: ignore[no-any-return]


def _load_entry_point(name: str) -> Any:
    for entry in _entry_points(GROUP):
        if entry.name == name:
            return entry.load()
    names = ", ".join(sorted(installed()))
    raise RuntimeError(f"unknown flambeau backend {name!r}; installed: {names}. "
                       f"A backend is added by installing its package: pip install flambeau-{name}")  # fmt: skip


def for_device_type(device_type: str) -> Backend:
    """The backend that owns ``device_type``."""
    owner = DEVICE_TYPE_OWNER.get(device_type)
    if owner is None:
        for name in installed():
            if name == device_type:
                return find(name)
        raise RuntimeError(f"no installed flambeau backend has devices of type {device_type!r}")
    return find(owner)


def _parse_selection(text: str) -> tuple[str, int | None]:
    name, _, index = text.partition(":")
    if index and not index.isdecimal():
        raise RuntimeError(f"FLAMBEAU_BACKEND={text!r}: expected NAME or NAME:INDEX")
    return name, int(index) if index else None


SELECTED_NAME, SELECTED_INDEX = _parse_selection(os.environ.get("FLAMBEAU_BACKEND") or "numpy")


def selected() -> Backend:
    """The backend chosen by ``FLAMBEAU_BACKEND`` (``numpy`` where it is not set)."""
    return find(SELECTED_NAME)
