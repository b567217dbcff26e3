"""Process-wide settings: threads, determinism, precision of matrix products."""

from __future__ import annotations

import platform
import warnings
from typing import Any, TypedDict

from ... import backend as backends

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads",
    "set_num_threads", "set_warn_always", "use_deterministic_algorithms",
]  # fmt: skip


class _Settings(TypedDict):
    deterministic: bool
    warn_only: bool
    warn_always: bool
    matmul_precision: str
    interop_threads: int | None


_settings: _Settings = {
    "deterministic": False,
    "warn_only": False,
    "warn_always": False,
    "matmul_precision": "highest",
    "interop_threads": None,
}


def get_num_threads() -> int:
    """The number of threads that the CPU backend's kernels use."""
    cpu: Any = backends.for_device_type("cpu")
    return int(cpu.get_num_threads())


def set_num_threads(num: int, /) -> None:
    """Set the number of threads that the CPU backend's kernels use.  RuntimeError unless it is positive.

    Args:
        num: the number of threads.
    """
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    cpu: Any = backends.for_device_type("cpu")
    cpu.set_num_threads(num)


def get_num_interop_threads() -> int:
    """The value set by `set_num_interop_threads`, by default 1.  The value is not used: flambeau runs one operation at a time."""
    return _settings["interop_threads"] or 1


def set_num_interop_threads(num: int, /) -> None:
    """Set the value that `get_num_interop_threads` returns.  It has no other effect.

    Args:
        num: the value, positive.

    Raises:
        RuntimeError: the value is not positive.
    """
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _settings["interop_threads"] = num


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Set whether only deterministic algorithms are used; flambeau's CPU kernels are always deterministic.

    Args:
        mode: the setting.
        warn_only: whether operations without a deterministic algorithm warn instead of raising.

    Raises:
        TypeError: an argument is not a bool.
    """
    for argument, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if type(value) is not bool:
            raise TypeError(f"_set_deterministic_algorithms(): argument {argument} must be bool, not {type(value).__name__}")
    _settings["deterministic"], _settings["warn_only"] = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether only deterministic algorithms are used."""
    return _settings["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an operation without a deterministic algorithm warns instead of raising."""
    return _settings["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set whether nondeterministic operations run silently (`"default"`, 0), warn (`"warn"`, 1) or raise (`"error"`, 2).

    Args:
        debug_mode: the mode, as a name or a number.

    Raises:
        RuntimeError: the mode is unknown.
    """
    if debug_mode not in (0, 1, 2, *_DEBUG_MODES):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, 2 or one of {', '.join(_DEBUG_MODES)}, but got {debug_mode}"
        )
    number = _DEBUG_MODES[debug_mode] if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """The mode that `set_deterministic_debug_mode` set, as a number."""
    return 0 if not _settings["deterministic"] else 1 if _settings["warn_only"] else 2


def get_float32_matmul_precision() -> str:
    """The precision of float32 matrix products: `"highest"`, `"high"` or `"medium"`."""
    return _settings["matmul_precision"]


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products; with `"high"` or `"medium"`, CUDA may round the factors to TF32.

    Args:
        precision: "highest", "high" or "medium"; any other value has no effect, with a warning.
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the setting stays as it is", stacklevel=2)
        return
    _settings["matmul_precision"] = precision


def set_warn_always(b: bool, /) -> None:
    """Set whether warnings that are normally shown once per process are always shown.

    Args:
        b: the setting.
    """
    _settings["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """Whether warnings that are normally shown once per process are always shown."""
    return _settings["warn_always"]


def set_flush_denormal(mode: bool, /) -> bool:
    """Set whether denormal numbers are flushed to 0 in this thread; return whether this is supported (x86-64 with glibc).

    Args:
        mode: the setting.

    Raises:
        RuntimeError: the argument is not a bool.

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
    flush = 1 << 15 | 1 << 6  # bits of the register MXCSR: flush results to zero, read denormals as zero
    environment[7] = environment[7] | flush if mode else environment[7] & ~flush
    libm.fesetenv(environment)
    return True
