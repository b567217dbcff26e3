"""What makes networks smaller: `torch.ao`."""

from . import quantization

__all__ = ["quantization"]
