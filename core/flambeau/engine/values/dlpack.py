"""DLPack, a protocol to share memory between array libraries: its device types and capsules."""

from __future__ import annotations

import ctypes
from enum import Enum, IntEnum
from typing import Any

__all__ = ["Capsule", "DLDeviceType", "ElementType"]


class DLDeviceType(IntEnum):
    """The device types of DLPack.

    >>> torch.utils.dlpack.DLDeviceType(2)
    <DLDeviceType.kDLCUDA: 2>
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class ElementType(Enum):
    """The type code and the number of bits of elements."""

    INT16 = (0, 16)
    BFLOAT16 = (4, 16)


# A DLTensor has the fields: data (a pointer), device (two int32), ndim (int32), element type (code, bits: uint8), ...
_DEVICE_AT = ctypes.sizeof(ctypes.c_void_p)
_ELEMENT_TYPE_AT = _DEVICE_AT + 3 * ctypes.sizeof(ctypes.c_int32)


class Capsule:
    """Wraps a DLPack capsule in an object with the methods `__dlpack__` and `__dlpack_device__`, which array libraries call."""

    _TENSOR_AT = {b"dltensor": 0, b"dltensor_versioned": 32}  # {name of the capsule: offset of its DLTensor}

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        device_type, index = (ctypes.c_int32 * 2).from_address(self._start() + _DEVICE_AT)
        return device_type, index

    def relabel(self, old: ElementType, new: ElementType) -> bool:
        """If the elements have the type `old`, declare them to be of type `new`; return whether they had it."""
        element_type = (ctypes.c_uint8 * 2).from_address(self._start() + _ELEMENT_TYPE_AT)
        if tuple(element_type) != old.value:
            return False
        element_type[:] = list(new.value)
        return True

    def _start(self) -> int:
        """Return the address of the DLTensor."""
        api = ctypes.pythonapi
        api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        name = api.PyCapsule_GetName(self._capsule) if type(self._capsule).__name__ == "PyCapsule" else None
        if name not in self._TENSOR_AT:
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, "
                "so you might have already constructed a tensor from it once."
            )
        return int(api.PyCapsule_GetPointer(self._capsule, name)) + self._TENSOR_AT[name]
