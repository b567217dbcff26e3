"""Modules of settings, such as `torch._dynamo.config`: any name can be set, and keeps its value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

__all__ = ["make_patch"]


def _place(module: str, name: str) -> tuple[Any, str]:
    """Return the object and the attribute of a setting; `name` may contain sections, as in `cpp.threads`."""
    section, _, attribute = name.rpartition(".")
    holder: Any = sys.modules[module]
    for part in section.split(".") if section else ():
        holder = getattr(holder, part)
    return holder, attribute


def make_patch(module: str) -> Callable[..., AbstractContextManager[None]]:
    """Return the function `patch` of a module of settings."""

    @contextmanager
    def patch(settings: str | dict[str, Any] | None = None, value: Any = None, **more: Any) -> Iterator[None]:
        """Context manager and decorator that changes settings, given a name and a value, a dictionary, or keywords."""
        wanted = {settings: value} if isinstance(settings, str) else {**(settings or {}), **more}
        places = {name: _place(module, name) for name in wanted}
        before = {name: getattr(holder, attribute) for name, (holder, attribute) in places.items() if hasattr(holder, attribute)}
        try:
            for name, (holder, attribute) in places.items():
                setattr(holder, attribute, wanted[name])
            yield
        finally:
            for name, (holder, attribute) in places.items():
                if name in before:
                    setattr(holder, attribute, before[name])
                elif hasattr(holder, attribute):
                    delattr(holder, attribute)

    return patch
