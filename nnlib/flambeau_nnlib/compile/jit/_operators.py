"""The operators that code in an archive may call; it cannot access anything else."""

from __future__ import annotations

import builtins
import math
import operator
import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any

import flambeau as torch
from flambeau.extension import facts_of
from flambeau.extension.aten import ATEN
from flambeau.extension.schemas import FunctionSchema, as_operator, bound_arguments, fits, function_of, namespace_of, schemas

from ...amp.autocast_mode import is_autocast_enabled

__all__ = ["find_operator"]

# In the code of archives, dtypes, layouts and memory formats are numbers.
DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, None,
    torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16,
]  # fmt: skip
_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


def dtype_from_number(number: Any) -> Any:
    """Return the dtype for its number in archives; return other values unchanged."""
    if not isinstance(number, int) or isinstance(number, bool):
        return number
    if not 0 <= number < len(DTYPES) or DTYPES[number] is None:
        raise RuntimeError(f"the archive uses the dtype number {number}, which is not supported")
    return DTYPES[number]


def _convert_kwargs(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Convert numbers in keyword arguments to dtypes and memory formats, and drop arguments that are None."""
    kwargs = {name: value for name, value in kwargs.items() if value is not None and name not in ("layout", "pin_memory")}
    if "dtype" in kwargs:
        kwargs["dtype"] = dtype_from_number(kwargs["dtype"])
    if isinstance(kwargs.get("memory_format"), int):
        kwargs["memory_format"] = _FORMATS[kwargs["memory_format"]]
    return kwargs


def _scalar_first(values: dict[str, Any], first: str) -> dict[str, Any]:
    """Convert the argument named `first` to a tensor if it is a number."""
    number = values.get(first)
    return {**values, first: torch.scalar_tensor(number)} if isinstance(number, (int, float, complex)) else values


def _schema_operator(name: str) -> Callable[..., Any]:
    """Return a function that calls the operator `name`: on numbers, strings and lists, the Python function of this name; on
    tensors, the overload whose schema matches the arguments.
    """
    function: Any = as_operator(name)
    declared, of_python = schemas(name), _python_function(name)
    takes_lists = bool(declared) and declared[0].arguments[0].type.endswith("]")

    def compute(*args: Any, **kwargs: Any) -> Any:
        if of_python is not None and args and not takes_lists and not any(isinstance(each, torch.Tensor) for each in args[:2]):
            return of_python(*args)
        for by_position in (False, True):  # if no schema matches, also accept keyword-only arguments by position
            for schema in declared:
                values = _bind_arguments(schema, args, kwargs, by_position)
                if values is not None:
                    return function(*values[0], **values[1])
        return function(*args, **_convert_kwargs(kwargs))

    return compute


def _bind_arguments(
    schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any], by_position: bool
) -> tuple[list[Any], dict[str, Any]] | None:
    """Bind the arguments of a call to a schema, and convert numbers to dtypes and memory formats where the schema requires
    them. Return None if the arguments do not match the schema.
    """
    if len(args) > sum(by_position or not each.kwarg_only for each in schema.arguments):
        return None
    values = dict(zip((each.name for each in schema.arguments), args, strict=False)) | kwargs
    for each in schema.arguments:
        value, kind = values.get(each.name), each.type.rstrip("?")
        if kind == "ScalarType":
            values[each.name] = dtype_from_number(value)
        elif kind == "MemoryFormat" and isinstance(value, int):
            values[each.name] = _FORMATS[value]
        elif value == [] and each.type.endswith("]?"):
            values[each.name] = None
        if each.name in values and each.kwarg_only and (values[each.name] is None or each.name in ("layout", "pin_memory")):
            del values[each.name]
        elif values.get(each.name, ...) is None and not each.type.endswith("?") and each.name not in kwargs:
            values.pop(each.name)
    positional = [each.name for each in schema.arguments if not each.kwarg_only and each.name in values]
    keywords = {name: value for name, value in values.items() if name not in positional}
    checked = bound_arguments(schema, [values[name] for name in positional], keywords)
    if checked is None or not fits(schema, checked):
        return None
    first = schema.arguments[0]
    values = _scalar_first(values, first.name) if first.type == "Tensor" and len(schema.arguments) > 1 else values
    return [values[name] for name in positional], keywords


def _with_indices(name: str) -> Callable[..., Any]:
    pool = getattr(torch.nn.functional, name)
    return lambda *args: pool(*args, return_indices=True)


def _fractional(name: str) -> Callable[..., Any]:
    pool = getattr(torch.nn.functional, name)
    return lambda input, kernel, output, samples: pool(input, kernel, output, return_indices=True, _random_samples=samples)


def _sort(values: Any, *args: Any, **kwargs: Any) -> Any:
    """Sort a list in place, like `list.sort`, or return a sorted tensor."""
    if isinstance(values, list):
        return values.sort(reverse=any(args))
    return torch.sort(values, *args, **kwargs)


def raise_exception(message: Any, kind: str = "RuntimeError") -> None:
    """Raise the exception that the code of an archive raises."""
    allowed = {"AssertionError", "IndexError", "KeyError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError"}
    name = kind.rpartition(".")[2]
    raise (getattr(builtins, name) if name in allowed else RuntimeError)(message)


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any,
    groups: Any, *flags: Any,
) -> Any:  # fmt: skip
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _to(value: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Implement all overloads of `to`: the arguments are a device and a dtype, a dtype, or another tensor, then three flags."""
    kwargs = _convert_kwargs(kwargs)
    plain = [argument for argument in args if not isinstance(argument, bool) and argument is not None]
    for given in plain:
        if isinstance(given, torch.Tensor):
            kwargs.update(dtype=given.dtype, device=given.device)
        elif isinstance(given, int):
            kwargs["dtype"] = dtype_from_number(given)
        else:
            kwargs["device"] = given
    kwargs.pop("memory_format", None)
    return value.to(**kwargs)


def _slice(value: Any, *args: Any) -> Any:
    """Slice a tensor, given dim, start, end and step, or a list or string, given start, end and step."""
    if not isinstance(value, torch.Tensor):
        return value[slice(*(*args, None)[: max(len(args), 2)])]
    defaults: tuple[Any, ...] = (0, None, None, 1)
    dim, start, end, step = (*args, *defaults[len(args) :])
    index: list[Any] = [slice(None)] * value.dim()
    index[dim] = slice(start, end, step)
    return value[tuple(index)]


def _index(value: Any, indices: Any) -> Any:
    """Index a tensor by `indices`; or, for a list, return the position of the element `indices`."""
    if not isinstance(value, torch.Tensor):
        return value.index(indices)
    return value[tuple(slice(None) if index is None else index for index in indices)]


def _index_put_(value: torch.Tensor, indices: list[Any], values: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    if any(index is None for index in indices):
        value[tuple(slice(None) if index is None else index for index in indices)] = values
        return value
    return value.index_put_(tuple(indices), values, accumulate)


def _device(name: Any, index: int | None = None) -> Any:
    return torch.device(name) if index is None else torch.device(name, index)


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _set_grad_enabled(mode: bool) -> None:
    torch.set_grad_enabled(mode)


_PLAIN: dict[str, Callable[..., Any]] = {
    "mathremainder": math.remainder,
    "__lshift__": operator.lshift,
    "__rshift__": operator.rshift,
    "divmod": divmod,
    "hex": hex, "oct": oct, "bin": bin, "ord": ord, "chr": chr,
    "__and__": operator.and_,
    "__or__": operator.or_,
    "__xor__": operator.xor,
    "__not__": operator.not_,
    "__is__": operator.is_,
    "__isnot__": operator.is_not,
    "__contains__": lambda values, value: value in values,
    "__getitem__": operator.getitem,
    "__range_length": lambda low, high, step: len(range(low, high, step)),
    "__derive_index": lambda index, start, step: start + index * step,
    "_set_item": _set_item,
    "append": _append,
    "clear": lambda values: values.clear(),
    "copy": lambda values: values.copy(),
    "extend": lambda values, more: values.extend(more),
    "format": lambda text, *values: text.format(*values),
    "percentFormat": lambda text, *values: text % (values[0] if isinstance(values[0], tuple) else values),
    "wait": lambda future: future.wait(),
    "delete": operator.delitem,
    "get": lambda values, key, default=None: values.get(key, default),
    "insert": lambda values, index, value: values.insert(index, value),
    "popitem": lambda values: values.popitem(),
    "remove": lambda values, value: values.remove(value),
    "setdefault": lambda values, key, default: values.setdefault(key, default),
    "sort": _sort,
    "sorted": sorted,
    "update": lambda values, more: values.update(more),
    "items": lambda values: list(values.items()),
    "keys": list,
    "len": len,
    "list": list,
    "pop": lambda values, *args: values.pop(*args),
    "reverse": lambda values: values.reverse(),
    "str": str,
    "values": lambda values: list(values.values()),
    "Bool": bool,
    "Float": float,
    "Int": int,
    "FloatImplicit": float,
    "IntImplicit": int,
    "ScalarImplicit": lambda value: value.item(),
    "item": lambda value: value.item(),
    "index": _index,
    "count": lambda values, value: values.count(value),
    "warn": lambda message, stacklevel=2: warnings.warn(str(message), stacklevel=2),
    "device": _device,
    "dim": lambda value: value.dim(),
    "size": lambda value, *dim: value.size(*dim) if dim else list(value.size()),
    "stride": lambda value, *dim: value.stride(*dim) if dim else list(value.stride()),
    "is_grad_enabled": torch.is_grad_enabled,
    "set_grad_enabled": _set_grad_enabled,
    "is_autocast_enabled": is_autocast_enabled,
    "is_autocast_cpu_enabled": lambda: is_autocast_enabled("cpu"),
    "_convolution": _convolution,
    "to": _to,
    "slice": _slice,
    **{f"adaptive_max_pool{dims}d": _with_indices(f"adaptive_max_pool{dims}d") for dims in (1, 2, 3)},
    **{f"fractional_max_pool{dims}d": _fractional(f"fractional_max_pool{dims}d") for dims in (2, 3)},
    "index_put_": _index_put_,
}  # fmt: skip

_PRIMITIVE: dict[str, Callable[..., Any]] = {
    "NumToTensor": torch.tensor,
    "RaiseException": raise_exception,
    "data": lambda value: value.detach(),
    "device": lambda value: value.device,
    "dtype": lambda value: DTYPES.index(value.dtype),
    "is_cuda": lambda value: value.is_cuda,
    "is_nested": lambda value: False,
    "is_mkldnn": lambda value: False,
    "layout": lambda value: 0,
    "max": max,
    "min": min,
    "abs": abs,
    "requires_grad": lambda value: value.requires_grad,
    "type": lambda value: value.type if isinstance(value, torch.device) else type(value).__name__,
    "unchecked_unwrap_optional": lambda value: value,
    "AutogradAnyNonZero": lambda *values: any(value is not None for value in values),
}

# Python functions whose names differ from the TorchScript operators.
_PYTHON_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": lambda base, exponent: operator.pow(float(base), exponent),  # in TorchScript, `pow` of two integers is a float
    "round": lambda value: float(round(value)),
}


def _python_function(name: str) -> Callable[..., Any] | None:
    """Return the Python function that implements an operator on numbers and lists, or None."""
    for place in (operator, math, builtins) if namespace_of(name) == "aten" else (math,):
        if name in _PYTHON_FUNCTIONS:
            return _PYTHON_FUNCTIONS[name]
        if not name.startswith("_") and callable(getattr(place, name, None)):
            return getattr(place, name)  # type: ignore[no-any-return]  # of a module
    return None


def find_operator(path: str) -> Callable[..., Any]:
    """Return the operator that an archive calls `torch.NAME`, `ops.aten.NAME` or `ops.prim.NAME`.

    Unknown or disallowed operators raise an error only when they are called, because archives contain code that never runs.
    """
    name = path.rpartition(".")[2]
    return _string_method(name, path) if path == f"torch.{name}" and name in _STRINGS else _operator(path)


def _operator(path: str) -> Callable[..., Any]:
    space, _, name = path.partition(".")
    if space == "ops":
        space, _, name = name.partition(".")
    if space == "prim" and name in _PRIMITIVE:
        return _PRIMITIVE[name]
    if space == "flambeau" and _is_pure(name, space):
        return _schema_operator(name)
    if space in ("torch", "aten"):
        if name in _PLAIN:
            return _PLAIN[name]
        if name not in _NOT_OPERATORS and _is_pure(name):
            return _schema_operator(name)
        method: Callable[..., Any] | None = vars(torch.Tensor).get(name) if not name.startswith("_") else None
        if callable(method) and name not in _NOT_OPERATORS:
            return method
        family, _, rest = name.partition("_")
        if family in ("fft", "linalg", "special") and rest in getattr(torch, family).__all__:
            return _schema_operator(name)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"the archive uses the operator {path!r}, which is not supported")

    return refused


_STRINGS = frozenset({
    "capitalize", "center", "count", "endswith", "expandtabs", "find", "isalnum", "isalpha", "isdecimal", "isdigit",
    "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip",
    "partition", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
    "strip", "swapcase", "title", "upper", "zfill",
})  # fmt: skip


def _string_method(name: str, path: str) -> Callable[..., Any]:
    """Return a function that calls the string method for strings, and otherwise the operator of the same name."""
    other = _operator(path)

    def compute(value: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(str, name)(value, *args, **kwargs) if isinstance(value, str) else other(value, *args, **kwargs)

    return compute


def _is_pure(name: str, namespace: str = "aten") -> bool:
    """Whether an operator has no side effects, so that archives may call it. Functions with side effects declare no facts."""
    plain = name.removesuffix("_")
    if not name.isidentifier():
        return False
    if isinstance(getattr(torch, name, None), MethodType):  # functions compiled by PyTorch are bound methods in `torch`
        return namespace_of(name) == namespace
    known = facts_of(name) is not None or facts_of(plain) is not None or name in ATEN or plain in ATEN
    return (known and namespace_of(name) == namespace and function_of(name) is not None) or _python_function(name) is not None


_NOT_OPERATORS = frozenset({
    "apply_", "backward", "cuda", "data_ptr", "from_file", "map2_", "map_", "numpy", "pin_memory", "register_hook", "set_",
    "share_memory_", "storage", "to_dense", "tolist", "untyped_storage",
})  # fmt: skip
