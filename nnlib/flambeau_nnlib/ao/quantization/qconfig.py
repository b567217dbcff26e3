"""Quantization configurations of layers: the observers or fake quantizations of activations and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...nn.modules.module import Module
from .fake_quantize import default_fake_quant, default_per_channel_weight_fake_quant, default_weight_fake_quant
from .observer import (
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig", "default_dynamic_qconfig", "default_per_channel_qat_qconfig", "default_per_channel_qconfig",
    "default_qat_qconfig", "default_qconfig",
]  # fmt: skip


class _Fields(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Fields):
    """Constructors of the observers or fake quantizations of a layer's output and weight.

    Args:
        activation: constructor for the layer's output.
        weight: constructor for the layer's weight.

    Raises:
        ValueError: an argument is a module instead of a constructor. Layers would share the module.

    Example:
        >>> from flambeau.ao.quantization import MinMaxObserver, QConfig
        >>> config = QConfig(activation=MinMaxObserver.with_args(reduce_range=False), weight=MinMaxObserver)
        >>> type(config.weight()).__name__
        'MinMaxObserver'
    """

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_per_channel_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_per_channel_weight_fake_quant)
