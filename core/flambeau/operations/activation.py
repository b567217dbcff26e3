"""Activations: the nonlinear functions between layers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..engine.calls.arguments import as_float, as_number
from ..engine.calls.dispatch import refusing, require_dtype, require_flags
from ..engine.calls.facts import Autocast, Kind, Overlap, declare
from ..engine.calls.inplace import in_place
from ..engine.calls.node_names import merge_nodes, with_grad_fn
from ..engine.calls.op import composite, formula, op
from ..engine.calls.record import Out
from ..engine.calls.tables import PUBLIC
from ..engine.calls.wrappers import with_out
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from ..engine.values.scalars import converted
from .conversion import in_format_of
from .creation.from_data import tensor
from .special.error_function import erf_forward

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardsigmoid_", "hardswish", "hardswish_",
    "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "mish_", "prelu", "relu6", "relu6_", "relu_", "rrelu",
    "rrelu_",
    "selu", "selu_", "silu", "silu_", "softplus", "softshrink", "threshold", "threshold_",
]  # fmt: skip


def _activation(
    name: str, forward: Any, rule: Any, grad_fn: str | None = None, promote: str = "accumulate", accepts: str = "floating",
    **facts: Any,
) -> Callable[..., Tensor]:  # fmt: skip
    return op(
        name,
        forward,
        kind=Kind.POINTWISE,
        promote=promote,
        dtypes=accepts,
        public=False,
        method=False,
        out=False,
        input=rule,
        **({"grad_fn": grad_fn} if grad_fn else {}),
        **facts,
    )


def _require_floating(name: str, input: Tensor) -> None:
    if input._key.dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.legacy_name}'")


def _zero(xp: Any, input: Any) -> Any:
    return xp.zeros((), dtype=input.dtype)


def _sigmoid_forward(xp: Any, input: Any) -> Any:
    if xp.isdtype(input.dtype, "complex floating"):
        return 1 / (1 + xp.exp(-input))
    small = xp.exp(-xp.abs(input))  # `exp` is computed only of numbers <= 0, so that it never overflows
    return xp.where(input < 0, small, 1.0) / (1 + small)


sigmoid = op(
    "sigmoid", _sigmoid_forward,
    kind=Kind.POINTWISE, rounds_once=True, promote="float_accumulate", inplace=True,
    doc="`1 / (1 + exp(-x))`.",
    input=lambda F, g, out: g * F.conj(out * (1 - out)),
)  # fmt: skip


@formula(kind=Kind.POINTWISE, rounds_once=True)
def relu_backward(F: Any, g: Any, out: Any) -> Any:
    return F.masked(g, ~(out <= 0), out)  # `~(out <= 0)` is also true for NaN, whose gradient PyTorch passes on


relu = op(
    "relu", lambda xp, input: xp.maximum(input, xp.zeros((), dtype=input.dtype)),
    kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True, inplace=True, out=False,
    dtypes="real numbers", check=refusing(dtypes.BOOL, "Boolean inputs not supported for relu"),
    doc="""Return the element where it is positive, else 0: the rectified linear unit.

    Args:
        input: a tensor of any shape.

    Example:
        >>> torch.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """,
    input=lambda F, g, out: relu_backward(F, g, out),
)  # fmt: skip


tanh = op(
    "tanh", lambda xp, input: xp.tanh(input),
    kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True, promote="float", inplace=True,
    doc="Return the hyperbolic tangent.",
    input=lambda F, g, out: g * F.conj(1 - out * out),
)  # fmt: skip


# --- rectifiers ---------------------------------------------------------------------------------------------------


def _in_place_form(name: str, function: Callable[..., Tensor], call: str) -> Callable[..., Tensor]:
    """Return the in-place form `name_` of `function`. Its docstring repeats the `Args:` section, with `call` as the example."""
    method = in_place(name, function)
    _, _, section = inspect.cleandoc(function.__doc__ or "").partition("Args:\n")
    arguments = [line for line in section.partition("\n\n")[0].splitlines() if not line.startswith("    out:")]
    method.__doc__ = "\n".join([
        f"In-place form of `{name}`: the result overwrites `input`, which is returned.", "",
        "Args:", *arguments, "",
        "Example:",
        "    >>> x = torch.tensor([-1.0, 2.0])",
        f"    >>> torch.nn.functional.{call} is x",
        "    True",
    ])  # fmt: skip
    return method


relu_: Callable[..., Tensor] = _in_place_form("relu", relu, "relu_(x)")
PUBLIC["relu_"] = relu_

_leaky_relu = _activation(
    "leaky_relu", lambda xp, input, /, negative_slope: xp.where(input > 0, input, input * negative_slope),
    lambda F, g, input, negative_slope: F.leaky_relu_backward(g, input, negative_slope),
)  # fmt: skip
op(
    "leaky_relu_backward", lambda xp, input, of, /, negative_slope: xp.where(of > 0, input, input * negative_slope),
    kind=Kind.POINTWISE,
    promote="accumulate", public=False, method=False, out=False,
    input=lambda F, g, of, negative_slope: F.leaky_relu_backward(g, of, negative_slope),
    of=lambda F, g, of_shape: F.zeros_of(g, of_shape),
)  # fmt: skip


@declare(kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True)
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`x` where it is positive, `negative_slope * x` elsewhere.

    Args:
        input: a tensor of any shape.
        negative_slope: the factor of negative elements.

    Example:
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    _require_floating("leaky_relu_cpu", input)
    return _leaky_relu(input, as_number("leaky_relu", "negative_slope", negative_slope))


leaky_relu_: Callable[..., Tensor] = _in_place_form("leaky_relu", leaky_relu, "leaky_relu_(x, 0.1)")


@formula
def prelu_backward(F: Any, g: Any, input: Any, weight: Any) -> Any:
    return F.masked(g, input > 0, input) + F.masked(g * weight, ~(input > 0))


_prelu = op(
    "prelu_kernel", lambda xp, input, weight: xp.where(input > 0, input, weight * input),
    kind=Kind.POINTWISE,
    promote="same", dtypes="floating", public=False, method=False, out=False, operator="_prelu_kernel",
    input=lambda F, g, input, weight: prelu_backward(F, g, input, weight),
    weight=lambda F, g, input: F.masked(g * input, ~(input > 0)),
)  # fmt: skip


@composite(kind=Kind.POINTWISE, autocast=Autocast.FAST, home="torch")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where it is positive, `weight * x` elsewhere: a leaky ReLU whose slope is learned; see `nn.PReLU`.

    He et al., *Delving deep into rectifiers*, 2015.

    Args:
        input: a tensor of any shape; dimension 1, if any, is the channel dimension.
        weight: the slopes: one element for all channels, or one for each channel.

    Raises:
        RuntimeError: the dtypes differ, or `weight` has neither 1 element nor one for each channel.

    Example:
        >>> F.prelu(torch.tensor([[-1.0, -1.0, 2.0]]), torch.tensor([0.1, 0.2, 0.3]))
        tensor([[-0.1000, -0.2000,  2.0000]])
    """
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


@declare(
    kind=Kind.POINTWISE,
    keeps_zero=True,
    random=True,
    schema=(
        "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? "
        "generator=None) -> Tensor"
    ),
)
@with_grad_fn("RreluWithNoiseBackward0")
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """Apply a leaky ReLU; while training, the slope of each element is drawn from U(lower, upper).

    Xu et al., *Empirical evaluation of rectified activations in convolutional network*, 2015.

    Args:
        input: a tensor of any shape.
        lower: the least slope.
        upper: the greatest slope.
        training: whether slopes are drawn; else all are the mean, `(lower + upper) / 2`.
        generator: the random number generator; None for the default generator of the device.

    Raises:
        RuntimeError: `lower` is above `upper`.

    Example:
        >>> torch.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
    require_flags("rrelu", training=training)
    lower, upper = as_float("rrelu", "lower", lower), as_float("rrelu", "upper", upper)
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got lower={lower}, upper={upper}")
    require_dtype("rrelu_with_noise_out_cpu", input, "floating")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    drawn = input.detach().new_ones(input.shape)
    negative = input.detach() <= 0
    count = int(negative.sum())
    computed_in = dtypes.float64 if input.dtype is dtypes.float64 else dtypes.float32
    lower, upper = tensor((lower, upper), dtype=computed_in).tolist()
    wide = dtypes.float64 if dtypes.float64 in drawn._key.backend.dtypes else computed_in
    slopes = drawn.new_empty(count, dtype=wide).uniform_(lower, upper, generator=generator)
    drawn[negative] = slopes.to(drawn.dtype)
    return _rrelu_with_noise(input.contiguous(), drawn)  # the result is row-major, as in PyTorch


_rrelu_with_noise = op(
    "rrelu_with_noise", lambda xp, input, noise: input * noise,
    kind=Kind.POINTWISE, public=False, method=False, out=False,
    input=lambda F, g, input, noise: F.tied(g * noise, input),
)  # fmt: skip


# --- exponential units --------------------------------------------------------------------------------------------


def _elu_forward(xp: Any, input: Any, /, alpha: float, scale: float, input_scale: float) -> Any:
    negative = xp.minimum(input, _zero(xp, input))
    return xp.where(input > 0, input * scale, xp.expm1(negative * input_scale) * (alpha * scale))


@formula(kind=Kind.POINTWISE, rounds_once=True)
def elu_backward(F: Any, g: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    slope = F.exp(F.masked(input, input < 0) * input_scale) * (alpha * scale * input_scale)
    return F.where(input <= 0, g * slope, g * scale)


_elu = _activation(
    "elu", _elu_forward,
    lambda F, g, input, alpha, scale, input_scale: elu_backward(F, g, input, alpha, scale, input_scale),
    dispatches=lambda *arguments: ("elu", *arguments),
)  # fmt: skip
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@declare(kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True)
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere.

    Clevert et al., *Fast and accurate deep network learning by exponential linear units*, 2015.

    Args:
        input: a tensor of any shape.
        alpha: the result tends to `-alpha` as `x` tends to minus infinity.

    Example:
        >>> F.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    _require_floating("elu_cpu", input)
    return _elu(input, as_number("elu", "alpha", alpha), 1.0, 1.0)


@composite(method=False, kind=Kind.POINTWISE, keeps_zero=True)
def selu(input: Tensor) -> Tensor:
    """Apply ELU with fixed constants, scaled so that mean 0 and variance 1 are preserved from layer to layer.

    Klambauer et al., *Self-normalizing neural networks*, 2017.

    Args:
        input: a tensor of any shape.

    Example:
        >>> torch.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    _require_floating("elu_cpu", input)
    return _elu(input, _SELU_ALPHA, _SELU_SCALE, 1.0)


@composite(method=False, grad_fn="CeluBackward0", kind=Kind.POINTWISE, keeps_zero=True)
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere: an ELU with a continuous derivative.

    Barron, *Continuously differentiable exponential linear units*, 2017.

    Args:
        input: a tensor of any shape.
        alpha: the result tends to `-alpha` as `x` tends to minus infinity; not 0.

    Example:
        >>> torch.celu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    alpha = as_number("celu", "alpha", alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _require_floating("elu_cpu", input)
    return _elu(input, alpha, 1.0, 1.0 / alpha)


# --- piecewise linear ---------------------------------------------------------------------------------------------


@formula
def inside_backward(F: Any, g: Any, input: Any, low: float, high: float) -> Any:
    """Return `g` where `low < input < high` or the input is NaN; 0 elsewhere."""
    return F.masked(g, ~((input <= low) | (input >= high)), input)


@formula
def outside_backward(F: Any, g: Any, input: Any, low: float, high: float) -> Any:
    """Return `g` where `input < low`, `input > high` or the input is NaN; 0 elsewhere."""
    return F.masked(g, ~((input >= low) & (input <= high)), input)


_hardtanh = _activation(
    "hardtanh", lambda xp, input, /, low, high: xp.clip(input, low, high),
    lambda F, g, input, low, high: inside_backward(F, g, input, low, high),
    promote="same", accepts="real numbers",
    dispatches=lambda input, low, high: ("hardtanh", input, low, high),
)  # fmt: skip


@declare(kind=Kind.POINTWISE)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Clamp each element to `[min_val, max_val]`.

    Args:
        input: a tensor of any shape.
        min_val: the least value of the result.
        max_val: the greatest value of the result.

    Raises:
        ValueError: `min_val` is above `max_val`.

    Example:
        >>> F.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
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


@declare(kind=Kind.POINTWISE, keeps_zero=True)
def relu6(input: Tensor) -> Tensor:
    """Clamp each element to `[0, 6]`."""
    return hardtanh(input, 0, 6)


@formula(kind=Kind.POINTWISE, rounds_once=True)
def hardsigmoid_backward(F: Any, g: Any, input: Any) -> Any:
    return F.masked(g / 6, (input > -3) & (input < 3), input)


@formula(kind=Kind.POINTWISE, rounds_once=True)
def hardswish_backward(F: Any, g: Any, input: Any) -> Any:
    return g * F.where(input <= -3, 0.0, F.where(input < 3, input / 3 + 0.5, 1.0))


_hardsigmoid = _activation(
    "hardsigmoid", lambda xp, input: xp.clip(input + 3.0, 0.0, 6.0) / 6, lambda F, g, input: hardsigmoid_backward(F, g, input)
)
_hardswish = _activation(
    "hardswish", lambda xp, input: input * xp.clip(input + 3.0, 0.0, 6.0) / 6, lambda F, g, input: hardswish_backward(F, g, input)
)


@declare(kind=Kind.POINTWISE, rounds_once=True)
def hardsigmoid(input: Tensor) -> Tensor:
    """`x / 6 + 1 / 2`, clamped to `[0, 1]`."""
    _require_floating("hardsigmoid", input)
    return _hardsigmoid(input)


@declare(kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True)
def hardswish(input: Tensor) -> Tensor:
    """`x * hardsigmoid(x)` (Howard et al. 2019, "Searching for MobileNetV3")."""
    _require_floating("hardswish", input)
    return _hardswish(input)


_threshold = _activation(
    "threshold", lambda xp, input, /, threshold, value: xp.where(input <= threshold, xp.asarray(value, dtype=input.dtype), input),
    lambda F, g, input, threshold: outside_backward(F, g, input, -math.inf, threshold), promote="same", accepts="real numbers",
)  # fmt: skip


@composite(method=False, out=Out.UNCHECKED, kind=Kind.POINTWISE, overlap=Overlap.ALLOWED)
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Keep the elements above `threshold`, and replace the others by `value`.

    Args:
        input: a tensor of any shape.
        threshold: the bound; an element equal to it is replaced.
        value: the replacement of the other elements.
        out: a tensor that the result is written to.

    Example:
        >>> torch.threshold(torch.tensor([0.0, 0.5]), 0.1, 20.0)
        tensor([20.0000,  0.5000])
    """
    return _threshold(input, threshold, converted(value, input.dtype))


_hardshrink = _activation(
    "hard_shrink", lambda xp, input, /, lambd: xp.where((input >= -lambd) & (input <= lambd), _zero(xp, input), input),
    lambda F, g, input, lambd: outside_backward(F, g, input, -lambd, lambd), "HardshrinkBackward0", "same",
    operator="hardshrink",
)  # fmt: skip
_softshrink = _activation(
    "softshrink", lambda xp, input, /, lambd: input - xp.clip(input, -lambd, lambd),
    lambda F, g, input, lambd: outside_backward(F, g, input, -lambd, lambd),
)  # fmt: skip


@composite(out=Out.OWN_DTYPE, kind=Kind.POINTWISE, keeps_zero=True, home="torch")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Keep the elements farther than `lambd` from 0, and set the others to 0; see `nn.Hardshrink`.

    Args:
        input: a tensor of any shape.
        lambd: the bound; an element at that distance from 0 becomes 0.
        out: a tensor that the result is written to.

    Example:
        >>> F.hardshrink(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-1.,  0.,  2.])
    """
    lambd = as_number("hardshrink", "lambd", lambd)
    return _hardshrink(input, _rounded(lambd, input.dtype) if input.dtype in dtypes.HALF else lambd)


@lru_cache(256)
def _rounded(value: float, dtype: dtypes.dtype) -> Any:
    """Return a number rounded to the dtype, as PyTorch rounds the bound of `hardshrink`."""
    return tensor(value, dtype=dtype, device="cpu").item()


@with_out(Out.OWN_DTYPE, kind=Kind.POINTWISE, keeps_zero=True, home="torch._C._nn")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Shrink each element towards 0 by `lambd`, but not across it; see `nn.Softshrink`.

    Args:
        input: a tensor of any shape.
        lambd: the distance by which elements are shrunk; not negative.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `lambd` is negative.

    Example:
        >>> F.softshrink(torch.tensor([-1.0, 0.3, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _softshrink(input, lambd)


# --- smooth units -------------------------------------------------------------------------------------------------


@formula(kind=Kind.POINTWISE, rounds_once=True)
def silu_backward(F: Any, g: Any, input: Any) -> Any:
    gate = F.sigmoid(input)
    return g * (gate * (1 + input * (1 - gate)))


_silu = _activation(
    "silu",
    lambda xp, input: input * (0.5 * xp.tanh(0.5 * input) + 0.5),
    lambda F, g, input: silu_backward(F, g, input),
    accepts="inexact",
)


@declare(kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True)
def silu(input: Tensor) -> Tensor:
    """`x * sigmoid(x)` (Hendrycks & Gimpel 2016, "Gaussian error linear units"; also known as swish)."""
    return _silu(input)


def _stable_softplus(xp: Any, input: Any) -> Any:
    """`log(1 + exp(x))` without overflow."""
    return xp.maximum(input, _zero(xp, input)) + xp.log1p(xp.exp(-xp.abs(input)))


@formula(kind=Kind.POINTWISE, rounds_once=True)
def mish_backward(F: Any, g: Any, input: Any) -> Any:
    bent = F.tanh(F.softplus(input, 1.0, 20.0))
    return g * (bent + input * F.sigmoid(input) * (1 - bent * bent))


_mish = _activation(
    "mish", lambda xp, input: input * xp.tanh(_stable_softplus(xp, input)), lambda F, g, input: mish_backward(F, g, input)
)


@declare(kind=Kind.POINTWISE, keeps_zero=True)
def mish(input: Tensor) -> Tensor:
    """`x * tanh(softplus(x))` (Misra 2019, "Mish: a self regularized non-monotonic neural activation function")."""
    _require_floating("mish_cpu", input)
    return _mish(input)


@formula(kind=Kind.POINTWISE, rounds_once=True)
def softplus_backward(F: Any, g: Any, input: Any, beta: float, threshold: float) -> Any:
    return F.where(input * beta > threshold, g, g * F.sigmoid(input * beta))


@formula(kind=Kind.POINTWISE, rounds_once=True)
def log_sigmoid_backward(F: Any, g: Any, input: Any) -> Any:
    return g * F.sigmoid(-input)


_softplus = _activation(
    "softplus",
    lambda xp, input, /, beta, threshold: xp.where(input * beta > threshold, input, _stable_softplus(xp, input * beta) / beta),
    lambda F, g, input, beta, threshold: softplus_backward(F, g, input, beta, threshold),
)  # fmt: skip
_logsigmoid = _activation(
    "log_sigmoid", lambda xp, input: xp.minimum(input, _zero(xp, input)) - xp.log1p(xp.exp(-xp.abs(input))),
    lambda F, g, input: log_sigmoid_backward(F, g, input),
)  # fmt: skip


@with_out(Out.OWN_DTYPE, kind=Kind.POINTWISE, rounds_once=True, autocast={"cuda": Autocast.FLOAT32}, home="torch._C._nn")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, a smooth approximation of ReLU; see `nn.Softplus`.

    Args:
        input: a tensor of any shape.
        beta: the sharpness of the bend at 0; the larger, the closer to ReLU.
        threshold: where `beta * x` is above this, the result is `x` itself, which differs only by rounding.
        out: a tensor that the result is written to.

    Example:
        >>> F.softplus(torch.tensor([0.0, 50.0]))
        tensor([ 0.6931, 50.0000])
    """
    _require_floating("softplus_cpu", input)
    return _softplus(input, beta, threshold)


@with_out(Out.OWN_DTYPE | Out.UNCHECKED, kind=Kind.POINTWISE, home="torch._C._nn")
def logsigmoid(input: Tensor) -> Tensor:
    """`log(1 / (1 + exp(-x)))`, without underflow; see `nn.LogSigmoid`.

    Args:
        input: a tensor of any shape.
        out: a tensor that the result is written to.

    Example:
        >>> F.logsigmoid(torch.tensor([0.0, -200.0]))
        tensor([  -0.6931, -200.0000])
    """
    _require_floating("log_sigmoid_cpu", input)
    return _logsigmoid(input.contiguous())


# --- GELU ---------------------------------------------------------------------------------------------------------


def _gelu_forward(xp: Any, input: Any) -> Any:
    return 0.5 * input * (1 + erf_forward(xp, input * math.sqrt(0.5)))


@formula(kind=Kind.POINTWISE, rounds_once=True)
def gelu_backward(F: Any, g: Any, input: Any) -> Any:
    below = 0.5 * (1 + F.erf(input * math.sqrt(0.5)))  # P(Z < input) for a standard normal Z
    density = F.exp(-0.5 * input * input) / math.sqrt(2 * math.pi)
    return g * (below + input * density)


_TANH_SCALE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _gelu_tanh_forward(xp: Any, input: Any) -> Any:
    return 0.5 * input * (1 + xp.tanh(_TANH_SCALE * (input + _CUBE * input * input * input)))


@formula(kind=Kind.POINTWISE, rounds_once=True)
def gelu_tanh_backward(F: Any, g: Any, input: Any) -> Any:
    bent = F.tanh(_TANH_SCALE * (input + _CUBE * input * input * input))
    slope = _TANH_SCALE * (1 + 3 * _CUBE * input * input)
    return g * (0.5 * (1 + bent) + 0.5 * input * (1 - bent * bent) * slope)


_gelu = _activation("gelu", _gelu_forward, lambda F, g, input: gelu_backward(F, g, input))
_gelu_tanh = _activation(
    "gelu_tanh",
    _gelu_tanh_forward,
    lambda F, g, input: gelu_tanh_backward(F, g, input),
    "GeluBackward0",
    rounds_once=True,
    dispatches=lambda input: ("gelu", input, {"approximate": "tanh"}),
)


@with_out(
    Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    rounds_once=True,
    schema='gelu(Tensor self, *, str approximate="none") -> Tensor',
    home="torch._C._nn",
)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the probability that a standard normal variable is below `x`; see `nn.GELU`.

    Hendrycks and Gimpel, *Gaussian error linear units (GELUs)*, 2016.

    Args:
        input: a tensor of any shape.
        approximate: "none", or "tanh" for the paper's approximation of the normal distribution by a tanh.
        out: a tensor that the result is written to.

    Example:
        >>> F.gelu(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.1587,  0.0000,  0.8413])
    """
    _require_floating("GeluKernelImpl", input)
    if approximate == "none":
        return _gelu(input)
    if approximate == "tanh":
        return _gelu_tanh(input)
    raise RuntimeError("approximate argument must be either none or tanh.")


# --- gates --------------------------------------------------------------------------------------------------------


@declare(kind=Kind.OTHER, single_operator=True)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of dimension `dim` times the sigmoid of the second half; see `nn.GLU`.

    Dauphin et al., *Language modeling with gated convolutional networks*, 2016.

    Args:
        input: a tensor whose dimension `dim` has an even length.
        dim: the dimension to halve.

    Raises:
        RuntimeError: the length is odd, or the tensor has no dimension.

    Example:
        >>> F.glu(torch.tensor([2.0, 4.0, 0.0, 0.0]))
        tensor([1., 2.])
    """
    from .views.views import wrap_dim

    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    length = input.shape[wrap_dim(dim, input.ndim)]
    if length % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {wrap_dim(dim, input.ndim)} is size {length}")
    _require_floating("glu_cpu", input)
    value, gate = input.chunk(2, dim)
    return merge_nodes(in_format_of(value * sigmoid(gate), input), "GluBackward0", (input,))


# --- in place -----------------------------------------------------------------------------------------------------

celu_: Callable[..., Tensor] = _in_place_form("celu", celu, "celu_(x)")
elu_: Callable[..., Tensor] = _in_place_form("elu", elu, "elu_(x)")
hardtanh_: Callable[..., Tensor] = _in_place_form("hardtanh", hardtanh, "hardtanh_(x)")
rrelu_: Callable[..., Tensor] = _in_place_form("rrelu", rrelu, "rrelu_(x)")
selu_: Callable[..., Tensor] = _in_place_form("selu", selu, "selu_(x)")
threshold_: Callable[..., Tensor] = _in_place_form("threshold", threshold, "threshold_(x, 0.1, 20.0)")
hardsigmoid_: Callable[..., Tensor] = in_place("hardsigmoid", hardsigmoid)
hardswish_: Callable[..., Tensor] = in_place("hardswish", hardswish)
relu6_: Callable[..., Tensor] = in_place("relu6", relu6)
silu_: Callable[..., Tensor] = in_place("silu", silu)
mish_: Callable[..., Tensor] = in_place("mish", mish)
for _function in (celu_, rrelu, rrelu_, selu_, threshold_):
    PUBLIC[_function.__name__] = _function
