"""Optimization of models: `torch.ao`. It contains `nn` and `quantization`."""

from . import nn, quantization

__all__ = ["nn", "quantization"]
