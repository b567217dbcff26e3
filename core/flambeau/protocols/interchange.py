"""Exchange of tensors with other array libraries, by the protocols of NumPy and DLPack."""

from __future__ import annotations

from typing import Any

from ..engine.tensors.tensor import Tensor, attach
from ..engine.values.dlpack import DLDeviceType
from ..operations.creation import from_numpy

__all__: list[str] = []


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    return from_numpy(array)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    device_type, index = self._array.__dlpack_device__()
    return DLDeviceType(device_type), int(index)


attach(__array_wrap__=_array_wrap, __dlpack_device__=_dlpack_device)
