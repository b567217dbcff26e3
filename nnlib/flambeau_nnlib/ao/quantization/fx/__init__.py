"""`torch.ao.quantization.fx`: the operators of quantized graphs, in `_decomposed`. Quantizing graphs is not supported."""

from . import _decomposed

__all__ = ["_decomposed"]
