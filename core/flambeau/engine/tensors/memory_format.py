"""The order of a tensor's dimensions in memory; also `is_tensor` and `typename`."""

from __future__ import annotations

from typing import Any

from ... import backend as backends
from ..values.constants import memory_format, preserve_format, strided
from .tensor import Tensor

__all__ = ["is_tensor", "typename"]


def memory_order(tensor: Tensor, target: memory_format | None = None) -> tuple[int, ...]:
    """Return the dimensions in the order of decreasing strides, for the tensor's current memory format or for `target`."""
    ndim = tensor._array.ndim
    if target is not None and target is not preserve_format:
        return target.order(ndim)
    if tensor._key.backend.is_contiguous(tensor._array):
        return tuple(range(ndim))
    return backends.memory_order(tensor._array.shape, tensor.stride())


Tensor.layout = strided


def is_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a Tensor.

    Args:
        obj: any object.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def typename(obj: Any, /) -> str:
    """Return the name of the object's type, with its module; for tensors, the legacy type (`torch.FloatTensor`).

    Args:
        obj: any object, or a class.

    >>> torch.typename(torch.ones(1)), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        name: str = obj.type()
        return name
    cls = obj if isinstance(obj, type) else type(obj)
    return cls.__qualname__ if cls.__module__ in ("builtins", "") else f"{cls.__module__}.{cls.__qualname__}"
