"""`torch.jit._recursive`: types of scripted modules, which are not shared between modules here."""

from __future__ import annotations

from typing import Any

__all__ = ["ConcreteTypeStore", "concrete_type_store"]


class ConcreteTypeStore:
    """A table of the types of scripted modules, which is always empty."""

    def __init__(self) -> None:
        self.type_store: dict[type, list[Any]] = {}
        self.methods_compiled: set[Any] = set()


concrete_type_store = ConcreteTypeStore()
