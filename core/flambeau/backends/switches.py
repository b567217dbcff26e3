"""What the libraries' modules share: contexts in which some switches are set otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["changed"]


@contextmanager
def changed(library: dict[str, Any], **switches: Any) -> Iterator[None]:
    """A context with these switches of a module, given as its `globals()`; None leaves one as it is."""
    before = {name: library[name] for name in switches}
    library.update({name: value for name, value in switches.items() if value is not None})
    try:
        yield
    finally:
        library.update(before)
