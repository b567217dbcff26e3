"""Modules that make, take apart or combine tables."""

from __future__ import annotations

import functools
import operator

import flambeau as torch
from flambeau import Tensor

from .module import Module, Table, tensors_of

__all__ = [
    "CAddTable",
    "CDivTable",
    "CMulTable",
    "CSubTable",
    "FlattenTable",
    "JoinTable",
    "MixtureTable",
    "NarrowTable",
    "SelectTable",
    "SplitTable",
]


class CAddTable(Module):
    """The sum of the tensors of a table.

    >>> torch.legacy.nn.CAddTable().forward([torch.ones(2), torch.ones(2)])
    tensor([2., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def compute(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(operator.add, input)


class CMulTable(Module):
    """The product of the tensors of a table."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(operator.mul, input)


class CSubTable(Module):
    """The first of two tensors less the second."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] - input[1]


class CDivTable(Module):
    """The first of two tensors over the second."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] / input[1]


def _batch_dim(dimension: int, nInputDims: int, tensor: Tensor) -> int:
    """`dimension`, which does not count the batch where `nInputDims` says that there is one."""
    return dimension + (0 <= nInputDims < tensor.dim() and dimension >= 0)


class JoinTable(Module):
    """The tensors of a table joined along `dimension`.

    Args:
        dimension: the dimension to join along.
        nInputDims: the number of dimensions without a batch; inputs with one more have a batch in front.
    """

    def __init__(self, dimension: int, nInputDims: int = -1) -> None:
        super().__init__()
        self.dimension = dimension
        self.nInputDims = nInputDims

    def compute(self, input: list[Tensor]) -> Tensor:
        return torch.cat(input, _batch_dim(self.dimension, self.nInputDims, input[0]))


class SplitTable(Module):
    """The slices along `dimension`, as a table.

    Args:
        dimension: the dimension to slice.
        nInputDims: the number of dimensions without a batch; an input with one more has a batch in front.
    """

    def __init__(self, dimension: int, nInputDims: int = -1) -> None:
        super().__init__()
        self.dimension = dimension
        self.nInputDims = nInputDims

    def compute(self, input: Tensor) -> Table:
        return list(input.unbind(_batch_dim(self.dimension, self.nInputDims, input)))


class SelectTable(Module):
    """The entry of a table at `index`, which may be negative."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def compute(self, input: Table) -> Table:
        return input[self.index]


class NarrowTable(Module):
    """The `length` entries of a table from `offset` on."""

    def __init__(self, offset: int, length: int = 1) -> None:
        super().__init__()
        self.offset = offset
        self.length = length

    def compute(self, input: Table) -> Table:
        return list(input[self.offset : self.offset + self.length])


class FlattenTable(Module):
    """All tensors of a table of tables, as one flat table."""

    def compute(self, input: Table) -> Table:
        return tensors_of(input)


class MixtureTable(Module):
    """The sum of experts weighted by a gater.

    The input is a table of the gater `(batch, n)` and the experts, a table of n tensors `(batch, ...)` or a
    tensor with the experts along `dim`.
    """

    def __init__(self, dim: int = 1) -> None:
        super().__init__()
        self.dim = dim

    def compute(self, input: Table) -> Tensor:
        gater, experts = input
        if isinstance(experts, list):
            experts = torch.stack(experts, self.dim)
        shape = [1] * experts.dim()
        shape[0], shape[self.dim] = gater.shape
        result: Tensor = (gater.reshape(shape) * experts).sum(self.dim)
        return result
