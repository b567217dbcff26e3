"""`torch._dynamo.variables`: values in PyTorch's compiler, which brevitas and unsloth compare with."""

from __future__ import annotations

from typing import Any

__all__ = ["ConstantVariable"]


class ConstantVariable:
    """A constant."""

    def __init__(self, value: Any, **kwargs: Any) -> None:
        self.value = value

    @classmethod
    def create(cls, value: Any, **kwargs: Any) -> ConstantVariable:
        """Return a constant with the given value."""
        return cls(value, **kwargs)

    def as_python_constant(self) -> Any:
        """Return the value."""
        return self.value
