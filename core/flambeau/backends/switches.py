"""Shared by the modules of the libraries: a context with changed settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["changed"]


@contextmanager
def changed(library: dict[str, Any], **switches: Any) -> Iterator[None]:
    """Context in which these variables of a module, given by its `globals()`, are changed; None leaves a variable as it is."""
    before = {name: library[name] for name in switches}
    library.update({name: value for name, value in switches.items() if value is not None})
    try:
        yield
    finally:
        library.update(before)
