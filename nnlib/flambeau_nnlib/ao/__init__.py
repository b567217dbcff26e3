"""Optimization of models: `torch.ao`. It contains `nn`, `ns`, `pruning` and `quantization`."""

from . import nn, ns, pruning, quantization

__all__ = ["nn", "ns", "pruning", "quantization"]
