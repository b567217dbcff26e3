"""Arguments of calls, matched with parameters."""

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
        args: those by position.
        kwargs: those by name.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function of `torch`, in a list; None for what is none.

    Args:
        op: the function.
        return_schemas: give schemas, too; there are none, so None stands in their place.
    """
    signatures = [inspect.signature(op)] if torch_path(op) is not None else None
    return (signatures, None) if return_schemas else signatures


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse functions that write to their arguments.

    Args:
        target: the function.
        args, kwargs: its arguments.

    Raises:
        RuntimeError: it is one of them.
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
    """The arguments of a function, matched with its parameters, with defaults filled in.

    Args:
        target: the function.
        args, kwargs: its arguments.
        arg_types, kwarg_types: types of the arguments; not needed, for functions have no overloads here.
        normalize_to_only_use_kwargs: give all of them by name.

    Returns:
        The arguments, or None for functions with `*args`, `**kwargs` or parameters that are not known.

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
    """The arguments of a module of `torch.nn`, matched with the parameters of its `forward`, with defaults filled in.

    Args:
        root: the module that the path begins at.
        target: the path to the module.
        args, kwargs: its arguments.
        normalize_to_only_use_kwargs: give all of them by name.

    Returns:
        The arguments, or None for modules that are not of `torch.nn`.

    Raises:
        RuntimeError: there is no such module.
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
