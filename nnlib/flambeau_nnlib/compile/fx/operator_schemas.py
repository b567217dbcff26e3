"""Bind the arguments of calls to parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from flambeau import nn

from ._names import torch_path

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call.

    Attributes:
        args: the positional arguments.
        kwargs: the keyword arguments.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return a list of the signatures of a `torch` function, or None for other functions.

    Args:
        op: the function.
        return_schemas: also return the schemas; these do not exist here and are None.
    """
    try:
        signatures = [inspect.signature(op)] if torch_path(op) is not None else None
    except ValueError:  # a class whose constructor is not written in Python
        signatures = None
    return (signatures, None) if return_schemas else signatures


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise an error for functions that modify their arguments.

    Args:
        target: the function.
        args, kwargs: its arguments.

    Raises:
        RuntimeError: the function modifies its arguments.
    """
    name = getattr(target, "__name__", "")
    ours = torch_path(target) is not None
    if ours and ((name.endswith("_") and not name.endswith("__")) or kwargs.get("out") is not None):
        raise RuntimeError(
            f"Tried to trace mutable operation {name}. FX only supports functional code, so operations that mutate operands "
            "in-place (e.g. via `out` arguments) are not supported"
        )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Bind the arguments of a function to its parameters, and fill in defaults.

    Args:
        target: the function.
        args, kwargs: its arguments.
        arg_types, kwarg_types: accepted; functions have no overloads here.
        normalize_to_only_use_kwargs: return all arguments as keyword arguments.

    Returns:
        The arguments, or None if the function has `*args` or `**kwargs`, or its signature is unknown.

    >>> normalize_function(torch.nn.functional.relu, (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Bind the arguments of a `torch.nn` module to the parameters of its `forward`, and fill in defaults.

    Args:
        root: the module that the path is relative to.
        target: the path to the module.
        args, kwargs: its arguments.
        normalize_to_only_use_kwargs: return all arguments as keyword arguments.

    Returns:
        The arguments, or None if the module is not from `torch.nn`.

    Raises:
        RuntimeError: the module does not exist.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from error
    if getattr(nn, type(module).__name__, None) is not type(module):
        return None
    return _normalized(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    parameters = signature.parameters.values()
    if any(parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) for parameter in parameters):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    values = bound.arguments
    count = 0 if only_kwargs else len(args)
    names = list(signature.parameters)
    return ArgsKwargsPair(tuple(values[name] for name in names[:count]), {name: values[name] for name in names[count:]})
