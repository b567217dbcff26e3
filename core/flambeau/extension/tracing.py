"""Access for libraries to the trace being recorded, and to the scopes in which operations are called."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["TracingState", "current"]


class TracingState:
    """The scopes that are open, from the outermost: an operation is recorded with their names."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        """Open a scope."""
        self.scopes.append(name)

    def pop_scope(self) -> None:
        """Leave the scope that was opened last."""
        self.scopes.pop()


current: ContextVar[TracingState | None] = ContextVar("current", default=None)
