"""Batch, instance, layer, group and local response normalization."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import flambeau as torch
from flambeau import Tensor
from flambeau.extension import Autocast, Kind, declare

from .padding import pad
from .pooling import avg_pool2d, avg_pool3d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]


def _verify_batch_size(size: Sequence[int]) -> None:
    if size[0] == 1 and prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {torch.Size(size)}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel over the batch and all dimensions after the second; see `nn.BatchNorm2d`.

    `(input - mean) / sqrt(var + eps) * weight + bias`.

    Ioffe and Szegedy, *Batch normalization: accelerating deep network training*, 2015.

    Args:
        input: a tensor `(N, C, *)`; ValueError if `training` is set and a channel has a single value.
        running_mean, running_var: the running statistics, `(C,)`, or None; RuntimeError for None where not `training`.
            While training, they are updated in place.
        weight, bias: scale and shift of each channel, `(C,)`; None for 1 and 0.
        training: whether to normalize by the statistics of the batch instead of the running statistics.
        momentum: the weight of the new statistics in the running average.
        eps: added to the variance before taking the square root; ValueError if it is negative, or 0 in training.

    Example:
        >>> F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training:
        _verify_batch_size(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalize each channel of each sample separately; see `nn.InstanceNorm2d`.

    Ulyanov et al., *Instance normalization: the missing ingredient for fast stylization*, 2016.

    Args:
        input: a tensor `(N, C, *)`; ValueError if `use_input_stats` is set and a channel has a single value.
        running_mean, running_var: the running statistics, `(C,)`, or None. With `use_input_stats`, they are updated in
            place.
        weight, bias: scale and shift of each channel, `(C,)`; None for 1 and 0.
        use_input_stats: whether to normalize by the statistics of the sample instead of the running statistics.
        momentum: the weight of the new statistics in the running average.
        eps: added to the variance before taking the square root.

    Example:
        >>> F.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize over the last dimensions; see `nn.LayerNorm`.

    Ba et al., *Layer normalization*, 2016.

    Args:
        input: a tensor `(*, *normalized_shape)`; RuntimeError if the last sizes differ.
        normalized_shape: the sizes of the dimensions to normalize over, the last of the input.
        weight, bias: scale and shift of each element, of shape `normalized_shape`; None for 1 and 0.
        eps: added to the variance before taking the square root.

    Example:
        >>> F.layer_norm(torch.tensor([[1.0, 3.0]]), [2])
        tensor([[-1.0000,  1.0000]])
    """
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divide by the root mean square over the last dimensions; see `nn.RMSNorm`.

    Zhang and Sennrich, *Root mean square layer normalization*, 2019.

    Args:
        input: a tensor `(*, *normalized_shape)`; RuntimeError if the last sizes differ.
        normalized_shape: the sizes of the dimensions to normalize over, the last of the input.
        weight: the scale of each element, of shape `normalized_shape`; None for 1.
        eps: added to the mean square before taking the square root; None for the machine epsilon of the input's dtype.

    Example:
        >>> F.rms_norm(torch.tensor([[1.0, 7.0]]), [2])
        tensor([[0.2000, 1.4000]])
    """
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalize groups of channels of each sample; see `nn.GroupNorm`.

    Wu and He, *Group normalization*, 2018.

    Args:
        input: a tensor `(N, C, *)`; RuntimeError for fewer than 2 dimensions.
        num_groups: the number of groups of neighbouring channels; RuntimeError unless it divides C.
        weight, bias: scale and shift of each channel, `(C,)`; None for 1 and 0.
        eps: added to the variance before taking the square root.

    Example:
        >>> F.group_norm(torch.tensor([[[1.0], [3.0], [10.0], [30.0]]]), 2).flatten()
        tensor([-1.0000,  1.0000, -1.0000,  1.0000])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


@declare(kind=Kind.NORMALIZATION, autocast={"cpu": Autocast.FLOAT32})
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by a power of the mean square of neighbouring channels; see `nn.LocalResponseNorm`.

    `input / (k + alpha * mean) ** beta`.

    Krizhevsky et al., *ImageNet classification with deep convolutional neural networks*, 2012.

    Args:
        input: a tensor `(N, C, *)`; ValueError for fewer than 3 dimensions.
        size: the number of neighbouring channels, including the channel itself; channels out of range count as zeros.
        alpha: the factor of the mean square.
        beta: the exponent.
        k: added to the base of the power so that it is not 0.

    Example:
        >>> F.local_response_norm(torch.ones(1, 3, 1), size=3, alpha=1.0, beta=1.0).flatten()
        tensor([0.6000, 0.5000, 0.6000])
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    channel_padding = (size // 2, (size - 1) // 2)
    squares = (input * input).unsqueeze(1)
    if input.dim() == 3:
        mean = avg_pool2d(pad(squares, (0, 0, *channel_padding)), (size, 1), stride=1)
    else:
        flat = squares.flatten(4) if input.dim() > 4 else squares
        mean = avg_pool3d(pad(flat, (0, 0, 0, 0, *channel_padding)), (size, 1, 1), stride=1)
    return input / (mean.reshape(input.shape) * alpha + k) ** beta


@declare(kind=Kind.NORMALIZATION)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Scale vectors along a dimension to norm 1.

    Args:
        input: a tensor of any shape.
        p: the order of the norm; 2 for the Euclidean norm.
        dim: the dimension of the vectors, or several.
        eps: the lower bound of the divisor; a vector of zeros stays zero.
        out: a tensor to write the result into; None for a new one.

    Example:
        >>> F.normalize(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return torch.div(input, input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input), out=out)
