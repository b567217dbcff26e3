"""Devices, and the dispatch keys (dtype x device) of the tensors on them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, ClassVar, Final

from ... import backend as backends
from ...backend import Backend
from ..values.dtypes import BOOL, COMPLEX, FLOATING, HALF, INTEGER, as_dtype, dtype
from .state import state

__all__ = ["DispatchKey", "device", "dispatch_key", "get_default_device", "set_default_device"]

_KNOWN_TYPES = (
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
)
_PATTERN = re.compile(r"([a-z_]\w*)(?::(0|[1-9]\d*))?")


class device:
    """The device of a tensor: a type (`"cpu"`, `"cuda"`, or a plugin's) and an index.

    An integer without a type is the index of an accelerator.  As a context manager or decorator, a device is the default device
    of new tensors.

    Args:
        type: the type, such as `"cuda"`, with or without an index (`"cuda:1"`); a device; or an integer, the index of an
            accelerator.
        index: the index, unless `type` has one; None for the current device of the type.

    Raises:
        RuntimeError: the string has an unknown device type or is malformed; the index is negative; or an index is given without a
            type and no accelerator is available.

    >>> torch.device("cuda:1"), torch.device("cuda", 1).index
    (device(type='cuda', index=1), 1)
    >>> with torch.device("cpu"):
    ...     torch.ones(2).device
    device(type='cpu')
    """

    __slots__ = ("_tokens", "index", "type")

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        if isinstance(type, device):
            index = type.index
            type = type.type
        elif isinstance(type, int) and not isinstance(type, bool):
            index = type
            type = _numbered_type() if index >= 0 else ""
        elif isinstance(type, str):
            type, index = _parse(type, index)
        else:
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({_type_name(type)}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)"
            )
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type: str = type
        self.index: int | None = index
        self._tokens: list[Any] = []

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + ("" if self.index is None else f", index={self.index}") + ")"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        self._tokens.append(_default.get())
        _default.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _default.set(self._tokens.pop())


def _type_name(value: object) -> str:
    return type(value).__name__


def _numbered_type() -> str:
    """Return the device type of an index alone, as in `torch.device(1)`: the selected backend's, but CUDA instead of the CPU."""
    chosen = backends.selected().device_type
    if chosen == "cpu" and backends.has_devices("cuda"):
        return "cuda"
    if chosen == "cpu" and CPU_DEVICES == 1:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return chosen


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    match = _PATTERN.fullmatch(text)
    device_type = match.group(1) if match else text.partition(":")[0]
    if (
        device_type not in _KNOWN_TYPES
        and device_type not in backends.DEVICE_TYPE_OWNER
        and device_type not in backends.installed()
    ):
        known = (*_KNOWN_TYPES, *(name for name in backends.DEVICE_TYPE_OWNER if name not in _KNOWN_TYPES))
        raise RuntimeError(f"Expected one of {', '.join(known)} device type at start of device string: {device_type}")
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'")
    if match.group(2) is not None:
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
        index = int(match.group(2))
    return device_type, index


_CPU = device("cpu")
_default: ContextVar[device | None] = ContextVar("default_device", default=None)
_process_default: device | None = None


def set_default_device(device: Any) -> None:
    """Set the default device of new tensors; None restores the selected backend's device.

    Args:
        device: a device, or its name; None for the selected backend's device.

    >>> torch.set_default_device("cpu"); torch.get_default_device()
    device(type='cpu')
    >>> torch.set_default_device(None)
    """
    global _process_default
    _process_default = None if device is None else globals()["device"](device)
    _default.set(None)


def chosen_device() -> device | None:
    """Return the default device set by the program, without a check that it is available; None if unset."""
    return _default.get() or _process_default


def get_default_device() -> device:
    """The default device of new tensors."""
    chosen = chosen_device()
    if chosen is None:
        backend = backends.selected()
        return canonical(device(backend.device_type, backends.SELECTED_INDEX))
    return (
        device(chosen.type, backends.for_device_type(chosen.type).current_device())
        if (chosen.index is None and chosen.type not in ("cpu", "meta"))
        else chosen
    )


def _cpu_if_selected() -> device | None:
    """Return the CPU device, always as the same object, if it is the selected backend's only device; else None."""
    return _CPU if CPU_DEVICES == 1 and backends.selected().device_type == "cpu" else None


def canonical(place: device) -> device:
    """Return the device as tensors report it: with an index, except for `meta` and for a CPU that is the only CPU device."""
    index = place.index
    count = CPU_DEVICES if place.type == "cpu" else None
    if place.type == "cpu":
        if count == 1 and index in (None, 0):
            return device("cpu")
        index = index or 0
        if index >= (count or 1):
            raise RuntimeError(
                f"Invalid device 'cpu:{index}': this process has {count} CPU device(s); FLAMBEAU_CPU_DEVICES sets their number"
            )
        return device("cpu", index)
    if place.type == "meta":  # there is one meta device; the index is ignored
        return device("meta")
    backend = backends.for_device_type(place.type)
    backend.prepare()
    index = backend.current_device() if index is None else index
    if index >= backend.device_count():
        raise RuntimeError(f"{place.type} error: invalid device ordinal {index}; {backend.device_count()} available")
    return device(place.type, index)


def _count_cpu_devices() -> int:
    text = os.environ.get("FLAMBEAU_CPU_DEVICES") or "1"
    if not text.isdecimal() or int(text) < 1:
        raise RuntimeError(f"FLAMBEAU_CPU_DEVICES={text!r}: expected a positive integer")
    return int(text)


CPU_DEVICES = _count_cpu_devices()


# --- dispatch keys ------------------------------------------------------------------------------------------------

_SCALARS_THAT_FIT = {
    BOOL: frozenset({bool}),
    INTEGER: frozenset({bool, int}),
    FLOATING: frozenset({bool, int, float}),
    COMPLEX: frozenset({bool, int, float, complex}),
}
_NO_TYPES: frozenset[type] = frozenset()  # for float16 and bfloat16: operations may need the scalar before it is rounded to them


class DispatchKey(dict[str, tuple[Callable[..., Any], Any]]):
    """The dtype and device of a tensor, with a table of the kernels that compute operations on such tensors.

    All plain tensors of one dtype on one device share one key.  Tensors batched by `vmap`, and lazy conjugate views, have others.

    `key["exp"]` is a pair `(kernel, dispatch key of the result)`.  The first lookup finds the kernel (of the backend or a kernel
    pack, with promotion and casts), later lookups use the table.  Operands with the same key need neither promotion nor transfer;
    keys are compared by identity.
    """

    __slots__ = (
        "F",
        "array_type",
        "backend",
        "constant_types",
        "constants",
        "device",
        "dtype",
        "raw_dtype",
        "scalars",
        "table",
    )
    __hash__ = object.__hash__  # type: ignore[assignment]  # a class that defines __eq__ must set it again
    levels: tuple[Any, ...] = ()  # the `vmap` levels at which tensors with this key are batched
    resolve: ClassVar[Callable[[str, DispatchKey], tuple[Callable[..., Any], Any]]]  # set by `calls.resolve`
    raw_kernel: ClassVar[Callable[[str, DispatchKey], Callable[..., Any]]]  # returns `F.name`; set by `calls.resolve`
    wraps = False  # whether tensors with this key have no elements, but wrap other tensors
    lazy_op: str | None = None  # "conj" if the memory holds the conjugates of the elements, "neg" for the negatives

    def __init__(self, dtype: dtype, device: device, backend: Backend, kernels: Kernels | None = None) -> None:
        super().__init__()
        if dtype not in backend.dtypes:
            raise RuntimeError(_no_dtype(dtype, device, backend))
        self.dtype: Final = dtype
        self.device: Final = device
        self.backend: Backend = backend
        state.guarded_devices |= backend.guarded
        self.array_type: type = backend.array_type
        self.raw_dtype: Final = backend.dtypes[dtype]
        self.scalars: frozenset[type] = _SCALARS_THAT_FIT[dtype.category]
        self.constant_types: frozenset[type] = _NO_TYPES if dtype in HALF else self.scalars
        self.constants: dict[Any, Any] = {}
        self.F = kernels or kernels_of(self)
        self.table: dict[str, tuple[Callable[..., Any], Any]] = {}  # a copy of the entries: lookup is faster in a plain dict

    def __missing__(self, name: str) -> tuple[Callable[..., Any], Any]:
        entry = self[name] = self.table[name] = DispatchKey.resolve(name, self)
        return entry

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"DispatchKey({self.dtype!r}, {self.device})"

    def to(self, dtype: dtype) -> DispatchKey:
        """Return the dispatch key of another dtype and the same device."""
        return self if dtype is self.dtype else dispatch_key(dtype, self.device)

    def on(self, place: device) -> DispatchKey:
        """Return the dispatch key of the same dtype and another device."""
        return dispatch_key(self.dtype, place)

    @property
    def materialized(self) -> DispatchKey:
        """The key of tensors whose memory holds the elements themselves; differs from `self` for lazy views (`LazyKey`)."""
        return self

    @property
    def scalar_key(self) -> DispatchKey:
        """The key of the 0-d tensors that Python numbers become when they are combined with tensors of this key."""
        return self

    def materialize(self, tensor: Any) -> Any:
        """Return a tensor whose memory holds the elements of `tensor`; for a lazy conjugate view, compute the conjugates."""
        return tensor

    def stored(self, array: Any) -> Any:
        """Return the array to store in a tensor with this key so that its elements are those of `array`."""
        return array


Kernels = ModuleType


def kernels_of(key: DispatchKey) -> Kernels:
    """Return the namespace `F` of derivative rules: its attributes are operations on raw arrays of one dispatch key.

    The namespace is a module: a `__getattr__` for missing attributes does not slow down the lookup of existing ones in a module.
    """
    F = Kernels("kernels")

    def find(name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        kernel = DispatchKey.raw_kernel(name, key)
        setattr(F, name, kernel)
        return kernel

    F.__dict__.update(_key=key, __getattr__=find)
    return F


cached_keys: dict[tuple[dtype, str, int | None], DispatchKey] = {}
_keys_of_selected: dict[dtype, DispatchKey] = {}  # keys of the default device, if it is the selected backend's only one
_devices: dict[tuple[str, int | None], device] = {}


def dispatch_key(dtype: dtype, place: device | None = None) -> DispatchKey:
    """Return the unique DispatchKey of this dtype and device."""
    if place is None:
        place = _default.get() or _process_default
        if place is None:
            key = _keys_of_selected.get(dtype)
            return key if key is not None else _key_of_selected(dtype)
    elif type(place) is not device:  # a BatchDevice
        return place.dispatch_key(dtype)  # type: ignore[attr-defined, no-any-return]  # a BatchDevice
    key = cached_keys.get((dtype, place.type, place.index))
    if key is None:
        dtype = as_dtype(dtype)
        canonical_device = canonical(place)
        key = cached_keys.get((dtype, canonical_device.type, canonical_device.index))
        if key is None:
            canonical_device = _devices.setdefault(
                (canonical_device.type, canonical_device.index), canonical_device
            )  # one object per device, so that devices can be compared by identity
            key = DispatchKey(dtype, canonical_device, backends.for_device_type(canonical_device.type))
            # of two threads that create the same key, the first one sets it
            key = cached_keys.setdefault((dtype, canonical_device.type, canonical_device.index), key)
        if place.type in ("cpu", "meta") or place.index is not None:  # else `place` is the current device, which may change
            cached_keys[dtype, place.type, place.index] = key
    return key


def _no_dtype(dtype: dtype, place: device, backend: Backend) -> str:
    """Return the message of the error for a dtype that the backend does not have."""
    function = called_function()
    caller = f"{function}(): " if function else ""
    if dtype in backend.missing_dtypes:
        return f"{caller}tensors of {dtype!r} on {place} need the package {backend.missing_dtypes[dtype]}, which is not installed"
    has = ", ".join(map(repr, backend.dtypes))
    return (
        f"{caller}the {backend.name} backend has no {dtype!r}, and so no tensors of that dtype on {place}; it has {has}. "
        "Convert to one of these, such as by .float(), or compute on the CPU: .cpu() keeps the dtype"
    )


def _key_of_selected(dtype: dtype) -> DispatchKey:
    place = _cpu_if_selected()
    if place is None:
        return dispatch_key(dtype, get_default_device())
    key = _keys_of_selected[dtype] = dispatch_key(dtype, place)
    return key


def forget_kernels() -> None:
    """Clear the kernels of all dispatch keys after a change of the default dtype, to which they promote integers."""
    for key in set(cached_keys.values()):
        key.clear()
        key.table.clear()
        key.F = kernels_of(key)


# --- messages -----------------------------------------------------------------------------------------------------

_OUTSIDE = ("flambeau.conformance", "flambeau.cli")  # treated as user code: they call public functions only


def called_function() -> str:
    """Return the name of the flambeau function that user code has called, found on the stack, or an empty string."""
    found, frame = "", sys._getframe(1)
    while frame is not None and _is_inside(str(frame.f_globals.get("__name__", ""))):
        code = frame.f_code
        if not code.co_name.startswith("<"):
            # Some functions are generated for several names, and have the name in the closure variable `name`.
            found = str(frame.f_locals["name"]) if "name" in code.co_freevars else code.co_name
        frame = frame.f_back  # type: ignore[assignment]  # None at the end of the stack
    return found.removesuffix("_method").removeprefix("_" if not found.startswith("__") else "")


def _is_inside(module: str) -> bool:
    return module.partition(".")[0].startswith("flambeau") and not module.startswith(_OUTSIDE)
