"""Exchange tensors with other array libraries by the protocols of NumPy, DLPack and CUDA arrays."""

from __future__ import annotations

from typing import Any

from ..engine.tensors.tensor import Tensor
from ..engine.values.dlpack import DLDeviceType
from ..operations.creation.from_data import from_numpy

__all__: list[str] = []


def array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    return from_numpy(array)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    device_type, index = self._array.__dlpack_device__()
    return DLDeviceType(device_type), int(index)


def cuda_array_interface(self: Tensor) -> Any:
    """Return the dict of the CUDA array interface.  AttributeError for a tensor that is not on a CUDA device."""
    if not self.is_cuda:
        kind = self.type()
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {kind} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    return self._array.__cuda_array_interface__
