"""Comparison of models before and after quantization: `torch.ao.ns`."""

from . import fx

__all__ = ["fx"]
