"""The table of translations, from names of PyTorch operators to functions that add ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["TABLE", "translates"]

Translation = TypeVar("Translation", bound=Callable[..., Any])
TABLE: dict[str, Callable[..., Any]] = {}


def translates(*names: str) -> Callable[[Translation], Translation]:
    """Register a function as the translation of operators. It takes the builder and the operator's arguments."""

    def enter(function: Translation) -> Translation:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return enter
