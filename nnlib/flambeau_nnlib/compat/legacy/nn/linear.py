"""Modules with products: linear layers, lookup tables, scaling, matrix products and distances."""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Module

__all__ = [
    "MM",
    "MV",
    "Add",
    "Bilinear",
    "CMul",
    "Cosine",
    "CosineDistance",
    "DotProduct",
    "Euclidean",
    "Linear",
    "LookupTable",
    "Mul",
    "PairwiseDistance",
    "PartialLinear",
    "WeightedEuclidean",
]


class Linear(Module):
    """`x @ weight.t() + bias`, for a vector or a batch of vectors.

    Args:
        inputSize: the length of input vectors.
        outputSize: the length of output vectors.
        bias: whether to add a bias.

    >>> layer = torch.legacy.nn.Linear(2, 1)
    >>> _ = layer.weight.fill_(2.0), layer.bias.fill_(1.0)
    >>> x = torch.ones(3, 2)
    >>> layer.forward(x)
    tensor([[5.],
            [5.],
            [5.]])
    >>> _ = layer.backward(x, torch.ones(3, 1))
    >>> layer.gradWeight, layer.gradBias
    (tensor([[3., 3.]]), tensor([3.]))
    """

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(outputSize, inputSize))
        if bias:
            self._add_parameters(bias=torch.empty(outputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.size(1)) if stdv is None else stdv * math.sqrt(3)
        for parameter in self.parameters()[0]:
            parameter.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(input, weight, bias)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self.weight.size(1)} -> {self.weight.size(0)})"


class Bilinear(Module):
    """Compute output k as `x @ weight[k] @ y + bias[k]`. The input is a table of two batches of vectors, x and y."""

    def __init__(self, inputSize1: int, inputSize2: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(outputSize, inputSize1, inputSize2))
        if bias:
            self._add_parameters(bias=torch.empty(outputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.size(1)) if stdv is None else stdv * math.sqrt(3)
        for parameter in self.parameters()[0]:
            parameter.uniform_(-bound, bound)

    def compute(self, input: list[Tensor], weight: Tensor, bias: Tensor | None = None) -> Tensor:
        first, second = input
        return F.bilinear(first, second, weight, bias)


class LookupTable(Module):
    """Return the rows of `weight` at integer indices.

    Args:
        nIndex: the number of rows.
        nOutput: the length of a row.
        paddingValue: the index of a row that receives no gradient.
        maxNorm: the maximum norm of a row; longer rows are scaled down when they are looked up.
        normType: the order p of the norm.
    """

    def __init__(
        self,
        nIndex: int,
        nOutput: int,
        paddingValue: int = -1,
        maxNorm: float | None = None,
        normType: float | None = None,
    ) -> None:
        super().__init__()
        self.paddingValue = paddingValue
        self.maxNorm = maxNorm
        self.normType = normType
        self._add_parameters(weight=torch.empty(nIndex, nOutput))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        self.weight.normal_(0, 1 if stdv is None else stdv)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        if self.maxNorm is not None:
            with torch.no_grad():
                rows = input.long().unique()
                weight[rows] = weight[rows].renorm(self.normType or 2, 0, self.maxNorm)
        padding = self.paddingValue if self.paddingValue >= 0 else None
        return F.embedding(input.long(), weight, padding)


class Add(Module):
    """Compute `x + bias`, with one bias for each feature or a single bias."""

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        super().__init__()
        self._add_parameters(bias=torch.empty(1 if scalar else inputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.bias.size(0)) if stdv is None else stdv * math.sqrt(3)
        self.bias.uniform_(-bound, bound)

    def compute(self, input: Tensor, bias: Tensor) -> Tensor:
        return input + bias


class Mul(Module):
    """Compute `x * weight`, where the weight is a single number."""

    def __init__(self) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(1))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1.0 if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return input * weight


class CMul(Module):
    """Compute `x * weight`, where the weight has the given sizes and is broadcast to x."""

    def __init__(self, *size: int) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(*size))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.numel()) if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return input * weight


class Euclidean(Module):
    """The Euclidean distances of x to the columns of `weight`."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(inputSize, outputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.size(0)) if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        return (input.unsqueeze(-1) - weight).norm(2, -2)


class WeightedEuclidean(Module):
    """The Euclidean distances of x to the columns of `weight`, with the differences multiplied by `diagCov`."""

    diagCov: Tensor

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(inputSize, outputSize), diagCov=torch.empty(inputSize, outputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.size(1)) if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform_(-bound, bound)
        self.diagCov.fill_(1)

    def compute(self, input: Tensor, weight: Tensor, diagCov: Tensor) -> Tensor:
        if input.dim() not in (1, 2):
            raise RuntimeError("1D or 2D input expected")
        return ((input.unsqueeze(-1) - weight) * diagCov).norm(2, -2)


class Cosine(Module):
    """The cosines of the angles between x and the rows of `weight`."""

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        self._add_parameters(weight=torch.empty(outputSize, inputSize))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self.weight.size(0)) if stdv is None else stdv * math.sqrt(3)
        self.weight.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor) -> Tensor:
        if input.dim() not in (1, 2):
            raise RuntimeError("1D or 2D input expected")
        return F.cosine_similarity(input.unsqueeze(-2), weight, dim=-1)


class PartialLinear(Module):
    """`Linear` that can compute a subset of its outputs.

    Args:
        inputsize: the length of input vectors.
        outputsize: the length of output vectors.
        bias: whether to add a bias.

    >>> layer = torch.legacy.nn.PartialLinear(4, 10)
    >>> layer.setPartition(torch.tensor([7, 2])).forward(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    >>> layer.resetPartition().forward(torch.zeros(3, 4)).shape
    torch.Size([3, 10])
    """

    def __init__(self, inputsize: int, outputsize: int, bias: bool = True) -> None:
        super().__init__()
        self.inputsize, self.outputsize = inputsize, outputsize
        self._add_parameters(weight=torch.empty(outputsize, inputsize))
        if bias:
            self._add_parameters(bias=torch.zeros(1, outputsize))
        self.reset()
        self.resetPartition()

    def reset(self, stdv: float | None = None) -> None:
        self.weight.normal_(0, 1 if stdv is None else stdv)

    def setPartition(self, indices: Tensor) -> PartialLinear:
        """Restrict the computation to the outputs at these indices."""
        self.partition = indices.long()
        self._forget()
        return self

    def resetPartition(self) -> PartialLinear:
        """Compute all outputs."""
        return self.setPartition(torch.arange(self.outputsize))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(input, weight[self.partition], None if bias is None else bias[0, self.partition])

    def __repr__(self) -> str:
        without = "" if "bias" in self._parameter_names else " without bias"
        return f"{super().__repr__()}({self.inputsize} -> {self.outputsize}){without}"


class MM(Module):
    """The matrix product of two matrices in a table, or of batches of matrices. Each can be transposed first."""

    def __init__(self, transA: bool = False, transB: bool = False) -> None:
        super().__init__()
        self.transA = transA
        self.transB = transB

    def compute(self, input: list[Tensor]) -> Tensor:
        a, b = input
        return (a.mT if self.transA else a) @ (b.mT if self.transB else b)


class MV(Module):
    """The matrix-vector product of a table's two tensors, or of batches of them. The matrix can be transposed first."""

    def __init__(self, trans: bool = False) -> None:
        super().__init__()
        self.trans = trans

    def compute(self, input: list[Tensor]) -> Tensor:
        matrix, vector = input
        return ((matrix.mT if self.trans else matrix) @ vector.unsqueeze(-1)).squeeze(-1)


class DotProduct(Module):
    """The dot products of two batches of vectors in a table."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return (input[0] * input[1]).sum(-1)


class CosineDistance(Module):
    """The cosine similarities of two batches of vectors in a table."""

    def compute(self, input: list[Tensor]) -> Tensor:
        first, second = input
        return F.cosine_similarity(first, second, dim=-1)


class PairwiseDistance(Module):
    """The p-norms of the differences between two batches of vectors in a table."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.norm = p

    def compute(self, input: list[Tensor]) -> Tensor:
        return (input[0] - input[1]).norm(self.norm, -1)
