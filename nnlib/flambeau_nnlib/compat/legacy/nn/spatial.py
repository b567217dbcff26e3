"""Modules for sequences, images and volumes: convolution, pooling, batch normalization, padding, upsampling.

Sizes, strides and paddings are in the order time, width, height.
"""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ....nn import functional as F
from .module import Module, Table

__all__ = [
    "BatchNormalization",
    "SpatialAdaptiveMaxPooling",
    "SpatialAveragePooling",
    "SpatialBatchNormalization",
    "SpatialConvolution",
    "SpatialCrossMapLRN",
    "SpatialDilatedConvolution",
    "SpatialFractionalMaxPooling",
    "SpatialFullConvolution",
    "SpatialLPPooling",
    "SpatialMaxPooling",
    "SpatialMaxUnpooling",
    "SpatialReflectionPadding",
    "SpatialReplicationPadding",
    "SpatialSubSampling",
    "SpatialUpSamplingNearest",
    "SpatialZeroPadding",
    "TemporalConvolution",
    "TemporalMaxPooling",
    "TemporalSubSampling",
    "VolumetricAveragePooling",
    "VolumetricBatchNormalization",
    "VolumetricConvolution",
    "VolumetricFullConvolution",
    "VolumetricMaxPooling",
    "VolumetricMaxUnpooling",
    "VolumetricReplicationPadding",
]


class _Convolution(Module):
    """Base of convolutions: a weight and a bias, initialized uniformly within `±1 / sqrt(fan_in)`."""

    def _add_weight(self, *size: int, outputs: int, fan_in: int, bias: bool = True) -> None:
        self._fan_in = fan_in
        self._add_parameters(weight=torch.empty(size))
        if bias:
            self._add_parameters(bias=torch.empty(outputs))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = 1 / math.sqrt(self._fan_in) if stdv is None else stdv * math.sqrt(3)
        for parameter in self.parameters()[0]:
            parameter.uniform_(-bound, bound)

    def noBias(self) -> _Convolution:
        """Remove the bias."""
        if "bias" in self._parameter_names:
            self._parameter_names.remove("bias")
            self.bias = self.gradBias = None
        return self


class SpatialConvolution(_Convolution):
    """Convolution of images `(c, h, w)`, or of a batch of images.

    Args:
        nInputPlane, nOutputPlane: the numbers of channels.
        kW, kH: the size of the kernel.
        dW, dH: the strides.
        padW, padH: the zero padding on each side; `padH` is `padW` by default.

    >>> layer = torch.legacy.nn.SpatialConvolution(3, 8, 5, 3, padW=2, padH=1)
    >>> layer
    nn.SpatialConvolution(3 -> 8, 5x3, 1, 1, 2, 1)
    >>> layer.forward(torch.zeros(2, 3, 10, 20)).shape
    torch.Size([2, 8, 10, 20])
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
        self.kW, self.kH, self.dW, self.dH = kW, kH, dW, dH
        self.padW, self.padH = padW, padW if padH is None else padH
        self._add_weight(nOutputPlane, nInputPlane, kH, kW, outputs=nOutputPlane, fan_in=kW * kH * nInputPlane)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.conv2d(input, weight, bias, (self.dH, self.dW), (self.padH, self.padW))

    def __repr__(self) -> str:
        shown = f"{self.nInputPlane} -> {self.nOutputPlane}, {self.kW}x{self.kH}"
        if (self.dW, self.dH, self.padW, self.padH) != (1, 1, 0, 0):
            shown += f", {self.dW}, {self.dH}"
        if (self.padW, self.padH) != (0, 0):
            shown += f", {self.padW}, {self.padH}"
        return f"{super().__repr__()}({shown})"


class SpatialDilatedConvolution(SpatialConvolution):
    """`SpatialConvolution` with a dilated kernel: its elements are `dilationW` and `dilationH` pixels apart."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
        dilationW: int = 1,
        dilationH: int | None = None,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilationW = dilationW
        self.dilationH = dilationW if dilationH is None else dilationH

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        stride, padding = (self.dH, self.dW), (self.padH, self.padW)
        return F.conv2d(input, weight, bias, stride, padding, (self.dilationH, self.dilationW))


class SpatialFullConvolution(SpatialConvolution):
    """Transposed convolution of images, with `adjW` and `adjH` additional output pixels; see `SpatialConvolution`."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kW: int,
        kH: int,
        dW: int = 1,
        dH: int = 1,
        padW: int = 0,
        padH: int | None = None,
        adjW: int = 0,
        adjH: int | None = None,
    ) -> None:
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.adjW, self.adjH = adjW, adjW if adjH is None else adjH
        for name in ("weight", "gradWeight"):
            setattr(self, name, getattr(self, name).transpose(0, 1).contiguous())

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        stride, padding = (self.dH, self.dW), (self.padH, self.padW)
        return F.conv_transpose2d(input, weight, bias, stride, padding, (self.adjH, self.adjW))


class TemporalConvolution(_Convolution):
    """Convolution of sequences `(frames, features)`, or of a batch of sequences.

    Args:
        inputFrameSize, outputFrameSize: the numbers of features.
        kW: the size of the kernel.
        dW: the stride.
    """

    def __init__(self, inputFrameSize: int, outputFrameSize: int, kW: int, dW: int = 1) -> None:
        super().__init__()
        self.inputFrameSize, self.outputFrameSize, self.kW, self.dW = inputFrameSize, outputFrameSize, kW, dW
        fan_in = kW * inputFrameSize
        self._add_weight(outputFrameSize, fan_in, outputs=outputFrameSize, fan_in=fan_in)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        kernel = weight.view(self.outputFrameSize, self.kW, self.inputFrameSize).mT
        return F.conv1d(input.mT, kernel, bias, self.dW).mT


class VolumetricConvolution(_Convolution):
    """Convolution of volumes `(c, t, h, w)`, or of a batch of volumes; see `SpatialConvolution`."""

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int = 1,
        dW: int = 1,
        dH: int = 1,
        padT: int = 0,
        padW: int | None = None,
        padH: int | None = None,
    ) -> None:
        super().__init__()
        self.stride = (dT, dH, dW)
        self.padding = (padT, padT if padH is None else padH, padT if padW is None else padW)
        fan_in = kT * kW * kH * nInputPlane
        self._add_weight(nOutputPlane, nInputPlane, kT, kH, kW, outputs=nOutputPlane, fan_in=fan_in)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.conv3d(input, weight, bias, self.stride, self.padding)


class VolumetricFullConvolution(VolumetricConvolution):
    """Transposed convolution of volumes, with `adjT`, `adjW` and `adjH` additional output voxels.

    The input may be a table; its second tensor then gives the output size.
    """

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kT: int,
        kW: int,
        kH: int,
        dT: int = 1,
        dW: int = 1,
        dH: int = 1,
        padT: int = 0,
        padW: int = 0,
        padH: int = 0,
        adjT: int = 0,
        adjW: int = 0,
        adjH: int = 0,
    ) -> None:
        if adjT >= dT or adjW >= dW or adjH >= dH:
            raise RuntimeError(f"expected adjustments smaller than the strides {(dT, dW, dH)}, but got {(adjT, adjW, adjH)}")
        super().__init__(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)
        self.kernel, self.adjustment = (kT, kH, kW), (adjT, adjH, adjW)
        for name in ("weight", "gradWeight"):
            setattr(self, name, getattr(self, name).transpose(0, 1).contiguous())

    def compute(self, input: Table, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        adjustment = self.adjustment
        if isinstance(input, (list, tuple)):
            input, target = input
            parts = zip(target.shape[-3:], self.kernel, self.padding, self.stride, strict=True)
            adjustment = tuple((size + 2 * pad - kernel) % stride for size, kernel, pad, stride in parts)
        return F.conv_transpose3d(input, weight, bias, self.stride, self.padding, adjustment)


class _SubSampling(_Convolution):
    """Base class of subsampling: sums over windows, multiplied by a weight and added to a bias per channel."""

    def _scaled(self, sums: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        size = (-1, *(1 for _ in self.window))
        return sums * weight.view(size) + bias.view(size)

    window: tuple[int, ...]


class SpatialSubSampling(_SubSampling):
    """Sums over windows of images, scaled and shifted per channel.

    Args:
        nInputPlane: the number of channels.
        kW, kH: the size of the windows.
        dW, dH: the strides.
    """

    def __init__(self, nInputPlane: int, kW: int, kH: int, dW: int = 1, dH: int = 1) -> None:
        super().__init__()
        self.window, self.stride = (kH, kW), (dH, dW)
        self._add_weight(nInputPlane, outputs=nInputPlane, fan_in=kW * kH)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return self._scaled(F.avg_pool2d(input, self.window, self.stride, divisor_override=1), weight, bias)


class TemporalSubSampling(_SubSampling):
    """Sums over windows of sequences `(frames, features)`, scaled and shifted per feature.

    Args:
        inputFrameSize: the number of features.
        kW: the size of the windows.
        dW: the stride.
    """

    def __init__(self, inputFrameSize: int, kW: int, dW: int = 1) -> None:
        super().__init__()
        self.window, self.stride = (kW,), dW
        self._add_weight(inputFrameSize, outputs=inputFrameSize, fan_in=kW)

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        sums = F.avg_pool1d(input.mT, self.window, self.stride) * self.window[0]
        return self._scaled(sums, weight, bias).mT


class _Pooling(Module):
    """Base class of pooling modules, with kernel size, stride, padding, and the rounding of the output size."""

    def __init__(self, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...]) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.ceil_mode = False

    def ceil(self) -> _Pooling:
        """Round the size of the output up."""
        self.ceil_mode = True
        return self

    def floor(self) -> _Pooling:
        """Round the size of the output down."""
        self.ceil_mode = False
        return self


class SpatialMaxPooling(_Pooling):
    """Max pooling of images.

    Args:
        kW, kH: the size of the windows.
        dW, dH: the strides; by default the size of the windows.
        padW, padH: the padding on each side.
    """

    def __init__(self, kW: int, kH: int, dW: int | None = None, dH: int | None = None, padW: int = 0, padH: int = 0) -> None:
        super().__init__((kH, kW), (dH or kH, dW or kW), (padH, padW))

    def compute(self, input: Tensor) -> Tensor:
        self.input_size = input.shape[-2:]
        result, self.indices = F.max_pool2d(
            input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode, return_indices=True
        )
        return result  # type: ignore[no-any-return]  # a tensor, of a pair


class SpatialAveragePooling(_Pooling):
    """Average pooling of images.

    Args:
        kW, kH: the size of the windows.
        dW, dH: the strides.
        padW, padH: the padding on each side.
    """

    count_include_pad = True

    def __init__(self, kW: int, kH: int, dW: int = 1, dH: int = 1, padW: int = 0, padH: int = 0) -> None:
        super().__init__((kH, kW), (dH, dW), (padH, padW))

    def setCountIncludePad(self) -> SpatialAveragePooling:
        """Include padding in the averages."""
        self.count_include_pad = True
        return self

    def setCountExcludePad(self) -> SpatialAveragePooling:
        """Exclude padding from the averages."""
        self.count_include_pad = False
        return self

    def compute(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class SpatialLPPooling(_Pooling):
    """p-norm pooling of images."""

    def __init__(self, nInputPlane: int, pnorm: float, kW: int, kH: int, dW: int | None = None, dH: int | None = None) -> None:
        super().__init__((kH, kW), (dH or kH, dW or kW), (0, 0))
        self.pnorm = pnorm

    def compute(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, self.pnorm, self.kernel, self.stride, self.ceil_mode)


class SpatialAdaptiveMaxPooling(Module):
    """Max pooling of images to an output of size `h` by `w`."""

    def __init__(self, w: int, h: int) -> None:
        super().__init__()
        self.w, self.h = w, h

    def compute(self, input: Tensor) -> Tensor:
        result: Tensor = F.adaptive_max_pool2d(input, (self.h, self.w))
        return result


class TemporalMaxPooling(Module):
    """Max pooling of sequences `(frames, features)`."""

    def __init__(self, kW: int, dW: int | None = None) -> None:
        super().__init__()
        self.kW, self.dW = kW, dW or kW

    def compute(self, input: Tensor) -> Tensor:
        result: Tensor = F.max_pool1d(input.mT, self.kW, self.dW).mT
        return result


class VolumetricMaxPooling(_Pooling):
    """Max pooling of volumes; see `SpatialMaxPooling`."""

    def __init__(
        self,
        kT: int,
        kW: int,
        kH: int,
        dT: int | None = None,
        dW: int | None = None,
        dH: int | None = None,
        padT: int = 0,
        padW: int = 0,
        padH: int = 0,
    ) -> None:
        super().__init__((kT, kH, kW), (dT or kT, dH or kH, dW or kW), (padT, padH, padW))

    def compute(self, input: Tensor) -> Tensor:
        self.input_size = input.shape[-3:]
        result, self.indices = F.max_pool3d(
            input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode, return_indices=True
        )
        return result  # type: ignore[no-any-return]  # a tensor, of a pair


class VolumetricAveragePooling(_Pooling):
    """Average pooling of volumes."""

    def __init__(self, kT: int, kW: int, kH: int, dT: int | None = None, dW: int | None = None, dH: int | None = None) -> None:
        super().__init__((kT, kH, kW), (dT or kT, dH or kH, dW or kW), (0, 0, 0))

    def compute(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, self.kernel, self.stride, self.padding, self.ceil_mode)


class SpatialFractionalMaxPooling(Module):
    """Fractional max pooling of images: windows are placed at random, such that the output has a given size.

    Args:
        poolSizeW, poolSizeH: the size of the windows.
        arg1, arg2: the width and height of the output; between 0 and 1, a fraction of the input's.

    Raises:
        AssertionError: a window is smaller than 2, or a fraction is not between 0 and 1.
    """

    def __init__(self, poolSizeW: int, poolSizeH: int, arg1: float, arg2: float) -> None:
        super().__init__()
        if poolSizeW < 2 or poolSizeH < 2:
            raise AssertionError(f"expected windows of at least 2 x 2, but got {poolSizeW} x {poolSizeH}")
        self.poolSizeW, self.poolSizeH = poolSizeW, poolSizeH
        self.outW = self.outH = self.ratioW = self.ratioH = None
        self.randomSamples: Tensor | None = None
        self._keeps_regions = False
        self._size: Any
        if arg1 >= 1 and arg2 >= 1:
            self._size = {"output_size": (int(arg2), int(arg1))}
        elif 0 < arg1 < 1 and 0 < arg2 < 1:
            self._size = {"output_ratio": (arg2, arg1)}
        else:
            raise AssertionError(f"expected output sizes of at least 1, or fractions between 0 and 1, but got {arg1} and {arg2}")
        self._shown = f"({arg1}x{arg2}, {poolSizeW}, {poolSizeH})"

    def fixPoolingRegions(self, val: bool = True) -> SpatialFractionalMaxPooling:
        """Keep the current pooling regions if `val` is True, else draw new ones in each pass."""
        self._keeps_regions = val
        return self

    def compute(self, input: Tensor) -> Tensor:
        samples = self.randomSamples
        if samples is None or samples.shape[:2] != input.shape[:2] or not self._keeps_regions:
            self.randomSamples = torch.rand(*input.shape[:2], 2, dtype=input.dtype)
        kernel = (self.poolSizeH, self.poolSizeW)
        result: Tensor = F.fractional_max_pool2d(input, kernel, **self._size, _random_samples=self.randomSamples)
        return result

    def __repr__(self) -> str:
        return super().__repr__() + self._shown


class _MaxUnpooling(Module):
    """Base of max unpooling: put the maxima of a pooling module back at their positions; other elements are zero."""

    def __init__(self, poolingModule: _Pooling) -> None:
        super().__init__()
        if not isinstance(poolingModule, self._pooling_class):
            raise AssertionError(f"expected a {self._pooling_class.__name__}, but got {poolingModule!r}")
        kernel, stride = poolingModule.kernel, poolingModule.stride
        if kernel != stride:
            raise AssertionError(f"expected a pooling stride equal to the window size {kernel}, but got {stride}")
        self.pooling: Any = poolingModule

    _pooling_class: type[_Pooling]

    def __repr__(self) -> str:
        return f"{super().__repr__()} associated to {self.pooling!r}"


class SpatialMaxUnpooling(_MaxUnpooling):
    """Put the maxima of a `SpatialMaxPooling` back at their positions; other elements are zero.

    Args:
        poolingModule: the pooling module. Its strides equal its window size, and it must have run before.
    """

    _pooling_class = SpatialMaxPooling

    def compute(self, input: Tensor) -> Tensor:
        pooling = self.pooling
        return F.max_unpool2d(input, pooling.indices, pooling.kernel, pooling.stride, pooling.padding, pooling.input_size)


class VolumetricMaxUnpooling(_MaxUnpooling):
    """Put the maxima of a `VolumetricMaxPooling` back at their positions; see `SpatialMaxUnpooling`."""

    _pooling_class = VolumetricMaxPooling

    def compute(self, input: Tensor) -> Tensor:
        pooling = self.pooling
        return F.max_unpool3d(input, pooling.indices, pooling.kernel, pooling.stride, pooling.padding, pooling.input_size)


class BatchNormalization(Module):
    """Batch normalization of vectors: by the statistics of the batch in training mode, else by running statistics.

    Args:
        nOutput: the number of features.
        eps: a constant added to variances.
        momentum: the weight of the current batch in the running statistics.
        affine: whether to scale by `weight` and shift by `bias`.
    """

    nDim = 2

    def __init__(self, nOutput: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True) -> None:
        super().__init__()
        self.eps, self.momentum, self.affine = eps, momentum, affine
        self.running_mean, self.running_var = torch.zeros(nOutput), torch.ones(nOutput)
        if affine:
            self._add_parameters(weight=torch.empty(nOutput), bias=torch.empty(nOutput))
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        if self.affine:
            self.weight.uniform_()
            self.bias.zero_()
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def compute(self, input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        if input.dim() != self.nDim:
            raise RuntimeError(f"only mini-batch supported ({self.nDim}D tensor), got {input.dim()}D tensor instead")
        return F.batch_norm(input, self.running_mean, self.running_var, weight, bias, self.train, self.momentum, self.eps)


class SpatialBatchNormalization(BatchNormalization):
    """Batch normalization of the channels of a batch of images."""

    nDim = 4


class VolumetricBatchNormalization(BatchNormalization):
    """Batch normalization of the channels of a batch of volumes."""

    nDim = 5


class SpatialCrossMapLRN(Module):
    """Local response normalization over `size` neighboring channels.

    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", 2012.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def compute(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class _Padding(Module):
    """Base of image padding; the widths are left, right, top and bottom."""

    mode = "constant"

    def __init__(self, pad_l: int, pad_r: int | None = None, pad_t: int | None = None, pad_b: int | None = None) -> None:
        super().__init__()
        self.padding = [pad_l if pad is None else pad for pad in (pad_l, pad_r, pad_t, pad_b)]

    def compute(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, mode=self.mode)


class SpatialZeroPadding(_Padding):
    """Pad images with zeros; negative widths crop."""


class SpatialReflectionPadding(_Padding):
    """Pad images by reflection at the border."""

    mode = "reflect"


class SpatialReplicationPadding(_Padding):
    """Pad images by repeating border pixels."""

    mode = "replicate"


class VolumetricReplicationPadding(Module):
    """Pad volumes by repeating border voxels; the widths are left, right, top, bottom, front and back."""

    def __init__(
        self,
        pleft: int,
        pright: int | None = None,
        ptop: int | None = None,
        pbottom: int | None = None,
        pfront: int | None = None,
        pback: int | None = None,
    ) -> None:
        super().__init__()
        self.padding = [pleft if pad is None else pad for pad in (pleft, pright, ptop, pbottom, pfront, pback)]

    def compute(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, mode="replicate")


class SpatialUpSamplingNearest(Module):
    """Upsample images by repeating each pixel `scale` times in both directions."""

    def __init__(self, scale: int) -> None:
        super().__init__()
        self.scale_factor = scale

    def compute(self, input: Tensor) -> Tensor:
        return input.repeat_interleave(self.scale_factor, -2).repeat_interleave(self.scale_factor, -1)
