"""`torch._tensor`, where programs that look inside PyTorch expect the class."""

from __future__ import annotations

from .tensors.tensor import Tensor

__all__ = ["Tensor"]
