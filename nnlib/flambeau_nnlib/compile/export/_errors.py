"""The exceptions that `torch.export.export` raises."""

from __future__ import annotations

__all__ = ["GuardOnDataDependentSymNode", "UserError"]


class UserError(RuntimeError):
    """The arguments of `export`, for example `dynamic_shapes`, contradict what the program does."""


class GuardOnDataDependentSymNode(RuntimeError):
    """The program branches on tensor data or needs its value, which is unknown until the exported program is called."""
