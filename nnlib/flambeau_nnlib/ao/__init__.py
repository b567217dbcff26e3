"""Optimization of models: `torch.ao`. It contains `nn`, `pruning` and `quantization`."""

from . import nn, pruning, quantization

__all__ = ["nn", "pruning", "quantization"]
