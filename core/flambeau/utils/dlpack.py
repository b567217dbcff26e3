"""Share memory with other array libraries by DLPack."""

from __future__ import annotations

from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values.dlpack import DLDeviceType
from ..operations.creation.from_data import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule that shares the tensor's memory.  It can be consumed once, by `from_dlpack`.

    Args:
        tensor: the tensor; the capsule has no autograd history.

    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return tensor.detach().__dlpack__()
