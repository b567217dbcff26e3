"""The general path of a call: subclasses, Python scalars, mixed dtypes, mixed devices, `out=`, and errors.

Generated functions come here with whatever is not a plain tensor of one dispatch key.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ..runtime.devices import DispatchKey, device, dispatch_key
from ..runtime.state import state
from ..tape.grad_mode import _grad, is_inference_mode_enabled
from ..tape.transforming import note_depth
from ..tensors.storage import IN_INFERENCE_MODE, InferenceStorage
from ..tensors.tensor import Tensor, wrap
from ..values import dtypes
from ..values.promotion import COMMON, DTYPES, PROMOTIONS
from ..values.scalars import is_library_scalar, wrapped
from ..values.sizes import Size
from . import arguments, outputs, overriding
from .operands import can_operate
from .record import Operation
from .results import several, view_of
from .signatures import UNSET
from .transform_hooks import hooks

__all__ = [
    "broadcast_shapes",
    "dispatch",
    "explain",
    "refusing",
    "require_constant",
    "require_dtype",
    "require_factor",
    "require_flags",
    "require_operands",
    "require_tensors",
    "tuple_of_tensors",
    "whole_numbers",
]

_SCALARS = (bool, int, float, complex)


def dispatch(op: Operation, tensors: tuple[Any, ...], params: tuple[Any, ...], out: Any = None) -> Any:
    """Run an operation on any arguments that PyTorch takes."""
    if overriding.wanted(tensors, out, op.name):
        return overriding.call(op, tensors, params, out)
    if op.number_names:
        tensors = tuple([each.item() if is_library_scalar(each) else each for each in tensors])
        if op.numbers_alone and all(isinstance(each, _SCALARS) for each in tensors):
            tensors = tuple(map(_tensor_of_number, tensors))
    _check_types(op, tensors)
    _check_flags(op, params)
    if op.check is not None:
        op.check(*tensors)
    if out is not None:
        outputs.check(op.name, out, tensors)
        outputs.check_untracked(op.name, op.differentiable and _any_requires_grad(tensors))
    if "dtype" in op.param_names:
        index = op.param_names.index("dtype")
        dtype, params = params[index], (*params[:index], None, *params[index + 1 :])
        if dtype is None and out is not None and op.name in outputs.SETS_DTYPE:
            dtype = out.dtype
        if dtype is not None:
            dtype = dtypes.meant(dtype)
            tensors = tuple(each.to(dtype) if isinstance(each, Tensor) else each for each in tensors)
            result = dispatch(op, tensors, params).to(dtype)
            return result if out is None else outputs.write(op.name, out, result)
    if any(isinstance(each, Tensor) and type(each._key) is not DispatchKey for each in tensors):
        tensors = hooks.batches.align(hooks.materialize(op, tensors))
    if state.forward_levels:
        result = hooks.forward.propagate(op, tensors, params, lambda: dispatch(op, tensors, params))
        if result is not NotImplemented:
            return result
    key, arrays = _operands(op, tensors)
    exact = _exact(op, key) if any(isinstance(each, _SCALARS) for each in tensors) else key
    if exact is not key:
        arrays = [_as_array(each, exact) for each in tensors]
    kernel, result_key = exact[op.name]
    given = [value for name, value in zip(op.param_names, params, strict=True) if name in op.kernel_params]
    named = dict(zip(op.kernel_params, given, strict=True)) if op.variadic else {}
    try:
        made = key.backend.computed(kernel, *arrays, *(() if op.variadic else given), **named)
    except Exception as error:
        numbers = tuple(arguments.as_python(each) if isinstance(each, Tensor) and not each.ndim else each for each in params)
        if any(number is not param for number, param in zip(numbers, params, strict=True)):
            return dispatch(op, tensors, numbers, out)
        if overriding.may_override(params) and overriding.is_published(op):
            return overriding.call(op, tensors, params, out)
        explain(error, op, tensors, params)
    if exact is not key:
        made, result_key = key.backend.astype(made, key.raw_dtype), key
    result = _wrapped(op, made, result_key, tensors, params)
    if is_inference_mode_enabled():
        _mark_inference(result)
    if state.mutation_guards:
        _note_depths(result)
    if out is not None:
        return outputs.write(op.name, out, result)
    return result


def _any_requires_grad(tensors: Sequence[Any]) -> bool:
    return any(isinstance(each, Tensor) and each._requires_grad for each in tensors)


def _wrapped(op: Operation, made: Any, key: Any, tensors: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
    """Wrap what a kernel returned, recorded where a gradient is wanted."""
    wanted = op.differentiable and not is_inference_mode_enabled()
    tracked = wanted and any(isinstance(each, Tensor) and each._requires_grad for each in tensors)
    if tracked:
        tensors = for_rules(op, key, tensors)
    if op.results or op.returns_list:
        return several(op, made, key, tensors, params)
    if type(made) is not key.array_type:
        made = key.backend.wrap(made)
    if tracked and key.dtype.category >= dtypes.FLOATING:
        return op.record(made, key, tensors, params) if op.variadic else op.record(made, key, *tensors, *params)
    return view_of(made, key, op, tensors[0], params) if op.view else wrap(made, key)


def for_rules(op: Operation, key: Any, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments as a node saves them: numbers as tensors, and what was brought to a common dtype in that dtype."""
    if op.promote not in COMMON or op.variadic:
        return tuple(constant_of(each, tensors) if isinstance(each, _SCALARS) else each for each in tensors)
    made = []
    for name, each in zip(op.tensor_names, tensors, strict=True):
        if isinstance(each, _SCALARS):
            each = wrap_scalar(each, _exact(op, key))
        elif isinstance(each, Tensor) and each._key.dtype.category < dtypes.FLOATING and name not in op.keeps_dtype:
            each = each.to(key.dtype)
        made.append(each)
    return tuple(made)


def _exact(op: Operation, key: DispatchKey) -> DispatchKey:
    """The dispatch key that takes a Python number: float32 beside half precision, where PyTorch rounds the result only."""
    return key.to(dtypes.float32) if op.exact_numbers and key.dtype in dtypes.HALF else key


def _tensor_of_number(value: Any) -> Tensor:
    """A Python number for which there is no tensor to tell dtype and device: one of its own dtype, on the CPU."""
    try:
        return wrap_scalar(value, dispatch_key(dtypes.promotion_of_scalar(type(value)), device("cpu")))
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None


def constant_of(value: Any, tensors: tuple[Any, ...]) -> Tensor:
    """A scalar argument as a tensor, for the node to save."""
    place = next(each for each in tensors if isinstance(each, Tensor)).device
    return wrap_scalar(value, dispatch_key(dtypes.promotion_of_scalar(type(value)), place))


def wrap_scalar(value: Any, key: DispatchKey) -> Tensor:
    """A 0-d tensor holding `value`."""
    return wrap(key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0), key)


# --- arguments ----------------------------------------------------------------------------------------------------


def _check_types(op: Operation, tensors: Sequence[Any]) -> None:
    for position, each in enumerate(tensors):
        if isinstance(each, Tensor):
            continue
        name = "tensors" if op.variadic else op.tensor_names[position]
        if each is None and name in op.defaults:
            continue
        if (
            name in op.number_names
            and isinstance(each, _SCALARS)
            and (position or op.numbers_alone or any(isinstance(other, Tensor) for other in tensors))
        ):
            continue
        given = type(each).__name__
        where = f"element {position} in position 0" if op.variadic else f"(position {position + 1})"
        if op.variadic:
            raise TypeError(f"{op.name}(): expected Tensor as {where}, but got {given}")
        raise TypeError(f"{op.name}(): argument '{name}' {where} must be Tensor, not {given}")


def _check_flags(op: Operation, params: Sequence[Any]) -> None:
    if op.flags:
        require_flags(op.name, **{name: value for name, value in zip(op.param_names, params, strict=True) if name in op.flags})


def require_tensors(name: str, **given: Any) -> None:
    """Refuse arguments that have to be tensors and are not."""
    for position, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, Tensor) and value is not UNSET and not hasattr(value, "__torch_function__"):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
            ) from None


def refusing(category: int, words: str) -> Callable[..., None]:
    """The check of an operation that has words of its own for tensors of a category of dtypes."""

    def check(*tensors: Any) -> None:
        if any(isinstance(each, Tensor) and each._key.dtype.category == category for each in tensors):
            raise RuntimeError(words)

    return check


def require_dtype(kernel: str, input: Tensor, accepts: str) -> None:
    """Refuse a dtype that there is no kernel for; `takes` is a key of `DTYPES`, as for an operation."""
    if input._key.dtype.category not in DTYPES[accepts]:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'")


def require_factor(name: str, factor: Any, dtype: dtypes.dtype) -> None:
    """Refuse a factor of a category beyond that of the dtype it is to be multiplied in, and True and False for numbers."""
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


def require_flags(function: str, **given: Any) -> None:
    """Refuse, for functions that PyTorch has in C++, flags that are not True or False."""
    for name, value in given.items():
        if type(value) is not bool:
            raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")


def require_constant(function: str, **given: Any) -> None:
    """Refuse, while operations are recorded, that tensors require a gradient for which there is no rule."""
    for name, each in given.items():
        if each is not None and each.requires_grad and _grad.get():
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )


def whole_numbers(name: str, value: Any) -> tuple[int, ...]:
    """An argument that is an int or several, as a tuple."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for each in given:
        if isinstance(each, bool) or not hasattr(each, "__index__"):
            raise TypeError(f"argument '{name}' must be tuple of ints, not {type(each).__name__}")
    return tuple(map(operator.index, given))


def require_operands(name: str, **given: Any) -> None:
    """Refuse arguments that are neither tensors nor numbers."""
    for argument, value in given.items():
        if not can_operate(value):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor or a number, not {type(value).__name__}")


def tuple_of_tensors(tensors: Any, op: Operation) -> tuple[Any, ...]:
    """The sequence argument of `cat` and its like, checked."""
    if isinstance(tensors, (tuple, list)):
        return tuple(tensors)
    given = type(tensors).__name__
    raise TypeError(f"{op.name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {given}")


def _operands(op: Operation, tensors: Sequence[Any]) -> tuple[DispatchKey, list[Any]]:
    """The dispatch key to compute in, and the arguments as raw arrays for it."""
    place = _common_device(tensors, op)
    if op.variadic:
        key = _key_among(tensors, result_dtype(tensors), place)
        return key, [_as_array(each, key) for each in tensors]
    named = dict(zip(op.tensor_names, tensors, strict=True))
    if op.promote in COMMON:
        dtype = result_dtype([each for name, each in named.items() if name not in op.keeps_dtype])
        if op.promote == "float" and dtype.category in DTYPES[op.dtypes]:
            dtype = PROMOTIONS["float"](dtype)[0]  # at once: what the others become need not hold a number
        key = _key_among(tensors, dtype, place)
        return key, [_moved(each, place) if name in op.keeps_dtype else _as_array(each, key) for name, each in named.items()]
    if op.promote in ("match", "product"):
        _check_match(op, [each for name, each in named.items() if name not in op.keeps_dtype])
    lead = named[op.primary]
    key = lead._key if lead._key.device is place else _key_among(tensors, lead.dtype, place)
    return key, [None if each is None else _moved(each, place) for each in tensors]


def _key_among(tensors: Sequence[Any], dtype: dtypes.dtype, place: device) -> DispatchKey:
    """The dispatch key of this dtype and device; batched, where the tensors are."""
    for each in tensors:
        if isinstance(each, Tensor) and type(each._key) is not DispatchKey:
            return each._key.to(dtype)
    return dispatch_key(dtype, place)


def _check_match(op: Operation, tensors: Sequence[Any]) -> None:
    given = [each.dtype for each in tensors if isinstance(each, Tensor)]
    for other in given[1:]:
        if other is not given[0]:
            spelled = " != ".join(_c_name(each) for each in (given[0], other))
            raise RuntimeError(f"{op.name}(): expected m1 and m2 to have the same dtype, but got: {spelled}")


def _c_name(each: dtypes.dtype) -> str:
    names = {
        "float32": "float",
        "float64": "double",
        "int64": "long int",
        "int32": "int",
        "float16": "c10::Half",
        "bfloat16": "c10::BFloat16",
        "complex64": "c10::complex<float>",
        "complex128": "c10::complex<double>",
    }
    return names.get(each.name, each.name)


def result_dtype(tensors: Sequence[Any]) -> dtypes.dtype:
    """The common dtype of tensors and Python scalars."""
    dimensioned: list[dtypes.dtype] = []
    zero_dim: list[dtypes.dtype] = []
    scalars: list[dtypes.dtype] = []
    for each in tensors:
        if isinstance(each, Tensor):
            (dimensioned if each._array.ndim else zero_dim).append(each._key.dtype)
        elif each is not None:
            scalars.append(dtypes.promotion_of_scalar(type(each)))
    return dtypes.result_of(dimensioned, zero_dim, scalars)


def _as_array(value: Any, key: DispatchKey) -> Any:
    if isinstance(value, Tensor):
        array = _moved(value, key.device)
        return array if value._key.dtype is key.dtype else key.backend.astype(array, key.raw_dtype)
    if value is None:
        return None
    try:
        return key.backend.asarray(value, key.raw_dtype, index=key.device.index or 0)
    except OverflowError:
        return key.backend.asarray(wrapped(value, key.dtype), key.raw_dtype, index=key.device.index or 0)


def _common_device(tensors: Sequence[Any], op: Operation) -> device:
    """The one device of the arguments; a 0-d CPU tensor may join any other."""
    found: device | None = None
    for each in tensors:
        if isinstance(each, Tensor) and not _may_travel(each):
            place = each._key.device
            if found is not None and place != found:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two devices, "
                    f"{found} and {place}! (when checking arguments for {op.name})"
                )
            found = place
    if found is None:
        found = next(each for each in tensors if isinstance(each, Tensor))._key.device
        for each in tensors:
            if isinstance(each, Tensor) and each._key.device.type != "cpu":
                return each._key.device
    return found


def _may_travel(tensor: Tensor) -> bool:
    return tensor._array.ndim == 0 and tensor._key.device.type == "cpu"


def _moved(tensor: Tensor, place: device) -> Any:
    if tensor._key.device == place:
        return tensor._array
    return tensor.detach().to(place)._array


# --- results ------------------------------------------------------------------------------------------------------


def _mark_inference(result: Any) -> None:
    for each in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(each, Tensor) or each._inference:
            continue
        if each._view is None:
            InferenceStorage.of(each)
        else:  # of a normal tensor
            each._view = (*each._view[:3], IN_INFERENCE_MODE)


def _note_depths(result: Any) -> None:
    """Let the results be known to have been made inside of the transforms that go on."""
    for each in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(each, Tensor) and each._view is None:
            note_depth(each)


# --- errors -------------------------------------------------------------------------------------------------------


def explain(error: Exception, op: Operation, tensors: Sequence[Any], params: Sequence[Any]) -> NoReturn:
    """Raise PyTorch's exception for what went wrong inside a kernel.

    Where the arguments can be told to be at fault, that says it all; else the kernel's own exception is raised, or is the cause.
    """
    given = dict(zip(op.param_names, params, strict=False))
    arrays = [each._array for each in tensors if isinstance(each, Tensor)]
    fault: Exception | None = _fault_of_types(op, given)
    if fault is None and type(error) not in (RuntimeError, NotImplementedError, MemoryError):
        fault = _fault_of_dtypes(op, tensors) or _fault_of_dims(given, arrays) or _fault_of_shapes(op, arrays)
    if fault is not None:
        raise fault from None
    if type(error) is IndexError:
        raise IndexError(str(error).replace("is out of bounds for axis", "is out of bounds for dimension")) from error
    if type(error) is TypeError and str(error).startswith("ufunc"):
        raise NotImplementedError(f"\"{op.name}_cpu\" not implemented for '{result_dtype(tensors).legacy_name}'") from error
    if type(error) in (RuntimeError, NotImplementedError, MemoryError, TypeError):
        raise error
    described = ", ".join(f"{list(each.shape)} {each.dtype}" for each in arrays)
    raise RuntimeError(f"{op.name}(): {error} (arguments: {described})") from error


def _fault_of_types(op: Operation, given: Mapping[str, Any]) -> TypeError | None:
    for name in ("dim", "dim0", "dim1", "dims"):
        if problem := _no_dim(given.get(name)):
            return TypeError(f"{op.name}(): argument '{name}' must be int, not {problem}")
    try:
        arguments.check(op.name, arguments.types_of(op.forward), given)
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


def _fault_of_dims(given: Mapping[str, Any], arrays: Sequence[Any]) -> Exception | None:
    ndim = arrays[0].ndim if arrays else 0
    for dims in (given.get("dim"), given.get("dim0"), given.get("dim1"), given.get("dims")):
        problem = _dim_problem(dims, ndim)
        if problem:
            return IndexError(problem)
        wrapped_dims = [each % ndim for each in dims] if ndim and isinstance(dims, (tuple, list)) else []
        for each in wrapped_dims:
            if wrapped_dims.count(each) > 1:
                return RuntimeError(f"dim {each} appears multiple times in the list of dims")
    return None


def _fault_of_shapes(op: Operation, arrays: Sequence[Any]) -> RuntimeError | None:
    if op.promote in ("arithmetic", "float", "compare") and len(arrays) > 1:
        try:
            broadcast_shapes(*(each.shape for each in arrays))
        except RuntimeError as mismatch:
            return mismatch
    return None


def _no_dim(dims: Any) -> str | None:
    """The type of what is given for a dimension, or for several, and cannot be one."""
    for each in dims if isinstance(dims, (tuple, list)) else () if dims is None else (dims,):
        if type(each) is bool or not hasattr(each, "__index__") or (isinstance(each, Tensor) and each.ndim):
            return type(each).__name__
    return None


def _dim_problem(dims: Any, ndim: int) -> str | None:
    for each in dims if isinstance(dims, (tuple, list)) else (dims,):
        if isinstance(each, int) and not -max(ndim, 1) <= each < max(ndim, 1):
            limit = max(ndim, 1)
            return f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {each})"
    return None


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to; None among them stands for no shape at all.

    >>> import flambeau as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    if shapes and isinstance(shapes[0], tuple) and shapes.count(shapes[0]) == len(shapes):
        return Size(shapes[0])
    result: list[int] = []
    for shape in shapes:
        if shape is None:
            continue
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        shape = (shape,) if isinstance(shape, int) else shape
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
