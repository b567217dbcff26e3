"""Exceptions of PyTorch's compiler, for programs that catch them."""

from __future__ import annotations

from flambeau_nnlib.compiler import InvalidBackend

__all__ = ["InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """An error of the compiler."""


class Unsupported(TorchDynamoException):
    """Something that the compiler cannot do."""
