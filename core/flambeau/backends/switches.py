"""A context that changes settings of a `torch.backends` module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["changed"]


@contextmanager
def changed(library: dict[str, Any], **switches: Any) -> Iterator[None]:
    """Change variables of a module, given by its `globals()`, within the context; a value of None leaves a variable as it is."""
    before = {name: library[name] for name in switches}
    library.update({name: value for name, value in switches.items() if value is not None})
    try:
        yield
    finally:
        library.update(before)
