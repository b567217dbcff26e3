"""Tensors from a shape; those from data are in `from_data`."""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

from ..engine.calls import overriding
from ..engine.calls.arguments import Number, as_int
from ..engine.calls.dispatch import _c_name as c_name
from ..engine.calls.tables import PUBLIC
from ..engine.calls.transform_hooks import hooks
from ..engine.calls.wrappers import as_method
from ..engine.devices.devices import DispatchKey, dispatch_key
from ..engine.devices.warning import warn
from ..engine.tape.fast_path import FAST
from ..engine.tensors.memory_format import memory_order, strided
from ..engine.tensors.tensor import Tensor, attach, wrap
from ..engine.values import dtypes
from ..engine.values.dtypes import dtype as Dtype
from ..engine.values.scalars import converted, is_library_scalar, single
from .factory import _as_device, _dtype_of, _finish, _key, _with_dtype, plain_shape
from .from_data import NUMBERS, as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from .views import as_shape

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "range",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
]  # fmt: skip

_FEW = 16  # numbers up to which Python computes them sooner than an array library
_REAL = frozenset({int, float})


# --- from a shape -------------------------------------------------------------------------------------------------


def _filled(name: str, doc: str, make: Callable[[DispatchKey, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    """A factory `name(*size)` with PyTorch's options."""

    def factory(
        *size: Any,
        out: Tensor | None = None,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        pin_memory: bool | None = False,
        memory_format: Any = None,
        names: Any = None,
    ) -> Tensor:
        key = _key(dtype, device, _dtype_of(out))
        shape = _checked_shape(name, size)
        if layout is not None and layout is not strided:
            if name not in ("zeros", "empty"):
                raise RuntimeError(f"{name}(): not implemented for layout {layout}; to_sparse() makes a dense tensor sparse")
            return hooks.sparse("empty")(shape, layout, key).requires_grad_(bool(requires_grad))  # type: ignore[no-any-return]  # a tensor
        array = make(key, shape) if memory_format is None else _in_order(memory_format.order(len(shape)), shape, key, make)
        result = wrap(array, key)
        return _finish(result, requires_grad, out, pin_memory)

    return _publish(name, doc, factory, lambda key, shape: wrap(make(key, shape), key))


def _checked_shape(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = plain_shape(size)
    if shape is not None:
        return shape
    try:
        shape = as_shape(size)
    except TypeError as error:
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints: {error}") from error
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _publish(
    name: str,
    doc: str,
    factory: Callable[..., Tensor],
    of_defaults: Callable[[DispatchKey, tuple[int, ...]], Tensor] | None = None,
) -> Callable[..., Tensor]:
    """The public function of a factory.

    Args:
        name, doc: what it is called, and its documentation.
        factory: the function, with all options.
        of_defaults: of a factory of `*size`: what it makes of a dispatch key and a shape where no option is given.
    """
    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = doc
    PUBLIC[name] = factory if of_defaults is None else _offered_to_modes(name, factory, of_defaults)
    return PUBLIC[name]


def _offered_to_modes(
    name: str, factory: Callable[..., Any], of_defaults: Callable[[DispatchKey, tuple[int, ...]], Tensor]
) -> Callable[..., Any]:
    """A factory of `*size`, made open to overrides by a TorchFunctionMode, though it has no tensor arguments."""

    @wraps(factory)
    def create(*args: Any, **kwargs: Any) -> Any:
        if FAST and args and not kwargs:
            shape = plain_shape(args)
            if shape is not None:
                return of_defaults(dispatch_key(dtypes.get_default_dtype()), shape)
        if not FAST and overriding.wanted((), name=name):
            return overriding.handle_torch_function(create, (), *args, **kwargs)
        if kwargs and "size" in kwargs:
            args = (*args, kwargs.pop("size"))
        try:
            return factory(*args, **kwargs) if kwargs else factory(*args)
        except Exception:
            if overriding.may_override([*args, *kwargs.values()]):
                return overriding.handle_torch_function(create, overriding.relevant([*args, *kwargs.values()]), *args, **kwargs)
            raise

    create.__dict__["__body__"] = factory
    return create


def _xp_filled(function: str) -> Callable[[DispatchKey, tuple[int, ...]], Any]:
    return lambda key, shape: getattr(key.backend.on(key.device.index), function)(shape, dtype=key.raw_dtype)


zeros = _filled("zeros", "A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`.", _xp_filled("zeros"))
ones = _filled("ones", "A tensor of ones: `ones(2, 3)` or `ones((2, 3))`.", _xp_filled("ones"))
empty = _filled("empty", "A tensor of uninitialised elements.", _xp_filled("empty"))


def _options(like: Tensor, dtype: Dtype | None, device: Any) -> DispatchKey:
    if dtype is not None and type(dtype) is not Dtype:
        dtype = dtypes.meant(dtype)
    return dispatch_key(dtype or like.dtype, _as_device(device) or like.device)


def _like(name: str, doc: str, make: Callable[[DispatchKey, tuple[int, ...]], Any]) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        memory_format: Any = None,
        pin_memory: bool | None = False,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if input._key.wraps:
            options = {"dtype": dtype, "device": device, "memory_format": memory_format}
            return hooks.ask_class(name, (input,), {key: value for key, value in options.items() if value is not None})  # type: ignore[no-any-return]  # what a class returns
        key = _options(input, dtype, device)
        array = _in_order(memory_order(input, memory_format), input._array.shape, key, make)
        return _finish(wrap(array, key), requires_grad, pin_memory=pin_memory)

    return _publish(name, doc, factory)


def _in_order(
    order: tuple[int, ...], shape: tuple[int, ...], key: DispatchKey, make: Callable[[DispatchKey, tuple[int, ...]], Any]
) -> Any:
    """The array that `make` gives for this shape, with its dimensions laid out in memory in this order."""
    if all(before < after for before, after in pairwise(order)):
        return make(key, shape)
    back = tuple(sorted(order, key=order.__getitem__))
    return key.backend.xp.permute_dims(make(key, tuple([shape[d] for d in order])), back)


zeros_like = _like("zeros_like", "Zeros of the shape, dtype, device and memory order of `input`.", _xp_filled("zeros"))
ones_like = _like("ones_like", "Ones of the shape, dtype, device and memory order of `input`.", _xp_filled("ones"))
empty_like = _like(
    "empty_like", "Uninitialised elements, of the shape, dtype, device and memory order of `input`.", _xp_filled("empty")
)


def _plain(value: Any) -> Any:
    """A Python number from a tensor of one element or another library's scalar."""
    if type(value) in NUMBERS:
        return value
    return value.item() if isinstance(value, Tensor) or is_library_scalar(value) else value


def _dtype_for(value: Any) -> Dtype:
    """The dtype of a tensor, or the one that a number gets."""
    return value.dtype if isinstance(value, Tensor) else dtypes.promotion_of_scalar(type(value))


def full(
    size: Sequence[int],
    fill_value: Number,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    names: Any = None,
) -> Tensor:
    """A tensor with every element `fill_value`; its dtype follows that of the value.

    >>> import flambeau as torch
    >>> torch.full((2,), 7), torch.full((), 1.5)
    (tensor([7, 7]), tensor(1.5000))
    """
    if layout is not None and layout is not strided:
        raise RuntimeError(f"full(...) is not implemented for sparse layout, but got {layout}")
    value = _plain(fill_value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    typed = value if isinstance(fill_value, Tensor) else fill_value  # a NumPy bool gives floats
    key = _key(dtype, device, _dtype_of(out) or dtypes.promotion_of_scalar(type(typed)))
    shape = _checked_shape("full", (size,))
    number, index = converted(value, key.dtype, alone=not shape), key.device.index
    if shape:
        array = key.backend.on(index).full(shape, number, dtype=key.raw_dtype)
    else:
        array = key.backend.asarray(number, key.raw_dtype, index=index or 0)
    return _finish(wrap(array, key), requires_grad, out, pin_memory)


def full_like(
    input: Tensor,
    fill_value: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    memory_format: Any = None,
    pin_memory: bool | None = False,
) -> Tensor:
    """`fill_value` everywhere, in the shape, dtype, device and memory order of `input`."""
    key = _options(input, dtype, device)
    array = _in_order(
        memory_order(input, memory_format),
        input._array.shape,
        key,
        lambda key, shape: full(shape, fill_value, dtype=key.dtype, device=key.device)._array,
    )
    return _finish(wrap(array, key), requires_grad, pin_memory=pin_memory)


def scalar_tensor(
    s: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A number as a 0-d tensor, of the default dtype.

    >>> import flambeau as torch
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    value = s if isinstance(s, Tensor) and s.ndim else _plain(s)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    key = _key(dtype, device)
    return full((), value, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Uninitialised elements with the strides given."""
    size, stride = as_shape((size,)), as_shape((stride,))
    extent = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    flat = empty(extent, dtype=dtype, device=device)
    return _finish(flat.as_strided(size, stride), requires_grad, pin_memory=pin_memory)


def _range_dtype(*bounds: Any) -> Dtype:
    for bound in bounds:
        if not isinstance(bound, int) and _dtype_for(bound).category > dtypes.INTEGER:
            return dtypes.get_default_dtype()
    return dtypes.int64


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
    """The numbers from `start` (or 0) up to but not including `end`, by `step`; integers if all three are.

    >>> import flambeau as torch
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
        start, end, step = map(_plain, (start, end, step))
    key = _key(dtype, device, _dtype_of(out) or default)
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
    if out is not None:
        warn_of_length(out, length)
    return _progression(key, start, step, length, out, requires_grad, pin_memory)


def warn_of_length(out: Tensor, length: int) -> None:
    """`arange`'s warning about an `out` that is not empty and has another number of elements."""
    if out.numel() not in (0, length):
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not "
            f"match the computed number of elements {length}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({length},).",
        )


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
    """The numbers from `start` to `end`, both included.  Deprecated in favour of `arange`."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
    )
    start, end = (0, start) if end is None else (start, end)
    key = _key(dtype, device, _dtype_of(out))
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
            array = backend.on(index).arange(length, dtype=backend.dtypes[dtypes.int64])
            if start or step != 1:
                array = array * int(step) + int(start)
        else:
            wide = backend.dtypes.get(dtypes.float64, key.raw_dtype)
            array = backend.on(index).arange(length, dtype=wide) * step + start
        dtype = array.dtype
        result = wrap(array if dtype is key.raw_dtype or dtype == key.raw_dtype else backend.astype(array, key.raw_dtype), key)
    return _finish_1d(result, requires_grad, out, pin_memory)


def _finish_1d(result: Tensor, requires_grad: bool | None, out: Tensor | None, pin_memory: bool | None) -> Tensor:
    """`_finish` of a one-dimensional result: an `out` with as many elements keeps its shape."""
    if out is not None and out.numel() == result.numel():
        result = result.reshape(out.shape)
    return _finish(result, requires_grad, out, pin_memory)


def _ends(
    name: str, start: Any, end: Any, steps: int, dtype: Dtype | None, device: Any, out: Tensor | None
) -> tuple[Any, Any, DispatchKey]:
    """Start and end as numbers of the result's dtype, which is complex if one of them is, and the result's dispatch key.

    Raises:
        RuntimeError: the dtype given is not complex, and one of the two is.
    """
    default = None
    if type(start) not in _REAL or type(end) not in _REAL:
        start, end = _plain(start), _plain(end)
        if isinstance(end - start, complex):  # or a TypeError, where one is no number
            default = dtypes.get_default_dtype().to_complex()
            if dtype is not None and not dtypes.meant(dtype).is_complex:
                raise RuntimeError(
                    f"torch.{name}(): inferred dtype {c_name(default)} can't be safely cast to passed dtype "
                    f"{dtypes.meant(dtype).legacy_name}"
                )
    key = _key(dtype, device, _dtype_of(out) or default)
    number_dtype = key.dtype if steps else dtypes.complex128  # where there are no elements, they may be any numbers
    return converted(start, number_dtype), converted(end, number_dtype), key


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
    """`steps` numbers from `start` to `end`, both included, evenly spaced."""
    steps = as_int("linspace", "steps", steps)
    start, end, key = _ends("linspace", start, end, steps, dtype, device, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if key.dtype is not dtypes.float32:
        _refuse_dtype("linspace_cpu", key.dtype, steps)
    if key.dtype.is_complex:  # evenly spaced in each part, with the rounding of real numbers
        parts = (linspace(part(start), part(end), steps, dtype=key.dtype.to_real(), device=key.device) for part in (_real, _imag))
        return _finish_1d(PUBLIC["complex"](*parts), requires_grad, out, pin_memory)
    index = key.device.index or 0
    if key.dtype is dtypes.float32 and 0 < steps <= _FEW:
        array = key.backend.on(index).asarray(_few_evenly_spaced(start, end, steps), dtype=key.raw_dtype)
    else:
        with key.backend.guard(index):
            array = _evenly_spaced(start, end, steps, key)
    return _finish_1d(wrap(array, key), requires_grad, out, pin_memory)


def _real(value: Any) -> float:
    return complex(value).real


def _imag(value: Any) -> float:
    return complex(value).imag


def _singles(start: Any, end: Any, gaps: int) -> tuple[float, float, float]:
    """The ends and the step, rounded as in PyTorch, which then multiplies and adds without rounding between."""
    start, end = single(start), single(end)
    return start, end, single(single(end - start) / gaps)


def _few_evenly_spaced(start: Any, end: Any, steps: int) -> list[float]:
    """The numbers of `linspace`: the first half is counted from the start and the second half from the end, as in PyTorch."""
    if steps == 1:  # which may be infinite
        return [start]
    half, gaps = steps // 2, steps - 1
    start, end, step = _singles(start, end, gaps)
    numbers = []
    for position in builtins.range(half):
        numbers.append(start + step * position)
    for from_end in builtins.range(gaps - half, -1, -1):
        numbers.append(end - step * from_end)
    return numbers


def _evenly_spaced(start: Any, end: Any, steps: int, key: DispatchKey) -> Any:
    """The array of these numbers; without steps, an empty one."""
    backend, dtype = key.backend, key.dtype
    xp = backend.on(key.device.index or 0)
    if steps < 2:
        return xp.full((steps,), start if steps else 0, dtype=key.raw_dtype)
    gaps = steps - 1
    step = (end - start) / gaps
    if dtype is dtypes.float32:
        start, end, step = _singles(start, end, gaps)
    halves = _positions(xp, steps, backend.dtypes.get(dtypes.float64, key.raw_dtype))
    if dtype in dtypes.HALF:  # rounded after each operation
        start, end = (xp.asarray(value, dtype=key.raw_dtype) for value in (start, end))
        halves = [backend.astype(array, key.raw_dtype) for array in halves]
        step = (end - start) / xp.asarray(gaps, dtype=key.raw_dtype)
    add = _multiplied_and_added if dtype is dtypes.float64 or dtype.category <= dtypes.INTEGER else _added
    return backend.astype(xp.concat([add(start, step, halves[0]), add(end, -step, halves[1])]), key.raw_dtype)


def _positions(xp: Any, steps: int, dtype: Any) -> list[Any]:
    """The places of the first half, counted from the start, and of the second, from the end."""
    position, half = xp.arange(steps, dtype=dtype), steps // 2
    return [position[:half], steps - 1 - position[half:]]


def _added(start: Any, step: Any, position: Any) -> Any:
    return start + step * position


def _multiplied_and_added(start: float, step: float, position: Any) -> Any:
    """`start + step * position` rounded once, as by the instruction that PyTorch uses: with the rounding errors of the product
    (Dekker 1971), exact for positions below 2**26, and of the sum (Knuth 1969)."""
    if not math.isfinite(step):
        return _added(start, step, position)
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
    """`base` to the powers of `linspace`."""
    steps, first = as_int("logspace", "steps", steps), _plain(start)
    start, end, key = _ends("logspace", start, end, steps, dtype, device, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    _refuse_dtype("logspace_cpu", key.dtype, steps)
    if steps == 1:  # one number is computed in doubles, of a start that may have a fraction where the result has none
        exponents = tensor([first], dtype=dtypes.complex128 if key.dtype.is_complex else dtypes.float64, device="cpu")
    else:
        exponents = _exponents(start, end, steps, key)
    result = _complex_powers(base, exponents) if key.dtype.is_complex else float(base) ** exponents
    if key.dtype in dtypes.HALF:  # rounded twice
        result = result.to(dtypes.float32)
    return _finish_1d(result.to(key.dtype).to(key.device), requires_grad, out, pin_memory)


def _exponents(start: Any, end: Any, steps: int, key: DispatchKey) -> Tensor:
    """The exponents of `logspace`, rounded where PyTorch does: those of real results are doubles between ends whose difference
    has the precision of the result; those of complex ones have it all along, and their step is a product with a reciprocal."""
    dtype = key.dtype if key.dtype.is_complex else dtypes.float64
    place = dispatch_key(dtype, _with_dtype(dtype, key.device)[0])

    def rounded(value: Any) -> Any:
        return value if key.dtype.category <= dtypes.INTEGER else tensor(value, dtype=key.dtype, device="cpu").item()

    start, end = (rounded(value) if steps else 0 for value in (start, end))
    gaps = max(steps - 1, 1)
    step = rounded(rounded(end - start) * rounded(1 / gaps)) if dtype.is_complex else rounded(end - start) / gaps
    with place.backend.guard(place.device.index or 0):
        xp = place.backend.on(place.device.index or 0)
        from_start, from_end = _positions(xp, steps, place.raw_dtype)
        return wrap(xp.concat([_added(start, step, from_start), _added(end, -step, from_end)]), place)


def _complex_powers(base: float, exponents: Tensor) -> Tensor:
    """Exponentials of products, as C computes powers; the base has the precision of the exponents."""
    number = tensor(base, dtype=exponents.dtype, device="cpu").item()
    return (exponents * (cmath.log(number) if number else complex(-math.inf))).exp()


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Ones on the diagonal of an `(n, m)` matrix of zeros."""
    key = _key(dtype, device, _dtype_of(out))
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n must be greater or equal to 0, got {n if n < 0 else m}")
    result = wrap(key.backend.on(key.device.index).eye(n, n if m is None else m, dtype=key.raw_dtype), key)
    return _finish(result, requires_grad, out, pin_memory)


for _function in (
    tensor,
    as_tensor,
    asarray,
    from_numpy,
    from_dlpack,
    frombuffer,
    full,
    full_like,
    scalar_tensor,
    empty_strided,
    arange,
    range,
    linspace,
    logspace,
    eye,
):
    PUBLIC[_function.__name__] = _function


# --- new_*: as an existing tensor ---------------------------------------------------------------------------------


def _new_filled(name: str, factory: Callable[..., Tensor]) -> None:
    def method(
        self: Tensor,
        size: Any,
        *rest: Any,
        dtype: Dtype | None = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool | None = False,
        pin_memory: bool | None = False,
    ) -> Tensor:
        key = _options(self, dtype, device)
        return factory(size, *rest, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)

    method.__name__ = method.__qualname__ = f"new_{name}"
    method.__doc__ = f"`torch.{name}(*size)` with this tensor's dtype and device."
    setattr(Tensor, f"new_{name}", method)


for _name, _factory in (("zeros", zeros), ("ones", ones), ("empty", empty)):
    _new_filled(_name, _factory)


def _new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Number,
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`torch.full(size, fill_value)` with this tensor's dtype and device."""
    key = _options(self, dtype, device)
    return full(size, fill_value, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)


def _new_tensor(
    self: Tensor, data: Any, *, dtype: Dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`torch.tensor(data)` with this tensor's dtype and device."""
    key = _options(self, dtype, device)
    return tensor(data, dtype=key.dtype, device=key.device, requires_grad=requires_grad)


def _new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`torch.empty_strided(size, stride)` with this tensor's dtype and device."""
    key = _options(self, dtype, device)
    return empty_strided(size, stride, dtype=key.dtype, device=key.device, requires_grad=requires_grad, pin_memory=pin_memory)


attach(new_full=as_method(_new_full), new_tensor=_new_tensor, new_empty_strided=as_method(_new_empty_strided))
