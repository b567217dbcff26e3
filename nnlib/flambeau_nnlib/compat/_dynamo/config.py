"""Settings of PyTorch's compiler. They can be set, but have no effect."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["cache_size_limit", "patch", "recompile_limit", "suppress_errors", "verbose"]

cache_size_limit = 8
recompile_limit = 8
suppress_errors = False
verbose = False


@contextmanager
def patch(settings: str | dict[str, Any] | None = None, value: Any = None, **more: Any) -> Iterator[None]:
    """Context manager and decorator that changes settings temporarily, given a name and a value, a dictionary, or keywords.

    >>> from flambeau._dynamo import config
    >>> with config.patch(verbose=True):
    ...     config.verbose
    True
    >>> config.verbose
    False
    """
    wanted = {settings: value} if isinstance(settings, str) else {**(settings or {}), **more}
    here = vars(sys.modules[__name__])
    before = {name: here[name] for name in wanted if name in here}
    here.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            here.pop(name, None)
        here.update(before)
