"""`torch._dynamo.source`: where PyTorch's compiler got a value from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConstantSource", "LocalSource", "Source"]


@dataclass(frozen=True)
class Source:
    """The origin of a value."""


@dataclass(frozen=True)
class ConstantSource(Source):
    """A constant."""

    source_name: str


@dataclass(frozen=True)
class LocalSource(Source):
    """A local variable of the compiled function."""

    local_name: str
    is_input: bool = False
    dynamism: frozenset[str] | None = None
    is_derefed_cell_contents: bool = False
