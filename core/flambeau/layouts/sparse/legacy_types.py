"""Legacy types of sparse tensors, such as `torch.sparse.FloatTensor`. They construct tensors and work with `isinstance`."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.devices import cuda as cuda_runtime
from .construction import new_coo
from .tensors import SparseTensor

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor",
]  # fmt: skip


class SparseType(type):
    """Metaclass of the legacy types: each type represents COO tensors of one dtype on one device type."""

    dtype: torch.dtype
    device_type: str

    def __new__(mcs, name: str, dtype: torch.dtype, device_type: str = "cpu") -> SparseType:
        module = "flambeau.sparse" if device_type == "cpu" else f"flambeau.{device_type}.sparse"
        cls = super().__new__(mcs, name, (), {"__module__": module})
        cls.dtype, cls.device_type = dtype, device_type
        return cls

    def __init__(cls, *arguments: Any) -> None:
        pass

    def __instancecheck__(cls, instance: Any) -> bool:
        is_coo = isinstance(instance, SparseTensor) and instance.is_sparse
        return is_coo and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        """Create a COO tensor from indices, values and a size; or, from only a size (ints or a tuple), one without elements.

        The values keep their dtype.

        >>> torch.sparse.FloatTensor(torch.tensor([[0, 2]]), torch.tensor([3.0, 4.0]), torch.Size([3])).to_dense()
        tensor([3., 0., 4.])
        """
        if cls.device_type == "cuda" and not cuda_runtime.is_available():
            raise TypeError(f"type {cls.spelled} not available. Torch not compiled with CUDA enabled.")
        return new_coo(cls.__name__, args, cls.dtype, device, cls.device_type)

    @property
    def spelled(cls) -> str:
        """The public name: `torch.sparse.FloatTensor`."""
        return f"torch.{'' if cls.device_type == 'cpu' else f'{cls.device_type}.'}sparse.{cls.__name__}"

    def __repr__(cls) -> str:
        return f"<class '{cls.spelled}'>"


BFloat16Tensor: SparseType = SparseType("BFloat16Tensor", torch.bfloat16)
ByteTensor: SparseType = SparseType("ByteTensor", torch.uint8)
CharTensor: SparseType = SparseType("CharTensor", torch.int8)
DoubleTensor: SparseType = SparseType("DoubleTensor", torch.float64)
FloatTensor: SparseType = SparseType("FloatTensor", torch.float32)
HalfTensor: SparseType = SparseType("HalfTensor", torch.float16)
IntTensor: SparseType = SparseType("IntTensor", torch.int32)
LongTensor: SparseType = SparseType("LongTensor", torch.int64)
ShortTensor: SparseType = SparseType("ShortTensor", torch.int16)
