"""Layers used by many models, such as convolution with normalization, squeeze-and-excitation and MLP."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flambeau as torch
from flambeau import nn

__all__ = [
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
]

Tensor = torch.Tensor
Layer = Callable[..., nn.Module]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization with constant statistics and weights, stored as buffers.

    Detectors use it, since their batches are too small for batch statistics. State dicts of `BatchNorm2d` can be loaded.

    Args:
        num_features: channels of the input.
        eps: added to the variance.

    Shape:
        - Input: `(N, num_features, H, W)`.
        - Output: the same.

    Example:
        >>> from flambeau_vision.ops import FrozenBatchNorm2d
        >>> norm = FrozenBatchNorm2d(8)
        >>> norm(torch.ones(2, 8, 4, 4)).shape, len(list(norm.parameters()))
        (torch.Size([2, 8, 4, 4]), 0)
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))
        self.register_load_state_dict_pre_hook(self._drop_count)

    @staticmethod
    def _drop_count(module: nn.Module, state_dict: dict, prefix: str, *args: object) -> None:
        # State dicts of BatchNorm2d also contain num_batches_tracked, which this module does not have.
        state_dict.pop(f"{prefix}num_batches_tracked", None)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale[:, None, None] + shift[:, None, None]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


def _same_padding(kernel_size: int | Sequence[int], dilation: int | Sequence[int]) -> int | tuple[int, ...]:
    """Return the padding with which a convolution of stride 1 keeps the size of its input."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    dims = len(dilation if isinstance(kernel_size, int) else kernel_size)
    sizes = [kernel_size] * dims if isinstance(kernel_size, int) else kernel_size
    dilations = [dilation] * dims if isinstance(dilation, int) else dilation
    return tuple((size - 1) // 2 * d for size, d in zip(sizes, dilations, strict=True))


class _ConvNormActivation(nn.Sequential):
    """Convolution, followed by optional normalization and activation."""

    def __init__(
        self,
        conv_layer: Layer,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int] | str | None,
        groups: int,
        norm_layer: Layer | None,
        activation_layer: Layer | None,
        dilation: int | Sequence[int],
        inplace: bool | None,
        bias: bool | None,
    ) -> None:
        if padding is None:
            padding = _same_padding(kernel_size, dilation)
        bias = norm_layer is None if bias is None else bias
        layers = [conv_layer(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(_ConvNormActivation):
    """A 2-D convolution, then a normalization and an activation.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size, stride, groups, dilation: arguments of `Conv2d`.
        padding: padding of `Conv2d`; with None, a convolution of stride 1 keeps the size of its input.
        norm_layer: called with `out_channels` to create the normalization; None for no normalization.
        activation_layer: called with `inplace` to create the activation; None for no activation.
        inplace: argument of the activation; None to omit it.
        bias: whether the convolution has a bias; None for a bias if `norm_layer` is None.

    Shape:
        - Input: `(N, in_channels, H, W)`.
        - Output: `(N, out_channels, H', W')`, with the output sizes of the convolution.

    Example:
        >>> from flambeau_vision.ops import Conv2dNormActivation
        >>> Conv2dNormActivation(3, 8)
        Conv2dNormActivation(
          (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
          (1): BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
          (2): ReLU(inplace=True)
        )
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm2d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        geometry = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(nn.Conv2d, *geometry, norm_layer, activation_layer, dilation, inplace, bias)


class Conv3dNormActivation(_ConvNormActivation):
    """A 3-D convolution, then a normalization and an activation.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size, stride, groups, dilation: arguments of `Conv3d`.
        padding: padding of `Conv3d`; with None, a convolution of stride 1 keeps the size of its input.
        norm_layer: called with `out_channels` to create the normalization; None for no normalization.
        activation_layer: called with `inplace` to create the activation; None for no activation.
        inplace: argument of the activation; None to omit it.
        bias: whether the convolution has a bias; None for a bias if `norm_layer` is None.

    Shape:
        - Input: `(N, in_channels, D, H, W)`.
        - Output: `(N, out_channels, D', H', W')`, with the output sizes of the convolution.

    Example:
        >>> from flambeau_vision.ops import Conv3dNormActivation
        >>> Conv3dNormActivation(1, 2, stride=2)(torch.rand(1, 1, 4, 8, 8)).shape
        torch.Size([1, 2, 2, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Layer | None = nn.BatchNorm3d,
        activation_layer: Layer | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        geometry = (in_channels, out_channels, kernel_size, stride, padding, groups)
        super().__init__(nn.Conv3d, *geometry, norm_layer, activation_layer, dilation, inplace, bias)


class SqueezeExcitation(nn.Module):
    """Multiply each channel by a weight that is computed from the means of all channels.

    Two layers compute the weights from the means. Hu, Shen and Sun,
    [Squeeze-and-Excitation Networks](https://arxiv.org/abs/1709.01507), 2017.

    Args:
        input_channels: channels of the input.
        squeeze_channels: channels between the two layers, usually far fewer than `input_channels`.
        activation: called without arguments to create the activation between the layers.
        scale_activation: called without arguments to create the activation of the weights.

    Shape:
        - Input: `(N, input_channels, H, W)`.
        - Output: the same.

    Example:
        >>> from flambeau_vision.ops import SqueezeExcitation
        >>> SqueezeExcitation(8, 2)(torch.rand(1, 8, 4, 4)).shape
        torch.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Layer = nn.ReLU,
        scale_activation: Layer = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed)) * input


class MLP(nn.Sequential):
    """Multilayer perceptron: linear layers with normalization, activation and dropout between them.

    The last linear layer is followed by dropout only.

    Args:
        in_channels: features of the input.
        hidden_channels: number of output features of each linear layer.
        norm_layer: called with the number of features to create a normalization; None for no normalization.
        activation_layer: called to create an activation.
        inplace: argument of activation and dropout; None to omit it.
        bias: whether the linear layers have a bias.
        dropout: dropout probability.

    Shape:
        - Input: `(*, in_channels)`.
        - Output: `(*, hidden_channels[-1])`.

    Example:
        >>> from flambeau_vision.ops import MLP
        >>> MLP(4, [16, 2])(torch.rand(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Layer | None = None,
        activation_layer: Layer | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for channels in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, channels, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(channels))
            layers += [activation_layer(**options), nn.Dropout(dropout, **options)]
            in_channels = channels
        layers += [nn.Linear(in_channels, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **options)]
        super().__init__(*layers)


class Permute(nn.Module):
    """Reorder the dimensions: `torch.permute` as a module.

    Args:
        dims: for each output dimension, the index of the input dimension.

    Example:
        >>> from flambeau_vision.ops import Permute
        >>> Permute([0, 2, 3, 1])(torch.rand(1, 3, 4, 5)).shape
        torch.Size([1, 4, 5, 3])
    """

    def __init__(self, dims: Sequence[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return torch.permute(x, self.dims)
