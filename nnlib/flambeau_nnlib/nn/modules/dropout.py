"""Dropout layers, which zero random elements or channels in training."""

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
    """In training, zeros each element with probability `p`, independently, and scales the others by `1 / (1 - p)`.

    The scaling keeps the mean, so that in evaluation (`eval()`) the layer returns its input.

    Hinton et al., *Improving neural networks by preventing co-adaptation of feature detectors*, 2012.

    Args:
        p: the probability that an element is zeroed; ValueError unless it is from 0 to 1.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> layer = torch.nn.Dropout(0.5)
        >>> sorted(set(layer(torch.ones(100)).tolist()))
        [0.0, 2.0]
        >>> layer.eval()(torch.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """In training, zeros whole channels of sequences with probability `p`, and scales the others by `1 / (1 - p)`.

    Neighbouring elements of a channel are correlated, so that zeroing single elements, as in `Dropout`, has little effect.

    Args:
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(N, C, L)` or `(C, L)`; RuntimeError for other numbers of dimensions.
        - Output: the shape of the input.

    Example:
        >>> channels = torch.nn.Dropout1d(0.5)(torch.ones(1, 8, 4))
        >>> bool((channels == channels[..., :1]).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """In training, zeros whole channels of images with probability `p`, and scales the others by `1 / (1 - p)`.

    Neighbouring pixels are correlated, so that zeroing single pixels, as in `Dropout`, has little effect.

    Tompson et al., *Efficient object localization using convolutional networks*, 2015.

    Args:
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(N, C, H, W)`. Input of 3 dimensions is taken as `(N, C, L)`, with a warning.
        - Output: the shape of the input.

    Example:
        >>> channels = torch.nn.Dropout2d(0.2)(torch.ones(20, 16, 8, 8))
        >>> sorted(set(channels.sum((2, 3)).flatten().tolist()))
        [0.0, 80.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """In training, zeros whole channels of volumes with probability `p`, and scales the others by `1 / (1 - p)`.

    Neighbouring voxels are correlated, so that zeroing single voxels, as in `Dropout`, has little effect.

    Args:
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        inplace: whether to overwrite the input with the result instead of returning a new tensor.

    Shape:
        - Input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.Dropout3d(0.2)(torch.randn(2, 16, 4, 8, 8)).shape
        torch.Size([2, 16, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for networks with `SELU`: elements are set to the minimum of SELU, not to 0, which keeps mean and variance.

    In training, each element is set to that value with probability `p`; then all are scaled and shifted so that input
    of mean 0 and standard deviation 1 keeps both. In evaluation the layer returns its input.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        p: the probability that an element is dropped; ValueError unless it is from 0 to 1.
        inplace: no effect except in the repr; the layer always returns a new tensor.

    Shape:
        - Input: `(*)`, any number of dimensions.
        - Output: `(*)`, the shape of the input.

    Example:
        >>> torch.nn.AlphaDropout(0.2)(torch.randn(20, 16)).shape
        torch.Size([20, 16])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels: in training, each is set to the minimum of `SELU` with probability `p`.

    Args:
        p: the probability that a channel is dropped; ValueError unless it is from 0 to 1.
        inplace: no effect except in the repr; the layer always returns a new tensor.

    Shape:
        - Input: `(N, C, *)`, such as `(N, C, D, H, W)`.
        - Output: the shape of the input.

    Example:
        >>> torch.nn.FeatureAlphaDropout(0.2)(torch.randn(2, 16, 4, 8, 8)).shape
        torch.Size([2, 16, 4, 8, 8])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
