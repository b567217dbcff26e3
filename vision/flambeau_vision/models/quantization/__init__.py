"""Classification models for which torchvision also publishes 8-bit weights, under the same names as in torchvision.

The models are built in floating point, with the state dict keys and shapes of the unquantized models. 8-bit inference
requires PyTorch's kernels: `quantize=True` raises a `RuntimeError`, and `fuse_model` only fuses floating-point layers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from flambeau.nn.utils.fusion import fuse_conv_bn_eval

from flambeau import nn

from ... import models
from ...transforms._presets import ImageClassification
from .._api import SITE, Weights, WeightsEnum, register_model
from .._meta import CategoriesInFile

__all__ = [
    "GoogLeNet_QuantizedWeights",
    "Inception_V3_QuantizedWeights",
    "MobileNet_V2_QuantizedWeights",
    "MobileNet_V3_Large_QuantizedWeights",
    "QuantizableGoogLeNet",
    "QuantizableInception3",
    "QuantizableMobileNetV2",
    "QuantizableMobileNetV3",
    "QuantizableResNet",
    "QuantizableShuffleNetV2",
    "ResNeXt101_32X8D_QuantizedWeights",
    "ResNeXt101_64X4D_QuantizedWeights",
    "ResNet18_QuantizedWeights",
    "ResNet50_QuantizedWeights",
    "ShuffleNet_V2_X0_5_QuantizedWeights",
    "ShuffleNet_V2_X1_0_QuantizedWeights",
    "ShuffleNet_V2_X1_5_QuantizedWeights",
    "ShuffleNet_V2_X2_0_QuantizedWeights",
    "googlenet",
    "inception_v3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "resnet18",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


class _Fusible(nn.Module):
    """Mixin that adds `fuse_model` to a model."""

    def fuse_model(self, is_qat: bool | None = None) -> None:
        """Fold each batch normalization into the previous convolution and replace it by `Identity`.

        Results differ only by rounding. PyTorch also fuses ReLU for 8-bit layers; here ReLU stays a separate layer.

        Args:
            is_qat: True (quantization-aware training) is not supported and raises an error.

        Raises:
            RuntimeError: `is_qat` is true.
            AssertionError: the model is in training mode.

        Example:
            >>> from flambeau_vision.models import quantization
            >>> network = quantization.shufflenet_v2_x0_5().eval()
            >>> network.fuse_model()
            >>> network.conv1[1]
            Identity()
        """
        if is_qat:
            raise RuntimeError("fuse_model(is_qat=True) prepares training in 8 bits, for which flambeau has no kernels")
        for module in list(self.modules()):
            _fold_normalizations(module)


def _fold_normalizations(module: nn.Module) -> None:
    for (name, layer), (following, norm) in pairwise(list(module.named_children())):
        if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
            setattr(module, name, fuse_conv_bn_eval(layer, norm))
            setattr(module, following, nn.Identity())


class QuantizableGoogLeNet(_Fusible, models.GoogLeNet):
    """`GoogLeNet` with `fuse_model`."""


class QuantizableInception3(_Fusible, models.Inception3):
    """`Inception3` with `fuse_model`."""


class QuantizableMobileNetV2(_Fusible, models.MobileNetV2):
    """`MobileNetV2` with `fuse_model`."""


class QuantizableMobileNetV3(_Fusible, models.MobileNetV3):
    """`MobileNetV3` with `fuse_model`."""


class QuantizableResNet(_Fusible, models.ResNet):
    """`ResNet` with `fuse_model`."""


class QuantizableShuffleNetV2(_Fusible, models.ShuffleNetV2):
    """`ShuffleNetV2` with `fuse_model`."""


def _weights(file: str, unquantized: WeightsEnum, crop_size: int = 224, resize_size: int = 256) -> Weights:
    """Return 8-bit weights, quantized from `unquantized` and published as `file.pth`."""
    meta = {
        "categories": CategoriesInFile("imagenet_categories.txt", 1000),
        "num_params": unquantized.meta["num_params"],
        "backend": "qnnpack" if "qnnpack" in file else "fbgemm",
        "unquantized": unquantized,
    }
    prepare = partial(ImageClassification, crop_size=crop_size, resize_size=resize_size)
    return Weights(f"{SITE}quantized/{file}.pth", prepare, meta)


class GoogLeNet_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("googlenet_fbgemm-c81f6644", models.GoogLeNet_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_FBGEMM_V1


class Inception_V3_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("inception_v3_google_fbgemm-a2837893", models.Inception_V3_Weights.IMAGENET1K_V1, 299, 342)
    DEFAULT = IMAGENET1K_FBGEMM_V1


class MobileNet_V2_QuantizedWeights(WeightsEnum):
    IMAGENET1K_QNNPACK_V1 = _weights("mobilenet_v2_qnnpack_37f702c5", models.MobileNet_V2_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_QNNPACK_V1


class MobileNet_V3_Large_QuantizedWeights(WeightsEnum):
    IMAGENET1K_QNNPACK_V1 = _weights("mobilenet_v3_large_qnnpack-5bcacf28", models.MobileNet_V3_Large_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_QNNPACK_V1


class ResNet18_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("resnet18_fbgemm_16fa66dd", models.ResNet18_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_FBGEMM_V1


class ResNet50_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("resnet50_fbgemm_bf931d71", models.ResNet50_Weights.IMAGENET1K_V1)
    IMAGENET1K_FBGEMM_V2 = _weights("resnet50_fbgemm-23753f79", models.ResNet50_Weights.IMAGENET1K_V2, resize_size=232)
    DEFAULT = IMAGENET1K_FBGEMM_V2


class ResNeXt101_32X8D_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("resnext101_32x8_fbgemm_09835ccf", models.ResNeXt101_32X8D_Weights.IMAGENET1K_V1)
    IMAGENET1K_FBGEMM_V2 = _weights(
        "resnext101_32x8_fbgemm-ee16d00c", models.ResNeXt101_32X8D_Weights.IMAGENET1K_V2, resize_size=232
    )
    DEFAULT = IMAGENET1K_FBGEMM_V2


class ResNeXt101_64X4D_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights(
        "resnext101_64x4d_fbgemm-605a1cb3", models.ResNeXt101_64X4D_Weights.IMAGENET1K_V1, resize_size=232
    )
    DEFAULT = IMAGENET1K_FBGEMM_V1


class ShuffleNet_V2_X0_5_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("shufflenetv2_x0.5_fbgemm-00845098", models.ShuffleNet_V2_X0_5_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_FBGEMM_V1


class ShuffleNet_V2_X1_0_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights("shufflenetv2_x1_fbgemm-1e62bb32", models.ShuffleNet_V2_X1_0_Weights.IMAGENET1K_V1)
    DEFAULT = IMAGENET1K_FBGEMM_V1


class ShuffleNet_V2_X1_5_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights(
        "shufflenetv2_x1_5_fbgemm-d7401f05", models.ShuffleNet_V2_X1_5_Weights.IMAGENET1K_V1, resize_size=232
    )
    DEFAULT = IMAGENET1K_FBGEMM_V1


class ShuffleNet_V2_X2_0_QuantizedWeights(WeightsEnum):
    IMAGENET1K_FBGEMM_V1 = _weights(
        "shufflenetv2_x2_0_fbgemm-5cac526c", models.ShuffleNet_V2_X2_0_Weights.IMAGENET1K_V1, resize_size=232
    )
    DEFAULT = IMAGENET1K_FBGEMM_V1


_QUANTIZABLE_CLASSES = {
    kind.__bases__[1]: kind for kind in _Fusible.__subclasses__()
}  # maps each model class to its subclass with `fuse_model`


def _quantizable_builder(build: Callable[..., nn.Module], weights_class: type[WeightsEnum]) -> Callable[..., nn.Module]:
    """Wrap a builder of a floating-point model so that it returns the subclass with `fuse_model` and rejects 8-bit weights."""

    def builder(*, weights: Any, progress: bool, quantize: bool = False, **kwargs: Any) -> nn.Module:
        if quantize:
            raise RuntimeError(f"{build.__name__}(quantize=True) needs PyTorch's 8-bit kernels, which flambeau does not have")
        if isinstance(weights, weights_class):
            raise RuntimeError(f"{weights} are 8-bit weights; load {weights.meta['unquantized']} instead")
        model = build(weights=weights, progress=progress, **kwargs)
        model.__class__ = _QUANTIZABLE_CLASSES[type(model)]  # allowed, since the subclass adds only a method
        return model

    builder.__name__ = builder.__qualname__ = build.__name__
    builder.__doc__ = (
        f"Build `flambeau_vision.models.{build.__name__}` with `fuse_model`. `quantize=True` raises an error; "
        "`weights` must be floating-point weights."
    )
    unquantized = type(weights_class["DEFAULT"].meta["unquantized"])
    return register_model(weights_class, loads_weights=True, name=f"quantized_{build.__name__}", other=unquantized)(builder)


googlenet = _quantizable_builder(models.googlenet, GoogLeNet_QuantizedWeights)
inception_v3 = _quantizable_builder(models.inception_v3, Inception_V3_QuantizedWeights)
mobilenet_v2 = _quantizable_builder(models.mobilenet_v2, MobileNet_V2_QuantizedWeights)
mobilenet_v3_large = _quantizable_builder(models.mobilenet_v3_large, MobileNet_V3_Large_QuantizedWeights)
resnet18 = _quantizable_builder(models.resnet18, ResNet18_QuantizedWeights)
resnet50 = _quantizable_builder(models.resnet50, ResNet50_QuantizedWeights)
resnext101_32x8d = _quantizable_builder(models.resnext101_32x8d, ResNeXt101_32X8D_QuantizedWeights)
resnext101_64x4d = _quantizable_builder(models.resnext101_64x4d, ResNeXt101_64X4D_QuantizedWeights)
shufflenet_v2_x0_5 = _quantizable_builder(models.shufflenet_v2_x0_5, ShuffleNet_V2_X0_5_QuantizedWeights)
shufflenet_v2_x1_0 = _quantizable_builder(models.shufflenet_v2_x1_0, ShuffleNet_V2_X1_0_QuantizedWeights)
shufflenet_v2_x1_5 = _quantizable_builder(models.shufflenet_v2_x1_5, ShuffleNet_V2_X1_5_QuantizedWeights)
shufflenet_v2_x2_0 = _quantizable_builder(models.shufflenet_v2_x2_0, ShuffleNet_V2_X2_0_QuantizedWeights)
