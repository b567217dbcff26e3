"""`torch._tensor`, for programs that import from that private module the Tensor class, or what rebuilds tensors of others."""

from __future__ import annotations

from ..engine.tensors.tensor import Tensor
from ..protocols.pickling import from_type as _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
