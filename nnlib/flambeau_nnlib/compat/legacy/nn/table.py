"""Modules that create, split or combine tables."""

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
    """The difference of two tensors in a table: first minus second."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] - input[1]


class CDivTable(Module):
    """The quotient of two tensors in a table: first divided by second."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0] / input[1]


def _batch_dim(dimension: int, nInputDims: int, tensor: Tensor) -> int:
    """Return `dimension`, shifted by one if `tensor` has a batch dimension, i.e. more than `nInputDims` dimensions."""
    return dimension + (0 <= nInputDims < tensor.dim() and dimension >= 0)


class JoinTable(Module):
    """Concatenate the tensors of a table along `dimension`.

    Args:
        dimension: the dimension along which to concatenate.
        nInputDims: the number of dimensions of an unbatched input; inputs with one more have a leading batch dimension.
    """

    def __init__(self, dimension: int, nInputDims: int = -1) -> None:
        super().__init__()
        self.dimension = dimension
        self.nInputDims = nInputDims

    def compute(self, input: list[Tensor]) -> Tensor:
        return torch.cat(input, _batch_dim(self.dimension, self.nInputDims, input[0]))


class SplitTable(Module):
    """Return the slices along `dimension` as a table.

    Args:
        dimension: the dimension to slice.
        nInputDims: the number of dimensions of an unbatched input; an input with one more has a leading batch dimension.
    """

    def __init__(self, dimension: int, nInputDims: int = -1) -> None:
        super().__init__()
        self.dimension = dimension
        self.nInputDims = nInputDims

    def compute(self, input: Tensor) -> Table:
        return list(input.unbind(_batch_dim(self.dimension, self.nInputDims, input)))


class SelectTable(Module):
    """Return the entry of a table at `index`, which may be negative."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def compute(self, input: Table) -> Table:
        return input[self.index]


class NarrowTable(Module):
    """Return `length` entries of a table, starting at `offset`."""

    def __init__(self, offset: int, length: int = 1) -> None:
        super().__init__()
        self.offset = offset
        self.length = length

    def compute(self, input: Table) -> Table:
        return list(input[self.offset : self.offset + self.length])


class FlattenTable(Module):
    """Flatten nested tables to a flat table of tensors."""

    def compute(self, input: Table) -> Table:
        return tensors_of(input)


class MixtureTable(Module):
    """Mixture of experts: the sum of expert outputs, weighted by a gate.

    The input is a table of the gate `(batch, n)` and the experts. The experts are a table of n tensors `(batch, ...)`, or one
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
