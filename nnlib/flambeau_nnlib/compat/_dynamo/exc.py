"""Exceptions of `torch._dynamo`, for programs that catch them."""

from __future__ import annotations

from flambeau_nnlib.compile.compiler.errors import InvalidBackend, TorchDynamoException, Unsupported

__all__ = ["InvalidBackend", "TorchDynamoException", "Unsupported"]
