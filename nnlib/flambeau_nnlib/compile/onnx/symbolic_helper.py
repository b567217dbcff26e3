"""`torch.onnx.symbolic_helper`: utilities for symbolic functions, see `torch.onnx.register_custom_op_symbolic`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flambeau as torch

from ._enums import TensorProtoDataType
from ._errors import SymbolicValueError

__all__ = ["parse_args"]

# {name of a dtype in `value.type().scalarType()`: the ONNX dtype}, for the attribute `to_i` of Cast
cast_pytorch_to_onnx = {
    "Byte": TensorProtoDataType.UINT8,
    "Char": TensorProtoDataType.INT8,
    "Double": TensorProtoDataType.DOUBLE,
    "Float": TensorProtoDataType.FLOAT,
    "Half": TensorProtoDataType.FLOAT16,
    "Int": TensorProtoDataType.INT32,
    "Long": TensorProtoDataType.INT64,
    "Short": TensorProtoDataType.INT16,
    "Bool": TensorProtoDataType.BOOL,
    "ComplexFloat": TensorProtoDataType.COMPLEX64,
    "ComplexDouble": TensorProtoDataType.COMPLEX128,
    "BFloat16": TensorProtoDataType.BFLOAT16,
    "Undefined": TensorProtoDataType.UNDEFINED,
}

_KINDS: dict[str, Callable[[Any], Any]] = {"i": int, "f": float, "b": bool, "s": str}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a symbolic function to convert its arguments from graph values to Python values.

    Args:
        *arg_descriptors: the kind of each argument after the graph: `"v"` a graph value, `"i"` an integer, `"f"` a float,
            `"b"` a bool, `"s"` a string, `"t"` a tensor, `"is"` and `"fs"` lists, `"none"` unused.

    Raises:
        SymbolicValueError: when called, an argument that must be a constant is computed by the graph.
    """

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def parsed(g: Any, *args: Any, **kwargs: Any) -> Any:
            return function(g, *map(_parsed, args, arg_descriptors[: len(args)]), **kwargs)

        return parsed

    return decorator


def _parsed(value: Any, kind: str) -> Any:
    if kind == "v" or value is None:
        return value
    if kind == "none":
        return None
    if isinstance(value, (list, tuple)):
        return [_parsed(each, kind.removesuffix("s")) for each in value]
    if _is_value(value):
        if value.array is None:
            raise SymbolicValueError(f"expected a constant of kind {kind!r}, but {value.debugName()} is computed", value)
        tensor = torch.as_tensor(value.array)
        if kind == "t":
            return tensor
        value = tensor.tolist()
        if isinstance(value, list):
            return [_parsed(each, kind.removesuffix("s")) for each in value]
    return _KINDS[kind](value) if kind in _KINDS else value


def _is_value(x: Any) -> bool:
    """Whether an argument is a value of the graph."""
    return hasattr(x, "debugName")


def _is_none(x: Any) -> bool:
    """Whether an optional argument was omitted."""
    return x is None


def _is_constant(value: Any) -> bool:
    """Whether an argument is a Python value or a constant of the graph."""
    return not _is_value(value) or value.array is not None


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    """Convert a constant to the Python type that `desc` names, as in `parse_args`: "i" for int, "is" for a list of them.

    Raises:
        SymbolicValueError: the value is computed by the graph.
    """
    if not _is_constant(value):
        raise SymbolicValueError(
            f"ONNX symbolic expected a constant value of the '{arg_name}' argument, got '{value.debugName()}'", value
        )
    return _parsed(value, desc)


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    """Do the same as `_get_const` for a constant; return a value that the graph computes unchanged."""
    return _parsed(value, descriptor) if _is_constant(value) else value


def _maybe_get_scalar(value: Any) -> Any:
    """Convert a constant of shape `()` to a tensor; return other values unchanged."""
    constant = _maybe_get_const(value, "t")
    return constant if isinstance(constant, torch.Tensor) and constant.shape == () else value


def _get_tensor_rank(x: Any) -> int | None:
    """Return the number of dimensions, or None if unknown."""
    rank: int | None = x.type().dim()
    return rank


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    """Return the shape, or None if the number of dimensions is unknown.

    Args:
        x: a value of the graph.
        allow_nonstatic: return None in place of dynamic sizes. If False, return None for a shape with a dynamic size.
    """
    sizes: list[int | None] | None = x.type().varyingSizes() if allow_nonstatic else x.type().sizes()
    return sizes


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    """Return the size of a dimension, or None if unknown."""
    sizes = _get_tensor_sizes(x)
    return sizes[dim] if sizes else None
