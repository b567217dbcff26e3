"""Arithmetic: sums, products, quotients, powers, remainders, and multiply-adds such as `addcmul`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.calls.arguments import Number
from ..engine.calls.dispatch import require_dtype, require_factor, require_tensors, result_dtype
from ..engine.calls.facts import Autocast, Kind, Linearity, Narrow
from ..engine.calls.node_names import merge_nodes
from ..engine.calls.op import composite, no_slope, op
from ..engine.calls.operands import can_operate
from ..engine.calls.overriding import may_override, offer_operator
from ..engine.calls.record import Out
from ..engine.calls.wrappers import checked
from ..engine.devices.warning import warn_of_old
from ..engine.tape.node import rename_node
from ..engine.tensors.tensor import Tensor, attach
from ..engine.values import dtypes

_add = op(
    "add", lambda xp, input, other: xp.add(input, other),
    kind=Kind.POINTWISE, linearity=Linearity.JOINT, narrow=Narrow.COMPLEX32, rounds_once=True,
    promote="arithmetic", numbers_alone=True, public=False, method=False, dunders=("__add__", "__radd__", "__iadd__"),
    input=lambda F, g: g,
    other=lambda F, g: g,
    schema=(
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    ),
)  # fmt: skip


def _refuse_bool_sub(input: Any, other: Any) -> None:
    if not any(
        isinstance(operand, bool) or (isinstance(operand, Tensor) and operand.dtype is dtypes.bool_) for operand in (input, other)
    ):
        return
    both = all(
        isinstance(operand, bool) or (isinstance(operand, Tensor) and operand.dtype is dtypes.bool_) for operand in (input, other)
    )
    if both:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
        "mask, use the `~` or `logical_not()` operator instead."
    )


_sub = op(
    "sub", lambda xp, input, other: xp.subtract(input, other),
    kind=Kind.POINTWISE, linearity=Linearity.JOINT, narrow=Narrow.COMPLEX32, rounds_once=True,
    promote="arithmetic", numbers_alone=True, public=False, method=False, dunders=("__sub__", "__rsub__", "__isub__"),
    check=_refuse_bool_sub, grad_fn=("SubBackward0", "RsubBackward1"),
    dispatches=lambda input, other: ("sub", input, other) if isinstance(input, Tensor) else ("rsub", other, input),
    input=lambda F, g: g,
    other=lambda F, g: -g,
    schema=(
        "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    ),
)  # fmt: skip


def _scale_other(name: str, input: Any, other: Any, alpha: Any) -> tuple[Any, Any]:
    """Return `input` and `alpha * other`, also for PyTorch 0.2's argument order `add(input, alpha, other)`."""
    if type(alpha) is int and alpha == 1:
        return input, other
    if isinstance(alpha, Tensor) and not isinstance(other, Tensor):
        warn_of_old(name, "other, *, alpha=1")
        other, alpha = alpha, other
    common = result_dtype((input, other))
    require_factor("alpha", alpha, common)
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        other = other.to(common)
        if other.dtype in dtypes.HALF:  # PyTorch rounds `alpha` and the sum, but not the product
            return input.float(), other.float() * other.new_tensor(alpha, device="cpu").item()
    return input, other & bool(alpha) if common is dtypes.bool_ else other * alpha


def _combine_scaled(name: str, combine: Callable[..., Tensor], input: Any, other: Any, alpha: Any) -> Tensor:
    """`combine(input, alpha * other)`; in half precision, only the result is rounded."""
    result = combine(*_scale_other(name, input, other, alpha))
    if (type(alpha) is int and alpha == 1) or not isinstance(input, Tensor) or not isinstance(other, Tensor):
        return result
    common = result_dtype((input, other))
    return result if result.dtype is common else merge_nodes(result.to(common), f"{name.capitalize()}Backward0", (input, other))


@composite(inplace=True, out=True)
def add(input: Any, other: Any, alpha: Tensor | Number = 1) -> Tensor:
    """`input + alpha * other`, element by element, broadcast.

    Args:
        input: a tensor, or a number if `other` is a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `other`; an integer if the result is an integer tensor.
        out: a tensor that the result is written to.

    >>> torch.add(torch.ones(2), torch.ones(2), alpha=10)
    tensor([11., 11.])
    """
    return _combine_scaled("add", _add, input, other, alpha)


@composite(inplace=True, out=True, aliases=("subtract",))
def sub(input: Any, other: Any, alpha: Tensor | Number = 1) -> Tensor:
    """`input - alpha * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `other`; an integer if the result is an integer tensor.

    Raises:
        RuntimeError: an operand is bool.

    >>> torch.sub(torch.tensor([3.0, 4.0]), torch.ones(2), alpha=2)
    tensor([1., 2.])
    """
    if isinstance(input, bool) or isinstance(other, bool) or type(alpha) is not int or alpha != 1:
        _refuse_bool_sub(input, other)
    return _combine_scaled("sub", _sub, input, other, alpha)


@composite(
    method=False,
    grad_fn="RsubBackward1",
    kind=Kind.POINTWISE,
    linearity=Linearity.JOINT,
    schema=(
        "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    ),
)
def rsub(input: Tensor, other: Any, *, alpha: Tensor | Number = 1) -> Tensor:
    """`other - alpha * input`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
        alpha: the factor of `input`; an integer if the result is an integer tensor.

    Raises:
        RuntimeError: an operand is bool.

    >>> torch.rsub(torch.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"rsub(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return sub(other, input, alpha)


mul = op(
    "mul", lambda xp, input, other: xp.multiply(input, other),
    kind=Kind.POINTWISE, keeps_zero=True, linearity=Linearity.EACH, narrow=Narrow.COMPLEX32, rounds_once=True,
    promote="arithmetic", exact_numbers=True, numbers_alone=True, inplace=True, aliases=("multiply",),
    dunders=("__mul__", "__rmul__", "__imul__"),
    doc="""Return the product `input * other`, element by element, broadcast.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.

    >>> torch.mul(torch.tensor([1, 2]), 2.5)
    tensor([2.5000, 5.0000])
    """,
    input=lambda F, g, other: g * F.conj(other),
    other=lambda F, g, input: g * F.conj(input),
    schema=(
        "mul.Tensor(Tensor self, Tensor other) -> Tensor",
        "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    ),
)  # fmt: skip

_div = op(
    "div", lambda xp, input, other: xp.divide(input, other),
    kind=Kind.POINTWISE, linearity=Linearity.FIRST, rounds_once=True,
    promote="float", exact_numbers=True, numbers_alone=True, public=False, method=False,
    dunders=("__truediv__", "__itruediv__", "__div__", "__idiv__"),
    input=lambda F, g, other: g / F.conj(other),
    other=lambda F, g, input, other: -g * F.conj(input / other / other),
    schema=(
        "div.Tensor(Tensor self, Tensor other) -> Tensor",
        "div.Scalar(Tensor self, Scalar other) -> Tensor",
        "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    ),
)  # fmt: skip

floor_divide = op(
    "floor_divide", lambda xp, input, other: xp.floor_divide(input, other),
    kind=Kind.POINTWISE,
    out=Out.RECORDED, promote="arithmetic", exact_numbers=True, numbers_alone=True, dtypes="real numbers", inplace=True,
    dunders=("__floordiv__", "__rfloordiv__", "__ifloordiv__"),
    doc="""Return `input / other`, rounded towards minus infinity.

    Args:
        input: a tensor of an integer or floating-point dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.floor_divide(torch.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """, grad_fn="DivBackward2",
    input=no_slope,
    other=no_slope,
    schema=(
        "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
        "floor_divide(Tensor self, Tensor other) -> Tensor",
        "floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        "floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    ),
)  # fmt: skip


@composite(inplace=True, out=True, aliases=("divide",), operators=("__rtruediv__", "__rdiv__"))
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Return `input / other`: unrounded by default, rounded towards zero with `"trunc"`, down with `"floor"`.

    Args:
        input: a tensor, or a number if `other` is a tensor.
        other: a tensor that can be broadcast with `input`, or a number.
        rounding_mode: "trunc", "floor", or None for no rounding. A quotient of integers that is not rounded has the default
            dtype.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: another rounding mode.

    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


@composite(
    inplace=True,
    out=True,
    kind=Kind.POINTWISE,
    linearity=Linearity.FIRST,
    schema=(
        "true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
        "true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
)
def true_divide(input: Any, other: Any) -> Tensor:
    """Return the unrounded quotient `input / other`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.

    >>> torch.true_divide(torch.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return _div(input, other)


def _trunc_divide_forward(xp: Any, input: Any, other: Any) -> Any:
    if xp.isdtype(input.dtype, "integral"):
        return (input - _fmod_forward(xp, input, other)) // other
    return xp.trunc(input / other)


_trunc_divide = op(
    "trunc_divide", _trunc_divide_forward,
    kind=Kind.POINTWISE, promote="arithmetic", numbers_alone=True, dtypes="real numbers", public=False,
    method=False, grad_fn="DivBackward2",
    input=no_slope,
    other=no_slope,
)  # fmt: skip

remainder = op(
    "remainder", lambda xp, input, other: xp.remainder(input, other),
    kind=Kind.POINTWISE,
    promote="arithmetic", dtypes="real numbers", inplace=True, dunders=("__mod__", "__rmod__", "__imod__"),
    doc="""Return the remainder of floor division: it has the sign of `other`.

    Args:
        other: a tensor that can be broadcast with `input`, or a number.
    """,
    input=lambda F, g: g,
    other=lambda F, g, input, other: -g * F.floor_divide(input, other),
    schema=(
        "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
        "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
)  # fmt: skip


def _fmod_forward(xp: Any, input: Any, other: Any) -> Any:
    remainder = xp.remainder(input, other)  # the sign is that of `other`; fmod needs that of `input`
    wrong = (remainder != 0) & ((input < 0) != (other < 0))
    return xp.where(wrong, remainder - other, remainder)


fmod = op(
    "fmod", _fmod_forward,
    kind=Kind.POINTWISE, promote="arithmetic", scalars=("other",), dtypes="real numbers", inplace=True,
    doc="""Return the remainder of division rounded towards zero: it has the sign of `input`.

    Args:
        input: a tensor of an integer or floating-point dtype.
        other: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """,
    input=lambda F, g: g,
    other=lambda F, g, input, other: -g * F.trunc_divide(input, other),
    schema=(
        "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
        "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    ),
)  # fmt: skip


def _pow_grad_base(F: Any, g: Any, input: Any, other: Any) -> Any:
    # where the exponent is 0, the gradient is 0; the exponent is replaced by 1 to avoid 0 ** -1
    slope = other * F.pow(input, F.where(other == 0, other + 1, other) - 1)
    return g * F.conj(slope)


def _pow_grad_exponent(F: Any, g: Any, input: Any, other: Any, out: Any) -> Any:
    at_zero = (input == 0) & (F.real(other) >= 0)
    slope = out * F.log(F.where(at_zero, 1.0, input))
    return g * F.conj(F.where(at_zero, 0.0, slope))


def integer_pow(xp: Any, input: Any, other: Any) -> Any:
    """Return `input ** other` for integers; with a negative exponent the power is 0 unless the base is 1 or -1."""
    negative = other < 0
    power = xp.pow(input, xp.where(negative, xp.zeros_like(other), other))
    inverse = xp.where(input == -1, 1 - 2 * (other % 2), xp.astype(input == 1, other.dtype))
    return xp.where(negative, inverse, power)


def _pow_forward(xp: Any, input: Any, other: Any) -> Any:
    return integer_pow(xp, input, other) if xp.isdtype(input.dtype, "signed integer") else xp.pow(input, other)


_pow = op(
    "pow", lambda xp, input, other: _pow_forward(xp, input, other),
    kind=Kind.POINTWISE, autocast={"cuda": Autocast.FLOAT32},
    promote="arithmetic", dtypes="numbers", public=False, method=False,
    input=_pow_grad_base, other=_pow_grad_exponent,
    schema=(
        "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
        "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    ),
)  # fmt: skip


def pow_scalar_forward(xp: Any, input: Any, /, exponent: Any) -> Any:
    if exponent in (0.5, -0.5, -1) and xp.isdtype(input.dtype, ("real floating", "complex floating")):
        root = input if exponent == -1 else xp.sqrt(input)  # -inf gives NaN as in PyTorch, unlike with `pow`
        return root if exponent == 0.5 else xp.reciprocal(root)
    return xp.pow(input, exponent)


_pow_scalar = op(
    "pow_scalar", pow_scalar_forward,
    kind=Kind.POINTWISE,
    public=False, method=False, grad_fn="PowBackward0", operator="pow",
    input=lambda F, g, input, exponent: (
        F.zeros_of(input, input.shape) if exponent == 0 else
        g * F.conj(input * 2 if exponent == 2 else exponent * F.pow_scalar(input, exponent - 1))),
)  # fmt: skip


def __pow__(input: Any, exponent: Any) -> Tensor:
    if isinstance(input, Tensor) and type(exponent) in input._key.scalars:
        category = input._key.dtype.category
        if category == dtypes.BOOL:
            return input | (not exponent)
        if category == dtypes.INTEGER and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return _pow_scalar(input, exponent)
    if not can_operate(exponent):
        return NotImplemented
    return rename_node(_pow(input, exponent), "PowBackward1" if isinstance(input, Tensor) else "PowBackward2")


@composite(inplace=True, out=True, operators=("__pow__", "__rpow__", "__ipow__"))
def pow(input: Any, exponent: Any) -> Tensor:
    """`input` to the power of `exponent`; either may be a Python number.

    Args:
        exponent: a tensor that can be broadcast with `input`, or a number.

    Raises:
        RuntimeError: an integer tensor to a negative integer power.

    >>> torch.tensor([1.0, 2.0]) ** 2
    tensor([1., 4.])
    """
    result = __pow__(input, exponent)
    if result is NotImplemented:
        raise TypeError(f"pow(): argument 'exponent' (position 2) must be Tensor, not {type(exponent).__name__}")
    return result


def __rdiv__(self: Tensor, other: Any) -> Any:
    if may_override((other,)):
        return offer_operator("__rdiv__", (self, other), {})
    if can_operate(other) or hasattr(other, "__array_interface__"):
        return self.reciprocal() * other  # as in PyTorch, both the reciprocal and the product are rounded
    return NotImplemented


def __rpow__(self: Tensor, other: Any) -> Tensor:
    if may_override((other,)):
        return offer_operator("__rpow__", (self, other), {})  # type: ignore[no-any-return]  # an override may return anything
    try:
        return rename_node(_pow(other, self), "PowBackward2")
    except TypeError:
        return NotImplemented


__pow__.__name__ = "pow"  # the name of the function that `__torch_function__` receives
attach(__rtruediv__=__rdiv__, __rdiv__=__rdiv__, __pow__=__pow__, __rpow__=__rpow__)


def __ipow__(self: Tensor, other: Any) -> Any:
    return self.pow_(other) if can_operate(other) or may_override((other,)) else NotImplemented


__ipow__.__name__ = "pow_"  # the name of the method that `__torch_function__` receives
attach(__ipow__=__ipow__)


def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of `float_power`.  Raises RuntimeError unless the dtype is float64 or complex128.

    Args:
        exponent: a tensor that can be broadcast with `self`, or a number.
    """
    required = dtypes.complex128 if result_dtype((self, exponent)).is_complex else dtypes.float64
    if self.dtype is not required:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.legacy_name} but the operation's result "
            f"requires dtype {required.legacy_name}"
        )
    return self.pow_(exponent)


@composite(
    out=Out.OWN_DTYPE,
    kind=Kind.POINTWISE,
    schema=(
        "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
        "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
        "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    ),
)
def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """`input` to the power of `exponent`, in float64 or complex128.

    Args:
        input: a tensor or a number; at least one of `input` and `exponent` is a tensor.
        exponent: a tensor that can be broadcast with `input`, or a number.
        out: a tensor that the result is written to.

    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """

    def widened(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value if isinstance(value, complex) else float(value)
        return value.to(dtypes.complex128 if value.is_complex() else dtypes.float64)

    return pow(widened(input), widened(exponent))


attach(float_power_=checked(_float_power_))


# --- multiply and add ---------------------------------------------------------------------------------------------


def _in_common_dtype(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Convert the tensors to the dtype of the result; to float32 for float16 and bfloat16, so that only the result is rounded."""
    first = tensors[0]._key.dtype
    if first not in dtypes.HALF and all(tensor._key.dtype is first for tensor in tensors):
        return tensors
    common = result_dtype(tensors)
    wide = dtypes.float32 if common in dtypes.HALF else common
    return tuple(tensor.to(wide) for tensor in tensors)


@composite(
    inplace=True,
    out=True,
    kind=Kind.POINTWISE,
    autocast={"cuda": Autocast.WIDEST},
    schema="addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    single_operator=True,
)
def addcmul(input: Tensor, tensor1: Any, tensor2: Tensor | Number = None, *args: Any, value: Number = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`.

    Args:
        input: a tensor of any shape.
        tensor1, tensor2: tensors that can be broadcast with `input`.
        value: the factor of the product; converted to an integer if all three tensors have integer dtypes.
        *args: used by the deprecated call `addcmul(input, value, tensor1, tensor2)`.
        out: a tensor that the result is written to.

    >>> torch.addcmul(torch.ones(2), torch.ones(2), torch.ones(2), value=0.5)
    tensor([1.5000, 1.5000])
    """
    if args:  # the legacy signature: addcmul(input, value, tensor1, tensor2)
        warn_of_old("addcmul", "tensor1, tensor2, *, value=1")
        value, tensor1, tensor2 = tensor1, tensor2, args[0]
    require_tensors("addcmul", input=input, tensor1=tensor1, tensor2=tensor2)
    terms = _in_common_dtype(input, tensor1, tensor2)
    if isinstance(value, float) and all(tensor._key.dtype.category < dtypes.FLOATING for tensor in terms):
        value = int(value)  # PyTorch converts `value` to the dtype of the tensors
    result = terms[0] + (terms[1] if value == 1 else terms[1] * value) * terms[2]
    result = result if terms[0] is input else result.to(result_dtype((input, tensor1, tensor2)))
    require_dtype("addcmul_cpu_out", result, "numbers")
    return merge_nodes(result, "AddcmulBackward0", (input, tensor1, tensor2))


@composite(
    inplace=True,
    out=True,
    kind=Kind.POINTWISE,
    autocast={"cuda": Autocast.WIDEST},
    schema="addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    single_operator=True,
)
def addcdiv(input: Tensor, tensor1: Any, tensor2: Tensor | Number = None, *args: Any, value: Number = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`.

    Args:
        input: a tensor of any shape.
        tensor1, tensor2: tensors that can be broadcast with `input`; at least one has a floating-point or complex dtype.
        value: the factor of the quotient.
        *args: used by the deprecated call `addcdiv(input, value, tensor1, tensor2)`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: `tensor1` and `tensor2` have integer or bool dtypes.

    >>> torch.addcdiv(torch.zeros(2), torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]), value=10)
    tensor([ 5., 15.])
    """
    if args:
        warn_of_old("addcdiv", "tensor1, tensor2, *, value=1")
        value, tensor1, tensor2 = tensor1, tensor2, args[0]
    require_tensors("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    if not any(tensor.is_floating_point() or tensor.is_complex() for tensor in (tensor1, tensor2)):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
            "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
            "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
            "inputs and as (input + value * tensor1 / tensor2) for float inputs."
        )
    terms = _in_common_dtype(input, tensor1, tensor2)
    result = terms[0] + (terms[1] if value == 1 else terms[1] * value) / terms[2]
    result = result if terms[0] is input else result.to(result_dtype((input, tensor1, tensor2)))
    return merge_nodes(result, "AddcdivBackward0", (input, tensor1, tensor2))


_lerp = op(
    "lerp", lambda xp, input, end, weight: xp.where(
        xp.abs(weight) < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight)),
    kind=Kind.POINTWISE,
    promote="wide arithmetic", public=False, method=False, grad_fn="LerpBackward1",
    input=lambda F, g, weight: g * F.conj(1 - weight),
    end=lambda F, g, weight: g * F.conj(weight),
    weight=lambda F, g, input, end: g * F.conj(end - input),
    schema=(
        "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
        "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    ),
)  # fmt: skip


def _lerp_scalar_forward(xp: Any, input: Any, end: Any, /, weight: Any) -> Any:
    if abs(weight) < 0.5:
        return input + weight * (end - input)
    return end - (end - input) * (1 - weight)


_lerp_scalar = op(
    "lerp_scalar", _lerp_scalar_forward,
    kind=Kind.POINTWISE, promote="wide arithmetic", public=False, method=False, grad_fn="LerpBackward0",
    operator="lerp",
    input=lambda F, g, weight: g * (1 - weight).conjugate(),
    end=lambda F, g, weight: g * weight.conjugate(),
)  # fmt: skip


@composite(inplace=True, out=Out.OWN_DTYPE)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Linear interpolation: `input + weight * (end - input)`, exact at both ends.

    Args:
        input: the tensor of start values, of a floating-point or complex dtype.
        end: a tensor of end values with the dtype of `input`, which can be broadcast with it.
        weight: the position between start (0) and end (1): a number, or a tensor that can be broadcast with `input`.
        out: a tensor that the result is written to.

    Raises:
        RuntimeError: the dtypes of `input`, `end` and a tensor `weight` differ.

    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([10.0, 20.0]), 0.25)
    tensor([ 2.5000, 12.5000])
    """
    if not isinstance(end, Tensor):
        raise TypeError(f"lerp(): argument 'end' (position 2) must be Tensor, not {type(end).__name__}")
    if input.dtype is not end.dtype:
        raise RuntimeError(f"expected dtype {input.dtype} for `end` but got dtype {end.dtype}")
    require_dtype("lerp_kernel_scalar", input, "inexact")
    if type(weight) in input._key.scalars:
        return _lerp_scalar(input, end, weight)
    if isinstance(weight, Tensor) and weight.ndim and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected dtype {input.dtype} for `weight` but got dtype {weight.dtype}")
    return _lerp(input, end, weight)
