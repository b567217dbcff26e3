"""Fake quantization: round numbers to a grid of integers times a scale, to train quantized networks (Jacob et al. 2018)."""

from __future__ import annotations

from typing import Any

from ..engine.calls.facts import Kind
from ..engine.calls.op import composite, op
from ..engine.tape.grad_mode import no_grad
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .creation.from_data import tensor
from .views.views import wrap_dim

__all__: list[str] = []

# Return `steps * scale`.  The gradient of `input` is `g` where `inside` is true, else 0 (Bengio et al. 2013).
_dequantized = op(
    "fake_quantized", lambda xp, input, steps, scale, inside: steps * scale,
    kind=Kind.POINTWISE, keeps_dtype=("inside",), public=False, method=False,
    out=False,
    input=lambda F, g, inside, input: F.masked(g, inside, input),
)  # fmt: skip


def _fake_quantized(name: str, input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
    if input.dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy_name}'")
    wide = input.float() if input.dtype in dtypes.HALF else input
    with no_grad():
        inverse, scale, zero_point = (number.to(wide.dtype) for number in (1 / scale, scale, zero_point))
        places = (wide * inverse).round() + zero_point
        inside = (places >= quant_min) & (places <= quant_max)
        steps = places.fmax(places.new_tensor(quant_min)).clamp(max=quant_max) - zero_point  # `fmax` replaces NaN by `quant_min`
    return _dequantized(wide, steps, scale, inside).to(input.dtype)


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


@composite(
    method=False,
    grad_fn="FakeQuantizePerTensorAffineCachemaskBackward0",
    kind=Kind.POINTWISE,
    schema=(
        "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor",
        "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
        "int quant_max) -> Tensor",
    ),
)
def fake_quantize_per_tensor_affine(input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    """`(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.

    The gradient passes unchanged where the rounded number was within the range, and is 0 elsewhere.

    Args:
        input: floating-point numbers of any shape.
        scale, zero_point: two numbers, or two tensors of one element each.
        quant_min, quant_max: the least and the greatest of the integers.

    Raises:
        RuntimeError: `quant_min` is above `quant_max`, or a `zero_point` given as a number is not between them.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([-1.0, 0.13, 9.0]), 0.1, 0, 0, 15)
    tensor([0.0000, 0.1000, 1.5000])
    """
    if isinstance(scale, Tensor) is not isinstance(zero_point, Tensor):
        raise TypeError(
            "fake_quantize_per_tensor_affine() received an invalid combination of arguments - got "
            f"(Tensor, {type(scale).__name__}, {type(zero_point).__name__}, int, int), but expected one of: "
            "two numbers or two tensors as scale and zero_point"
        )
    _check_range(quant_min, quant_max)
    if not isinstance(scale, Tensor):
        if not quant_min <= zero_point <= quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
        scale, zero_point = (tensor(number, dtype=dtypes.float32, device=input.device) for number in (scale, zero_point))
    for number in (scale, zero_point):
        if number.numel() != 1:
            raise RuntimeError(f"a Tensor with {number.numel()} elements cannot be converted to Scalar")
    name = "fake_quantize_tensor_cachemask_kernel_type_handling"
    return _fake_quantized(name, input, scale.reshape(()).float(), zero_point.reshape(()), quant_min, quant_max)


@composite(method=False, grad_fn="FakeQuantizePerChannelAffineCachemaskBackward0", kind=Kind.POINTWISE)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each slice of dimension `axis`.

    Args:
        input: floating-point numbers of any shape.
        scale, zero_point: vectors of length `input.shape[axis]`; scale float32 or bfloat16, zero_point int32, float32 or float16.
        axis: the channel dimension, not negative.
        quant_min, quant_max: the least and the greatest of the integers.

    Raises:
        RuntimeError: the shapes or dtypes are wrong, or an int32 zero point is out of range.

    >>> x, zero = torch.tensor([[0.13, 9.0], [0.13, 9.0]]), torch.zeros(2, dtype=torch.int32)
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 1.0]), zero, 0, 0, 15)
    tensor([[0.1000, 1.5000],
            [0.0000, 9.0000]])
    """
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.legacy_name}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy_name}")
    for argument, vector in (("scale", scale), ("zero point", zero_point)):
        if vector.ndim != 1:
            raise RuntimeError(f"{argument} should be a 1-D tensor")
    if scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if len(scale) != input.shape[wrap_dim(axis, input.ndim)]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    _check_range(quant_min, quant_max)
    if zero_point.dtype is dtypes.int32 and bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    across = [-1 if dim == axis else 1 for dim in range(input.ndim)]
    name = "fake_quantize_channel_cachemask_cpu_type_handling"
    return _fake_quantized(name, input, scale.float().reshape(across), zero_point.reshape(across), quant_min, quant_max)
