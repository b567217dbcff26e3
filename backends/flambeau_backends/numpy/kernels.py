"""NumPy kernels: ufuncs, and operations that NumPy computes faster than their array-API forward.

A kernel takes NumPy arrays, then the operation's parameters, and never writes to its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from flambeau.backend import memory_order
from flambeau.engine.values.constants import preserve_format
from flambeau.operations.arithmetic import integer_pow, pow_scalar_forward
from flambeau.operations.sorting import search_forward, search_rows

from .chunks import contiguous, in_chunks, map_chunks, select
from .error_state import without_warnings, without_warnings_in_place
from .layout import has_channels_last, in_order_of
from .namespace import namespace
from .row_sums import add_rows
from .threads import LARGE, product

Kernel = Callable[..., Any]

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "remainder": np.remainder,
    "fmod": np.fmod, "floor_divide": np.floor_divide, "pow": np.power, "neg": np.negative, "abs": np.abs,
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "maximum": np.maximum, "minimum": np.minimum, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert, "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift,
    "isnan": np.isnan, "square": np.square, "reciprocal": np.reciprocal, "conj": np.conjugate, "signbit": np.signbit,
    "bmm": np.matmul,
}  # fmt: skip
NOT_ELEMENTWISE = {"bmm"}

KERNELS: dict[str, Kernel] = dict(UFUNCS)
INPLACE: dict[str, Kernel] = {}

_LARGE = 1 << 18  # number of elements above which a temporary array of the same size does not fit into the cache

# In-place kernels are called as `kernel(target, *others, **scalars)`. A kernel that raises must not have written to `target`,
# because the general path then computes the operation again. Therefore intermediate results go to a temporary array, and
# infinities do not raise.
INPLACE.update({name: without_warnings_in_place(ufunc) for name, ufunc in UFUNCS.items() if name not in NOT_ELEMENTWISE})


def in_place(function: Kernel) -> Kernel:
    """Register a function as the in-place kernel of the operation of the same name."""
    INPLACE[function.__name__.rstrip("_")] = function
    return function


_add, _subtract = without_warnings_in_place(np.add), without_warnings_in_place(np.subtract)


@in_place
def add_(target: Any, other: Any, alpha: Any = None) -> None:
    if alpha is None:
        _add(target, other)
    else:
        _combine(np.add, target, other, alpha)


@in_place
def sub_(target: Any, other: Any, alpha: Any = None) -> None:
    if alpha is None:
        _subtract(target, other)
    else:
        _combine(np.subtract, target, other, alpha)


@without_warnings
def _combine(ufunc: np.ufunc, target: Any, other: Any, alpha: Any) -> None:
    """Write `ufunc(target, alpha * other)` to `target`; large arrays are processed in chunks to save memory."""
    dense = other.size == target.size > _LARGE and target.flags.c_contiguous and other.flags.c_contiguous
    if not dense or other.dtype != target.dtype or np.may_share_memory(target, other):
        ufunc(target, np.multiply(other, alpha), target)
        return
    target, other = target.reshape(-1), other.reshape(-1)

    def update(chunk: slice) -> None:
        part = target[chunk]
        ufunc(part, np.multiply(other[chunk], alpha), part)

    map_chunks(update, len(target), shared_from=LARGE)


@in_place
@without_warnings
def addcmul_(target: Any, first: Any, second: Any, value: Any = None) -> None:
    if value is None:
        update = np.multiply(first, second)
    else:
        update = np.multiply(first, value)
        update = np.multiply(update, second, update) if update.shape == target.shape else np.multiply(update, second)
    np.add(target, update, target)


@in_place
@without_warnings
def addcdiv_(target: Any, first: Any, second: Any, value: Any = None) -> None:
    if target.dtype.kind not in "fc":
        raise TypeError("addcdiv_ is not supported for integer tensors")
    if value is None:
        update = np.true_divide(first, second)
    else:
        update = np.multiply(first, value)
        update = np.true_divide(update, second, update) if update.shape == target.shape else np.true_divide(update, second)
    np.add(target, update, target)


@in_place
@without_warnings
def lerp_(target: Any, end: Any, weight: Any) -> None:
    if weight.ndim:
        raise TypeError("lerp_ expects a single weight")
    difference = np.subtract(end, target)
    if abs(weight) < 0.5:
        np.add(target, np.multiply(difference, weight, difference), target)
    else:
        np.subtract(end, np.multiply(difference, 1 - weight, difference), target)


def make_writable(array: Any) -> Any:
    """Make the array writable unless its elements share memory, and return it.

    NumPy makes every view of an expanded array read-only, even parts without repeated elements.
    """
    if not array.flags.writeable and all(stride or n < 2 for stride, n in zip(array.strides, array.shape, strict=True)):
        array.flags.writeable = True
    return array


@in_place
def copy_(target: Any, source: Any) -> bool:
    """Copy `source` into `target`; return False if the target is read-only because it is expanded."""
    if not target.flags.writeable:
        return False
    target[...] = source
    return True


@in_place
def zero_(target: Any) -> None:
    if not target.flags.writeable:  # an expanded array: write each memory location once
        target = target[tuple(slice(0, 1) if not stride else slice(None) for stride in target.strides)]
        target.flags.writeable = True
    if target.dtype.isbuiltin == 2:  # ml_dtypes: set the bits to 0 as PyTorch does, as float8_e8m0fnu has no zero
        target = target.view(np.uint8 if target.itemsize == 1 else np.uint16)
    target.fill(0)


def kernel(function: Kernel) -> Kernel:
    """Register a function as the kernel of the operation of the same name."""
    KERNELS[function.__name__.strip("_")] = function
    return function


@kernel
def round_(input: Any) -> Any:
    return input.copy() if input.dtype.kind in "iu" else np.rint(input)


def _integer_power(input: Any, exponent: float) -> Any:
    """Raise floats to an integer power; return None for other exponents.  `np.power` is vectorized only for positive bases."""
    if exponent == 2:
        return _squared(input)
    if exponent == 3:
        return _cubed(input)
    if exponent % 1 or not 2 < abs(exponent) < 64 or input.size <= _SMALL_SIZE:
        return None
    return _power_of_magnitudes(input, exponent)


@without_warnings
def _squared(input: Any) -> Any:
    return np.square(input) if input.size < LARGE else in_chunks(lambda out, x: np.square(x, out), input)


@without_warnings
def _cubed(input: Any) -> Any:
    """Compute `x * x * x`, rounded after each product, as in PyTorch."""
    return in_chunks(lambda out, x: np.multiply(np.multiply(x, x, out), x, out), input)


@without_warnings
def _power_of_magnitudes(input: Any, exponent: float) -> Any:
    def compute(out: Any, x: Any) -> None:
        np.power(np.abs(x, out), exponent, out)
        if exponent % 2:
            np.copysign(out, x, out)

    return in_chunks(compute, input)


@kernel
def pow_scalar(input: Any, exponent: Any) -> Any:
    floats = input.dtype.kind == "f" and type(exponent) is not complex
    result = _integer_power(input, exponent) if floats else None
    return pow_scalar_forward(namespace, input, exponent) if result is None else result


@kernel
def pow_(input: Any, other: Any) -> Any:
    repeated = other.size == 1 or other.shape != input.shape or 0 in other.strides
    if repeated and other.dtype.kind == "f" and (other == 0.5).any():
        return np.float_power(input, other).astype(input.dtype)  # for 0.5, np.power calls sqrt: NaN for -inf
    try:
        return np.power(input, other)
    except ValueError:  # NumPy raises for integers to negative powers
        return integer_pow(np, input, other)


_power = INPLACE["pow"]


def _write_power(target: Any, other: Any) -> None:
    floats = target.dtype.kind == other.dtype.kind == "f" and not other.ndim
    result = _integer_power(target, other.item()) if floats else None
    if result is not None:
        target[...] = result
    elif target.dtype.kind in "iu" and other.ndim:  # NumPy raises for a negative exponent after writing earlier elements
        target[...] = pow_(target, other)
    else:
        _power(target, other)


INPLACE["pow"] = _write_power


_zero = cache(lambda dtype: np.zeros((), dtype))  # an array, because ufuncs accept arrays faster than Python numbers


def _sign(out: Any, x: Any) -> None:
    """Write `(x > 0) - (x < 0)` to `out`, which is 0 for NaN."""
    zero = _zero(x.dtype)
    out[...] = np.subtract(np.greater(x, zero).view(np.int8), np.less(x, zero).view(np.int8))


@kernel
def sign(input: Any) -> Any:
    kind = input.dtype.kind
    if kind == "f" and input.size > _SMALL_SIZE:
        return in_chunks(_sign, input)
    if kind == "b":
        return input.copy()
    result = np.asarray(np.sign(input))
    if kind != "c" and (unknown := result != result).any():  # in PyTorch the sign of NaN is 0
        result[unknown] = 0
    return result


KERNELS["sgn"] = sign


# --- views --------------------------------------------------------------------------------------------------------


@kernel
def view(input: Any, shape: tuple[int, ...]) -> Any:
    return input.reshape(shape, copy=False)


KERNELS["squeeze"] = view


@kernel
def reshape(input: Any, shape: tuple[int, ...]) -> Any:
    return input.reshape(shape)


@kernel
def permute(input: Any, dims: Sequence[int]) -> Any:
    return input.transpose(dims)


@kernel
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    return input.swapaxes(dim0, dim1)


@kernel
def t(input: Any) -> Any:
    return input.T


def mH_(input: Any) -> Any:
    transposed = input.swapaxes(-1, -2)
    return transposed.conj() if transposed.dtype.kind == "c" else transposed


KERNELS["mH_"] = mH_


# --- masks, clipping and copies -----------------------------------------------------------------------------------


@kernel
def masked(input: Any, mask: Any, of: Any = None) -> Any:
    if input.size < LARGE or input.shape != mask.shape or not input.flags.c_contiguous:
        return select(mask, input)
    result = np.empty(input.shape, input.dtype)
    out, rows, mask_rows = result.reshape(-1), input.reshape(-1), mask.reshape(-1)

    def compute(chunk: slice) -> None:
        select(mask_rows[chunk], rows[chunk], out=out[chunk])

    map_chunks(compute, input.size)
    return result


_SMALL_SIZE = 1 << 10  # number of elements up to which `np.where` is faster than several passes
_SHORT = 1 << 12  # number of elements up to which `np.maximum` is faster than `np.clip`


def clip(out: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    """Like `np.clip`, but keeps negative zeros.

    With a scalar bound, `np.maximum` takes four times as long as `np.clip` per element, but has less call overhead.
    """
    if x.size < _SHORT or x.dtype.kind != "f":
        if low is not None:
            x = np.maximum(low, x, out=out)
        return x if high is None else np.minimum(high, x, out=out)
    return np.clip(x, -np.inf if low is None else low, np.inf if high is None else high, out)


@kernel
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    low, high = (bound if bound is None else np.asarray(bound, input.dtype)[()] for bound in (min, max))
    if input.size >= LARGE:
        return in_chunks(lambda out, x: clip(out, x, low, high), input)
    return clip(np.empty_like(input), input, low, high)


def _rectify(out: Any, x: Any) -> None:
    """Write `max(x, 0)`."""
    clip(out, x, _zero(x.dtype))


@kernel
def relu(input: Any) -> Any:
    if input.size < _SHORT:
        return np.maximum(_zero(input.dtype), input)
    if input.size >= LARGE:
        return in_chunks(_rectify, input)
    result = np.empty_like(input)
    _rectify(result, input)
    return result


@in_place
def relu_(target: Any) -> None:
    _rectify(target, target)


def _pass_rectified(out: Any, grad: Any, rectified: Any) -> None:
    passes = np.less_equal(rectified, _zero(rectified.dtype))
    np.logical_not(passes, passes)  # unlike `rectified > 0`, true for NaN
    select(passes, grad, out=out)


@kernel
def relu_backward(g: Any, out: Any) -> Any:
    if g.size <= _SMALL_SIZE and g.flags.c_contiguous and g.shape == out.shape:
        zero = _zero(g.dtype)
        return np.where(np.less_equal(out, zero), zero, g)
    return in_chunks(_pass_rectified, g, out)


@kernel
def clone(input: Any, memory_format: Any = None) -> Any:
    preserving = memory_format is None or memory_format is preserve_format
    if preserving and 0 not in input.strides:
        return input.copy(order="K")
    order = memory_order(input.shape, input.strides) if preserving else memory_format.order(input.ndim)
    return input.transpose(order).copy().transpose(np.argsort(order))


KERNELS["contiguous"] = contiguous


_LONG = 8  # ratio of input features to rows from which the product is computed transposed


@kernel
def linear(bias: Any, input: Any, weight: Any) -> Any:
    """Compute `input @ weight.T + bias` with the leading dimensions flattened; NumPy would compute a product for each."""
    shape = input.shape
    rows = input if len(shape) == 2 else input.reshape(prod(shape[:-1]), shape[-1])
    if weight.shape[1] >= _LONG * len(rows):  # OpenBLAS is faster with the operand of few rows on the right-hand side
        output = np.add(product(weight, rows.T).T, bias, order="C")
    else:
        output = product(rows, weight.T)
        output = np.add(output, bias, output) if output.dtype is bias.dtype and bias.ndim < 2 else output + bias
    return output if len(shape) == 2 else output.reshape(*shape[:-1], output.shape[-1])


@kernel
def mm(input: Any, mat2: Any) -> Any:
    return product(input, mat2) if input.ndim == 2 else np.matmul(input, mat2)


@kernel
def addmm(bias: Any, input: Any, mat2: Any) -> Any:
    output = product(input, mat2) if input.ndim == 2 else np.matmul(input, mat2)
    return np.add(output, bias, output) if np.broadcast_shapes(bias.shape, output.shape) == output.shape else output + bias


# --- indexing -----------------------------------------------------------------------------------------------------


_WHOLE = slice(None)


def _getitem(input: Any, index: Any) -> Any:
    return input[index]


for _name in ("select", "slice", "unsqueeze", "alias"):
    KERNELS[f"getitem_{_name}"] = _getitem


def _takes_slices(index: tuple[Any, ...]) -> bool:
    """Whether an index consists of full slices followed by one integer array."""
    for item in index[:-1]:
        if type(item) is not slice or item != _WHOLE:
            return False
    return bool(index) and type(index[-1]) is np.ndarray and index[-1].dtype.kind != "b"


@kernel
def index(input: Any, index: Any) -> Any:
    if _takes_slices(index) and input.size and input.flags.c_contiguous:  # `take` would copy an input that is not contiguous
        return input.take(index[-1], len(index) - 1)  # takes less than half the time of indexing
    result = input[index]
    if result.flags.c_contiguous:
        return result
    selects_images = type(index[0]) is np.ndarray and result.ndim == input.ndim and has_channels_last(input)
    return in_order_of(input, result) if selects_images else np.ascontiguousarray(result)  # NumPy keeps the order of the input


@kernel
def setitem_in_place(input: Any, value: Any, index: Any) -> Any:
    if input.flags.writeable or make_writable(input).flags.writeable or not np.may_share_memory(part := input[index], input):
        input[index] = value
    else:
        make_writable(part)[...] = value
    return input


INPLACE["setitem"] = setitem_in_place


@kernel
def getitem_backward(input: Any, shape: Any, index: Any) -> Any:
    grad_input = np.zeros(shape, input.dtype)
    grad_input[index] = input
    return grad_input


@kernel
def setitem(input: Any, value: Any, index: Any) -> Any:
    result = np.array(input)  # a copy; an array even for 0-d input
    result[index] = value
    return result


@kernel
def pad_to(input: Any, shape: Any) -> Any:
    if input.shape == tuple(shape):
        return input
    return getitem_backward(input, shape, tuple(map(slice, input.shape)))


# --- scattering ---------------------------------------------------------------------------------------------------


def accumulation_copy(input: Any) -> Any:
    """Return a copy to accumulate into: float32 for half precision, else the same dtype."""
    return input.astype(np.float32) if is_half(input) else input.copy()


def is_half(input: Any) -> bool:
    return input.dtype.itemsize == 2 and input.dtype.kind in "fV"


_SMALL_SCATTER = 1 << 9  # number of elements up to which `np.add.at` is fast enough


def _add_at(target: Any, index: Any, values: Any) -> None:
    """Like `np.add.at`, but many times faster if the index is an integer array along one dimension."""
    items = index[:-1] if isinstance(index, tuple) and len(index) > 1 and index[-1] is ... else index
    if not (
        isinstance(items, tuple)
        and _takes_slices(items)
        and target.flags.c_contiguous
        and values.size > _SMALL_SCATTER
        and target.ndim > 1
    ):
        np.add.at(target, index, values)
        return
    dim, rows = len(items) - 1, items[-1]
    before, length, after = target.shape[:dim], target.shape[dim], target.shape[dim + 1 :]
    if rows.size and not -length <= rows.min() <= rows.max() < length:
        worst = rows.max() if rows.max() >= length else rows.min()
        raise IndexError(f"index {worst} is out of bounds for axis {dim} with size {length}")
    places, size = np.where(rows < 0, rows + length, rows).reshape(-1), prod(after)
    values = np.broadcast_to(values, (*before, *rows.shape, *after)).reshape(-1, size)
    if dim:  # the table has a row for each index into the leading dimensions and `dim`
        places = np.add.outer(np.arange(prod(before)) * length, places).reshape(-1)
    add_rows(target.reshape(-1, size), places, values)


@kernel
def index_backward(input: Any, shape: Any, index: Any) -> Any:
    grad_input = np.zeros(shape, np.float32 if is_half(input) else input.dtype)
    _add_at(grad_input, index, input)
    return grad_input.astype(input.dtype, copy=False)


# --- order --------------------------------------------------------------------------------------------------------


@kernel
def search(input: Any, values: Any, side: str) -> Any:
    if input.dtype.kind == "V":
        input, values = input.astype(np.float32), values.astype(np.float32)
    if input.ndim == 1 and input.size and input[-1] != input[-1]:  # NaN at the end: NumPy and PyTorch order it differently
        return search_rows(np, input, values.reshape(-1), side).reshape(values.shape)
    return search_forward(np, input, values, side)


@kernel
def index_put_add(input: Any, values: Any, index: Any) -> Any:
    result = accumulation_copy(input)
    _add_at(result, index, values)
    return result.astype(input.dtype, copy=False)


@in_place
@without_warnings
def index_put_add_(target: Any, values: Any, index: Any) -> None:
    if is_half(target):
        raise NotImplementedError("the sums of half-precision numbers are rounded once")
    _add_at(target, index, values)


@kernel
def diagonal_(input: Any, offset: int, dim1: int, dim2: int) -> Any:
    diagonal = np.diagonal(input, offset, dim1, dim2)
    diagonal.flags.writeable = input.flags.writeable  # NumPy's diagonal is read-only
    return diagonal
