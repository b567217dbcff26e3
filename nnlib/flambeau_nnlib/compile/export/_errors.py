"""What `export` raises about programs that it cannot follow."""

from __future__ import annotations

__all__ = ["GuardOnDataDependentSymNode", "UserError"]


class UserError(RuntimeError):
    """What was asked of `export` contradicts the program."""


class GuardOnDataDependentSymNode(RuntimeError):
    """The program does what depends on a value that only a call will know."""
