"""Normalization of each sample independently of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import flambeau as torch
from flambeau import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from . import cross_map_lrn
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """The base of layers with an optional weight, initially 1, and bias, initially 0."""

    def _register_affine(
        self,
        shape: tuple[int, ...],
        weight: bool,
        bias: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        for name, is_used in (("weight", weight), ("bias", weight and bias)):
            parameter = Parameter(torch.empty(shape, device=device, dtype=dtype)) if is_used else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Normalizes the last dimensions of each sample to mean 0 and variance 1, then scales and shifts each element.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`, with the biased variance, in training and in evaluation.

    Ba et al., *Layer normalization*, 2016.

    Args:
        normalized_shape: the sizes of the last dimensions, which are normalized over; one number for the last
            dimension.
        eps: added to the variance before taking the square root.
        elementwise_affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, of shape
            `normalized_shape`.
        bias: with `elementwise_affine`, whether to learn a `bias` in addition to `weight`.
        device, dtype: device and dtype of the parameters.

    Shape:
        - Input: `(*, *normalized_shape)`; RuntimeError if the last sizes differ.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.LayerNorm(4)(torch.tensor([[1.0, 1.0, 3.0, 3.0]])).detach()
        tensor([[-1.0000, -1.0000,  1.0000,  1.0000]])
        >>> torch.nn.LayerNorm([3, 8, 8])(torch.randn(2, 3, 8, 8)).shape
        torch.Size([2, 3, 8, 8])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides the last dimensions of each sample by their root mean square, then scales each element.

    `y = x / sqrt(mean(x ** 2) + eps) * weight`: `LayerNorm` without subtracting the mean.

    Zhang and Sennrich, *Root mean square layer normalization*, 2019.

    Args:
        normalized_shape: the sizes of the last dimensions, which are normalized over; one number for the last
            dimension.
        eps: added to the mean square before taking the square root; None for the machine epsilon of the input's dtype.
        elementwise_affine: whether to learn a `weight`, initially 1, of shape `normalized_shape`.
        device, dtype: device and dtype of the parameter.

    Shape:
        - Input: `(*, *normalized_shape)`; RuntimeError if the last sizes differ.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.RMSNorm(2)(torch.tensor([[1.0, 7.0]])).detach()
        tensor([[0.2000, 1.4000]])
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalizes groups of channels of each sample to mean 0 and variance 1, then scales and shifts each channel.

    `y = (x - mean) / sqrt(var + eps) * weight + bias`, in training and in evaluation. One group
    normalizes the whole sample; one group per channel is instance normalization.

    Wu and He, *Group normalization*, 2018.

    Args:
        num_groups: the number of groups of neighbouring channels; ValueError unless it divides `num_channels`.
        num_channels: the number of channels, the second dimension of the input.
        eps: added to the variance before taking the square root.
        affine: whether to learn a `weight`, initially 1, and a `bias`, initially 0, of shape `(num_channels,)`.
        device, dtype: device and dtype of the parameters.
        bias: with `affine`, whether to learn a `bias` in addition to `weight`.

    Shape:
        - Input: `(N, num_channels, *)`.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.GroupNorm(3, 6)(torch.randn(20, 6, 10, 10)).shape
        torch.Size([20, 6, 10, 10])
    """

    __constants__ = ("num_groups", "num_channels", "eps", "affine")

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register_affine((num_channels,), affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class _ResponseNorm(Module):
    __constants__ = ("size", "alpha", "beta", "k")

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """Divides each element by a power of the mean square over neighbouring channels at the same position.

    `y = x / (k + alpha * m) ** beta`, where m is the mean of the squares in the `size` channels around the channel of x;
    channels out of range count as zeros.

    Krizhevsky et al., *ImageNet classification with deep convolutional neural networks*, 2012.

    Args:
        size: the number of neighbouring channels, including the channel itself.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: added to the base of the power so that it is not 0.

    Shape:
        - Input: `(N, C, *)`; ValueError for fewer than 3 dimensions.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.LocalResponseNorm(2)(torch.randn(32, 5, 24, 24)).shape
        torch.Size([32, 5, 24, 24])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(_ResponseNorm):
    """`LocalResponseNorm` of images as in Lua Torch: the window of every channel also includes channel 0.

    Args:
        size: the number of neighbouring channels, including the channel itself; odd.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: added to the base of the power so that it is not 0.

    Shape:
        - Input: `(N, C, H, W)`; ValueError for other numbers of dimensions.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.CrossMapLRN2d(3)(torch.randn(2, 5, 4, 4)).shape
        torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        return cross_map_lrn.CrossMapLRN2d.apply(input, self.size, self.alpha, self.beta, self.k)  # type: ignore[no-any-return]  # `apply` is annotated as returning Any


def as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, Integral)) else tuple(shape)
