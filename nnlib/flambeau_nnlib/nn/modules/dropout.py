"""Layers that zero a random part of their input while training."""

from __future__ import annotations

from flambeau import Tensor

from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeros each element with probability `p` and scales the others by 1 / (1 - p); does nothing in evaluation.

    Hinton et al., *Improving neural networks by preventing co-adaptation of feature detectors*, 2012.

    >>> import flambeau as torch
    >>> layer = torch.nn.Dropout(0.5)
    >>> sorted(set(layer(torch.ones(100)).tolist()))
    [0.0, 2.0]
    >>> layer.eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeros whole channels of `(N, C, L)` or `(C, L)` input, each with probability `p`.

    >>> import flambeau as torch
    >>> channels = torch.nn.Dropout1d(0.5)(torch.ones(1, 8, 4))
    >>> bool((channels == channels[..., :1]).all())
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeros whole channels of `(N, C, H, W)` input, each with probability `p`.

    Tompson et al., *Efficient object localization using convolutional networks*, 2015.

    >>> import flambeau as torch
    >>> torch.nn.Dropout2d(0.2)(torch.randn(20, 16, 32, 32)).shape
    torch.Size([20, 16, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeros whole channels of `(N, C, D, H, W)` or `(C, D, H, W)` input, each with probability `p`.

    >>> import flambeau as torch
    >>> torch.nn.Dropout3d(0.2)(torch.randn(2, 16, 4, 8, 8)).shape
    torch.Size([2, 16, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for networks of `SELU`: keeps mean 0 and standard deviation 1.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    >>> import flambeau as torch
    >>> torch.nn.AlphaDropout(0.2)(torch.randn(20, 16)).shape
    torch.Size([20, 16])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    >>> import flambeau as torch
    >>> torch.nn.FeatureAlphaDropout(0.2)(torch.randn(2, 16, 4, 8, 8)).shape
    torch.Size([2, 16, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
