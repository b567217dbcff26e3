"""`torch._tensor`, for programs that import the Tensor class from PyTorch's private module."""

from __future__ import annotations

from .tensors.tensor import Tensor

__all__ = ["Tensor"]
