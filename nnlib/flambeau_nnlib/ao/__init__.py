"""Optimization of models: `torch.ao`. It contains `quantization`."""

from . import quantization

__all__ = ["quantization"]
