"""`torch.utils._sympy.value_ranges`: intervals of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ValueRanges"]


@dataclass(frozen=True)
class ValueRanges:
    """The values from `lower` to `upper`.  ValueError if they are in the wrong order."""

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError(f"Invalid ranges [{self.lower}:{self.upper}]")

    def __contains__(self, value: Any) -> bool:
        return bool(self.lower <= value <= self.upper)

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def __or__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    def is_singleton(self) -> bool:
        """Whether the interval contains one value."""
        return bool(self.lower == self.upper)
