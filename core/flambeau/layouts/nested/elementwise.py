"""What is computed element by element: on the values."""

from __future__ import annotations

from typing import Any

import flambeau as torch

from ...engine.tensors.tensor import Tensor
from .tensors import Nested, NestedTensor, StridedNestedTensor, implements, lengths_of, like, moved

__all__ = ["aligned", "matches"]

# Functions of one number or of several.  Those with an underscore at the end write to the first argument, and return it.
_POINTWISE = """
    abs absolute acos acosh add addcdiv addcmul alpha_dropout angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh
    asin asinh atan atan2 atanh bernoulli bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor ceil celu clamp clamp_max clamp_min clip conj conj_physical copysign cos cosh deg2rad digamma div divide
    dropout elu eq erf erfc erfinv exp exp2 expm1 fill fix float_power floor floor_divide fmax fmin fmod frac gcd ge
    gelu greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot i0 isclose isfinite isinf
    isnan isneginf isposinf isreal lcm ldexp le leaky_relu lerp less less_equal lgamma log log10 log1p log2 log_sigmoid
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logsigmoid lt masked_fill maximum minimum
    mish mul multiply mvlgamma nan_to_num ne neg negative nextafter not_equal polygamma positive pow rad2deg real
    reciprocal relu relu6 remainder round rrelu rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus
    softshrink softsign sqrt square sub subtract tan tanh tanhshrink threshold true_divide trunc where xlogy zeros_like
    ones_like empty_like rand_like randn_like full_like randint_like clone contiguous to double float half bfloat16 long
    int short char byte bool cpu cuda type type_as pin_memory resolve_conj resolve_neg __and__ __eq__ __floordiv__
    __invert__ __lshift__ __or__ __pow__ __rdiv__ __rfloordiv__ __rlshift__ __rmod__ __rpow__ __rrshift__ __rshift__
    __rsub__ __rtruediv__ __xor__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __radd__ __sub__ __mul__ __rmul__
    __truediv__ __mod__ __neg__ __abs__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ __iadd__ __isub__ __imul__
    __itruediv__
"""
_IN_PLACE = """
    zero copy normal uniform random exponential geometric cauchy log_normal
"""


def _pointwise(func: Any, *args: Any, **kwargs: Any) -> Any:
    values = [value for value in (*args, *kwargs.values()) if isinstance(value, Nested)]
    first = values[0]
    for other in values[1:]:
        if not matches(first, other):
            shapes = [value._array.shape if isinstance(value, NestedTensor) else "(irregular)" for value in (first, other)]
            shapes = [tuple(shape) if isinstance(shape, tuple) else shape for shape in shapes]
            raise RuntimeError(
                f"cannot call binary pointwise function {func.__name__} with inputs of shapes {shapes[0]} and {shapes[1]}"
            )
    name = func.__name__
    if isinstance(first, NestedTensor) and first._lengths is not None and name in ("clone", "contiguous"):
        return _without_holes(first)
    if name == "contiguous" and first.is_contiguous():
        return first
    result = func(*(_as_values(first, arg) for arg in args), **{key: _as_values(first, value) for key, value in kwargs.items()})
    if result is first._values:
        return first
    if isinstance(result, Tensor) and isinstance(first, NestedTensor) and result.device != first._offsets.device:
        return moved(first, result)
    return like(first, result) if isinstance(result, Tensor) else result


def matches(first: Nested, other: Nested) -> bool:
    """Whether the items of both are of the same sizes, in the ragged dimension at least."""
    if isinstance(first, NestedTensor) and isinstance(other, NestedTensor):
        return (
            first.dim() == other.dim()
            and first._ragged_idx == other._ragged_idx
            and first.shape[first._ragged_idx] == other.shape[first._ragged_idx]
        )
    return isinstance(first, StridedNestedTensor) and isinstance(other, StridedNestedTensor) and first._sizes == other._sizes


def _as_values(first: Nested, value: Any) -> Any:
    if isinstance(value, Nested):
        return value._values
    return aligned(first, value) if isinstance(value, Tensor) and value.ndim else value


def aligned(input: Nested, dense: Tensor) -> Tensor:
    """A tensor that a nested one can be computed with, so that its elements meet those of the values.

    Raises:
        NotImplementedError: it has more dimensions.
        RuntimeError: its sizes are others.
    """
    if isinstance(input, StridedNestedTensor):
        return _spread(input, dense)
    assert isinstance(input, NestedTensor)
    if dense.ndim > input.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    squeezed = dense
    while squeezed.ndim and squeezed.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    ragged = input._ragged_idx
    if squeezed.ndim + ragged < input.dim():
        return squeezed
    if dense.ndim != input.dim() or dense.shape[0] != len(input):
        raise RuntimeError(
            f"cannot call binary pointwise function with inputs of shapes {tuple(input.shape)} and {tuple(dense.shape)}"
        )
    rows = _rows(input)
    if dense.shape[ragged] == 1:
        return dense.select(ragged, 0).index_select(0, rows).movedim(0, ragged - 1)
    within = torch.arange(len(rows), device=rows.device) - input._offsets[rows]
    return dense.movedim(ragged, 1)[rows, within].movedim(0, ragged - 1)


def _spread(input: StridedNestedTensor, dense: Tensor) -> Tensor:
    """A tensor with a row, or one element, for each item, as values."""
    if dense.numel() == 1:
        return dense.reshape(())
    if dense.ndim == input.dim() and dense.shape[0] == len(input._sizes):
        parts = [row.expand(size).reshape(-1) for row, size in zip(dense.unbind(0), input._sizes, strict=True)]
        return torch.cat(parts)
    raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")


def _rows(input: NestedTensor) -> Tensor:
    """For each place of the ragged dimension, the item that it belongs to."""
    return torch.repeat_interleave(torch.arange(len(input), device=input._offsets.device), lengths_of(input))


def _without_holes(input: NestedTensor) -> NestedTensor:
    """A nested tensor of the same items, one after the other."""
    lengths = lengths_of(input)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return NestedTensor(torch.cat(list(input.items()), input._ragged_idx - 1), offsets, _ragged_idx=input._ragged_idx)


def _in_place(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    result = _pointwise(func, input, *args, **kwargs)
    return input if isinstance(result, Nested) else result


for _name in _POINTWISE.split():
    Nested.implementations[_name] = _pointwise
for _name in (*_POINTWISE.split(), *_IN_PLACE.split()):
    if not _name.startswith("_"):
        Nested.implementations[f"{_name}_"] = _in_place
for _name in _POINTWISE.split():
    if _name.startswith("__i") and _name != "__invert__":
        Nested.implementations[_name] = _in_place


@implements(NestedTensor, "is_same_size")
@implements(StridedNestedTensor, "is_same_size")
def _is_same_size(input: Any, other: Any) -> bool:
    return isinstance(other, Nested) and matches(input, other) and input._values.shape == other._values.shape


@implements(NestedTensor, "equal")
@implements(StridedNestedTensor, "equal")
def _equal(input: Any, other: Any) -> bool:
    return _is_same_size(input, other) and torch.equal(input._values, other._values)
