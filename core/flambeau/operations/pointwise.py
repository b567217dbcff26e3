"""Functions of one element: roots, exponentials, logarithms, trigonometry, rounding, activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..engine.calls.dispatch import refusing, require_dtype
from ..engine.calls.node_names import gathered
from ..engine.calls.op import composite, op
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from .formula import formula, no_slope

# --- signs, parts, copies -----------------------------------------------------------------------------------------


_NO_NEGATIVE = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)
neg = op(
    "neg", lambda xp, input: xp.negative(input), out=Out.OWN_DTYPE, inplace=True, check=refusing(dtypes.BOOL, _NO_NEGATIVE),
    aliases=("negative",), dunders=("__neg__",),
    doc="The negative of each element.",
    input=lambda F, g: -g,
)  # fmt: skip


@composite
def positive(input: Tensor) -> Tensor:
    """The tensor itself.  RuntimeError for bool."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


attach(__pos__=positive)

abs = op(
    "abs", lambda xp, input: xp.abs(input), out=Out.OWN_DTYPE, promote="real", dtypes="numbers",
    inplace=True, aliases=("absolute",), dunders=("__abs__",),
    doc="The absolute value; the modulus of a complex number.",
    input=lambda F, g, input: g * F.sgn(input),
)  # fmt: skip
sign = op(
    "sign",
    lambda xp, input: _sgn_forward(xp, input),
    out=Out.OWN_DTYPE,
    dtypes="real",
    inplace=True,
    doc="-1, 0 or 1, by the sign of each element.",
    input=no_slope,
)


def _sgn_forward(xp: Any, input: Any) -> Any:
    if xp.isdtype(input.dtype, "bool"):
        return xp.asarray(input, copy=True)
    signs = xp.sign(input)
    if xp.isdtype(input.dtype, "real floating"):
        return xp.where(signs == signs, signs, xp.zeros_like(signs))  # PyTorch gives NaN the sign 0
    return signs


def _sgn_grad(F: Any, g: Any, input: Any, out: Any) -> Any:
    if not F.is_complex(out):
        return no_slope(F, g)
    modulus = F.abs(input)
    safe = F.where(modulus == 0, 1.0, modulus)
    along = F.real(F.conj(g) * out)
    return F.where(modulus == 0, 0.0, (g - along * out) / safe)


sgn = op("sgn", _sgn_forward, out=Out.OWN_DTYPE, inplace=True, doc="`x / |x|`, or 0; the sign of a real number.", input=_sgn_grad)

_conj = op(
    "conj", lambda xp, input: xp.conj(input), public=False, method=False, real_is_identity=True,
    input=lambda F, g: F.conj(g),
)  # fmt: skip
op(
    "conj_view",
    lambda xp, input: xp.conj(input),
    view=True,
    public=False,
    method=False,
    grad_fn="ConjBackward0",
    input=lambda F, g: F.conj(g),
)
op("neg_view", lambda xp, input: xp.negative(input), view=True, public=False, method=False, input=lambda F, g: -g)


@composite(inplace=True, out=Out.OWN_DTYPE | Out.RECORDED)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate, in memory of its own; a real tensor itself."""
    return _conj(input) if input._key.dtype.category == dtypes.COMPLEX else input


@composite
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a view that conjugates what is in its memory."""
    return input._key.lazy_op == "conj"


@composite
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a view that negates what is in its memory."""
    return input._key.lazy_op == "neg"


@composite
def resolve_conj(input: Tensor) -> Tensor:
    """A conjugated copy, if the tensor is a lazily conjugated view; else the tensor itself."""
    return input.clone() if input._key.lazy_op == "conj" else input


@composite
def resolve_neg(input: Tensor) -> Tensor:
    """A negated copy, if the tensor is a lazily negated view; else the tensor itself."""
    return input.clone() if input._key.lazy_op == "neg" else input


op(
    "clone", lambda xp, input, /, memory_format=None: xp.asarray(input, copy=True),
    signature="input, *, memory_format=None", out=False,
    doc="A copy with memory of its own; gradients flow through.",
    input=lambda F, g: g,
)  # fmt: skip

# --- powers, exponentials, logarithms -----------------------------------------------------------------------------


def _unary(name: str, forward: Any, doc: str, rule: Any, *aliases: str, **options: Any) -> Callable[..., Tensor]:
    """An elementwise function that promotes integers to floats, with an in-place form."""
    return op(name, forward, doc=doc, inplace=True, aliases=aliases, input=rule, **{"promote": "float", **options})


sqrt = _unary("sqrt", lambda xp, input: xp.sqrt(input), "The square root.", lambda F, g, out: g / F.conj(2 * out))
rsqrt = _unary(
    "rsqrt",
    lambda xp, input: 1 / xp.sqrt(input),
    "One over the square root.",
    lambda F, g, out: -0.5 * g * F.conj(out * out * out),
    promote="float_accumulate",
)
square = op(
    "square",
    lambda xp, input: xp.multiply(input, input),
    promote="number",
    inplace=True,
    doc="The square.",
    input=lambda F, g, input: g * F.conj(2 * input),
    grad_fn="PowBackward0",
)
reciprocal = _unary("reciprocal", lambda xp, input: 1 / input, "One over each element.", lambda F, g, out: -g * F.conj(out * out))
exp = _unary("exp", lambda xp, input: xp.exp(input), "e to the power of each element.", lambda F, g, out: g * F.conj(out))
exp2 = _unary(
    "exp2",
    lambda xp, input: xp.exp(input * math.log(2)),
    "2 to the power of each element.",
    lambda F, g, out: g * F.conj(out) * math.log(2),
)
expm1 = _unary(
    "expm1", lambda xp, input: xp.expm1(input), "`exp(x) - 1`, accurate near 0.", lambda F, g, out: g * F.conj(out + 1)
)
log = _unary("log", lambda xp, input: xp.log(input), "The natural logarithm.", lambda F, g, input: g / F.conj(input))
log2 = _unary(
    "log2", lambda xp, input: xp.log2(input), "The logarithm to base 2.", lambda F, g, input: g / F.conj(input * math.log(2))
)
log10 = _unary(
    "log10", lambda xp, input: xp.log10(input), "The logarithm to base 10.", lambda F, g, input: g / F.conj(input * math.log(10))
)
log1p = _unary(
    "log1p", lambda xp, input: xp.log1p(input), "`log(1 + x)`, accurate near 0.", lambda F, g, input: g / F.conj(input + 1)
)

# --- trigonometry -------------------------------------------------------------------------------------------------

sin = _unary("sin", lambda xp, input: xp.sin(input), "The sine, of radians.", lambda F, g, input: g * F.conj(F.cos(input)))
cos = _unary("cos", lambda xp, input: xp.cos(input), "The cosine, of radians.", lambda F, g, input: -g * F.conj(F.sin(input)))
tan = _unary("tan", lambda xp, input: xp.tan(input), "The tangent, of radians.", lambda F, g, out: g * F.conj(1 + out * out))
asin = _unary(
    "asin",
    lambda xp, input: xp.asin(input),
    "The angle, in radians, of a sine.",
    lambda F, g, input: g * F.conj(F.rsqrt(1 - input * input)),
    "arcsin",
)
acos = _unary(
    "acos",
    lambda xp, input: xp.acos(input),
    "The angle, in radians, of a cosine.",
    lambda F, g, input: -g * F.conj(F.rsqrt(1 - input * input)),
    "arccos",
)
atan = _unary(
    "atan",
    lambda xp, input: xp.atan(input),
    "The angle, in radians, of a tangent.",
    lambda F, g, input: g / F.conj(1 + input * input),
    "arctan",
)
sinh = _unary("sinh", lambda xp, input: xp.sinh(input), "The hyperbolic sine.", lambda F, g, input: g * F.conj(F.cosh(input)))
cosh = _unary("cosh", lambda xp, input: xp.cosh(input), "The hyperbolic cosine.", lambda F, g, input: g * F.conj(F.sinh(input)))
tanh = _unary("tanh", lambda xp, input: xp.tanh(input), "The hyperbolic tangent.", lambda F, g, out: g * F.conj(1 - out * out))
asinh = _unary(
    "asinh",
    lambda xp, input: xp.asinh(input),
    "The inverse hyperbolic sine.",
    lambda F, g, input: g * F.conj(F.rsqrt(input * input + 1)),
    "arcsinh",
)
acosh = _unary(
    "acosh",
    lambda xp, input: xp.acosh(input),
    "The inverse hyperbolic cosine.",
    lambda F, g, input: g * F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1)),
    "arccosh",
)
atanh = _unary(
    "atanh",
    lambda xp, input: xp.atanh(input),
    "The inverse hyperbolic tangent.",
    lambda F, g, input: g / F.conj(1 - input * input),
    "arctanh",
)

# --- rounding -----------------------------------------------------------------------------------------------------


def _step(name: str, forward: Any, doc: str, *aliases: str) -> Callable[..., Tensor]:
    """A piecewise constant function: its derivative is 0."""
    return op(name, forward, out=Out.OWN_DTYPE, dtypes="real numbers", inplace=True, aliases=aliases, doc=doc, input=no_slope)


floor = _step("floor", lambda xp, input: xp.floor(input), "The largest integer not above.")
ceil = _step("ceil", lambda xp, input: xp.ceil(input), "The smallest integer not below.")
trunc = _step("trunc", lambda xp, input: xp.trunc(input), "The integer part.", "fix")
_round = _step("round", lambda xp, input: xp.round(input), "The nearest integer; halves go to the even one.")


@composite(inplace=True, out=Out.OWN_DTYPE)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, halves to even; or the nearest number with `decimals` decimals.

    >>> import flambeau as torch
    >>> torch.tensor([0.5, 1.5, 2.345]).round(), torch.tensor([2.345]).round(decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    if not decimals:
        return _round(input)
    require_dtype("round_cpu", input, "floating")
    if decimals > 0:
        rounded = _round(input * 10**decimals) / 10**decimals
    else:
        rounded = _round(input / 10**-decimals) * 10**-decimals
    return gathered(rounded, "RoundBackward1", (input,))


frac = op(
    "frac", lambda xp, input: input - xp.trunc(input), out=Out.OWN_DTYPE, dtypes="floating", inplace=True,
    doc="The fractional part, of the sign of the element.",
    input=lambda F, g: g,
)  # fmt: skip


# --- activations --------------------------------------------------------------------------------------------------


def _sigmoid_forward(xp: Any, input: Any) -> Any:
    if xp.isdtype(input.dtype, "complex floating"):
        return 1 / (1 + xp.exp(-input))
    small = xp.exp(-xp.abs(input))  # never overflows, and keeps all digits on both sides
    return xp.where(input < 0, small, 1.0) / (1 + small)


sigmoid = _unary(
    "sigmoid",
    _sigmoid_forward,
    "`1 / (1 + exp(-x))`.",
    lambda F, g, out: g * F.conj(out * (1 - out)),
    promote="float_accumulate",
)


@formula
def relu_backward(F: Any, g: Any, out: Any) -> Any:
    return F.masked(g, ~(out <= 0), out)  # as PyTorch's: the gradient of a NaN is passed on


relu = op(
    "relu", lambda xp, input: xp.maximum(input, xp.zeros((), dtype=input.dtype)), inplace=True, out=False,
    dtypes="real numbers", check=refusing(dtypes.BOOL, "Boolean inputs not supported for relu"),
    doc="""The rectified linear unit: the element where it is positive, else 0.

    Args:
        input: a tensor of any shape.

    Example:
        >>> import flambeau as torch
        >>> torch.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """,
    input=lambda F, g, out: relu_backward(F, g, out),
)  # fmt: skip

# --- predicates ---------------------------------------------------------------------------------------------------

isnan = op("isnan", lambda xp, input: input != input, promote="bool", out=False, doc="Where the element is not a number.")


def _float_predicate(name: str, forward: Any, for_integers: bool, doc: str) -> Callable[..., Tensor]:
    def whole(xp: Any, input: Any) -> Any:
        if xp.isdtype(input.dtype, ("bool", "integral")):
            return xp.full(input.shape, for_integers, dtype=xp.bool)
        return forward(xp, input)

    return op(name, whole, promote="bool", out=False, doc=doc)


isinf = _float_predicate("isinf", lambda xp, input: xp.isinf(input), False, "Where the element is infinite.")
isfinite = _float_predicate("isfinite", lambda xp, input: xp.isfinite(input), True, "Where the element is finite.")
signbit = op(
    "signbit",
    lambda xp, input: xp.signbit(input) if xp.isdtype(input.dtype, "real floating") else input < 0,
    out=Out.OWN_DTYPE,
    promote="bool",
    doc="Where the sign bit is set.",
)
