"""Exceptions of `torch.compile`."""

from __future__ import annotations

__all__ = ["FailOnRecompile", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """Base class of compiler errors."""


class InvalidBackend(TorchDynamoException):
    """Raised if no backend has the name that was given to `torch.compile`."""


class Unsupported(TorchDynamoException):
    """Raised with `fullgraph=True` if the function cannot be compiled."""


class FailOnRecompile(TorchDynamoException):
    """Raised with the stance `"fail_on_recompile"` if a function would have to be compiled again."""
