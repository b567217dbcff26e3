"""`torch.ao.quantization.fx._decomposed`: the functions behind `torch.ops.quantized_decomposed`, under PyTorch's name."""

from flambeau.library import Library

from ..decomposed import *  # noqa: F403
from ..decomposed import __all__ as _operators
from ..decomposed import _per_token_quant_qparam_dim_check

__all__ = [*_operators, "_per_token_quant_qparam_dim_check", "quantized_decomposed_lib"]

quantized_decomposed_lib = Library("quantized_decomposed", "FRAGMENT")
