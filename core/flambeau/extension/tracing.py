"""Names of the scopes that are open while a trace is recorded. The trace stores them with each operation."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["TracingState", "current"]


class TracingState:
    """A stack of the names of open scopes, outermost first. The trace stores them with each operation."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        """Open a scope called `name`."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Close the innermost scope."""
        self.scopes.pop()


current: ContextVar[TracingState | None] = ContextVar("current", default=None)
