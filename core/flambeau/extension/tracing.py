"""The names of the scopes open in the trace being recorded; operations are recorded with them."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["TracingState", "current"]


class TracingState:
    """The stack of open scope names, outermost first, recorded with each operation."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        """Open a scope called `name`."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Close the innermost scope."""
        self.scopes.pop()


current: ContextVar[TracingState | None] = ContextVar("current", default=None)
