"""Dropout of elements or whole channels."""

from __future__ import annotations

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Kind, declare, warn

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and scale the others by `1 / (1 - p)`; see `nn.Dropout`.

    Srivastava et al., *Dropout: a simple way to prevent neural networks from overfitting*, 2014.

    Args:
        input: a tensor of any shape.
        p: the probability that an element is zeroed; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> sorted(set(F.dropout(torch.ones(100)).tolist()))
        [0.0, 2.0]
        >>> F.dropout(torch.ones(3), training=False)
        tensor([1., 1., 1.])
    """
    _check(p)
    return (torch.dropout_ if inplace else torch.dropout)(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements so that the mean 0 and variance 1 of `selu` outputs are kept; see `nn.AlphaDropout`.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        input: a tensor of any shape.
        p: the probability that an element is dropped; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> len(set(F.alpha_dropout(torch.ones(100), training=True).tolist()))
        2
    """
    _check(p)
    return (torch.alpha_dropout_ if inplace else torch.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply `alpha_dropout` to whole channels; see `nn.FeatureAlphaDropout`.

    Args:
        input: a tensor `(N, C, *)`.
        p: the probability that a channel is dropped; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> channels = F.feature_alpha_dropout(torch.ones(1, 8, 4), training=True)
        >>> bool((channels == channels[..., :1]).all())
        True
    """
    _check(p)
    return (torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout)(input, p, training)


@declare(kind=Kind.OTHER, random=True)
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of sequences with probability `p` and scale the others by `1 / (1 - p)`; see `nn.Dropout1d`.

    Args:
        input: a tensor `(N, C, L)` or `(C, L)`; RuntimeError for other numbers of dimensions.
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> channels = F.dropout1d(torch.ones(1, 8, 4)).flatten(2)
        >>> bool((channels == channels[..., :1]).all())
        True
    """
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    if input.dim() == 3:
        return _drop_channels(input, p, training, inplace)
    result = _drop_channels(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


@declare(kind=Kind.OTHER, random=True)
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of images with probability `p` and scale the others by `1 / (1 - p)`; see `nn.Dropout2d`.

    Tompson et al., *Efficient object localization using convolutional networks*, 2015.

    Args:
        input: a tensor `(N, C, H, W)`. One of 3 dimensions is taken as `(N, C, L)`; numbers of dimensions but 4 give a
            warning.
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> channels = F.dropout2d(torch.ones(1, 8, 4, 4)).flatten(2)
        >>> bool((channels == channels[..., :1]).all())
        True
    """
    _check(p)
    if input.dim() not in (3, 4):
        warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional "
            "batch dimension (i.e. 3D or 4D inputs).",
        )
    if input.dim() == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input "
            "is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
        )
    return _drop_channels(input, p, training, inplace)


@declare(kind=Kind.OTHER, random=True)
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of volumes with probability `p` and scale the others by `1 / (1 - p)`; see `nn.Dropout3d`.

    Args:
        input: a tensor `(N, C, D, H, W)` or `(C, D, H, W)`; other numbers of dimensions give a warning.
        p: the probability that a channel is zeroed; ValueError unless it is from 0 to 1.
        training: whether to apply dropout; False returns the input.
        inplace: whether to overwrite `input` with the result instead of returning a new tensor.

    Example:
        >>> channels = F.dropout3d(torch.ones(1, 8, 2, 4, 4)).flatten(2)
        >>> bool((channels == channels[..., :1]).all())
        True
    """
    _check(p)
    if input.dim() not in (4, 5):
        warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d "
            "exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional "
            "batch dimension (i.e. 4D or 5D inputs).",
        )
    batched = input.dim() == 5
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _drop_channels(input, p, training, inplace)
    if batched:
        return result
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return (torch.feature_dropout_ if inplace else torch.feature_dropout)(input, p, training)
