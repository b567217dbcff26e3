"""Linear layers with int8 weights, which quantize their inputs when they are called."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch
from flambeau import Tensor

from ....nn.modules.module import Module

__all__ = ["Linear"]

_INPUT_MAX = 127  # largest quantized input: 7 bits, so that PyTorch's sums of two products fit in 16 bits
_SMALL_SCALE = 6.1e-5  # smaller scales are enlarged


class Linear(Module):
    """`torch.nn.Linear` with a weight of int8; made by `torch.ao.quantization.quantize_dynamic`.

    A call quantizes the input to 7 bits, with a scale and a zero for the entire tensor, multiplies integers exactly, and returns
    the product in float32.  Load another weight with `load_state_dict`: the sums of its rows are computed once.

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the output.
        bias_: whether to add a bias.
    """

    def __init__(self, in_features: int, out_features: int, bias_: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.register_buffer("quantized_weight", torch.zeros(out_features, in_features, dtype=torch.int8))
        self.register_buffer("weight_scale", torch.ones(()))
        self.register_buffer("bias", torch.zeros(out_features) if bias_ else None)
        self.register_buffer("_row_sums", torch.zeros(out_features, dtype=torch.int32), persistent=False)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """Return the quantized layer of a `torch.nn.Linear`.  Its weight has one scale: `max(abs(weight)) / 127.5`.

        An attribute `qconfig` with another observer of weights, which computes one symmetric scale, replaces this choice.
        """
        return cls.from_parameters(mod.weight, mod.bias, getattr(mod, "qconfig", None))

    @classmethod
    def from_parameters(cls, weight: Tensor, bias: Tensor | None, qconfig: Any = None) -> Linear:
        """Return the quantized layer of a weight `(out_features, in_features)` and a bias; `qconfig` is that of `from_float`."""
        observer = (qconfig or torch.ao.quantization.default_dynamic_qconfig).weight()
        if observer.dtype is not torch.qint8 or observer.qscheme is not torch.per_tensor_symmetric:
            raise NotImplementedError(
                "quantize_dynamic supports weights of qint8 with one symmetric scale, but the observer's dtype is "
                f"{observer.dtype} and its scheme {observer.qscheme}"
            )
        with torch.no_grad():
            weight = weight.float()
            observer(weight)
            scale = observer.calculate_qparams()[0].float().reshape(())
            layer = cls(weight.shape[1], weight.shape[0], bias is not None)
            layer.quantized_weight = (weight * (1 / scale)).round().clamp(-128, 127).to(torch.int8)
            layer.weight_scale = scale
            layer.bias = None if bias is None else bias.detach().float()
            layer._sum_rows()
        return layer

    def _sum_rows(self) -> None:
        self._row_sums = self.quantized_weight.sum(1, dtype=torch.int32)

    def _load_from_state_dict(self, *args: Any) -> None:
        super()._load_from_state_dict(*args)
        self._sum_rows()

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype is not torch.float32:
            raise RuntimeError(f"expected scalar type Float but found {x.dtype}")
        if x.ndim < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        rows = x.reshape(-1, self.in_features)
        scale, zero = _input_parameters(rows)
        numbers = ((rows * (1 / scale)).round() + zero).clamp(0, 2 * _INPUT_MAX + 1)
        # Numbers up to 255 occur only where rounding exceeds the range; less 128, they are int8.
        product = torch._int_mm((numbers - 128).to(torch.int8), self.quantized_weight.t())
        product = product - (zero - 128) * self._row_sums
        output: Tensor = product.float() * (scale * self.weight_scale)
        output = output if self.bias is None else output + self.bias
        return output.reshape(*x.shape[:-1], self.out_features)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype=torch.qint8"


def _input_parameters(x: Tensor) -> tuple[Tensor, int]:
    """Return the scale and the zero with which 0 is represented exactly, and the range of `x` by the numbers from 0 to 127."""
    smallest, largest = (float(bound) for bound in x.aminmax()) if x.numel() else (0.0, 0.0)
    smallest, largest = min(smallest, 0.0), max(largest, 0.0)
    scale = (largest - smallest) / _INPUT_MAX
    if not scale or math.isinf(1 / scale):
        scale = 0.1
    if scale < _SMALL_SCALE:
        smallest, largest = _enlarged(smallest, largest, scale)
        scale = _SMALL_SCALE
    from_smallest, from_largest = -smallest / scale, _INPUT_MAX - largest / scale
    has_smaller_error = abs(smallest / scale) < _INPUT_MAX + abs(largest / scale)
    zero = from_smallest if has_smaller_error else from_largest
    return torch.tensor(scale, dtype=torch.float32), min(max(round(zero), 0), _INPUT_MAX)


def _enlarged(smallest: float, largest: float, scale: float) -> tuple[float, float]:
    """Return the range for `_SMALL_SCALE`, enlarged on the side that is not zero, or on both in proportion."""
    if smallest == 0.0:
        return smallest, _SMALL_SCALE * _INPUT_MAX
    if largest == 0.0:
        return -_SMALL_SCALE * _INPUT_MAX, largest
    return smallest * _SMALL_SCALE / scale, largest * _SMALL_SCALE / scale
