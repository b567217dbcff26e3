"""Layers with quantized weights: `torch.ao.nn`."""

from . import quantized

__all__ = ["quantized"]
