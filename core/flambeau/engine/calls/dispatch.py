"""The general path of a call: subclasses, Python scalars, mixed dtypes, mixed devices, `out=`, and errors.

Generated functions call `dispatch` unless their arguments are plain tensors of one dispatch key.  `HANDLERS` lists, in order,
the ways to compute such a call; `print(*HANDLERS, sep="\\n")` shows them.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from ..devices.devices import DispatchKey, device, dispatch_key
from ..devices.state import state
from ..tape.grad_mode import grad_flag, is_inference_mode_enabled
from ..tape.transforming import note_depth
from ..tensors.tensor import Tensor, wrap
from ..values import dtypes
from ..values.promotion import COMMON, DTYPES, PROMOTIONS
from ..values.scalars import is_library_scalar, wrapped
from ..values.sizes import Size
from . import arguments, outputs, overriding
from .operands import can_operate
from .record import Operation, Out
from .results import mark_inference, several, view_of
from .signatures import REQUIRED
from .transform_hooks import hooks

__all__ = [
    "broadcast_shapes",
    "common_shape",
    "dispatch",
    "dispatch_method",
    "explain",
    "refuse_size",
    "refusing",
    "require_constant",
    "require_data",
    "require_dtype",
    "require_factor",
    "require_flags",
    "require_operands",
    "require_tensors",
    "tuple_of_tensors",
    "whole_numbers",
]

_SCALARS = (bool, int, float, complex)
_COMMON_TYPES = {Tensor, *_SCALARS}


class Handler(NamedTuple):
    """One way to compute a call: `handle` returns the result of a call for which `applies` returns True.

    Both take the operation, its tensor arguments, its other parameters, and `out`.
    """

    applies: Callable[[Operation, tuple[Any, ...], tuple[Any, ...], Any], bool]
    handle: Callable[[Operation, tuple[Any, ...], tuple[Any, ...], Any], Any]

    def __str__(self) -> str:
        return f"{self.applies.__name__}: {self.handle.__doc__}"


def dispatch(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any = None) -> Any:
    """Run an operation on any arguments that PyTorch accepts: the first of `HANDLERS` that applies returns the result."""
    for applies, handle in HANDLERS:
        if applies(op, tensors, params, out):
            return handle(op, tensors, params, out)


def dispatch_method(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any = None) -> Any:
    """Run an operation called as a method: like `dispatch`, but `__torch_function__` receives the method, as in PyTorch."""
    if overriding.should_offer(tensors, out, op.name):
        return overriding.call(op, tensors, params, out, getattr(Tensor, op.name))
    return _dispatch_after(call_override, op, tensors, params, out)


def _dispatch_after(
    handle: Callable[..., Any], op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any = None
) -> Any:
    """Return the result of the first applicable handler after the one whose function is `handle`."""
    for applies, next_handle in _handlers_after(handle):
        if applies(op, tensors, params, out):
            return next_handle(op, tensors, params, out)


@functools.cache
def _handlers_after(handle: Callable[..., Any]) -> list[Handler]:
    position = [handler.handle for handler in HANDLERS].index(handle)
    return HANDLERS[position + 1 :]


def is_overridden(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return overriding.should_offer(tensors, out, op.name)


def call_override(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Call the `__torch_function__` of a subclass or of an active mode."""
    return overriding.call(op, tensors, params, out)


def has_wrapper_with_tangent(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return state.dispatching and has_tangent(op, tensors, params, out) and has_dispatching_subclass(op, tensors, params, out)


def has_dispatching_subclass(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return state.dispatching and any(type(argument) in overriding.DISPATCHING for argument in tensors)


def call_below_autograd(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Record the call for autograd, and compute it by the `__torch_dispatch__` of a wrapper subclass."""
    return hooks.below_autograd(op, tensors, params, out)


def has_library_scalar(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return bool(op.number_names) and not _COMMON_TYPES.issuperset(map(type, tensors)) and any(map(is_library_scalar, tensors))


def convert_library_scalars(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Replace scalars of array libraries, such as `np.float32(2)`, by Python numbers."""
    tensors = tuple([argument.item() if is_library_scalar(argument) else argument for argument in tensors])
    return _dispatch_after(convert_library_scalars, op, tensors, params, out)


def has_only_numbers(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return op.numbers_alone and bool(op.number_names) and all(isinstance(argument, _SCALARS) for argument in tensors)


def make_tensors_of_numbers(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Convert the numbers of a call without tensors, such as `torch.mul(2, 3)`, to tensors on the CPU."""
    return _dispatch_after(make_tensors_of_numbers, op, tuple(map(_tensor_of_number, tensors)), params, out)


def is_refused(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return fault_of_arguments(op, tensors, params) is not None


def raise_fault(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> NoReturn:
    """Raise PyTorch's error for an argument of a wrong type, a flag that is not a bool, or an unsupported dtype."""
    fault = fault_of_arguments(op, tensors, params)
    assert fault is not None
    raise fault


def has_out(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return out is not None


def write_to_out(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Check `out`, compute without it, and write the result into it."""
    outputs.check(op.name, op.out_rules, out, tensors)
    outputs.check_untracked(op.name, op.out_rules, op.differentiable and _any_requires_grad(tensors))
    if "dtype" in op.param_names and Out.SETS_DTYPE in op.out_rules:
        index = op.param_names.index("dtype")
        if params[index] is None:
            params = (*params[:index], out.dtype, *params[index + 1 :])
    if params and overriding.may_override(params) and overriding.is_published(op):
        return overriding.call(op, tensors, params, out)
    result = _dispatch_after(write_to_out, op, tensors, params)
    rules = op.out_rules
    if op.promote == "real" and Out.OWN_DTYPE in rules:
        numbers = [tensor.dtype for tensor in tensors if isinstance(tensor, Tensor) and tensor.is_complex()]
        if numbers and isinstance(out, Tensor) and (out.dtype in numbers or not out.is_complex()):
            rules &= ~Out.OWN_DTYPE  # the real result may be converted, also to the input's dtype: `torch.abs(z, out=z)`
    return outputs.write(op.name, rules, out, result)


def has_dtype(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return "dtype" in op.param_names and params[op.param_names.index("dtype")] is not None


def cast_to_dtype(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Cast the tensors to the dtype given as the argument `dtype`, and compute in that dtype."""
    index = op.param_names.index("dtype")
    dtype = dtypes.as_dtype(params[index])
    tensors = tuple(argument.to(dtype) if isinstance(argument, Tensor) else argument for argument in tensors)
    return dispatch(op, tensors, (*params[:index], None, *params[index + 1 :])).to(dtype)


def has_transformed_tensor(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    for argument in tensors:  # noqa: SIM110 (`any` with a generator takes 0.2 us more)
        if isinstance(argument, Tensor) and type(argument._key) is not DispatchKey:
            return True
    return False


def align_transformed_tensors(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Materialize conjugate and negative views where the operation needs it; batch all tensors if `vmap` batches one."""
    tensors = hooks.batches.align(hooks.materialize(op, tensors))
    return _dispatch_after(align_transformed_tensors, op, tensors, params)


def has_tangent(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return state.forward_levels > 0 and hooks.forward.has_tangent(tensors)


def propagate_tangents(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Compute the result and its tangent, for forward-mode differentiation."""
    return hooks.forward.propagate(op, tensors, params, lambda: dispatch(op, tensors, params))


def always(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> bool:
    return True


def compute(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any) -> Any:
    """Promote the arguments to a common dtype and device, run the kernel, and record the call."""
    key, arrays = _operands(op, tensors)
    exact = _key_for_numbers(op, key) if _any_number(tensors) else key
    if exact is not key:
        arrays = [_to_array(argument, exact) for argument in tensors]
    kernel, result_key = exact[op.name]
    kernel_args = [value for name, value in zip(op.param_names, params, strict=True) if name in op.kernel_params]
    kernel_kwargs = dict(zip(op.kernel_params, kernel_args, strict=True)) if op.variadic else {}
    try:
        computed = key.backend.compute(kernel, *arrays, *(() if op.variadic else kernel_args), **kernel_kwargs)
    except Exception as error:
        numbers = tuple(arguments.as_python(param) if isinstance(param, Tensor) and not param.ndim else param for param in params)
        if any(number is not param for number, param in zip(numbers, params, strict=True)):
            return dispatch(op, tensors, numbers)
        if overriding.may_override(params) and overriding.is_published(op):
            return overriding.call(op, tensors, params, None)
        explain(error, op, tensors, params)
    if op.combines and computed.ndim > 3:
        computed = key.backend.in_order_of_first(computed, arrays[0])
    if exact is not key:
        computed, result_key = key.backend.astype(computed, key.raw_dtype), key
    result = _wrap_results(op, computed, result_key, tensors, params)
    mark_inference(result)
    if state.mutation_guards:
        _note_depths(result)
    return result


HANDLERS = [
    Handler(is_overridden, call_override),
    Handler(has_wrapper_with_tangent, propagate_tangents),
    Handler(has_dispatching_subclass, call_below_autograd),
    Handler(has_library_scalar, convert_library_scalars),
    Handler(has_only_numbers, make_tensors_of_numbers),
    Handler(is_refused, raise_fault),
    Handler(has_out, write_to_out),
    Handler(has_dtype, cast_to_dtype),
    Handler(has_transformed_tensor, align_transformed_tensors),
    Handler(has_tangent, propagate_tangents),
    Handler(always, compute),
]


def _any_requires_grad(tensors: Sequence[Any]) -> bool:
    for tensor in tensors:  # noqa: SIM110 (as in `has_transformed_tensor`)
        if isinstance(tensor, Tensor) and tensor._requires_grad:
            return True
    return False


def _any_number(tensors: Sequence[Any]) -> bool:
    for argument in tensors:  # noqa: SIM110 (as in `has_transformed_tensor`)
        if isinstance(argument, _SCALARS):
            return True
    return False


def _wrap_results(op: Operation, computed: Any, key: Any, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Wrap the arrays that a kernel returned as tensors, and record the call if an argument requires a gradient."""
    recordable = op.differentiable and not is_inference_mode_enabled()
    tracked = recordable and _any_requires_grad(tensors)
    if tracked:
        tensors = arguments_to_save(op, key, tensors)
    if op.results or op.returns_list:
        return several(op, computed, key, tensors, params)
    if type(computed) is not key.array_type:
        computed = key.backend.wrap(computed)
    if tracked and key.dtype.category >= dtypes.FLOATING:
        return op.record(computed, key, tensors, params) if op.variadic else op.record(computed, key, *tensors, *params)
    return view_of(computed, key, op, tensors[0], params) if op.view else wrap(computed, key)


def arguments_to_save(op: Operation, key: Any, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments for a node to save: convert numbers to tensors, and cast integer tensors to the promoted dtype."""
    if op.promote not in COMMON or op.variadic:
        return tuple(constant_of(argument, tensors) if isinstance(argument, _SCALARS) else argument for argument in tensors)
    to_save = []
    for name, argument in zip(op.tensor_names, tensors, strict=True):
        if isinstance(argument, _SCALARS):
            argument = wrap_scalar(argument, _key_for_numbers(op, key))
        elif isinstance(argument, Tensor) and argument._key.dtype.category < dtypes.FLOATING and name not in op.keeps_dtype:
            argument = argument.to(key.dtype)
        to_save.append(argument)
    return tuple(to_save)


def _key_for_numbers(op: Operation, key: DispatchKey) -> DispatchKey:
    """Return the dispatch key to compute in: float32 instead of float16 / bfloat16 if Python numbers must not be rounded."""
    return key.to(dtypes.float32) if op.exact_numbers and key.dtype in dtypes.HALF else key


def _tensor_of_number(value: Any) -> Tensor:
    """Convert a Python number to a 0-d CPU tensor of its default dtype, for a call whose arguments are all numbers."""
    try:
        return wrap_scalar(value, dispatch_key(dtypes.promotion_of_scalar(type(value)), device("cpu")))
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None


def constant_of(value: Any, tensors: tuple[Any, ...]) -> Tensor:
    """Convert a scalar argument to a 0-d tensor on the device of the tensors, for the node to save."""
    place = next(tensor for tensor in tensors if isinstance(tensor, Tensor)).device
    return wrap_scalar(value, dispatch_key(dtypes.promotion_of_scalar(type(value)), place))


def wrap_scalar(value: Any, key: DispatchKey) -> Tensor:
    """Return a 0-d tensor with this value and dispatch key."""
    key = key.scalar_key
    return wrap(key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0), key)


# --- arguments ----------------------------------------------------------------------------------------------------


def require_tensors(name: str, **tensors: Any) -> None:
    """Raise TypeError for arguments that are not tensors."""
    for position, (argument, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, Tensor) and value is not REQUIRED and not hasattr(value, "__torch_function__"):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            ) from None


def refusing(category: int, message: str) -> Callable[..., None]:
    """Return an `Operation.check` that raises RuntimeError with this message for tensors of a category of dtypes."""

    def check(*tensors: Any) -> None:
        if any(isinstance(tensor, Tensor) and tensor._key.dtype.category == category for tensor in tensors):
            raise RuntimeError(message)

    return check


def require_dtype(kernel: str, input: Tensor, accepts: str) -> None:
    """Raise NotImplementedError unless the dtype is in `DTYPES[accepts]`; `kernel` is the name in the message."""
    if input._key.dtype.category not in DTYPES[accepts]:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'")


def require_factor(name: str, factor: Any, dtype: dtypes.dtype) -> None:
    """Raise RuntimeError if a factor such as `alpha` does not fit the result's dtype.

    A complex factor requires a complex result, a float factor a floating-point or complex one, and a bool factor a bool result.
    """
    if type(factor) is int:
        return
    if isinstance(factor, Tensor) and (factor.ndim or factor.requires_grad):
        raise TypeError(f"argument '{name}' must be Number, not Tensor")
    factor = factor.item() if is_library_scalar(factor) else factor
    category = factor.dtype.category if isinstance(factor, Tensor) else dtypes.promotion_of_scalar(type(factor)).category
    if category == dtypes.BOOL and dtype is not dtypes.bool_:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if category >= dtypes.FLOATING > dtype.category:
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if category == dtypes.COMPLEX != dtype.category:
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def require_flags(function: str, **flags: Any) -> None:
    """Raise TypeError for flags other than True and False, as PyTorch's functions in C++ do."""
    for name, value in flags.items():
        if type(value) is not bool:
            raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")


def require_constant(function: str, **tensors: Any) -> None:
    """In grad mode, raise RuntimeError if one of `tensors`, for which the function has no derivative, requires a gradient."""
    for name, tensor in tensors.items():
        if tensor is not None and tensor.requires_grad and grad_flag.get():
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )


def whole_numbers(name: str, value: Any) -> tuple[int, ...]:
    """Convert an argument that is an int, or a sequence of ints, to a tuple of ints."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for number in values:
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise TypeError(f"argument '{name}' must be tuple of ints, not {type(number).__name__}")
    return tuple(map(operator.index, values))


def require_data(name: str, *tensors: Tensor) -> None:
    """Raise NotImplementedError for tensors without data (device `meta`), in functions that must read values."""
    if not all(tensor._key.backend.has_data for tensor in tensors):
        raise NotImplementedError(
            f"aten::{name}: attempted to run this operator with Meta tensors, which have no data, and its result depends on data"
        )


def require_operands(name: str, **operands: Any) -> None:
    """Raise TypeError for arguments that are neither tensors nor numbers."""
    for argument, value in operands.items():
        if not can_operate(value):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor or a number, not {type(value).__name__}")


def tuple_of_tensors(tensors: Any, op: Operation) -> tuple[Any, ...]:
    """Check the sequence argument of an operation such as `cat`, and return it as a tuple."""
    if isinstance(tensors, (tuple, list)):
        return tuple(tensors)
    type_name = type(tensors).__name__
    raise TypeError(f"{op.name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name}")


def _operands(op: Operation, tensors: Sequence[Any]) -> tuple[DispatchKey, list[Any]]:
    """Return the dispatch key to compute in, and the arguments as raw arrays on its device, promoted to its dtype."""
    place = _common_device(tensors, op)
    if op.variadic:
        key = _key_among(tensors, result_dtype(tensors), place)
        return key, [_to_array(argument, key) for argument in tensors]
    by_name = dict(zip(op.tensor_names, tensors, strict=True))
    if op.promote in COMMON:
        dtype = result_dtype([argument for name, argument in by_name.items() if name not in op.keeps_dtype])
        if op.promote == "float" and dtype.category in DTYPES[op.dtypes]:
            dtype = PROMOTIONS["float"](dtype)[0]  # promoted before conversion, as a number may be too large for an integer dtype
        key = _key_among(tensors, dtype, place)
        return key, [
            _array_on(argument, place) if name in op.keeps_dtype else _to_array(argument, key)
            for name, argument in by_name.items()
        ]
    if op.promote in ("match", "product"):
        _check_match(op, [argument for name, argument in by_name.items() if name not in op.keeps_dtype])
    primary = by_name[op.primary]
    key = primary._key if primary._key.device is place else _key_among(tensors, primary.dtype, place)
    return key, [None if argument is None else _array_on(argument, place) for argument in tensors]


def _key_among(tensors: Sequence[Any], dtype: dtypes.dtype, place: device) -> DispatchKey:
    """Return the dispatch key of this dtype and device; a batched key if `vmap` batches one of the tensors."""
    for tensor in tensors:
        if isinstance(tensor, Tensor) and type(tensor._key) is not DispatchKey:
            return tensor._key.to(dtype)
    return dispatch_key(dtype, place)


def _check_match(op: Operation, tensors: Sequence[Any]) -> None:
    all_dtypes = [tensor.dtype for tensor in tensors if isinstance(tensor, Tensor)]
    for dtype in all_dtypes[1:]:
        if dtype is not all_dtypes[0]:
            spelled = " != ".join(map(dtypes.c_name, (all_dtypes[0], dtype)))
            raise RuntimeError(f"{op.name}(): expected m1 and m2 to have the same dtype, but got: {spelled}")


def result_dtype(tensors: Sequence[Any]) -> dtypes.dtype:
    """Return the common dtype of tensors and Python scalars."""
    dimensioned: list[dtypes.dtype] = []
    zero_dim: list[dtypes.dtype] = []
    scalars: list[dtypes.dtype] = []
    for value in tensors:
        if isinstance(value, Tensor):
            (dimensioned if value._array.ndim else zero_dim).append(value._key.dtype)
        elif value is not None:
            scalars.append(dtypes.promotion_of_scalar(type(value)))
    return dtypes.result_of(dimensioned, zero_dim, scalars)


def _to_array(value: Any, key: DispatchKey) -> Any:
    if isinstance(value, Tensor):
        array = _array_on(value, key.device)
        return array if value._key.dtype is key.dtype else key.backend.astype(array, key.raw_dtype)
    if value is None:
        return None
    try:
        return key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0)
    except OverflowError:
        return key.backend.asarray(wrapped(value, key.dtype), key.raw_dtype, index=key.device.index or 0)


def _common_device(tensors: Sequence[Any], op: Operation) -> device:
    """Return the device of the arguments; RuntimeError if they differ, except for 0-d CPU tensors."""
    common: device | None = None
    for tensor in tensors:
        if isinstance(tensor, Tensor) and not _is_cpu_scalar(tensor):
            place = tensor._key.device
            if common is not None and common is not place and common != place:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{common} and {place}! (when checking arguments for {op.name})"
                )
            common = place
    if common is None:
        common = next(tensor for tensor in tensors if isinstance(tensor, Tensor))._key.device
        for tensor in tensors:
            if isinstance(tensor, Tensor) and tensor._key.device.type != "cpu":
                return tensor._key.device
    return common


def _is_cpu_scalar(tensor: Tensor) -> bool:
    return tensor._array.ndim == 0 and tensor._key.device.type == "cpu"


def _array_on(tensor: Tensor, place: device) -> Any:
    if tensor._key.device is place or tensor._key.device == place:
        return tensor._array
    return tensor.detach().to(place)._array


# --- results ------------------------------------------------------------------------------------------------------


def _note_depths(result: Any) -> None:
    """Mark the results as created inside the active transforms: see `engine/tape/transforming.py`."""
    for tensor in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(tensor, Tensor) and tensor._view is None:
            note_depth(tensor)


# --- errors -------------------------------------------------------------------------------------------------------


def explain(error: Exception, op: Operation, tensors: Sequence[Any], params: Sequence[Any]) -> NoReturn:
    """Raise PyTorch's exception for an exception inside a kernel.

    If the arguments are invalid, the new exception explains why, and has no `__cause__`.  Otherwise the kernel's exception is
    raised again, or becomes the `__cause__` of the new one.
    """
    params_by_name = dict(zip(op.param_names, params, strict=False))
    arrays = [tensor._array for tensor in tensors if isinstance(tensor, Tensor)]
    fault: Exception | None = _fault_of_types(op, params_by_name)
    refuse_size(error)
    if fault is None and type(error) not in (RuntimeError, NotImplementedError):
        fault = _fault_of_dtypes(op, tensors) or _fault_of_dims(params_by_name, arrays) or _fault_of_shapes(op, arrays)
    if fault is not None:
        raise fault from None
    if type(error) is IndexError:
        raise IndexError(str(error).replace("is out of bounds for axis", "is out of bounds for dimension")) from error
    if type(error) is TypeError and str(error).startswith("ufunc"):
        raise NotImplementedError(f"\"{op.name}_cpu\" not implemented for '{result_dtype(tensors).legacy_name}'") from error
    if type(error) in (RuntimeError, NotImplementedError, TypeError):
        raise error
    described = ", ".join(f"{list(array.shape)} {array.dtype}" for array in arrays)
    raise RuntimeError(f"{op.name}(): {error} (arguments: {described})") from error


class AllocationError(RuntimeError, MemoryError):
    """The error for an array that does not fit into memory: PyTorch's RuntimeError, and Python's MemoryError."""


def refuse_size(error: Exception, *arguments: Any) -> None:
    """Raise PyTorch's error if an array library could not allocate an array, or refused its size; programs look for its words.

    `arguments` are those of the call, printed if the library's error has no sizes.
    """
    if isinstance(error, MemoryError):
        raise AllocationError(f"DefaultCPUAllocator: can't allocate memory: {error}") from error
    if isinstance(error, ValueError) and str(error).startswith(("array is too big", "Maximum allowed")):
        if sys.maxsize < 2**32:
            given = ", ".join(map(repr, arguments))
            raise AllocationError(
                f"DefaultCPUAllocator: can't allocate memory: an array{given and f' of size {given}'} exceeds the "
                f"{sys.maxsize} bytes that this 32-bit system can address"
            ) from error
        raise RuntimeError(f"Storage size calculation overflowed: {error}") from error


def fault_of_arguments(op: Operation, tensors: Sequence[Any], params: Sequence[Any]) -> Exception | None:
    """Return the error for arguments of unsupported types or dtypes, or None."""
    for position, value in enumerate(tensors):
        if not isinstance(value, Tensor):
            fault = _fault_of_operand(op, position, value, tensors)
            if fault is not None:
                return fault
    if op.flags:
        for name, value in zip(op.param_names, params, strict=True):
            if type(value) is not bool and name in op.flags:
                return TypeError(f"{op.name}(): argument '{name}' must be bool, not {type(value).__name__}")
    return _fault_of_dtypes(op, tensors)


def _fault_of_operand(op: Operation, position: int, value: Any, tensors: Sequence[Any]) -> TypeError | None:
    """Return the error for an argument that is neither a tensor nor an accepted number or None."""
    name = "tensors" if op.variadic else op.tensor_names[position]
    if value is None and name in op.defaults:
        return None
    if (
        name in op.number_names
        and isinstance(value, _SCALARS)
        and (position or op.numbers_alone or any(isinstance(tensor, Tensor) for tensor in tensors))
    ):
        return None
    type_name = type(value).__name__
    if op.variadic:
        return TypeError(f"{op.name}(): expected Tensor as element {position} in position 0, but got {type_name}")
    return TypeError(f"{op.name}(): argument '{name}' (position {position + 1}) must be Tensor, not {type_name}")


def _fault_of_types(op: Operation, params: Mapping[str, Any]) -> TypeError | None:
    for name in ("dim", "dim0", "dim1", "dims"):
        if problem := _invalid_dim_type(params.get(name)):
            return TypeError(f"{op.name}(): argument '{name}' must be int, not {problem}")
    try:
        arguments.check(op.name, arguments.types_of(op.forward), params)
    except TypeError as refusal:
        return refusal
    return None


def _fault_of_dtypes(op: Operation, tensors: Sequence[Any]) -> RuntimeError | None:
    if op.check is not None:
        try:
            op.check(*tensors)
        except RuntimeError as refusal:
            return refusal
    return None


def _fault_of_dims(params: Mapping[str, Any], arrays: Sequence[Any]) -> Exception | None:
    ndim = arrays[0].ndim if arrays else 0
    for dims in (params.get("dim"), params.get("dim0"), params.get("dim1"), params.get("dims")):
        problem = _dim_range_message(dims, ndim)
        if problem:
            return IndexError(problem)
        wrapped_dims = [dim % ndim for dim in dims] if ndim and isinstance(dims, (tuple, list)) else []
        for dim in wrapped_dims:
            if wrapped_dims.count(dim) > 1:
                return RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return None


def _fault_of_shapes(op: Operation, arrays: Sequence[Any]) -> RuntimeError | None:
    if op.promote in ("arithmetic", "float", "compare") and len(arrays) > 1:
        try:
            common_shape(*(array.shape for array in arrays))
        except RuntimeError as mismatch:
            return mismatch
    return None


def _invalid_dim_type(dims: Any) -> str | None:
    """Return the type name of the first value that is not a valid dimension; None if all are valid."""
    for dim in dims if isinstance(dims, (tuple, list)) else () if dims is None else (dims,):
        if type(dim) is bool or not hasattr(dim, "__index__") or (isinstance(dim, Tensor) and dim.ndim):
            return type(dim).__name__
    return None


def _dim_range_message(dims: Any, ndim: int) -> str | None:
    for dim in dims if isinstance(dims, (tuple, list)) else (dims,):
        if isinstance(dim, int) and not -max(ndim, 1) <= dim < max(ndim, 1):
            limit = max(ndim, 1)
            return f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
    return None


# --- shapes -------------------------------------------------------------------------------------------------------


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that `shapes` broadcast to. None entries are skipped.

    Args:
        *shapes: tuples or lists of integers, or integers for shapes with one dimension.

    Raises:
        RuntimeError: the shapes do not broadcast, or an argument is not a shape.
        ValueError: a length is negative.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    first = shapes[0] if shapes else None
    if isinstance(first, tuple) and shapes.count(first) == len(shapes) and min(first, default=0) >= 0:
        return Size(first)
    given = [(shape,) if isinstance(shape, int) else shape for shape in shapes if shape is not None]
    for shape in given:
        if not isinstance(shape, (tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    common = [1] * max(map(len, given), default=0)
    for index, shape in enumerate(given):
        for dim in range(-1, -1 - len(shape), -1):
            if common[dim] == 1:
                if shape[dim] < 0:
                    raise ValueError("Attempting to broadcast a dimension with negative length!")
                common[dim] = shape[dim]
            elif shape[dim] not in (1, common[dim]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! Mismatching argument at index {index} "
                    f"had {shape}; but expected shape should be broadcastable to {common}"
                )
    return Size(common)


def common_shape(*shapes: Sequence[int]) -> Size:
    """Like `broadcast_shapes`, but raises the error that operations such as `add` raise for shapes that do not broadcast."""
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return Size(shapes[0])
    result: list[int] = []
    for shape in shapes:
        size = max(len(result), len(shape))
        left = [1] * (size - len(result)) + result
        right = [1] * (size - len(shape)) + [*shape]
        for dim, (a, b) in reversed(list(enumerate(zip(left, right, strict=True)))):
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
                )
        result = [b if a == 1 else a for a, b in zip(left, right, strict=True)]
    return Size(result)
