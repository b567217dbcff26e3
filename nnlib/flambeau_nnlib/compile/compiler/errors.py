"""Exceptions of `torch.compile`."""

from __future__ import annotations

__all__ = ["FailOnRecompile", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """Base class of compiler errors."""


class InvalidBackend(TorchDynamoException):
    """The backend does not exist."""


class Unsupported(TorchDynamoException):
    """The function cannot be compiled, with `fullgraph=True`."""


class FailOnRecompile(TorchDynamoException):
    """A function requires recompilation, with the stance `"fail_on_recompile"`."""
