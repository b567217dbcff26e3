"""Memory formats, layouts, and the names of tensor types."""

from __future__ import annotations

from typing import Any, Final

from ... import backend as backends
from .tensor import Tensor

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "is_tensor", "jagged", "layout", "legacy_contiguous_format",
    "memory_format", "preserve_format", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided",
    "typename",
]  # fmt: skip


class memory_format:
    """An order of dimensions in memory, such as `torch.channels_last`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_channels_last: bool = name.startswith("channels_last")

    def order(self, ndim: int) -> tuple[int, ...]:
        """The dimensions of a tensor, from the slowest in memory to the fastest.

        Raises:
            RuntimeError: channels_last of other than 4 dimensions, channels_last_3d of other than 5.
        """
        if not self.is_channels_last:
            return tuple(range(ndim))
        rank = 5 if self._name.endswith("3d") else 4
        if ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {self._name} format")
        return (0, *range(2, ndim), 1)

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


contiguous_format: Final = memory_format("contiguous_format")
legacy_contiguous_format: Final = contiguous_format
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")


def memory_order(tensor: Tensor, target: memory_format | None = None) -> tuple[int, ...]:
    """The dimensions of a tensor, or of one of its shape in another format, from the slowest in memory to the fastest."""
    ndim = tensor._array.ndim
    if target is not None and target is not preserve_format:
        return target.order(ndim)
    if tensor._key.backend.is_contiguous(tensor._array):
        return tuple(range(ndim))
    return backends.memory_order(tensor._array.shape, tensor.stride())


class layout:
    """How elements are stored: all of them (`torch.strided`), those that are not zero (`torch.sparse_coo`), or of rows of several
    lengths (`torch.jagged`)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided: Final = layout("strided")
jagged: Final = layout("jagged")
sparse_coo: Final = layout("sparse_coo")
sparse_csr: Final = layout("sparse_csr")
sparse_csc: Final = layout("sparse_csc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_bsc: Final = layout("sparse_bsc")
Tensor.layout = strided


def is_tensor(obj: Any, /) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def typename(obj: Any, /) -> str:
    """The name of the object's type, with its module; `torch.FloatTensor` and the like for tensors.

    >>> torch.typename(torch.ones(1)), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        name: str = obj.type()
        return name
    cls = obj if isinstance(obj, type) else type(obj)
    return cls.__qualname__ if cls.__module__ in ("builtins", "") else f"{cls.__module__}.{cls.__qualname__}"
