"""Exceptions of `torch._dynamo`, for programs that catch them."""

from __future__ import annotations

from flambeau_nnlib.compile.compiler.errors import InvalidBackend, TorchDynamoException, Unsupported

__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "InvalidBackend", "TorchDynamoException", "Unsupported"]


class BackendCompilerFailed(TorchDynamoException):
    """PyTorch's error when a compiler back end raises; flambeau passes on the error itself."""


class InternalTorchDynamoError(TorchDynamoException):
    """PyTorch's error for a fault in its compiler, which flambeau does not raise."""
