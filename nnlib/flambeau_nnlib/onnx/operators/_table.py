"""The table of translations: from names of PyTorch's operators to functions that add nodes of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["TABLE", "translates"]

TABLE: dict[str, Callable[..., Any]] = {}


def translates(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as the translation of operators; it takes the builder and the operator's arguments."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return enter
