"""Process-wide settings: threads, determinism, memory formats, precision of matrix products."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from typing import Any, TypedDict

from . import backend as backends
from ._tensor import Tensor

__all__ = [
    "are_deterministic_algorithms_enabled", "channels_last", "channels_last_3d", "contiguous_format",
    "get_deterministic_debug_mode", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled", "is_storage", "is_tensor", "is_warn_always_enabled", "layout",
    "legacy_contiguous_format", "memory_format", "preserve_format", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads", "set_warn_always",
    "strided", "typename", "use_deterministic_algorithms",
]  # fmt: skip


class memory_format:
    """An order of dimensions in memory, such as ``torch.channels_last``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_channels_last = name.startswith("channels_last")

    def order(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of a tensor, from the slowest in memory to the fastest.

        Raises:
            RuntimeError: channels_last of other than 4 dimensions, channels_last_3d of other than 5.
        """
        if not self.is_channels_last:
            return tuple(range(ndim))
        rank = 5 if self._name.endswith("3d") else 4
        if ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {self._name} format")
        return (0, *range(2, ndim), 1)

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


contiguous_format = legacy_contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def memory_order(tensor: Tensor, wanted: memory_format | None = None) -> tuple[int, ...]:
    """The dimensions of a tensor, or of one in another format, from the slowest in memory to the fastest."""
    ndim = tensor._array.ndim
    if wanted is not None and wanted is not preserve_format:
        return wanted.order(ndim)
    if tensor._kind.backend.is_contiguous(tensor._array):
        return tuple(range(ndim))
    return backends.memory_order(tensor._array.shape, tensor.stride())


class layout:
    """How elements are stored; flambeau's tensors are ``torch.strided``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided = layout("strided")
Tensor.layout = strided


class _Settings(TypedDict):
    deterministic: int
    warn_always: bool
    matmul_precision: str
    interop_threads: int | None


_settings: _Settings = {"deterministic": 0, "warn_always": False, "matmul_precision": "highest", "interop_threads": None}


def is_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether ``obj`` is a storage."""
    from .storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


def typename(obj: Any, /) -> str:
    """The name of the object's type, with its module; ``torch.FloatTensor`` and the like for tensors.

    >>> import flambeau as torch
    >>> torch.typename(torch.ones(1)), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        name: str = obj.type()
        return name
    cls = obj if isinstance(obj, type) else type(obj)
    return cls.__qualname__ if cls.__module__ in ("builtins", "") else f"{cls.__module__}.{cls.__qualname__}"


def get_num_threads() -> int:
    """How many threads the CPU backend's kernels use."""
    return backends.for_device_type("cpu").get_num_threads()


def set_num_threads(num: int, /) -> None:
    """Let the CPU backend's kernels use ``num`` threads.  RuntimeError unless it is positive."""
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    backends.for_device_type("cpu").set_num_threads(num)


def get_num_interop_threads() -> int:
    """How many operations may run beside each other; flambeau runs one at a time unless told otherwise."""
    return _settings["interop_threads"] or 1


def set_num_interop_threads(num: int, /) -> None:
    """Set the number that ``get_num_interop_threads`` gives."""
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _settings["interop_threads"] = num


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same result every time; flambeau's CPU kernels always do."""
    _settings["deterministic"] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms are asked for."""
    return _settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an operation without a deterministic algorithm warns instead of raising."""
    return _settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``"default"`` (0), ``"warn"`` (1) or ``"error"`` (2), about operations without a deterministic algorithm."""
    if debug_mode not in (0, 1, 2, *_DEBUG_MODES):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2 or one of {', '.join(_DEBUG_MODES)}, but got "
                           f"{debug_mode}")
    _settings["deterministic"] = _DEBUG_MODES[debug_mode] if isinstance(debug_mode, str) else debug_mode


def get_deterministic_debug_mode() -> int:
    """The mode as a number."""
    return _settings["deterministic"]


def get_float32_matmul_precision() -> str:
    """``"highest"``, ``"high"`` or ``"medium"``."""
    return _settings["matmul_precision"]


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 matrix products on CUDA to round their factors (TF32) unless ``"highest"``."""
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the setting stays as it is", stacklevel=2)
        return
    _settings["matmul_precision"] = precision


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that come once per process come every time."""
    _settings["warn_always"] = bool(b)


_PACKAGE = os.path.dirname(__file__)
_warned: set[str] = set()


def warn_once(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the first time that this is called with the message, or every time after ``set_warn_always(True)``."""
    if message in _warned and not _settings["warn_always"]:
        return
    _warned.add(message)
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith((_PACKAGE, "<flambeau")):  # point at the caller's line
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_old(name: str, arguments: str) -> None:
    """Warn of a call in an order of arguments that PyTorch 0.2 had."""
    warn_once(f"This overload of {name} is deprecated.\nConsider using one of the following signatures instead:\n"
              f"\t{name}(input, {arguments})")  # fmt: skip


def is_warn_always_enabled() -> bool:
    """Whether warnings that come once per process come every time."""
    return _settings["warn_always"]


def set_flush_denormal(mode: bool, /) -> bool:
    """Let denormal numbers be flushed to 0, or not, in this thread; returns whether that is possible: with glibc, for x86-64.

    >>> import flambeau as torch
    >>> torch.set_flush_denormal(False)
    True
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return not mode
    import ctypes

    environment = (ctypes.c_uint32 * 8)()
    libm = ctypes.CDLL("libm.so.6")
    libm.fegetenv(environment)
    flush = 1 << 15 | 1 << 6  # of the last word, MXCSR: results, and arguments
    environment[7] = environment[7] | flush if mode else environment[7] & ~flush
    libm.fesetenv(environment)
    return True
