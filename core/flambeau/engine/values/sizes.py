"""`torch.Size`: a shape."""

from __future__ import annotations

import operator
from itertools import count
from math import prod
from typing import Any

from .symbols import SymInt

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints.

    Args:
        sizes: the integers, in any iterable.

    >>> torch.Size([2, 3]).numel(), torch.zeros(2, 3).size()[1:]
    (6, torch.Size([3]))
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        shape = tuple.__new__(cls, sizes)
        for size in shape:
            if type(size) is not int:
                return tuple.__new__(cls, map(_whole, shape, count()))
        return shape

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return tuple.__new__(Size, item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    def __rmul__(self, times: Any) -> Size:
        return self.__mul__(times)

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def _whole(size: Any, position: int) -> Any:
    if isinstance(size, SymInt):
        return size
    try:
        return operator.index(size)
    except TypeError as error:
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{type(size).__name__}')") from error
