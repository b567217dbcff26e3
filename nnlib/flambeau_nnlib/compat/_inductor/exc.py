"""`torch._inductor.exc`: exceptions of PyTorch's compiler back end, for programs that catch them."""

from __future__ import annotations

from flambeau_nnlib.compile.compiler.errors import TorchDynamoException

__all__ = ["InductorError"]


class InductorError(TorchDynamoException):
    """An error of PyTorch's compiler back end, which flambeau does not raise."""
