"""The names of `torch._dynamo.utils` that libraries use."""

from __future__ import annotations

import collections
import functools
import sys
import warnings
from contextlib import AbstractContextManager
from typing import Any

from . import config

__all__ = ["counters", "disable_cache_limit", "warn_once"]

counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
"""Counts of PyTorch's compiler, such as `counters["stats"]["unique_graphs"]`: flambeau's compiler counts nothing."""


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn, if the same text has not been a warning before."""
    warnings.warn(msg, stacklevel=stacklevel + 1)


def disable_cache_limit() -> AbstractContextManager[Any]:
    """Context manager that lifts the limits of recompilations in `torch._dynamo.config`."""
    return config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize, cache_size_limit=sys.maxsize)
