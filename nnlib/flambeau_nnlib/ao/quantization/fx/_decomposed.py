"""`torch.ao.quantization.fx._decomposed`: the functions behind `torch.ops.quantized_decomposed`, under PyTorch's name."""

from flambeau.library import Library

from ..decomposed import *  # noqa: F403
from ..decomposed import __all__ as OPERATORS
from ..decomposed import check_numbers_of_rows

__all__ = [*OPERATORS, "_per_token_quant_qparam_dim_check", "quantized_decomposed_lib"]

_per_token_quant_qparam_dim_check = check_numbers_of_rows
quantized_decomposed_lib = Library("quantized_decomposed", "FRAGMENT")
