"""Bind the arguments of calls to parameters."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flambeau as torch
from flambeau import nn
from flambeau.library.ops import OpOverload, OpOverloadPacket
from flambeau.library.schema import FunctionSchema

from ._names import torch_path

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]

# {type in schemas: type of the argument}. As in PyTorch, dtypes, layouts and memory formats are integers.
_SCHEMA_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor, "Scalar": numbers.Number, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str,
    "Device": torch.device, "Generator": torch.Generator, "ScalarType": int, "Layout": int, "MemoryFormat": int,
}  # fmt: skip


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call.

    Attributes:
        args: the positional arguments.
        kwargs: the keyword arguments.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return a list of the signatures of a `torch` function or operator; None for any other function.

    Args:
        op: the function.
        return_schemas: also return the schemas. They are None for functions, which have no overloads here.

    >>> [list(signature.parameters) for signature in get_signature_for_torch_op(torch.ops.aten.topk.default)]
    [['input', 'k', 'dim', 'largest', 'sorted']]
    """
    schemas = _schemas(op)
    try:
        python = None if schemas or torch_path(op) is None else [inspect.signature(op)]
    except ValueError:  # a class whose constructor is not written in Python
        python = None
    signatures = [_schema_signature(schema) for schema in schemas] if schemas else python
    return (signatures, schemas or None) if return_schemas else signatures


def _schemas(op: Any) -> list[FunctionSchema]:
    """Return the schemas of an operator of `torch.ops`; an empty list for other functions."""
    packet = isinstance(op, OpOverloadPacket)
    overloads = [getattr(op, name) for name in op.overloads()] if packet else [op] if isinstance(op, OpOverload) else []
    return [overload._schema for overload in overloads if overload._schema_object is not None]


def _schema_signature(schema: FunctionSchema) -> inspect.Signature:
    """Return a schema as a signature. The argument `self` is named `input`, as in PyTorch."""
    parameters = [
        inspect.Parameter(
            "input" if argument.name == "self" else argument.name,
            inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default,
            annotation=_schema_type(argument.type),
        )
        for argument in schema.arguments
    ]
    results = tuple(_schema_type(result.type) for result in schema.returns)
    return inspect.Signature(parameters, return_annotation=results[0] if len(results) == 1 else results or None)


def _schema_type(kind: str) -> Any:
    """Return a type of a schema, such as `int[]?`, as a Python type."""
    if kind.endswith("?"):
        return _schema_type(kind[:-1]) | None
    if kind.endswith("]"):
        return list[_schema_type(kind[: kind.rindex("[")])]  # type: ignore[misc]  # a type that is computed
    return _SCHEMA_TYPES.get(kind.partition("(")[0], Any)


def create_type_hint(x: Any) -> Any:
    """Return `list[T]` for a list of types and `tuple[T, ...]` for a tuple of types. Other values are returned unchanged.

    `T` is the type in the list that all others are subclasses of; `Any` if there is no such type.

    >>> create_type_hint([bool, int])
    list[int]
    """
    if not isinstance(x, (list, tuple)) or not all(isinstance(kind, type) for kind in x):
        return x
    base = next((base for base in x if all(issubclass(kind, base) for kind in x)), Any)
    return tuple[base, ...] if isinstance(x, tuple) else list[base]  # type: ignore[valid-type]  # a type that is computed


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether a parameter accepts arguments of a type.

    Args:
        signature_type: the annotation of the parameter.
        argument_type: the type of the argument, as returned by `create_type_hint`.

    >>> type_matches(list[int], create_type_hint((int, int))), type_matches(list[int], float)
    (True, False)
    """
    if signature_type is argument_type or signature_type is Any:
        return True
    origin, members = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin in (typing.Union, types.UnionType):
        return signature_type == argument_type or any(type_matches(member, argument_type) for member in members)
    if origin is list:
        if argument_type is int and members[0] is int:
            return True
        if typing.get_origin(argument_type) not in (list, tuple):
            return False
        return all(kind is Ellipsis or type_matches(members[0], kind) for kind in typing.get_args(argument_type))
    if signature_type is int and argument_type is torch.dtype:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(argument_type, signature_type)


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
    """Bind the arguments of a function or operator to its parameters, and fill in defaults.

    Args:
        target: the function.
        args, kwargs: its arguments.
        arg_types, kwarg_types: the types of its arguments, which choose between the overloads of an operator of `torch.ops`.
        normalize_to_only_use_kwargs: return all arguments as keyword arguments.

    Returns:
        The arguments, or None if the function has `*args` or `**kwargs`, its signature is unknown, or no overload fits.

    Raises:
        RuntimeError: several overloads of an operator fit, and no types are given.

    >>> normalize_function(torch.nn.functional.relu, (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    kwargs, schemas = kwargs or {}, _schemas(target)
    if not schemas:
        try:
            return _normalized(inspect.signature(target), args, kwargs, normalize_to_only_use_kwargs)
        except (TypeError, ValueError):
            return None
    fitting = [found for found in map(_schema_signature, schemas) if _bound(found, args, kwargs) is not None]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            raise RuntimeError(
                f"Tried to normalize arguments to {target} but the schema match was ambiguous! Please provide argument types to "
                "the normalize_arguments() call. Available schemas:\n" + "\n".join(map(str, fitting))
            )
        fitting = [found for found in fitting if _accepts(found, arg_types or (), kwarg_types or {})]
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _bound(signature: inspect.Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> inspect.BoundArguments | None:
    """Return the arguments of a call by parameter, or None if they do not fit the signature."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None


def _accepts(signature: inspect.Signature, arg_types: Sequence[Any], kwarg_types: dict[str, Any]) -> bool:
    """Whether a signature accepts arguments of given types."""
    bound = _bound(signature, arg_types, kwarg_types)
    return bound is not None and all(
        type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items()
    )


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
    names = [name for name in signature.parameters if name != "out" or name in kwargs]  # no overload with `out` is chosen
    return ArgsKwargsPair(tuple(values[name] for name in names[:count]), {name: values[name] for name in names[count:]})
