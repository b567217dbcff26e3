"""Layers that merge and split dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges neighbouring dimensions into one; by default all but the first, the batch.

    Args:
        start_dim: the first dimension to merge.
        end_dim: the last dimension to merge (inclusive).

    Shape:
        - Input: `(*, S_start, ..., S_end, *)`, where the sizes between are those of the dimensions to merge.
        - Output: `(*, S_start * ... * S_end, *)`.

    Example:
        >>> torch.nn.Flatten()(torch.randn(32, 1, 5, 5)).shape
        torch.Size([32, 25])
        >>> torch.nn.Flatten(0, 2)(torch.randn(32, 1, 5, 5)).shape
        torch.Size([160, 5])
    """

    __constants__ = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several, the reverse of `Flatten`.

    Args:
        dim: the dimension to split.
        unflattened_size: a tuple or list of the new sizes; one of them may be -1, to be computed from the others.
            TypeError for other types. The call raises RuntimeError if their product is not the size of `dim`.

    Shape:
        - Input: `(*, S, *)`, where S is the size of dimension `dim`.
        - Output: `(*, *unflattened_size, *)`.

    Example:
        >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.randn(3, 50)).shape
        torch.Size([3, 2, 5, 5])
    """

    __constants__ = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self._check_size(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _check_size(self, size: Any) -> None:
        if not isinstance(size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
        for position, length in enumerate(size):
            if not isinstance(length, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(length).__name__} at pos {position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
