"""Composites as methods, and with `out=`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..tensors.tensor import Tensor
from . import outputs
from .arguments import blaming_arguments, looking_at_arguments
from .codegen import NAMESPACE, lazy_function
from .signatures import NUMPY_NAMES, add_out, declarations, handed_on, packed, with_numpy_names

__all__ = ["as_method", "checked", "with_out", "write_result"]

T = TypeVar("T")

_LOOKED_AT = {"Tensor", "Tensor | None", "bool", "bool | None", "str"}  # types for which a method is worth one more call


def as_method(function: Any) -> Any:
    """A composite as a method: one that understands NumPy's names for its parameters, and blames what is of a wrong type."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    has_names = {*NUMPY_NAMES.values()} & {*names} and not NUMPY_NAMES.keys() & names
    annotations = inspect.unwrap(function).__annotations__
    if function.__globals__ is NAMESPACE or not (has_names or _LOOKED_AT & {annotations.get(each) for each in names}):
        return function
    return checked(function)


def checked(function: Any) -> Any:
    """A composite that looks at its arguments before it computes."""
    key = f"{function.__name__}_{id(function)}"
    NAMESPACE[f"method_{key}"] = function
    made = lazy_function(function.__name__, lambda: _method_source(made.__name__, function, key, NAMESPACE))
    return functools.update_wrapper(made, function)


def _method_source(name: str, function: Callable[..., Any], key: str, namespace: dict[str, Any]) -> str:
    key = f"method_{key}"
    declared, given, named, required = declarations(function, key, namespace)
    declaration, renamed, _ = with_numpy_names(name, declared)
    offering = _offering_method(name, function, given, named)
    looks = looking_at_arguments(function, key, offering, required[1:])
    body = blaming_arguments(function, key, namespace, f"    return {key}({handed_on(given, named)})\n", offering)
    return f"def {name}({declaration}):\n{renamed}{looks}{body}"


def _offering_method(name: str, function: Callable[..., Any], given: Sequence[str], named: Sequence[str]) -> str:
    """The statement that offers the call of a function as that of a method, if there is one of that name."""
    is_method = inspect.unwrap(getattr(Tensor, name, function)) is inspect.unwrap(function)
    return f"return offer_method({name!r}, {packed(given, named)})" if is_method and hasattr(Tensor, name) else "raise"


def with_out(function: Callable[..., T]) -> Callable[..., T]:
    """A composite with an `out=` argument added."""
    key = f"{function.__name__}_{len(_WITH_OUT)}"
    made = lazy_function(function.__name__, lambda: _with_out_source(function, key))
    functools.update_wrapper(made, function)
    made.__dict__["__without_out__"] = function
    made.__dict__["__signature__"] = _out_added(inspect.signature(function))
    NAMESPACE[f"without_out_{key}"] = function
    NAMESPACE["check_out"], NAMESPACE["write_result"] = outputs.check, write_result
    _WITH_OUT.append(key)
    return made


_WITH_OUT: list[str] = []  # the names under which generated code finds the functions


def _with_out_source(function: Callable[..., Any], key: str) -> str:
    name, path = function.__name__, function.__module__.split(".")
    full_name = "_".join([*(each for each in path if each in ("fft", "linalg")), name])
    declared, given, named, required = declarations(function, key, NAMESPACE)
    add_out(declared)
    declaration, renamed, _ = with_numpy_names(name, declared)
    call = f"without_out_{key}({handed_on(given, named)})"
    takes_dtype = "dtype" in named and full_name in outputs.SETS_DTYPE
    offering = _offering_method(name, function, given, named)
    looks = looking_at_arguments(function, key, offering, required[1:])
    body = (
        f"    if out is None:\n        return {call}\n"
        f"    check_out({full_name!r}, out, ({''.join(each.lstrip('*') + ', ' for each in given)}))\n"
        + ("    dtype = dtype or out.dtype\n" if takes_dtype else "")
        + f"    return write_result({full_name!r}, {call}, out)\n"
    )
    return f"def {name}({declaration}):\n{renamed}{looks}{blaming_arguments(function, key, NAMESPACE, body, offering)}"


def write_result(name: str, result: Any, out: Any) -> Any:
    """Write the result, or the results, of a function into `out`."""
    given = (result,) if isinstance(result, Tensor) else result
    outputs.check_untracked(name, any(each._requires_grad for each in given))
    return outputs.write(name, out, result)


def _out_added(given: inspect.Signature) -> inspect.Signature:
    parameters = list(given.parameters.values())
    at = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
    parameters.insert(at, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters, return_annotation=given.return_annotation, __validate_parameters__=False)
