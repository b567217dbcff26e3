"""`torch.onnx.symbolic_helper`: utilities for symbolic functions, see `torch.onnx.register_custom_op_symbolic`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["parse_args"]

_KINDS: dict[str, Callable[[Any], Any]] = {"i": int, "f": float, "b": bool, "s": str}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a symbolic function to convert its arguments from graph values to Python values.

    Args:
        *arg_descriptors: the kind of each argument after the graph: `"v"` a graph value, `"i"` an integer, `"f"` a float,
            `"b"` a bool, `"s"` a string, `"t"` a tensor, `"is"` and `"fs"` lists, `"none"` unused.

    Raises:
        ValueError: when called, an argument that must be a constant is computed by the graph.
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
    if hasattr(value, "debugName"):  # the argument is a value of the graph
        if value.array is None:
            raise ValueError(f"expected a constant of kind {kind!r}, but {value.debugName()} is computed")
        import flambeau as torch

        tensor = torch.as_tensor(value.array)
        if kind == "t":
            return tensor
        value = tensor.tolist()
        if isinstance(value, list):
            return [_parsed(each, kind.removesuffix("s")) for each in value]
    return _KINDS[kind](value) if kind in _KINDS else value
