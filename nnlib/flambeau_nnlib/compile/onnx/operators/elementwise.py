"""ONNX translations of elementwise operators: arithmetic, comparisons, activations, casts."""

from __future__ import annotations

import math
from typing import Any

import flambeau as torch

from .._builder import Builder, Value
from ._table import TABLE, translates

_FLOAT = {
    "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "reciprocal": "Reciprocal", "softsign": "Softsign",
    "special_expit": "Sigmoid",
}  # fmt: skip
_SAME = {
    "relu": "Relu",
    "abs": "Abs",
    "neg": "Neg",
    "floor": "Floor",
    "ceil": "Ceil",
    "round": "Round",
    "sign": "Sign",
}
_ARITHMETIC = {"mul": "Mul", "maximum": "Max", "minimum": "Min", "fmax": "Max", "fmin": "Min"}
_COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITS = {"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"}


def _enter() -> None:
    for name, kind in _FLOAT.items():
        TABLE[name] = lambda b, x, kind=kind: b.op(kind, b.cast(x, b.result_dtype))
    for name, kind in _SAME.items():
        TABLE[name] = lambda b, x, kind=kind: b.op(kind, x) if x.dtype.is_floating_point or kind in _ON_INTS else x
    for name, kind in _ARITHMETIC.items():
        TABLE[name] = lambda b, x, y, kind=kind: _arithmetic(b, kind, x, y)
    for name, kind in _COMPARISONS.items():
        TABLE[name] = lambda b, x, y, kind=kind: b.op(kind, *promote(b, x, y))
    for name, kind in _LOGIC.items():
        TABLE[name] = lambda b, x, y, kind=kind: b.op(kind, b.cast(x, torch.bool), b.cast(y, torch.bool))
    for name, kind in _BITS.items():
        TABLE[name] = lambda b, x, y, kind=kind: _bits(b, kind, x, y)


_ON_INTS = ("Relu", "Abs", "Neg", "Sign")


def promote(b: Builder, x: Any, y: Any) -> tuple[Value, Value]:
    """Convert two operands to their common dtype by type promotion."""
    if isinstance(x, Value) and isinstance(y, Value):
        dtype = torch.result_type(_stand_in(x), _stand_in(y))
    else:
        tensor, number = (x, y) if isinstance(x, Value) else (y, x)
        dtype = torch.result_type(_stand_in(tensor), number)
    if dtype is torch.bool:
        dtype = torch.int32
    return b.cast(x, dtype), b.cast(y, dtype)


def _stand_in(value: Value) -> torch.Tensor:
    return torch.zeros((1,) * value.rank, dtype=value.dtype)


def _arithmetic(b: Builder, kind: str, x: Any, y: Any) -> Value:
    dtype = b.result_dtype
    if dtype is torch.bool:
        return b.op({"Mul": "And", "Max": "Or", "Min": "And", "Add": "Or"}[kind], b.cast(x, dtype), b.cast(y, dtype))
    return b.op(kind, b.cast(x, dtype), b.cast(y, dtype))


def _bits(b: Builder, kind: str, x: Any, y: Any) -> Value:
    if b.result_dtype is torch.bool:
        return b.op(kind.removeprefix("Bitwise"), b.cast(x, torch.bool), b.cast(y, torch.bool))
    return _arithmetic(b, kind, x, y)


@translates("add", "sub")
def add(b: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    """Translate `x + alpha * y` or `x - alpha * y`."""
    assert b.node is not None
    kind = "Sub" if "sub" in str(b.node.target) else "Add"
    if alpha != 1:
        y = b.op("Mul", b.cast(y, b.result_dtype), b.constant(alpha, b.result_dtype))
    return _arithmetic(b, kind, x, y)


@translates("rsub")
def rsub(b: Builder, x: Any, y: Any, alpha: Any = 1) -> Value:
    """Translate `y - alpha * x`."""
    if alpha != 1:
        x = b.op("Mul", b.cast(x, b.result_dtype), b.constant(alpha, b.result_dtype))
    return _arithmetic(b, "Sub", y, x)


@translates("div", "true_divide")
def div(b: Builder, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    """Translate division with an optional rounding mode."""
    if rounding_mode == "floor":
        return floor_divide(b, x, y)
    quotient = _arithmetic(b, "Div", x, y)
    if rounding_mode == "trunc" and b.result_dtype.is_floating_point:
        return b.op("Mul", b.op("Sign", quotient), b.op("Floor", b.op("Abs", quotient)))
    return quotient


@translates("floor_divide")
def floor_divide(b: Builder, x: Any, y: Any) -> Value:
    """Translate division rounded down."""
    dtype = b.result_dtype
    if dtype.is_floating_point:
        return b.op("Floor", _arithmetic(b, "Div", x, y))
    x, y = b.cast(x, dtype), b.cast(y, dtype)
    return b.op("Div", b.op("Sub", x, b.op("Mod", x, y)), y)


@translates("remainder")
def remainder(b: Builder, x: Any, y: Any) -> Value:
    """Translate the remainder with the sign of the divisor."""
    dtype = b.result_dtype
    x, y = b.cast(x, dtype), b.cast(y, dtype)
    if not dtype.is_floating_point:
        return b.op("Mod", x, y)
    return b.op("Sub", x, b.op("Mul", b.op("Floor", b.op("Div", x, y)), y))


@translates("fmod")
def fmod(b: Builder, x: Any, y: Any) -> Value:
    """Translate the remainder with the sign of the dividend."""
    return b.op("Mod", b.cast(x, b.result_dtype), b.cast(y, b.result_dtype), fmod=1)


@translates("pow")
def power(b: Builder, x: Any, y: Any) -> Value:
    """Translate `x ** y`."""
    if y == 0.5:
        return b.op("Sqrt", b.cast(x, b.result_dtype))
    return b.op("Pow", b.cast(x, b.result_dtype), b.cast(y, b.result_dtype))


@translates("square")
def square(b: Builder, x: Value) -> Value:
    """Translate `x * x`."""
    return b.op("Mul", x, x)


@translates("rsqrt")
def rsqrt(b: Builder, x: Value) -> Value:
    """Translate `1 / sqrt(x)`."""
    return b.op("Reciprocal", b.op("Sqrt", b.cast(x, b.result_dtype)))


@translates("ne")
def not_equal(b: Builder, x: Any, y: Any) -> Value:
    """Translate `x != y`."""
    return b.op("Not", b.op("Equal", *promote(b, x, y)))


@translates("logical_not", "bitwise_not")
def logical_not(b: Builder, x: Value) -> Value:
    """Translate logical or bitwise negation."""
    if x.dtype is not torch.bool and b.result_dtype is not torch.bool:
        return b.op("BitwiseNot", x)
    return b.op("Not", b.cast(x, torch.bool))


@translates("log2", "log10", "log1p", "expm1", "exp2")
def logarithm(b: Builder, x: Value) -> Value:
    """Translate `log2`, `log10`, `log1p`, `exp2` and `expm1`."""
    assert b.node is not None
    name, dtype = str(b.node.target).split(".")[1], b.result_dtype
    x = b.cast(x, dtype)
    if name in ("log2", "log10"):
        return b.op("Div", b.op("Log", x), b.constant(math.log(int(name[3:])), dtype))
    if name == "log1p":
        return b.op("Log", b.op("Add", x, b.constant(1, dtype)))
    if name == "exp2":
        return b.op("Exp", b.op("Mul", x, b.constant(math.log(2), dtype)))
    return b.op("Sub", b.op("Exp", x), b.constant(1, dtype))


@translates("isnan")
def isnan(b: Builder, x: Value) -> Value:
    """Translate `isnan`."""
    return b.op("IsNaN", x)


@translates("isinf")
def isinf(b: Builder, x: Value) -> Value:
    """Translate `isinf`."""
    return b.op("IsInf", x)


@translates("trunc")
def trunc(b: Builder, x: Value) -> Value:
    """Translate rounding towards zero."""
    return b.op("Mul", b.op("Sign", x), b.op("Floor", b.op("Abs", x)))


@translates("where")
def where(b: Builder, condition: Value, x: Any, y: Any) -> Value:
    """Translate `where(condition, x, y)`."""
    return b.op("Where", condition, b.cast(x, b.result_dtype), b.cast(y, b.result_dtype))


@translates("masked_fill")
def masked_fill(b: Builder, x: Value, mask: Value, value: Any) -> Value:
    """Translate `masked_fill`."""
    return b.op("Where", mask, b.cast(value, b.result_dtype), x)


@translates("clamp", "hardtanh", "clamp_min", "clamp_max", "relu6")
def clamp(b: Builder, x: Value, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Value:
    """Translate `clamp`, `clamp_min`, `clamp_max`, `relu6` and `hardtanh`."""
    assert b.node is not None
    name = str(b.node.target).split(".")[1]
    if name == "clamp_max":
        low, high = None, low
    elif name == "relu6":
        low, high = 0, 6
    elif name == "hardtanh":
        low, high = -1 if low is None else low, 1 if high is None else high
    low, high = low if min is None else min, high if max is None else max
    dtype = b.result_dtype
    x = b.cast(x, dtype)
    if isinstance(low, Value) or isinstance(high, Value):
        x = x if low is None else b.op("Max", x, b.cast(low, dtype))
        return x if high is None else b.op("Min", x, b.cast(high, dtype))
    return b.op("Clip", x, *(None if limit is None else b.constant(limit, dtype) for limit in (low, high)))


# --- activations ---


@translates("gelu")
def gelu(b: Builder, x: Value, approximate: str = "none") -> Value:
    """Translate GELU: `x * Phi(x)`, or its tanh approximation."""

    def number(value: float) -> Value:
        return b.constant(value, x.dtype)

    if approximate == "tanh":
        cube = b.op("Mul", b.op("Mul", x, x), x)
        inner = b.op("Mul", b.op("Add", x, b.op("Mul", cube, number(0.044715))), number(math.sqrt(2 / math.pi)))
        inner = b.op("Tanh", inner)
    else:
        inner = b.op("Erf", b.op("Div", x, number(math.sqrt(2))))
    return b.op("Mul", b.op("Mul", x, number(0.5)), b.op("Add", inner, number(1)))


@translates("silu")
def silu(b: Builder, x: Value) -> Value:
    """Translate `x * sigmoid(x)`."""
    return b.op("Mul", x, b.op("Sigmoid", x))


@translates("mish")
def mish(b: Builder, x: Value) -> Value:
    """Translate `x * tanh(softplus(x))`."""
    return b.op("Mul", x, b.op("Tanh", b.op("Softplus", x)))


@translates("hardswish")
def hardswish(b: Builder, x: Value) -> Value:
    """Translate `x * hardsigmoid(x)`."""
    return b.op("HardSwish", x)


@translates("hardsigmoid")
def hardsigmoid(b: Builder, x: Value) -> Value:
    """Translate `clip(x / 6 + 1 / 2, 0, 1)`."""
    return b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@translates("leaky_relu")
def leaky_relu(b: Builder, x: Value, slope: float = 0.01) -> Value:
    """Translate `x` where it is positive, else `slope * x`."""
    return b.op("LeakyRelu", x, alpha=float(slope))


@translates("elu")
def elu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """Translate `x` where it is positive, else `alpha * (exp(x) - 1)`."""
    return b.op("Elu", x, alpha=float(alpha))


@translates("selu")
def selu(b: Builder, x: Value) -> Value:
    """Translate SELU."""
    return b.op("Selu", x)


@translates("celu")
def celu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """Translate `x` where it is positive, else `alpha * (exp(x / alpha) - 1)`."""
    return b.op("Celu", x, alpha=float(alpha))


@translates("softplus")
def softplus(b: Builder, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """Translate `log(1 + exp(beta * x)) / beta`, or `x` where `beta * x > threshold`."""
    factor = b.constant(beta, x.dtype)
    scaled = b.op("Mul", x, factor)
    smooth = b.op("Div", b.op("Softplus", scaled), factor)
    return b.op("Where", b.op("Greater", scaled, b.constant(threshold, x.dtype)), x, smooth)


@translates("log_sigmoid")
def log_sigmoid(b: Builder, x: Value) -> Value:
    """Translate `-softplus(-x)`."""
    return b.op("Neg", b.op("Softplus", b.op("Neg", x)))


@translates("prelu")
def prelu(b: Builder, x: Value, weight: Value) -> Value:
    """Translate `x` where it is positive, else `weight * x`."""
    if x.rank > 2 and weight.shape[0] != 1:
        weight = b.op("Unsqueeze", weight, b.ints(list(range(1, x.rank - 1))), like=weight)
    return b.op("PRelu", x, weight)


@translates("threshold")
def threshold(b: Builder, x: Value, limit: float, value: float) -> Value:
    """Translate `x` where it is greater than `limit`, else `value`."""
    return b.op("Where", b.op("Greater", x, b.constant(limit, x.dtype)), x, b.constant(value, x.dtype))


@translates("glu")
def glu(b: Builder, x: Value, dim: int = -1) -> Value:
    """Translate `a * sigmoid(b)` for the halves `a` and `b` of `x` along `dim`."""
    first, second = b.op_with_outputs("Split", x, outputs=2, axis=dim, num_outputs=2)
    return b.op("Mul", first, b.op("Sigmoid", second))


# --- casts and identities ---


@translates("to", "_to_copy", "type_as", "copy")
def to(b: Builder, x: Value, *args: Any, **kwargs: Any) -> Value:
    """Translate dtype conversions. `copy` also broadcasts to the shape of the first tensor."""
    assert b.node is not None
    if "copy.default" in str(b.node.target):
        return b.op("Expand", b.cast(args[0], x.dtype), b.shape(x))
    return b.cast(x, b.result_dtype)


@translates("alias", "clone", "contiguous", "detach", "lift_fresh_copy", "positive")
def identity(b: Builder, x: Value, *args: Any, **kwargs: Any) -> Value:
    """Translate operators that return their input."""
    return x


@translates("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(b: Builder, x: Value, p: float, train: bool) -> Value:
    """Translate dropout, which is the identity in evaluation mode."""
    if not train or p == 0:
        return x
    return b.op("Dropout", x, b.constant(p, torch.float32), b.constant(True))


_enter()
