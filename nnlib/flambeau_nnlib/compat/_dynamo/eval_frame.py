"""`OptimizedModule`, under the name that libraries import."""

from __future__ import annotations

from flambeau_nnlib.compile.compiler import OptimizedModule

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` works on this machine; always True."""
    return True
