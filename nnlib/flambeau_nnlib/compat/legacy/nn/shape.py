"""Modules that reshape, select or reduce tensors, and dropout."""

from __future__ import annotations

from typing import Any

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Module, Table, as_sequence

__all__ = [
    "Contiguous",
    "Copy",
    "Dropout",
    "Identity",
    "Index",
    "L1Penalty",
    "MaskedSelect",
    "Max",
    "Mean",
    "Min",
    "Narrow",
    "Padding",
    "PixelShuffle",
    "Replicate",
    "Reshape",
    "Select",
    "SpatialDropout",
    "Squeeze",
    "Sum",
    "Transpose",
    "Unsqueeze",
    "View",
    "VolumetricDropout",
]


class Identity(Module):
    """Return the input, a tensor or a table, unchanged."""

    def compute(self, input: Table) -> Table:
        return input


class Contiguous(Module):
    """Return the input in contiguous memory."""

    def compute(self, input: Tensor) -> Tensor:
        return input.contiguous()


class Copy(Module):
    """Return a copy of the input."""

    def compute(self, input: Tensor) -> Tensor:
        return input.clone()


class Reshape(Module):
    """Reshape the input, or every entry of a batch, to the given sizes.

    The first dimension is treated as a batch dimension if the number of elements requires it.

    >>> torch.legacy.nn.Reshape(2, 3).forward(torch.zeros(5, 6)).shape
    torch.Size([5, 2, 3])
    """

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        self.size = torch.Size(as_sequence(sizes))

    def compute(self, input: Tensor) -> Tensor:
        if input.numel() == self.size.numel() and input.size(0) != 1:
            return input.reshape(self.size)
        return input.reshape(input.size(0), *self.size)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({'x'.join(map(str, self.size))})"


class View(Module):
    """Reshape the input to the given sizes, one of which may be -1."""

    def __init__(self, *sizes: Any) -> None:
        super().__init__()
        self.resetSize(*sizes)

    def resetSize(self, *sizes: Any) -> View:
        """Set the sizes."""
        self.size = torch.Size(as_sequence(sizes))
        return self

    def compute(self, input: Tensor) -> Tensor:
        return input.reshape(self.size)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({', '.join(map(str, self.size))})"


class Transpose(Module):
    """Transpose the input for each given pair of dimensions, in order."""

    def __init__(self, *permutations: tuple[int, int]) -> None:
        super().__init__()
        self.permutations = permutations

    def compute(self, input: Tensor) -> Tensor:
        for dim0, dim1 in self.permutations:
            input = input.transpose(dim0, dim1)
        return input


class Squeeze(Module):
    """Remove dimension `dim` if its size is 1, or all dimensions of size 1."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def compute(self, input: Tensor) -> Tensor:
        return input.squeeze() if self.dim is None else input.squeeze(self.dim)


class Unsqueeze(Module):
    """Insert a dimension of size 1 at `dim`."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def compute(self, input: Tensor) -> Tensor:
        return input.unsqueeze(self.dim)


class PixelShuffle(Module):
    """Rearrange images `(n, c * r * r, h, w)` to `(n, c, h * r, w * r)`.

    Args:
        upscale_factor: the factor r.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def compute(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self.upscale_factor})"


class Replicate(Module):
    """Repeat the input `nf` times along a new dimension `dim`."""

    def __init__(self, nf: int, dim: int = 0) -> None:
        super().__init__()
        self.nfeatures = nf
        self.dim = dim

    def compute(self, input: Tensor) -> Tensor:
        sizes = list(input.shape)
        sizes.insert(self.dim, self.nfeatures)
        return input.unsqueeze(self.dim).expand(sizes)


class Select(Module):
    """Return the slice at `index` along `dimension`."""

    def __init__(self, dimension: int, index: int) -> None:
        super().__init__()
        self.dimension = dimension
        self.index = index

    def compute(self, input: Tensor) -> Tensor:
        return input.select(self.dimension, self.index)


class Narrow(Module):
    """Return `length` slices along `dimension`, starting at `offset`."""

    def __init__(self, dimension: int, offset: int, length: int = 1) -> None:
        super().__init__()
        self.dimension = dimension
        self.index = offset
        self.length = length

    def compute(self, input: Tensor) -> Tensor:
        return input.narrow(self.dimension, self.index, self.length)


class Index(Module):
    """For a table of a tensor and an index tensor, return the slices at those indices along `dimension`."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0].index_select(self.dimension, input[1])


class MaskedSelect(Module):
    """For a table of a tensor and a mask, return the selected elements as a 1-D tensor."""

    def compute(self, input: list[Tensor]) -> Tensor:
        return input[0].masked_select(input[1].bool())


class Padding(Module):
    """Pad dimension `dim` with `|pad|` slices of `value`, at the end, or at the start if `pad` is negative."""

    def __init__(self, dim: int, pad: int, value: float = 0) -> None:
        super().__init__()
        self.dim = dim
        self.pad = pad
        self.value = value

    def compute(self, input: Tensor) -> Tensor:
        sizes = list(input.shape)
        sizes[self.dim] = abs(self.pad)
        padding = input.new_full(sizes, self.value)
        return torch.cat([input, padding] if self.pad > 0 else [padding, input], self.dim)


class Sum(Module):
    """Sum along `dimension`, or average if `sizeAverage`.

    Args:
        dimension: the dimension to reduce.
        nInputDims: the number of dimensions of an unbatched input; an input with one more has a leading batch dimension.
        sizeAverage: whether to divide by the size of the dimension.
    """

    def __init__(self, dimension: int = -1, nInputDims: int = -1, sizeAverage: bool = False) -> None:
        super().__init__()
        self.dimension = dimension
        self.nInputDims = nInputDims
        self.sizeAverage = sizeAverage

    def compute(self, input: Tensor) -> Tensor:
        has_batch = 0 <= self.nInputDims < input.dim() and self.dimension >= 0
        dimension = self.dimension + has_batch
        return input.mean(dimension) if self.sizeAverage else input.sum(dimension)


class Mean(Sum):
    """Average along `dimension`."""

    def __init__(self, dimension: int = -1, nInputDims: int = -1) -> None:
        super().__init__(dimension, nInputDims, sizeAverage=True)


class Max(Module):
    """Maximum along `dimension`."""

    def __init__(self, dimension: int = 0) -> None:
        super().__init__()
        self.dimension = dimension

    def compute(self, input: Tensor) -> Tensor:
        result: Tensor = input.max(self.dimension)[0]
        return result


class Min(Module):
    """Minimum along `dimension`."""

    def __init__(self, dimension: int = 0) -> None:
        super().__init__()
        self.dimension = dimension

    def compute(self, input: Tensor) -> Tensor:
        result: Tensor = input.min(self.dimension)[0]
        return result


class Dropout(Module):
    """In training mode, set elements to zero with probability p and scale the others by `1 / (1 - p)`."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.setp(p)

    def setp(self, p: float) -> None:
        """Set the dropout probability."""
        if not 0 <= p < 1:
            raise ValueError(f"<Dropout> illegal percentage, must be 0 <= p < 1, but got {p}")
        self.p = p

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.train)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self.p:.4f})"


class SpatialDropout(Dropout):
    """Dropout of whole channels, for a batch of images."""

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.train)


class VolumetricDropout(Dropout):
    """Dropout of whole channels, for a batch of volumes."""

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.train)


class L1Penalty(Module):
    """Return the input unchanged; in training mode, `backward` adds the gradient of `l1weight * |input|`.

    The penalty of the most recent input is stored as `loss`.
    """

    def __init__(self, l1weight: float, sizeAverage: bool = False, provideOutput: bool = True) -> None:
        super().__init__()
        self.l1weight = l1weight
        self.sizeAverage = sizeAverage
        self.provideOutput = provideOutput
        self.loss = 0.0

    def _weight(self, input: Tensor) -> float:
        return self.l1weight / input.numel() if self.sizeAverage else self.l1weight

    def compute(self, input: Tensor) -> Tensor:
        self.loss = self._weight(input) * input.detach().abs().sum().item()
        return input

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        penalty = self._weight(input) * input.sign()
        self.gradInput = penalty + gradOutput if self.provideOutput else penalty
        result: Tensor = self.gradInput
        return result
