"""Trigonometric and hyperbolic functions and their inverses; `hypot`, `sinc`, conversion of angles."""

from __future__ import annotations

import math
from typing import Any

from ..engine.calls.facts import Autocast, Kind, Linearity
from ..engine.calls.op import composite, op
from ..engine.tensors.tensor import Tensor
from ..engine.values import dtypes
from .pointwise import unary
from .special.double_precision import in_double

sin = unary(
    "sin",
    lambda xp, input: xp.sin(input),
    "Return the sine of an angle in radians.",
    lambda F, g, input: g * F.conj(F.cos(input)),
    keeps_zero=True,
    rounds_once=True,
)
cos = unary(
    "cos",
    lambda xp, input: xp.cos(input),
    "Return the cosine of an angle in radians.",
    lambda F, g, input: -g * F.conj(F.sin(input)),
    rounds_once=True,
)
tan = unary(
    "tan",
    lambda xp, input: xp.tan(input),
    "Return the tangent of an angle in radians.",
    lambda F, g, out: g * F.conj(1 + out * out),
    keeps_zero=True,
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
asin = unary(
    "asin",
    lambda xp, input: xp.asin(input),
    "Return the inverse sine, in radians.",
    lambda F, g, input: g * F.conj(F.rsqrt(1 - input * input)),
    "arcsin",
    keeps_zero=True,
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
acos = unary(
    "acos",
    lambda xp, input: xp.acos(input),
    "Return the inverse cosine, in radians.",
    lambda F, g, input: -g * F.conj(F.rsqrt(1 - input * input)),
    "arccos",
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
atan = unary(
    "atan",
    lambda xp, input: xp.atan(input),
    "Return the inverse tangent, in radians.",
    lambda F, g, input: g / F.conj(1 + input * input),
    "arctan",
    keeps_zero=True,
    rounds_once=True,
)
sinh = unary(
    "sinh",
    lambda xp, input: xp.sinh(input),
    "Return the hyperbolic sine.",
    lambda F, g, input: g * F.conj(F.cosh(input)),
    keeps_zero=True,
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
cosh = unary(
    "cosh",
    lambda xp, input: xp.cosh(input),
    "Return the hyperbolic cosine.",
    lambda F, g, input: g * F.conj(F.sinh(input)),
    rounds_once=True,
    autocast={"cuda": Autocast.FLOAT32},
)
asinh = unary(
    "asinh",
    lambda xp, input: xp.asinh(input),
    "Return the inverse hyperbolic sine.",
    lambda F, g, input: g * F.conj(F.rsqrt(input * input + 1)),
    "arcsinh",
    keeps_zero=True,
    rounds_once=True,
)
acosh = unary(
    "acosh",
    lambda xp, input: xp.acosh(input),
    "Return the inverse hyperbolic cosine.",
    lambda F, g, input: g * F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1)),
    "arccosh",
    rounds_once=True,
)
atanh = unary(
    "atanh",
    lambda xp, input: xp.atanh(input),
    "Return the inverse hyperbolic tangent.",
    lambda F, g, input: g / F.conj(1 - input * input),
    "arctanh",
    keeps_zero=True,
    rounds_once=True,
)


# --- angles ----------------------------------------------------------------------------------------------------------

atan2 = op(
    "atan2", lambda xp, input, other: xp.atan2(input, other),
    kind=Kind.POINTWISE, rounds_once=True, autocast={"cuda": Autocast.WIDEST},
    promote="float", scalars=False, inplace=True, aliases=("arctan2",),
    doc="""Return the angle, in radians, of the point `(x, y) = (other, input)`, in the correct quadrant.

    Args:
        input: a tensor of a real dtype.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
    tensor([ 0.7854, -2.3562])
    """,
    input=lambda F, g, input, other: g * other / _square_of_hypot(F, input, other),
    other=lambda F, g, input, other: -g * input / _square_of_hypot(F, input, other),
)  # fmt: skip


def _square_of_hypot(F: Any, input: Any, other: Any) -> Any:
    square = input * input + other * other
    return F.where(square == 0, 1.0, square)


hypot = op(
    "hypot", lambda xp, input, other: xp.hypot(input, other),
    kind=Kind.POINTWISE, promote="arithmetic", scalars=False, dtypes="floating",
    inplace=True,
    doc="""Return `sqrt(input**2 + other**2)` without overflow of the squares.

    Args:
        input: a floating-point tensor.
        other: a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """,
    input=lambda F, g, input, out: g * (input / out),
    other=lambda F, g, other, out: g * (other / out),
)  # fmt: skip


def _refuse_complex(name: str, input: Tensor) -> None:
    if input._key.dtype.category == dtypes.COMPLEX:
        raise RuntimeError(f"{name} is not supported for complex tensors.")


@composite(inplace=True, out=True, grad_fn="Deg2RadBackward0", kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT)
def deg2rad(input: Tensor) -> Tensor:
    """Convert degrees to radians."""
    _refuse_complex("deg2rad", input)
    return input * (math.pi / 180)


@composite(inplace=True, out=True, grad_fn="Rad2DegBackward0", kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.JOINT)
def rad2deg(input: Tensor) -> Tensor:
    """Convert radians to degrees."""
    _refuse_complex("rad2deg", input)
    return input * (180 / math.pi)


def _sinc_forward(xp: Any, input: Any) -> Any:
    return (_sinc if xp.isdtype(input.dtype, "complex floating") else _accurate_sinc)(xp, input)


def _sinc(xp: Any, input: Any) -> Any:
    angle = xp.where(input == 0, xp.ones_like(input), input * math.pi)
    return xp.where(input == 0, xp.ones_like(input), xp.sin(angle) / angle)


_accurate_sinc = in_double(_sinc)


def _sinc_grad(F: Any, g: Any, input: Any) -> Any:
    safe = F.where(input == 0, 1.0, input)
    return g * F.conj(F.where(input == 0, 0.0, (F.cos(safe * math.pi) - F.sinc(input)) / safe))


sinc = op(
    "sinc", lambda xp, input: _sinc_forward(xp, input),
    kind=Kind.POINTWISE, promote="float", inplace=True, doc="Return `sin(pi x) / (pi x)`, which is 1 at 0.",
    input=_sinc_grad,
)  # fmt: skip
