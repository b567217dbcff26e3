"""Modules that are imported on first use: numba alone takes longer to import than NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Lazy"]


class Lazy:
    """A placeholder for a module of this package, which keeps what has been looked up as attributes."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(import_module(f"flambeau_fast.{self._name}"), name)
        setattr(self, name, attribute)
        return attribute
