"""Exceptions of the compiler."""

from __future__ import annotations

__all__ = ["FailOnRecompile", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """An error of the compiler."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of this name."""


class Unsupported(TorchDynamoException):
    """With `fullgraph=True`: something in the function cannot be compiled."""


class FailOnRecompile(TorchDynamoException):
    """A function would have to be compiled again, which the stance forbids."""
