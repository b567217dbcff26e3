"""Softmax layers: values normalized to sum to 1 along a dimension."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Module):
    """The base of softmax layers. If `dim` is None, the call warns and uses 0 for 0-, 1- and 3-D input, otherwise 1."""

    __constants__ = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """`exp(x) / sum(exp(x))` along a dimension: positive values that sum to 1, such as the probabilities of classes.

    `CrossEntropyLoss` includes it: pass the scores to that loss without this layer.

    Args:
        dim: the dimension along which the values sum to 1. None, deprecated, means 0 for input of 0, 1 or 3 dimensions and
            1 for other input, with a warning.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Softmax(dim=1)(torch.tensor([[1.0, 1.0, 2.0]]))
        tensor([[0.2119, 0.2119, 0.5761]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """The softmax of `-x` along a dimension: positive values that sum to 1, the largest for the smallest element.

    Args:
        dim: the dimension along which the values sum to 1. None, deprecated, means 0 for input of 0, 1 or 3 dimensions and
            1 for other input, with a warning.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.Softmin(dim=1)(torch.tensor([[1.0, 1.0, 2.0]]))
        tensor([[0.4223, 0.4223, 0.1554]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along a dimension, computed without overflow, as input for `NLLLoss`.

    Args:
        dim: the dimension along which the exponentials of the result sum to 1. None, deprecated, means 0 for input of 0, 1
            or 3 dimensions and 1 for other input, with a warning.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input; values are not above 0.

    Example:
        >>> torch.nn.LogSoftmax(dim=1)(torch.tensor([[1.0, 1.0, 2.0]]))
        tensor([[-1.5514, -1.5514, -0.5514]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """The softmax over the channels at each position of an image.

    Shape:
        - Input: `(N, C, H, W)` or `(C, H, W)`; ValueError for other numbers of dimensions.
        - Output: the shape of the input; the C values at each position sum to 1.

    Example:
        >>> torch.nn.Softmax2d()(torch.zeros(1, 4, 2, 2))[0, 0]
        tensor([[0.2500, 0.2500],
                [0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
