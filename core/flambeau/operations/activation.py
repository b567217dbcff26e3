"""Activations: the nonlinear functions between layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..calls.arguments import as_float, as_number
from ..calls.dispatch import require_dtype, require_flags
from ..calls.inplace import in_place
from ..calls.node_names import gathered
from ..calls.op import composite, op
from ..calls.tables import PUBLIC
from ..calls.wrappers import with_out
from ..tensors.tensor import Tensor
from ..values import dtypes
from ..values.scalars import converted
from .conversion import in_format_of
from .creation import tensor
from .error_function import erf_forward
from .formula import formula
from .pointwise import relu, sigmoid

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardsigmoid_", "hardswish", "hardswish_",
    "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "mish_", "prelu", "relu6", "relu6_", "relu_", "rrelu",
    "rrelu_",
    "selu", "selu_", "silu", "silu_", "softplus", "softshrink", "threshold", "threshold_",
]  # fmt: skip


def _activation(
    name: str, forward: Any, rule: Any, backward_name: str | None = None, promote: str = "accumulate", accepts: str = "floating"
) -> Callable[..., Tensor]:
    return op(
        name,
        forward,
        promote=promote,
        dtypes=accepts,
        public=False,
        method=False,
        out=False,
        input=rule,
        **({"backward_name": backward_name} if backward_name else {}),
    )


def _needs_floats(name: str, input: Tensor) -> None:
    if input._key.dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy_name}'")


def _zero(xp: Any, input: Any) -> Any:
    return xp.zeros((), dtype=input.dtype)


# --- rectifiers ---------------------------------------------------------------------------------------------------

relu_ = in_place("relu", relu)
relu_.__name__ = "relu_"
PUBLIC["relu_"] = relu_

_leaky_relu = _activation(
    "leaky_relu", lambda xp, input, /, negative_slope: xp.where(input > 0, input, input * negative_slope),
    lambda F, g, input, negative_slope: F.leaky_relu_backward(g, input, negative_slope),
)  # fmt: skip
op(
    "leaky_relu_backward", lambda xp, input, of, /, negative_slope: xp.where(of > 0, input, input * negative_slope),
    promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, of, negative_slope: F.leaky_relu_backward(g, of, negative_slope),
    of=lambda F, g, of_shape: F.zeros_of(g, of_shape),
)  # fmt: skip


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """The element where it is positive, else `negative_slope` times it."""
    _needs_floats("leaky_relu_cpu", input)
    return _leaky_relu(input, as_number("leaky_relu", "negative_slope", negative_slope))


leaky_relu_ = in_place("leaky_relu", leaky_relu)

_prelu = op(
    "prelu_kernel", lambda xp, input, weight: xp.where(input > 0, input, weight * input),
    promote="same", dtypes="floating", public=False, method=False, out=False,
    input=lambda F, g, input, weight: F.masked(g, input > 0, input) + F.masked(g * weight, input <= 0),
    weight=lambda F, g, input: F.masked(g * input, input <= 0),
)  # fmt: skip


@composite
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The element where it is positive, else `weight` times it: one weight, or one for each channel (dimension 1)."""
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.numel() != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    shape = (1, -1, *(1,) * (input.ndim - 2)) if input.ndim > 1 else (1,) * input.ndim
    return _prelu(input, weight if input.ndim == weight.ndim == 1 else weight.reshape(shape))


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """Leaky ReLU with, while training, a random slope for each element, even between `lower` and `upper`."""
    require_flags("rrelu", training=training)
    lower, upper = as_float("rrelu", "lower", lower), as_float("rrelu", "upper", upper)
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got lower={lower}, upper={upper}")
    require_dtype("rrelu_with_noise_out_cpu", input, "floating")
    if not training:
        return gathered(leaky_relu(input, (lower + upper) / 2), "RreluWithNoiseBackward0", (input,))
    drawn = input.detach().new_ones(input.shape)
    negative = input.detach() <= 0
    count = int(negative.sum())
    computed_in = dtypes.float64 if input.dtype is dtypes.float64 else dtypes.float32
    lower, upper = tensor((lower, upper), dtype=computed_in).tolist()
    slopes = drawn.new_empty(count, dtype=dtypes.float64).uniform_(lower, upper, generator=generator)
    drawn[negative] = slopes.to(drawn.dtype)
    return _scaled_where_drawn(input, drawn)


_scaled_where_drawn = op(
    "rrelu_with_noise", lambda xp, input, noise: input * noise, public=False, method=False, out=False,
    input=lambda F, g, input, noise: F.tied(g * noise, input),
)  # fmt: skip


# --- exponential units --------------------------------------------------------------------------------------------


def _elu_forward(xp: Any, input: Any, /, alpha: float, scale: float, input_scale: float) -> Any:
    negative = xp.minimum(input, _zero(xp, input))
    return xp.where(input > 0, input * scale, xp.expm1(negative * input_scale) * (alpha * scale))


def _elu_grad(F: Any, g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    slope = F.exp(F.masked(input, input < 0) * input_scale) * (alpha * scale * input_scale)
    return F.where(input > 0, g * scale, g * slope)


_elu = _activation("elu", _elu_forward, _elu_grad)
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where positive, else `alpha * (exp(x) - 1)` (Clevert et al. 2015, "Fast and accurate deep network learning")."""
    _needs_floats("elu_cpu", input)
    return _elu(input, as_number("elu", "alpha", alpha), 1.0, 1.0)


@composite(method=False)
def selu(input: Tensor) -> Tensor:
    """A scaled ELU that keeps mean 0 and variance 1 (Klambauer et al. 2017, "Self-normalizing neural networks")."""
    _needs_floats("elu_cpu", input)
    return _elu(input, _SELU_ALPHA, _SELU_SCALE, 1.0)


@composite(method=False, grad_fn="CeluBackward0")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)` (Barron 2017, "Continuously differentiable ELUs")."""
    alpha = as_number("celu", "alpha", alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _needs_floats("elu_cpu", input)
    return _elu(input, alpha, 1.0, 1.0 / alpha)


# --- piecewise linear ---------------------------------------------------------------------------------------------

_hardtanh = _activation(
    "hardtanh", lambda xp, input, /, low, high: xp.clip(input, low, high),
    lambda F, g, input, low, high: F.masked(g, (input > low) & (input < high), input), promote="same", accepts="real numbers",
)  # fmt: skip


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """The element brought into `[min_val, max_val]`."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    min_val, max_val = as_number("hardtanh", "min_val", min_val), as_number("hardtanh", "max_val", max_val)
    if input.dtype.category == dtypes.INTEGER:
        min_val, max_val = int(min_val), int(max_val)
        if min_val < 0 and input.dtype is dtypes.uint8:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _hardtanh(input, min_val, max_val)


def relu6(input: Tensor) -> Tensor:
    """The element brought into `[0, 6]`."""
    return hardtanh(input, 0, 6)


_hardsigmoid = _activation(
    "hardsigmoid", lambda xp, input: xp.clip(input / 6 + 0.5, 0.0, 1.0),
    lambda F, g, input: F.masked(g / 6, (input > -3) & (input < 3), input),
)  # fmt: skip
_hardswish = _activation(
    "hardswish", lambda xp, input: input * xp.clip(input + 3.0, 0.0, 6.0) / 6,
    lambda F, g, input: g * F.where(input <= -3, 0.0, F.where(input < 3, input / 3 + 0.5, 1.0)),
)  # fmt: skip


def hardsigmoid(input: Tensor) -> Tensor:
    """`x / 6 + 1 / 2`, brought into `[0, 1]`."""
    _needs_floats("hardsigmoid", input)
    return _hardsigmoid(input)


def hardswish(input: Tensor) -> Tensor:
    """`x * hardsigmoid(x)` (Howard et al. 2019, "Searching for MobileNetV3")."""
    _needs_floats("hardswish", input)
    return _hardswish(input)


_threshold = _activation(
    "threshold", lambda xp, input, /, threshold, value: xp.where(input <= threshold, xp.asarray(value, dtype=input.dtype), input),
    lambda F, g, input, threshold: F.masked(g, ~(input <= threshold), input), promote="same", accepts="real numbers",
)  # fmt: skip


@composite(method=False, out=True)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """The element where it is above `threshold`, else `value`."""
    return _threshold(input, threshold, converted(value, input.dtype))


_hardshrink = _activation(
    "hard_shrink", lambda xp, input, /, lambd: xp.where((input >= -lambd) & (input <= lambd), _zero(xp, input), input),
    lambda F, g, input, lambd: F.masked(g, (input < -lambd) | (input > lambd), input), "HardshrinkBackward0", "same",
)  # fmt: skip
_softshrink = _activation(
    "softshrink", lambda xp, input, /, lambd: input - xp.clip(input, -lambd, lambd),
    lambda F, g, input, lambd: F.masked(g, (input < -lambd) | (input > lambd), input),
)  # fmt: skip


@composite(out=True)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The element where it is farther than `lambd` from 0, else 0."""
    return _hardshrink(input, lambd)


@with_out
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The element brought nearer to 0 by `lambd`, or to 0."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


# --- smooth units -------------------------------------------------------------------------------------------------


@formula
def silu_backward(F: Any, g: Any, input: Any) -> Any:
    gate = F.sigmoid(input)
    return g * (gate * (1 + input * (1 - gate)))


_silu = _activation(
    "silu",
    lambda xp, input: input * (0.5 * xp.tanh(0.5 * input) + 0.5),
    lambda F, g, input: silu_backward(F, g, input),
    accepts="inexact",
)


def silu(input: Tensor) -> Tensor:
    """`x * sigmoid(x)` (Hendrycks & Gimpel 2016, "Gaussian error linear units"; also known as swish)."""
    return _silu(input)


def _softplus_of(xp: Any, input: Any) -> Any:
    """`log(1 + exp(x))` without overflow."""
    return xp.maximum(input, _zero(xp, input)) + xp.log1p(xp.exp(-xp.abs(input)))


def _mish_grad(F: Any, g: Any, input: Any) -> Any:
    bent = F.tanh(F.softplus(input, 1.0, 20.0))
    return g * (bent + input * F.sigmoid(input) * (1 - bent * bent))


_mish = _activation("mish", lambda xp, input: input * xp.tanh(_softplus_of(xp, input)), _mish_grad)


def mish(input: Tensor) -> Tensor:
    """`x * tanh(softplus(x))` (Misra 2019, "Mish: a self regularized non-monotonic neural activation function")."""
    _needs_floats("mish_cpu", input)
    return _mish(input)


_softplus = _activation(
    "softplus",
    lambda xp, input, /, beta, threshold: xp.where(input * beta > threshold, input, _softplus_of(xp, input * beta) / beta),
    lambda F, g, input, beta, threshold: F.where(input * beta > threshold, g, g * F.sigmoid(input * beta)),
)  # fmt: skip
_logsigmoid = _activation("log_sigmoid", lambda xp, input: -_softplus_of(xp, -input), lambda F, g, input: g * F.sigmoid(-input))


@with_out
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; the element itself where `beta * x` is above `threshold`."""
    _needs_floats("softplus_cpu", input)
    return _softplus(input, beta, threshold)


@with_out
def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid, without underflow."""
    _needs_floats("log_sigmoid_cpu", input)
    return _logsigmoid(input.contiguous())


# --- GELU ---------------------------------------------------------------------------------------------------------


def _gelu_forward(xp: Any, input: Any) -> Any:
    return 0.5 * input * (1 + erf_forward(xp, input * math.sqrt(0.5)))


@formula
def gelu_backward(F: Any, g: Any, input: Any) -> Any:
    below = 0.5 * (1 + F.erf(input * math.sqrt(0.5)))  # how much of the normal distribution lies below
    density = F.exp(-0.5 * input * input) / math.sqrt(2 * math.pi)
    return g * (below + input * density)


_TANH_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh_forward(xp: Any, input: Any) -> Any:
    return 0.5 * input * (1 + xp.tanh(_TANH_SCALE * (input + _CUBE * input * input * input)))


@formula
def gelu_tanh_backward(F: Any, g: Any, input: Any) -> Any:
    bent = F.tanh(_TANH_SCALE * (input + _CUBE * input * input * input))
    slope = _TANH_SCALE * (1 + 3 * _CUBE * input * input)
    return g * (0.5 * (1 + bent) + 0.5 * input * (1 - bent * bent) * slope)


_gelu = _activation("gelu", _gelu_forward, lambda F, g, input: gelu_backward(F, g, input))
_gelu_tanh = _activation("gelu_tanh", _gelu_tanh_forward, lambda F, g, input: gelu_tanh_backward(F, g, input), "GeluBackward0")


@with_out
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution up to `x` (Hendrycks & Gimpel 2016, "Gaussian error linear units").

    `approximate="tanh"` takes the paper's approximation of the distribution by a tanh.

    >>> import flambeau as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    _needs_floats("GeluKernelImpl", input)
    if approximate == "none":
        return _gelu(input)
    if approximate == "tanh":
        return _gelu_tanh(input)
    raise RuntimeError("approximate argument must be either none or tanh.")


# --- gates --------------------------------------------------------------------------------------------------------


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half of `dim` times the sigmoid of the other (Dauphin et al. 2017, "Language modeling with gated CNNs")."""
    from .views import wrap_dim

    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    length = input.shape[wrap_dim(dim, input.ndim)]
    if length % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {wrap_dim(dim, input.ndim)} is size {length}")
    _needs_floats("glu_cpu", input)
    value, gate = input.chunk(2, dim)
    return gathered(in_format_of(value * sigmoid(gate), input), "GluBackward0", (input,))


# --- in place -----------------------------------------------------------------------------------------------------

celu_, elu_, selu_ = in_place("celu", celu), in_place("elu", elu), in_place("selu", selu)
hardtanh_, relu6_, threshold_ = in_place("hardtanh", hardtanh), in_place("relu6", relu6), in_place("threshold", threshold)
hardsigmoid_, hardswish_ = in_place("hardsigmoid", hardsigmoid), in_place("hardswish", hardswish)
silu_, mish_, rrelu_ = in_place("silu", silu), in_place("mish", mish), in_place("rrelu", rrelu)
for _function in (celu_, rrelu, rrelu_, selu_, threshold_):
    PUBLIC[_function.__name__] = _function
