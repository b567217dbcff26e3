"""Locally connected convolutions, convolutions with a connection table, and local normalization.

Sizes and strides are in the order width, height.
"""

from __future__ import annotations

import math

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Module

__all__ = [
    "SpatialContrastiveNormalization",
    "SpatialConvolutionLocal",
    "SpatialConvolutionMap",
    "SpatialDivisiveNormalization",
    "SpatialFullConvolutionMap",
    "SpatialSubtractiveNormalization",
]


class SpatialConvolutionLocal(Module):
    """Convolution of images `(c, h, w)`, or of a batch of images, with separate kernels for each output position.

    Args:
        nInputPlane, nOutputPlane: the numbers of channels.
        iW, iH: the size of the images.
        kW, kH: the size of the kernels.
        dW, dH: the strides.
        padW, padH: the zero padding on either side; `padH` is `padW` by default.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        iW: int,
        iH: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.nOutputPlane = (nInputPlane, iH, iW), nOutputPlane
        self.kernel, self.stride, self.padding = (kH, kW), (dH, dW), (padW if padH is None else padH, padW)
        parts = zip((iH, iW), self.kernel, self.stride, self.padding, strict=True)
        self.oH, self.oW = ((size + 2 * pad - kernel) // stride + 1 for size, kernel, stride, pad in parts)
        if self.oH < 1 or self.oW < 1:
            raise AssertionError(f"a kernel of {kW} x {kH} does not fit into images of {iW} x {iH}")
        self._add_parameters(
            weight=torch.empty(self.oH, self.oW, nOutputPlane, nInputPlane, kH, kW),
            bias=torch.empty(nOutputPlane, self.oH, self.oW),
        )
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(math.prod(self.kernel) * self.input_size[0]) if stdv is None else stdv * math.sqrt(3)
        for parameter in self.parameters()[0]:
            parameter.uniform_(-bound, bound)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise RuntimeError("3D or 4D (batch mode) tensor expected")
        if tuple(input.shape[-3:]) != self.input_size:
            given, expected = ("x".join(map(str, size)) for size in (input.shape, self.input_size))
            raise RuntimeError(f"Given input size: ({given}) inconsistent with expected input size: ({expected}).")
        batch = input if input.dim() == 4 else input.unsqueeze(0)
        windows = F.unfold(batch, self.kernel, padding=self.padding, stride=self.stride)
        kernels = weight.reshape(self.oH * self.oW, self.nOutputPlane, -1)
        output = torch.einsum("nkp,pok->nop", windows, kernels).reshape(len(batch), self.nOutputPlane, self.oH, self.oW) + bias
        return output if input.dim() == 4 else output.squeeze(0)


class _ConvolutionMap(Module):
    """Base of convolutions with a connection table: one kernel for each listed pair of channels."""

    def __init__(self, conMatrix: Tensor, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        super().__init__()
        self.connTable, self.stride = conMatrix, (dH, dW)
        self._pairs = conMatrix.long()
        self.nInputPlane, self.nOutputPlane = (int(channels.max()) + 1 for channels in self._pairs.unbind(1))
        self._add_parameters(weight=torch.empty(len(conMatrix), kH, kW), bias=torch.empty(self.nOutputPlane))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        if stdv is not None:
            for parameter in self.parameters()[0]:
                parameter.uniform_(-stdv * math.sqrt(3), stdv * math.sqrt(3))
            return
        kernels = self._pairs[:, 1].bincount(minlength=self.nOutputPlane)  # the number of kernels for each output channel
        bounds = (kernels * self.weight[0].numel()).float().rsqrt()
        self.weight.uniform_(-1, 1).mul_(bounds[self._pairs[:, 1], None, None])
        self.bias.uniform_(-1, 1).mul_(bounds)

    def _dense(self, weight: Tensor, dim: int) -> Tensor:
        """Return a dense kernel tensor, zero for pairs of channels without connection. `dim` is the output dimension."""
        size = (self.nOutputPlane, self.nInputPlane) if dim == 0 else (self.nInputPlane, self.nOutputPlane)
        index = (self._pairs[:, 1], self._pairs[:, 0]) if dim == 0 else (self._pairs[:, 0], self._pairs[:, 1])
        return weight.new_zeros(*size, *weight.shape[1:]).index_put(index, weight, accumulate=True)


class SpatialConvolutionMap(_ConvolutionMap):
    """Convolution of images `(c, h, w)`, or of a batch of images, that connects only some pairs of channels.

    Args:
        conMatrix: a tensor with a row `(input channel, output channel)` for each connection; `maps` creates common ones.
        kW, kH: the size of the kernels.
        dW, dH: the strides.

    >>> nn = torch.legacy.nn
    >>> layer = nn.SpatialConvolutionMap(nn.SpatialConvolutionMap.maps.oneToOne(3), 5, 5)
    >>> layer.weight.shape, layer.forward(torch.zeros(2, 3, 10, 10)).shape
    (torch.Size([3, 5, 5]), torch.Size([2, 3, 6, 6]))
    """

    class maps:
        """Functions that create connection tables."""

        @staticmethod
        def full(nin: int, nout: int) -> Tensor:
            """Connect every input to every output."""
            return torch.tensor([[i, j] for j in range(nout) for i in range(nin)], dtype=torch.get_default_dtype())

        @staticmethod
        def oneToOne(nfeat: int) -> Tensor:
            """Connect every input to the output with the same index."""
            return torch.tensor([[i, i] for i in range(nfeat)], dtype=torch.get_default_dtype())

        @staticmethod
        def random(nin: int, nout: int, nto: int) -> Tensor:
            """Connect every output to `nto` inputs, chosen at random such that all inputs are used equally often."""
            table, groups = list[list[int]](), list[list[int]]()
            for j in range(nout):
                if not groups:
                    groups = torch.randperm(nin)[: nin // nto * nto].view(-1, nto).tolist()
                table += [[i, j] for i in groups.pop(0)]
            return torch.tensor(table, dtype=torch.get_default_dtype())

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(input, self._dense(weight, 0), bias, self.stride)


class SpatialFullConvolutionMap(_ConvolutionMap):
    """Transposed convolution with a connection table; see `SpatialConvolutionMap`."""

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv_transpose2d(input, self._dense(weight, 1), bias, self.stride)


# --- normalization ---


class _LocalMeans(Module):
    """Base class of local normalization. It computes weighted means over all channels in a window around each pixel."""

    def __init__(self, nInputPlane: int = 1, kernel: Tensor | None = None) -> None:
        super().__init__()
        self.nInputPlane = nInputPlane
        self.kernel = torch.ones(9, 9) if kernel is None else kernel
        if self.kernel.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__} averaging kernel must be 2D or 1D")
        if any(size % 2 == 0 for size in self.kernel.shape):
            raise ValueError(f"{type(self).__name__} averaging kernel must have ODD dimensions")

    def _means(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Return the local means with zero padding, and the local means of an image of ones, which correct for the padding."""
        kernel = self.kernel.to(input.dtype)
        kernel = kernel.outer(kernel) if kernel.dim() == 1 else kernel  # a 1-D kernel is applied along both dimensions
        kernel = (kernel / (kernel.sum() * self.nInputPlane)).expand(1, self.nInputPlane, *kernel.shape)
        padding = tuple(size // 2 for size in kernel.shape[2:])
        ones = torch.ones(1, *input.shape[-3:], dtype=input.dtype)
        return F.conv2d(input, kernel, padding=padding), F.conv2d(ones, kernel, padding=padding)[0]


class SpatialSubtractiveNormalization(_LocalMeans):
    """Subtract from images the weighted mean over all channels in a window around each pixel.

    Args:
        nInputPlane: the number of channels.
        kernel: the weights: a matrix, or a vector that is applied along both dimensions; 9 x 9 ones by default.

    Raises:
        ValueError: the kernel has more than two dimensions, or an even size.
    """

    def compute(self, input: Tensor) -> Tensor:
        means, ones = self._means(input)
        return input - means / ones


class SpatialDivisiveNormalization(_LocalMeans):
    """Divide images by the root of the weighted mean square over all channels in a window around each pixel.

    Args:
        nInputPlane: the number of channels.
        kernel: the weights: a matrix, or a vector that is applied along both dimensions; 9 x 9 ones by default.
        threshold: smaller divisors are replaced by `thresval`.
        thresval: the replacement; the threshold by default.

    Raises:
        ValueError: the kernel has more than two dimensions, or an even size.
    """

    def __init__(
        self, nInputPlane: int = 1, kernel: Tensor | None = None, threshold: float = 1e-4, thresval: float | None = None
    ) -> None:
        super().__init__(nInputPlane, kernel)
        self.threshold = threshold
        self.thresval = threshold if thresval is None else thresval

    def compute(self, input: Tensor) -> Tensor:
        squares, ones = self._means(input**2)
        is_zero = squares <= 0  # the square root has no derivative at zero
        deviations = torch.where(is_zero, 0.0, torch.where(is_zero, 1.0, squares).sqrt())
        return input / F.threshold(deviations / ones, self.threshold, self.thresval)


class SpatialContrastiveNormalization(SpatialDivisiveNormalization):
    """`SpatialSubtractiveNormalization` followed by `SpatialDivisiveNormalization`, with the same arguments."""

    def __init__(
        self, nInputPlane: int = 1, kernel: Tensor | None = None, threshold: float = 1e-4, thresval: float = 1e-4
    ) -> None:
        super().__init__(nInputPlane, kernel, threshold, thresval or threshold)

    def compute(self, input: Tensor) -> Tensor:
        means, ones = self._means(input)
        return super().compute(input - means / ones)
