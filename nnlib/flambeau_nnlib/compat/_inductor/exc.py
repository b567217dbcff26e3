"""`torch._inductor.exc`: exceptions of PyTorch's compiler back end, for programs that catch them."""

from __future__ import annotations

from .._dynamo.exc import BackendCompilerFailed

__all__ = ["InductorError"]


class InductorError(BackendCompilerFailed):
    """An error of PyTorch's compiler back end, which flambeau does not raise."""
