"""NumPy as on a 32-bit system: its functions return int32 indices, and refuse int64 ones where it requires a safe cast."""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["narrow_numpy"]

RETURN_INDICES = ("argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted")


def _narrow(result: Any) -> Any:
    return tuple(map(_narrow, result)) if isinstance(result, tuple) else result.astype(np.int32)


def _returning_narrow(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def narrow(*args: Any, **kwargs: Any) -> Any:
        return _narrow(function(*args, **kwargs))

    return narrow


def _refuse_wide(counts: Any) -> None:
    if not np.can_cast(np.asarray(counts).dtype, np.int32, "safe") and not isinstance(counts, int):
        raise TypeError("Cannot cast array data from dtype('int64') to dtype('int32') according to the rule 'safe'")


def narrow_numpy() -> None:
    """Change NumPy's functions and array methods in this process.  Call it before flambeau is imported."""
    methods: Any = gc.get_referents(np.ndarray.__dict__)[0]  # the dictionary itself, which its read-only view refers to
    for name in RETURN_INDICES:
        methods[name] = _returning_narrow(methods[name])
    repeat, bincount, arange = methods["repeat"], np.bincount, np.arange

    def narrow_repeat(self: Any, repeats: Any, axis: Any = None) -> Any:
        _refuse_wide(repeats)
        return repeat(self, repeats, axis)

    def narrow_bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
        _refuse_wide(x)
        counts = bincount(x, weights, minlength)
        return counts if weights is not None else _narrow(counts)

    def narrow_arange(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        result = arange(*args, dtype=dtype, **kwargs)
        is_index = dtype is None and result.dtype == np.int64 and not any(isinstance(each, np.int64) for each in args)
        return _narrow(result) if is_index else result

    methods["repeat"] = narrow_repeat
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.ndarray))  # forget cached methods
    numpy: Any = np
    numpy.bincount, numpy.arange, numpy.intp = narrow_bincount, narrow_arange, np.int32
