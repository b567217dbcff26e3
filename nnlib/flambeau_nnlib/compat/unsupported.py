"""Classes and functions that can be imported and compared with, and that raise when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["unsupported_class", "unsupported_function"]


def unsupported_class(name: str, reason: str, module: str) -> type:
    """Return a class whose constructor raises NotImplementedError."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported: {reason}")

    doc = f"The constructor raises NotImplementedError: {reason}."
    return type(name, (), {"__init__": __init__, "__doc__": doc, "__module__": module})


def unsupported_function(name: str, reason: str) -> Callable[..., NoReturn]:
    """Return a function that raises NotImplementedError."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{name}() is not supported: {reason}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise NotImplementedError: {reason}."
    return refuse
