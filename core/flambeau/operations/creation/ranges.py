"""Tensors of evenly spaced numbers: `arange`, `linspace`, `logspace`."""

from __future__ import annotations

import builtins
import cmath
import math
from typing import Any

from ...engine.calls.arguments import Number, as_int
from ...engine.calls.facts import FACTORY_OPTIONS, Kind, declare
from ...engine.calls.signatures import with_args
from ...engine.calls.tables import PUBLIC
from ...engine.devices.devices import DispatchKey, dispatch_key
from ...engine.devices.warning import warn
from ...engine.tensors.tensor import Tensor, wrap
from ...engine.values import dtypes
from ...engine.values.dtypes import dtype as Dtype
from ...engine.values.scalars import converted, single
from .from_data import tensor
from .from_shape import dtype_for, plain_number
from .options import FACTORY_ARGS, OPTION_ARGS, devices_for, dtype_of_out, finish, key_for

_MAX_PYTHON_STEPS = 16  # up to this length, a Python range is faster than an array library
_REAL = frozenset({int, float})


def _range_dtype(*bounds: Any) -> Dtype:
    for bound in bounds:
        if not isinstance(bound, int) and dtype_for(bound).category > dtypes.INTEGER:
            return dtypes.get_default_dtype()
    return dtypes.int64


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"arange(Scalar end, *, {FACTORY_OPTIONS}) -> Tensor",
        f"arange.start(Scalar start, Scalar end, *, {FACTORY_OPTIONS}) -> Tensor",
        f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def arange(
    start: Number | None = None,
    end: Number | None = None,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return the numbers from `start` (or 0) up to but not including `end`, by `step`; integers if all three are integers.

    Args:
        start: the first number. A single argument is `end`, and `start` is 0.
        end: the bound, which is not part of the result.
        step: the difference of successive numbers, not 0.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for int64 if all three numbers are integers, else for the default dtype.

    Raises:
        RuntimeError: `step` is 0 or has the wrong sign.

    >>> torch.arange(3), torch.arange(0, 1, 0.5)
    (tensor([0, 1, 2]), tensor([0.0000, 0.5000]))
    """
    if end is None:
        if start is None:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        start, end = 0, start
    elif start is None:
        start = 0
    default = _range_dtype(start, end, step)
    if not type(start) is type(end) is type(step) is int:
        start, end, step = map(plain_number, (start, end, step))
    key = key_for(dtype, device, dtype_of_out(out) or default)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if key.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{key.dtype.legacy_name}'")
    if not math.isfinite(start) or not math.isfinite(end):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if key.dtype is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError("step must be nonzero")
    length = max(0, math.ceil((end - start) / step))
    _refuse_length(length)
    if out is not None:
        warn_of_length(out, length)
    return _progression(key, start, step, length, out, requires_grad, pin_memory)


def warn_of_length(out: Tensor, length: int) -> None:
    """Warn, as `arange` does, if `out` is not empty and does not have `length` elements."""
    if out.numel() not in (0, length):
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not "
            f"match the computed number of elements {length}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({length},).",
        )


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"range(Scalar start, Scalar end, *, {FACTORY_OPTIONS}) -> Tensor",
        f"range.step(Scalar start, Scalar end, Scalar step=1, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(FACTORY_ARGS)
def range(
    start: Number,
    end: Number | None = None,
    step: Number = 1,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
) -> Tensor:
    """Return the numbers from `start` to `end`, both included.  Deprecated in favour of `arange`.

    Args:
        start: the first number. A single argument is `end`, and `start` is 0.
        end: the bound.
        step: the difference of successive numbers.

    Raises:
        RuntimeError: `step` is 0, or has the wrong sign.
    """
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    start, end = (0, start) if end is None else (start, end)
    key = key_for(dtype, device, dtype_of_out(out))
    if not step:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return _progression(key, start, step, math.floor((end - start) / step) + 1, out, requires_grad)


def _progression(
    key: DispatchKey,
    start: Any,
    step: Any,
    length: int,
    out: Tensor | None,
    requires_grad: bool | None,
    pin_memory: bool | None = False,
) -> Tensor:
    if key.dtype in dtypes.FLOAT8:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{key.dtype.legacy_name}'")
    backend, index = key.backend, key.device.index or 0
    with backend.guard(index):
        if key.dtype.category <= dtypes.INTEGER:
            array = backend.namespace_on(index).arange(length, dtype=backend.dtypes[dtypes.int64])
            if start or step != 1:
                array = array * int(step) + int(start)
        else:
            wide = backend.dtypes.get(dtypes.float64, key.raw_dtype)
            array = backend.namespace_on(index).arange(length, dtype=wide) * step + start
        dtype = array.dtype
        result = wrap(array if dtype is key.raw_dtype or dtype == key.raw_dtype else backend.astype(array, key.raw_dtype), key)
    return _finish_1d(result, requires_grad, out, pin_memory)


def _finish_1d(result: Tensor, requires_grad: bool | None, out: Tensor | None, pin_memory: bool | None) -> Tensor:
    """Call `finish` for a one-dimensional result; an `out` with the same number of elements keeps its shape."""
    if out is not None and out.numel() == result.numel():
        result = result.reshape(out.shape)
    return finish(result, requires_grad, out, pin_memory)


def _convert_ends(
    name: str, start: Any, end: Any, steps: int, dtype: Dtype | None, device: Any, out: Tensor | None
) -> tuple[Any, Any, DispatchKey]:
    """Convert `start` and `end` to the result's dtype; return them and the result's dispatch key.

    If either is complex, so is the default dtype.

    Raises:
        RuntimeError: `dtype` is real, and `start` or `end` is complex.
    """
    default = None
    if type(start) not in _REAL or type(end) not in _REAL:
        start, end = plain_number(start), plain_number(end)
        if isinstance(end - start, complex):  # the subtraction raises TypeError if one is not a number
            default = dtypes.get_default_dtype().to_complex()
            if dtype is not None and not dtypes.as_dtype(dtype).is_complex:
                raise RuntimeError(
                    f"torch.{name}(): inferred dtype {dtypes.c_name(default)} can't be safely cast to passed dtype "
                    f"{dtypes.as_dtype(dtype).legacy_name}"
                )
    key = key_for(dtype, device, dtype_of_out(out) or default)
    number_dtype = key.dtype if steps else dtypes.complex128  # an empty result accepts any start and end
    return converted(start, number_dtype), converted(end, number_dtype), key


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"linspace(Scalar start, Scalar end, int steps, *, {FACTORY_OPTIONS}) -> Tensor",
        f"linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, {FACTORY_OPTIONS}) -> Tensor",
        f"linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, {FACTORY_OPTIONS}) -> Tensor",
        f"linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def linspace(
    start: Tensor | Number,
    end: Tensor | Number,
    steps: int = 100,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return `steps` numbers from `start` to `end`, both included, evenly spaced.

    Args:
        start, end: the first and the last number: numbers or 0-d tensors.
        steps: the number of elements.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype, or for the complex one if a bound is complex.

    Raises:
        RuntimeError: `steps` is negative.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    steps = as_int("linspace", "steps", steps)
    _refuse_length(steps)
    start, end, key = _convert_ends("linspace", start, end, steps, dtype, device, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if key.dtype is not dtypes.float32:
        _refuse_dtype("linspace_cpu", key.dtype, steps)
    # Real and imaginary parts are computed separately, so that they are rounded like real numbers.
    if key.dtype.is_complex:
        parts = (linspace(part(start), part(end), steps, dtype=key.dtype.to_real(), device=key.device) for part in (_real, _imag))
        return _finish_1d(PUBLIC["complex"](*parts), requires_grad, out, pin_memory)
    index = key.device.index or 0
    if key.dtype is dtypes.float32 and 0 < steps <= _MAX_PYTHON_STEPS:
        array = key.backend.namespace_on(index).asarray(_python_linspace(start, end, steps), dtype=key.raw_dtype)
    else:
        with key.backend.guard(index):
            array = _evenly_spaced(start, end, steps, key)
    return _finish_1d(wrap(array, key), requires_grad, out, pin_memory)


def _refuse_length(length: int) -> None:
    if length >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")


def _real(value: Any) -> float:
    return complex(value).real


def _imag(value: Any) -> float:
    return complex(value).imag


def _float32_ends(start: Any, end: Any, gaps: int) -> tuple[float, float, float]:
    """Return `start`, `end` and the step between numbers, rounded to float32 as PyTorch rounds them."""
    start, end = single(start), single(end)
    return start, end, single(single(end - start) / gaps)


def _python_linspace(start: Any, end: Any, steps: int) -> list[float]:
    """Return the numbers of `linspace`.  The first half is counted from the start and the second half from the end, as in
    PyTorch.
    """
    if steps == 1:  # one number needs no step; `end` may be infinite
        return [start]
    half, gaps = steps // 2, steps - 1
    start, end, step = _float32_ends(start, end, gaps)
    numbers = []
    for position in builtins.range(half):
        numbers.append(start + step * position)
    for from_end in builtins.range(gaps - half, -1, -1):
        numbers.append(end - step * from_end)
    return numbers


def _evenly_spaced(start: Any, end: Any, steps: int, key: DispatchKey) -> Any:
    """Return the array of `linspace`; it is empty if `steps` is 0."""
    backend, dtype = key.backend, key.dtype
    xp = backend.namespace_on(key.device.index or 0)
    if steps < 2:
        return xp.full((steps,), start if steps else 0, dtype=key.raw_dtype)
    gaps = steps - 1
    step = (end - start) / gaps
    if dtype is dtypes.float32:
        start, end, step = _float32_ends(start, end, gaps)
    halves = _positions(xp, steps, backend.dtypes.get(dtypes.float64, key.raw_dtype))
    if dtype in dtypes.HALF:  # float16 and bfloat16 round after each operation
        start, end = (xp.asarray(value, dtype=key.raw_dtype) for value in (start, end))
        halves = [backend.astype(array, key.raw_dtype) for array in halves]
        step = (end - start) / xp.asarray(gaps, dtype=key.raw_dtype)
    add = _fused_multiply_add if dtype is dtypes.float64 or dtype.category <= dtypes.INTEGER else _multiply_add
    return backend.astype(xp.concat([add(start, step, halves[0]), add(end, -step, halves[1])]), key.raw_dtype)


def _positions(xp: Any, steps: int, dtype: Any) -> list[Any]:
    """Return two arrays of positions: of the first half, counted from the start, and of the second half, counted from the end."""
    position, half = xp.arange(steps, dtype=dtype), steps // 2
    return [position[:half], steps - 1 - position[half:]]


def _multiply_add(start: Any, step: Any, position: Any) -> Any:
    return start + step * position


def _fused_multiply_add(start: float, step: float, position: Any) -> Any:
    """Compute `start + step * position`, rounded once like the fused multiply-add that PyTorch uses.

    The rounding errors of the product (Dekker 1971) and of the sum (Knuth 1969) are computed separately and added.  The error of
    the product is exact for positions below 2**26.
    """
    if not math.isfinite(step):
        return _multiply_add(start, step, position)
    mantissa, exponent = math.frexp(step)
    high = math.ldexp(round(mantissa * 2.0**26), exponent - 26)
    product = step * position
    product_error = (high * position - product) + (step - high) * position
    total = product + start
    added = total - product
    return total + ((product - (total - added)) + (start - added) + product_error)


def _refuse_dtype(kernel: str, dtype: Dtype, steps: int) -> None:
    if (dtype is dtypes.bool_ and steps > 1) or dtype in dtypes.FLOAT8 or dtype is dtypes.complex32:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.legacy_name}'")


@declare(
    kind=Kind.FACTORY,
    schema=(
        f"logspace(Scalar start, Scalar end, int steps, float base=10., *, {FACTORY_OPTIONS}) -> Tensor",
        f"logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, {FACTORY_OPTIONS}) -> Tensor",
        f"logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, {FACTORY_OPTIONS}) -> Tensor",
        f"logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, {FACTORY_OPTIONS}) -> Tensor",
    ),
)
@with_args(OPTION_ARGS)
def logspace(
    start: Tensor | Number,
    end: Tensor | Number,
    steps: int = 100,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Return `base ** exponent` for the exponents `linspace(start, end, steps)`.

    Args:
        start, end: the first and the last exponent: numbers or 0-d tensors.
        steps: the number of elements.
        base: the base of the powers.
        out: a tensor that the result is written to.
        dtype: the dtype of the result; None for the default dtype, or for the complex one if a bound is complex.

    Raises:
        RuntimeError: `steps` is negative.

    >>> torch.logspace(0, 3, 4)
    tensor([   1.,   10.,  100., 1000.])
    """
    steps, first = as_int("logspace", "steps", steps), plain_number(start)
    _refuse_length(steps)
    start, end, key = _convert_ends("logspace", start, end, steps, dtype, device, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    _refuse_dtype("logspace_cpu", key.dtype, steps)
    # A single number is computed in float64 from the unrounded `start`, even for an integer dtype.
    if steps == 1:
        exponents = tensor([first], dtype=dtypes.complex128 if key.dtype.is_complex else dtypes.float64, device="cpu")
    else:
        exponents = _exponents(start, end, steps, key)
    result = _complex_powers(base, exponents) if key.dtype.is_complex else float(base) ** exponents
    if key.dtype in dtypes.HALF:  # round first to float32, then to the half-precision dtype
        result = result.to(dtypes.float32)
    return _finish_1d(result.to(key.dtype).to(key.device), requires_grad, out, pin_memory)


def _exponents(start: Any, end: Any, steps: int, key: DispatchKey) -> Tensor:
    """Return the exponents of `logspace`, rounded where PyTorch rounds.

    Real exponents are float64, but the ends and their difference are rounded to the result's dtype.  Complex exponents have the
    result's dtype throughout, and their step is `(end - start) * (1 / gaps)`.
    """
    dtype = key.dtype if key.dtype.is_complex else dtypes.float64
    place = dispatch_key(dtype, devices_for(dtype, key.device)[0])

    def rounded(value: Any) -> Any:
        return value if key.dtype.category <= dtypes.INTEGER else tensor(value, dtype=key.dtype, device="cpu").item()

    start, end = (rounded(value) if steps else 0 for value in (start, end))
    gaps = max(steps - 1, 1)
    step = rounded(rounded(end - start) * rounded(1 / gaps)) if dtype.is_complex else rounded(end - start) / gaps
    with place.backend.guard(place.device.index or 0):
        xp = place.backend.namespace_on(place.device.index or 0)
        from_start, from_end = _positions(xp, steps, place.raw_dtype)
        return wrap(xp.concat([_multiply_add(start, step, from_start), _multiply_add(end, -step, from_end)]), place)


def _complex_powers(base: float, exponents: Tensor) -> Tensor:
    """Compute `exp(exponents * log(base))`, as C computes complex powers; the base is rounded to the exponents' dtype."""
    number = tensor(base, dtype=exponents.dtype, device="cpu").item()
    return (exponents * (cmath.log(number) if number else complex(-math.inf))).exp()


PUBLIC.update(arange=arange, linspace=linspace, logspace=logspace, range=range)
