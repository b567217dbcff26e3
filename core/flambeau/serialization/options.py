"""Global settings of `save` and `load`, and the classes that `load(weights_only=True)` may use."""

from __future__ import annotations

import enum
import gc
import mmap
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = [
    "LoadEndianness",
    "LoadSettings",
    "SaveSettings",
    "add_safe_globals",
    "clear_safe_globals",
    "garbage_collection_paused",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "is_skipping_data",
    "load_settings",
    "materializes_fake_tensors",
    "safe_globals",
    "save_settings",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_MAP_PRIVATE = getattr(mmap, "MAP_PRIVATE", None)  # None on Windows, where `mmap` has no flags
_MAP_SHARED = getattr(mmap, "MAP_SHARED", None)


class LoadEndianness(enum.Enum):
    """The byte order assumed for files that do not record it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class LoadSettings:
    """The settings of `load`, `torch.utils.serialization.config.load`."""

    __slots__ = ("calculate_storage_offsets", "endianness", "mmap", "mmap_flags")

    def __init__(self) -> None:
        self.mmap: bool = False  # the default of `load(mmap=...)`
        self.endianness: LoadEndianness | None = None
        self.mmap_flags: int | None = _MAP_PRIVATE
        self.calculate_storage_offsets: bool = False  # no effect: offsets are always read from the file


class SaveSettings:
    """The settings of `save`, `torch.utils.serialization.config.save`."""

    __slots__ = ("compute_crc32", "storage_alignment", "use_pinned_memory_for_d2h")

    def __init__(self) -> None:
        self.compute_crc32: bool = True
        self.use_pinned_memory_for_d2h: bool = False  # no effect
        self.storage_alignment: int = 64  # bytes


load_settings: LoadSettings = LoadSettings()
save_settings: SaveSettings = SaveSettings()
_skips_data: ContextVar[skip_data | None] = ContextVar("skip_data", default=None)
_safe_globals: list[SafeGlobal] = []


# --- byte order, checksums, memory mapping ---


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order assumed for files that do not record it; None means little-endian."""
    return load_settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that `load` assumes for files that do not record it.

    >>> torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.BIG)
    >>> torch.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    load_settings.endianness = endianness


def assumed_byteorder() -> str:
    """Return the byte order assumed for files that do not record it: `"little"` or `"big"`."""
    if load_settings.endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if load_settings.endianness is LoadEndianness.BIG else "little"


def get_crc32_options() -> bool:
    """Return whether `save` computes checksums and `load` verifies them."""
    return save_settings.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `save` computes the CRC-32 checksums of records, and `load` verifies them.  If not, `save` writes 0."""
    save_settings.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Return the flags with which `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` unless set otherwise."""
    return load_settings.mmap_flags


class set_default_mmap_options:
    """Set the flags with which `load(mmap=True)` maps files, permanently or inside a `with` block.

    Args:
        flags: `mmap.MAP_PRIVATE` (writing to a loaded tensor leaves the file alone) or `mmap.MAP_SHARED`.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if _MAP_PRIVATE is None:
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (_MAP_PRIVATE, _MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self._previous, load_settings.mmap_flags = load_settings.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        load_settings.mmap_flags = self._previous


class skip_data:
    """Inside a `with` block, `save` writes zeros in place of tensor data, and `load` does not read the data.

    Args:
        materialize_fake_tensors: whether fake tensors are saved as real ones, filled with zeros.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> with torch.serialization.skip_data():
    ...     torch.load(io.BytesIO(file.getvalue())).shape
    torch.Size([2])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._token = _skips_data.set(self)

    def __exit__(self, *exception: object) -> None:
        _skips_data.reset(self._token)


def is_skipping_data() -> bool:
    return _skips_data.get() is not None


def materializes_fake_tensors() -> bool:
    """Whether `skip_data(materialize_fake_tensors=True)` is active."""
    active = _skips_data.get()
    return active is not None and active.materialize_fake_tensors


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Disable the garbage collector inside a `with` block.

    It would repeatedly traverse all objects of the program while a large pickle creates many objects.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# --- safe globals ---


def add_safe_globals(safe_globals: Sequence[SafeGlobal]) -> None:
    """Allow `load(weights_only=True)` to call these classes and functions if a file refers to them.

    Args:
        safe_globals: classes and functions, or pairs (class or function, its full name in files).

    >>> import fractions
    >>> torch.serialization.add_safe_globals([fractions.Fraction])
    >>> fractions.Fraction in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _safe_globals.extend(g for g in safe_globals if g not in _safe_globals)


def get_safe_globals() -> list[SafeGlobal]:
    """Return the classes and functions that `add_safe_globals` has added."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Remove all classes and functions that `add_safe_globals` has added."""
    _safe_globals.clear()


class safe_globals:
    """Call `add_safe_globals` for the duration of a `with` block.

    >>> import fractions
    >>> with torch.serialization.safe_globals([fractions.Fraction]):
    ...     len(torch.serialization.get_safe_globals())
    1
    """

    def __init__(self, safe_globals: Sequence[SafeGlobal]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        for entry in self.safe_globals:
            if entry in _safe_globals:
                _safe_globals.remove(entry)


def safe_globals_by_name() -> dict[str, Any]:
    """Return the safe globals by their full names in files.

    Raises:
        TypeError, ValueError: an entry of `add_safe_globals` is a tuple other than (object, name).
    """
    named = {}
    for entry in _safe_globals:
        if not isinstance(entry, tuple):
            named[f"{entry.__module__}.{entry.__qualname__}"] = entry
            continue
        if len(entry) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(entry)}"
            )
        obj, name = entry
        if not isinstance(name, str):
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(name)}")
        named[name] = obj
    return named
