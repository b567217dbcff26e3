"""Modules that are imported when something in them is first used: numba alone takes longer to import than NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Lazy"]


class Lazy:
    """Stands for a module of this package; what has been looked up once is an attribute like any other."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(f"flambeau_fast.{self._name}"), name)
        setattr(self, name, found)
        return found
