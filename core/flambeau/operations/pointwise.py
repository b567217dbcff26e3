"""Elementwise functions: signs, roots, exponentials, logarithms, rounding, integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.dispatch import refusing, require_dtype, require_tensors
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow
from ..engine.calls.named_results import make
from ..engine.calls.node_names import with_grad_fn
from ..engine.calls.op import composite, no_slope, op
from ..engine.calls.record import Out
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes
from ..engine.values.scalars import is_library_scalar

# --- signs, parts, copies -----------------------------------------------------------------------------------------


_NO_NEGATIVE = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)
neg = op(
    "neg", lambda xp, input: xp.negative(input),
    kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT, narrow=Narrow.COMPLEX32,
    out=Out.OWN_DTYPE, inplace=True, check=refusing(dtypes.BOOL, _NO_NEGATIVE),
    aliases=("negative",), dunders=("__neg__",),
    doc="Return `-x` for each element.",
    input=lambda F, g: -g,
)  # fmt: skip


@composite(kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT, operators=("__pos__",))
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself.  Raises RuntimeError for a bool tensor."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


attach(__pos__=positive)

abs = op(
    "abs", lambda xp, input: xp.abs(input),
    kind=Kind.POINTWISE, keeps_zero=True, narrow=Narrow.SIGNED_FLOAT8 | Narrow.COMPLEX32,
    out=Out.OWN_DTYPE, promote="real", dtypes="numbers",
    inplace=True, aliases=("absolute",), dunders=("__abs__",),
    doc="Return the absolute value, which is the modulus of a complex number.",
    input=lambda F, g, input: g * F.sgn(input),
)  # fmt: skip
sign = op(
    "sign",
    lambda xp, input: _sgn_forward(xp, input),
    kind=Kind.POINTWISE,
    keeps_zero=True,
    out=Out.OWN_DTYPE,
    dtypes="real",
    inplace=True,
    doc="Return -1, 0 or 1 for negative, zero and positive elements.",
    input=no_slope,
)


def _sgn_forward(xp: Any, input: Any) -> Any:
    if xp.isdtype(input.dtype, "bool"):
        return xp.asarray(input, copy=True)
    signs = xp.sign(input)
    if xp.isdtype(input.dtype, "real floating"):
        return xp.where(signs == signs, signs, xp.zeros_like(signs))  # as in PyTorch, the sign of NaN is 0
    return signs


def _sgn_grad(F: Any, g: Any, input: Any, out: Any) -> Any:
    if not F.is_complex(out):
        return no_slope(F, g)
    modulus = F.abs(input)
    safe = F.where(modulus == 0, 1.0, modulus)
    along = F.real(F.conj(g) * out)
    return F.where(modulus == 0, 0.0, (g - along * out) / safe)


sgn = op(
    "sgn",
    _sgn_forward,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    narrow=Narrow.COMPLEX32,
    out=Out.OWN_DTYPE,
    inplace=True,
    doc="Return `x / |x|`, or 0 for 0; for real numbers, the sign.",
    input=_sgn_grad,
)

_conj = op(
    "conj", lambda xp, input: xp.conj(input),
    kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT, narrow=Narrow.ALL,
    public=False, method=False, real_is_identity=True,
    input=lambda F, g: F.conj(g),
)  # fmt: skip
op(
    "conj_view",
    lambda xp, input: xp.conj(input),
    kind=Kind.VIEW,
    linearity=Linearity.JOINT,
    narrow=Narrow.COMPLEX32,
    view=True,
    public=False,
    method=False,
    grad_fn="ConjBackward0",
    input=lambda F, g: F.conj(g),
)
op(
    "neg_view",
    lambda xp, input: xp.negative(input),
    kind=Kind.VIEW,
    narrow=Narrow.NONE,
    linearity=Linearity.JOINT,
    view=True,
    public=False,
    method=False,
    input=lambda F, g: -g,
)


@composite(inplace=True, out=Out.OWN_DTYPE | Out.RECORDED, kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT)
def conj_physical(input: Tensor) -> Tensor:
    """Return a conjugated copy if `input` is complex; otherwise return `input` itself."""
    return _conj(input) if input._key.dtype.category == dtypes.COMPLEX else input


@composite(kind=Kind.QUERY)
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a lazily conjugated view of its memory."""
    return input._key.lazy_op == "conj"


@composite(kind=Kind.QUERY)
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a lazily negated view of its memory."""
    return input._key.lazy_op == "neg"


@composite(kind=Kind.CONVERSION)
def resolve_conj(input: Tensor) -> Tensor:
    """Return a copy with the conjugation applied if `input` is a lazily conjugated view; otherwise return `input` itself."""
    return input.clone() if input._key.lazy_op == "conj" else input


@composite(kind=Kind.CONVERSION)
def resolve_neg(input: Tensor) -> Tensor:
    """Return a copy with the negation applied if `input` is a lazily negated view; otherwise return `input` itself."""
    return input.clone() if input._key.lazy_op == "neg" else input


op(
    "clone", lambda xp, input, /, memory_format=None: xp.asarray(input, copy=True),
    kind=Kind.CONVERSION,
    signature="input, *, memory_format=None", out=False,
    doc="""Return a copy; gradients flow through it.

    Args:
        input: a tensor of any shape.
        memory_format: the order of the dimensions in the memory of the copy; None or `torch.preserve_format` for that of `input`.

    >>> x = torch.ones(2)
    >>> y = x.clone().mul_(2)
    >>> x
    tensor([1., 1.])
    """,
    input=lambda F, g: g,
)  # fmt: skip

# --- powers, exponentials, logarithms -----------------------------------------------------------------------------


def unary(name: str, forward: Any, doc: str, rule: Any, *aliases: str, **options: Any) -> Callable[..., Tensor]:
    """Define an elementwise function that promotes integers to floats, and its in-place form."""
    options = {"kind": Kind.POINTWISE, "promote": "float", **options}
    return op(name, forward, doc=doc, inplace=True, aliases=aliases, input=rule, **options)


sqrt = unary(
    "sqrt",
    lambda xp, input: xp.sqrt(input),
    "Return the square root.",
    lambda F, g, out: g / F.conj(2 * out),
    keeps_zero=True,
    rounds_once=True,
)
rsqrt = unary(
    "rsqrt",
    lambda xp, input: 1 / xp.sqrt(input),
    "Return `1 / sqrt(x)`.",
    lambda F, g, out: -0.5 * g * F.conj(out * out * out),
    autocast={"cuda": Autocast.FLOAT32},
    promote="float_accumulate",
)
square = op(
    "square",
    lambda xp, input: xp.multiply(input, input),
    kind=Kind.POINTWISE,
    dispatches=lambda input: ("pow", input, 2),
    keeps_zero=True,
    rounds_once=True,
    promote="number",
    inplace=True,
    doc="Return the square.",
    input=lambda F, g, input: g * F.conj(2 * input),
    grad_fn="PowBackward0",
)
reciprocal = unary(
    "reciprocal",
    lambda xp, input: 1 / input,
    "Return `1 / x`.",
    lambda F, g, out: -g * F.conj(out * out),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
exp = unary(
    "exp",
    lambda xp, input: xp.exp(input),
    "Return `e ** x`.",
    lambda F, g, out: g * F.conj(out),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
exp2 = unary(
    "exp2",
    lambda xp, input: xp.exp(input * math.log(2)),
    "Return `2 ** x`.",
    lambda F, g, out: g * F.conj(out) * math.log(2),
    rounds_once=True,
)
expm1 = unary(
    "expm1",
    lambda xp, input: xp.expm1(input),
    "Return `exp(x) - 1`, accurate near 0.",
    lambda F, g, out: g * F.conj(out + 1),
    keeps_zero=True,
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
log = unary(
    "log",
    lambda xp, input: xp.log(input),
    "Return the natural logarithm.",
    lambda F, g, input: g / F.conj(input),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
log2 = unary(
    "log2",
    lambda xp, input: xp.log2(input),
    "Return the logarithm to base 2.",
    lambda F, g, input: g / F.conj(input * math.log(2)),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
log10 = unary(
    "log10",
    lambda xp, input: xp.log10(input),
    "Return the logarithm to base 10.",
    lambda F, g, input: g / F.conj(input * math.log(10)),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
log1p = unary(
    "log1p",
    lambda xp, input: xp.log1p(input),
    "Return `log(1 + x)`, accurate near 0.",
    lambda F, g, input: g / F.conj(input + 1),
    keeps_zero=True,
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)

# --- trigonometry -------------------------------------------------------------------------------------------------

# --- rounding -----------------------------------------------------------------------------------------------------


def _step(name: str, forward: Any, doc: str, *aliases: str) -> Callable[..., Tensor]:
    """Define a piecewise constant function, whose derivative is 0."""
    return op(
        name, forward, kind=Kind.POINTWISE, keeps_zero=True, rounds_once=True, out=Out.OWN_DTYPE, dtypes="real numbers",
        inplace=True, aliases=aliases, doc=doc, input=no_slope,
    )  # fmt: skip


floor = _step("floor", lambda xp, input: xp.floor(input), "Return the largest integer not above `x`.")
ceil = _step("ceil", lambda xp, input: xp.ceil(input), "Return the smallest integer not below `x`.")
trunc = _step("trunc", lambda xp, input: xp.trunc(input), "Return the integer part, rounded towards 0.", "fix")
_round = _step("round", lambda xp, input: xp.round(input), "Return the nearest integer; ties go to the even one.")


@composite(
    inplace=True,
    out=Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    rounds_once=True,
    schema=("round(Tensor self) -> Tensor", "round.decimals(Tensor self, *, int decimals) -> Tensor"),
)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round to the nearest integer, or to `decimals` decimals; ties go to the even number.

    Args:
        decimals: the number of decimals to keep; if negative, digits to the left of the point are rounded.

    Raises:
        NotImplementedError: `decimals` is not 0 and the dtype is not floating-point.

    >>> torch.tensor([0.5, 1.5, 2.345]).round(), torch.tensor([2.345]).round(decimals=1)
    (tensor([0., 2., 2.]), tensor([2.3000]))
    """
    if not decimals:
        return _round(input)
    require_dtype("round_cpu", input, "floating")
    return _round_to_decimals(input, decimals)


@with_grad_fn("RoundBackward1")
def _round_to_decimals(input: Tensor, decimals: int) -> Tensor:
    power = float(f"1e{max(decimals, -decimals)}")  # infinity for powers that float64 cannot hold
    if decimals > 0:
        rounded: Tensor = _round(input * power) / power
    else:
        rounded = _round(input / power) * power
    return rounded


frac = op(
    "frac", lambda xp, input: input - xp.trunc(input),
    kind=Kind.POINTWISE, keeps_zero=True, out=Out.OWN_DTYPE, dtypes="floating", inplace=True,
    doc="Return the fractional part, with the sign of `x`.",
    input=lambda F, g: g,
)  # fmt: skip


# --- predicates ---------------------------------------------------------------------------------------------------

isnan = op(
    "isnan",
    lambda xp, input: input != input,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    narrow=Narrow.ALL,
    promote="bool",
    out=False,
    doc="True where the element is NaN.",
)


def _float_predicate(name: str, forward: Any, for_integers: bool, doc: str) -> Callable[..., Tensor]:
    def whole(xp: Any, input: Any) -> Any:
        if xp.isdtype(input.dtype, ("bool", "integral")):
            return xp.full(input.shape, for_integers, dtype=xp.bool)
        return forward(xp, input)

    return op(
        name, whole, kind=Kind.POINTWISE, keeps_zero=not for_integers, narrow=Narrow.ALL, promote="bool", out=False, doc=doc
    )


isinf = _float_predicate("isinf", lambda xp, input: xp.isinf(input), False, "True where the element is infinite.")
isfinite = _float_predicate("isfinite", lambda xp, input: xp.isfinite(input), True, "True where the element is finite.")
signbit = op(
    "signbit",
    lambda xp, input: xp.signbit(input) if xp.isdtype(input.dtype, "real floating") else input < 0,
    kind=Kind.POINTWISE,
    keeps_zero=True,
    out=Out.OWN_DTYPE,
    promote="bool",
    doc="True where the sign bit is set.",
)


# --- signs and neighbours --------------------------------------------------------------------------------------------

copysign = op(
    "copysign", lambda xp, input, other: xp.copysign(input, other),
    kind=Kind.POINTWISE, promote="float", scalars=("other",), dtypes="real",
    inplace=True,
    doc="""Return the absolute value of `input` with the sign of `other`, where -0.0 counts as negative.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
    tensor([-1.,  2.])
    """,
    input=lambda F, g, input, out: g * F.where(input == 0, 0.0, out / F.where(input == 0, 1.0, input)),
    other=no_slope,
    schema=(
        "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
        "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
)  # fmt: skip
nextafter = op(
    "nextafter", lambda xp, input, other: xp.nextafter(input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False,
    dtypes="floating", inplace=True,
    doc="""Return the next representable number from `input` towards `other`.

    Args:
        other: a floating-point tensor that can be broadcast with `input`.

    >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])) > 1
    tensor([True])
    """,
    input=lambda F, g: g,
    other=no_slope,
)  # fmt: skip


def _infinite(name: str, sign: int) -> Any:
    def forward(xp: Any, input: Any) -> Any:
        return input == sign * math.inf if xp.isdtype(input.dtype, "real floating") else xp.zeros_like(input, dtype=xp.bool)

    record = op(f"{name}_real", forward, kind=Kind.POINTWISE, promote="bool", public=False, method=False, operator=name)

    def function(input: Tensor) -> Tensor:
        if input._key.dtype.category == dtypes.COMPLEX:
            raise RuntimeError(f"{name} does not support complex inputs.")
        return record(input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"True where the element is {'minus' if sign < 0 else 'plus'} infinity."
    return composite(function, out=Out.OWN_DTYPE, kind=Kind.POINTWISE, keeps_zero=True)


isneginf, isposinf = _infinite("isneginf", -1), _infinite("isposinf", 1)
_heaviside = op(
    "heaviside", lambda xp, input, values: xp.where(input == 0, values, xp.astype(input > 0, input.dtype)),
    kind=Kind.POINTWISE,
    promote="arithmetic", public=False, method=False,
)  # fmt: skip


@composite(inplace=True, out=Out.OWN_DTYPE | Out.RECORDED)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 for negative elements, 1 for positive ones, and `values` where the element is 0.

    Args:
        input: a tensor of a real dtype.
        values: a tensor with the dtype of `input`, which can be broadcast with it.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtypes differ or are complex.

    >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensors("heaviside", input=input, values=values)
    if input.is_complex() or values.is_complex():
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _heaviside(input, values)


# --- integers --------------------------------------------------------------------------------------------------------


def _gcd_forward(xp: Any, input: Any, other: Any) -> Any:
    a, b = xp.broadcast_arrays(xp.abs(input), xp.abs(other))
    while xp.any(b != 0):
        a, b = xp.where(b == 0, a, b), xp.where(b == 0, b, xp.remainder(a, xp.where(b == 0, 1, b)))
    return a


def _lcm_forward(xp: Any, input: Any, other: Any) -> Any:
    divisor = _gcd_forward(xp, input, other)
    return xp.abs(input // xp.where(divisor == 0, 1, divisor) * other)


gcd = op(
    "gcd", lambda xp, input, other: _gcd_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False, dtypes="integers",
    inplace=True, doc="""Return the greatest common divisor of integers; it is 0 for 0 and 0.

    Args:
        input: an integer tensor.
        other: an integer tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.gcd(torch.tensor([12, 7]), torch.tensor([18, 21]))
    tensor([6, 7])
    """,
)  # fmt: skip
lcm = op(
    "lcm", lambda xp, input, other: _lcm_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False, dtypes="integers",
    inplace=True, doc="""Return the least common multiple of integers; it is 0 if either is 0.

    Args:
        input: an integer tensor.
        other: an integer tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.lcm(torch.tensor([4, 7]), torch.tensor([6, 0]))
    tensor([12,  0])
    """,
)  # fmt: skip


# --- logarithms of sums ----------------------------------------------------------------------------------------------


def logaddexp_forward(xp: Any, input: Any, other: Any) -> Any:
    if not xp.isdtype(input.dtype, "complex floating"):
        return xp.logaddexp(input, other)
    first = xp.real(input) >= xp.real(other)
    larger, smaller = xp.where(first, input, other), xp.where(first, other, input)
    return larger + xp.log1p(xp.exp(smaller - larger))


def _logaddexp2_forward(xp: Any, input: Any, other: Any) -> Any:
    return xp.logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


logaddexp = op(
    "logaddexp", lambda xp, input, other: logaddexp_forward(xp, input, other),
    kind=Kind.POINTWISE, promote="float", scalars=False, dtypes="inexact",
    doc="""Return `log(exp(input) + exp(other))` without overflow of the exponentials.

    Args:
        input: a floating-point or complex tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logaddexp(torch.tensor([0.0, 1000.0]), torch.tensor([0.0, 0.0]))
    tensor([6.9315e-01, 1.0000e+03])
    """,
    input=lambda F, g, input, other: g / F.conj(1 + F.exp(other - input)),
    other=lambda F, g, input, other: g / F.conj(1 + F.exp(input - other)),
)  # fmt: skip
logaddexp2 = op(
    "logaddexp2", _logaddexp2_forward,
    kind=Kind.POINTWISE, promote="float", scalars=False, dtypes="inexact",
    doc="""Return `log2(2**input + 2**other)` without overflow of the powers.

    Args:
        input: a floating-point tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.logaddexp2(torch.tensor([0.0, 2000.0]), torch.tensor([0.0, 0.0]))
    tensor([1.0000e+00, 2.0000e+03])
    """,
    input=lambda F, g, input, other: g / (1 + F.exp2(other - input)),
    other=lambda F, g, input, other: g / (1 + F.exp2(input - other)),
)  # fmt: skip


# --- the parts of floating-point numbers -----------------------------------------------------------------------------


def _frexp_forward(xp: Any, input: Any) -> Any:
    ordinary = xp.isfinite(input) & (input != 0)
    size = xp.where(ordinary, xp.abs(input), 0.5)
    exponent = xp.floor(xp.log2(size)) + 1
    # two factors, because `2 ** -exponent` may overflow
    mantissa = size * xp.pow(2.0, -xp.floor(exponent / 2)) * xp.pow(2.0, -xp.ceil(exponent / 2))
    exponent = xp.where(mantissa >= 1, exponent + 1, xp.where(mantissa < 0.5, exponent - 1, exponent))
    mantissa = xp.where(mantissa >= 1, mantissa / 2, xp.where(mantissa < 0.5, mantissa * 2, mantissa))
    return xp.where(ordinary, xp.copysign(mantissa, input), input), exponent


_frexp = op(
    "frexp", _frexp_forward,
    kind=Kind.POINTWISE, results=("mantissa", "exponent"), out=False, public=False, method=False,
    vjp=lambda F, g, exponent: (g[0] / F.exp2(exponent),),
    schema="frexp.Tensor",
)  # fmt: skip


@composite(out=Out.OWN_DTYPE)
def frexp(input: Tensor) -> Any:
    """Return a mantissa with magnitude in [0.5, 1) and an int32 exponent, such that `mantissa * 2**exponent == input`.

    >>> mantissa, exponent = torch.frexp(torch.tensor([6.0]))
    >>> mantissa, exponent
    (tensor([0.7500]), tensor([3], dtype=torch.int32))
    """
    if input._key.dtype.category != dtypes.FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = _frexp(input)
    return _FREXP((mantissa, exponent.to(dtypes.int32)))


_FREXP = make("frexp", ("mantissa", "exponent"))


@composite(inplace=True, out=True, grad_fn="LdexpBackward0", kind=Kind.POINTWISE, keeps_zero=True, schema="ldexp.Tensor")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """Return `input * 2**other`.

    Args:
        input: a tensor of any shape.
        other: a tensor of exponents that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, -1]))
    tensor([4.0000, 1.5000])
    """
    require_tensors("ldexp", input=input, other=other)
    if other.dtype.category < dtypes.FLOATING:
        other = other.to(input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype())
    return input * 2.0**other


# --- Python functions, element by element ----------------------------------------------------------------------------


def _apply(name: str, others: int) -> None:
    def method(self: Tensor, *args: Any) -> Tensor:
        *tensors, function = args
        if overriding.may_override(tensors):
            return overriding.handle_torch_function(method, (self, *tensors), self, *args)  # type: ignore[no-any-return]  # an override may return anything
        if len(tensors) != others:
            raise TypeError(f"{name}() takes {others} tensor(s) and a callable, but {len(args)} argument(s) were given")
        for tensor in (self, *tensors):
            if tensor.requires_grad:
                raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
            if tensor.device.type != "cpu":
                raise TypeError(f"{name} is only implemented on CPU tensors")
        rows = [tensor.expand(self.shape).reshape(-1).tolist() for tensor in (self, *tensors)]
        values = [function(*arguments) for arguments in zip(*rows, strict=True)]
        for value in values:
            if not isinstance(value, (bool, int, float, complex, Tensor)) and not is_library_scalar(value):
                raise TypeError(f"must be real number, not {type(value).__name__}")
        return self.copy_(self.new_tensor(values).reshape(self.shape))

    method.__name__ = method.__qualname__ = name
    expression = {0: "f(x)", 1: "f(x, y)", 2: "f(x, y, z)"}[others]
    where = "  of `self` and the other tensors" if others else ""
    method.__doc__ = f"Replace each element by `{expression}`, for a Python function `f` of the elements{where}."
    setattr(Tensor, name, method)


for _name, _others in (("apply_", 0), ("map_", 1), ("map2_", 2)):
    _apply(_name, _others)
