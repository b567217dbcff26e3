"""`torch._tensor`: the Tensor class, and the function that pickles of Tensor subclasses call."""

from __future__ import annotations

from ..engine.tensors.tensor import Tensor
from ..protocols.pickling import from_type as _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
