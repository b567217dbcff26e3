"""Schemas of operations by name, and translation of public function calls to operator calls.

An operator takes its arguments in the order of its schema.  A public function with the same name may take them in another order
and form: `F.huber_loss(input, target, "mean", 0.5)` is the operator call `huber_loss(input, target, 1, 0.5)`.
`operator_call` translates a function call; `as_operator` returns a function that takes an operator's arguments.

Operators that PyTorch lacks are in the namespace `flambeau`, all others in `aten`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import flambeau as torch

from ..engine.calls.facts import facts_of, is_inplace
from ..engine.calls.overriding import routed_method
from ..engine.calls.schema import Argument, FunctionSchema, derive, parse
from ..engine.calls.tables import OPS
from .aten import ATEN, FUNCTIONAL_NAMES, REDUCTIONS

__all__ = [
    "Argument", "FunctionSchema", "OperatorCall", "as_operator", "bound_arguments", "derive", "fits", "function_of",
    "missing_operator", "named_arguments", "namespace_of", "operator_call", "operator_name", "ordered", "overload", "parse",
    "schemas",
]  # fmt: skip

_FAMILIES = ("linalg", "fft", "special")
_OPERATOR_NAMES = {function: operator for operator, function in FUNCTIONAL_NAMES.items()} | {
    f"dropout{dims}d": "feature_dropout" for dims in (1, 2, 3)
}
_EMPTY = inspect.Parameter.empty
_OMITTED_ARGUMENTS = frozenset({"out", "generator", "inplace", "legacy", "requires_grad"})  # operators lack these


# --- operators by name ----------------------------------------------------------------------------------------------

_LookUp = TypeVar("_LookUp", bound=Callable[[str], Any])


def _cached(look_up: _LookUp) -> _LookUp:
    """Cache the results of a lookup by name, except "not found": the operation may be defined later."""
    found: dict[str, Any] = {}

    @functools.wraps(look_up)
    def cached(name: str) -> Any:
        result = found.get(name)
        if not result:
            result = found[name] = look_up(name)
        return result

    return cast(_LookUp, cached)


@functools.cache
def _pytorch_operators() -> frozenset[str]:
    return frozenset(Path(__file__).with_name("aten_operators.txt").read_text(encoding="utf-8").split())


def _without_inplace_suffix(name: str) -> str:
    """Return the name of the operator without its in-place suffix: `add` for `add_`."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def namespace_of(name: str) -> str:
    """Return the namespace of an operator: `aten` if PyTorch has an operator with that name, else `flambeau`.

    >>> namespace_of("add_"), namespace_of("squareplus")
    ('aten', 'flambeau')
    """
    return "aten" if name in _pytorch_operators() else "flambeau"


def missing_operator(name: str) -> Callable[..., NoReturn]:
    """Return a function that raises NotImplementedError, for an operator of PyTorch that flambeau lacks."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"Could not run 'aten::{name}': flambeau does not have this operator")

    refuse.__name__ = name
    return refuse


@_cached
def function_of(name: str) -> Any:
    """Return the function or method that computes an operator, or None.

    A missing in-place form calls the function and writes the result to its first argument.  A missing functional form calls the
    in-place method on a copy.
    """
    if name in ATEN:
        return ATEN[name]
    family, _, rest = name.partition("_")
    if family in _FAMILIES and hasattr(getattr(torch, family), rest):
        return getattr(getattr(torch, family), rest)
    for place in (torch, torch.nn.functional):
        found = getattr(place, FUNCTIONAL_NAMES.get(name, name), None)
        if callable(found) and not isinstance(found, (type, ModuleType)):
            return _routed(name) if _calls_method(found) else found
    method = getattr(torch.Tensor, name, None)
    if callable(method):
        return method
    if name in OPS and namespace_of(name) != "aten":  # ATen operators may take other arguments than operations in `OPS`
        return OPS[name].function
    if name.endswith("_") and namespace_of(name) == "aten":
        compute = function_of(name[:-1])
        return compute and (lambda input, *args, **kwargs: input.copy_(compute(input, *args, **kwargs)))
    write = getattr(torch.Tensor, name + "_", None) if namespace_of(name) == "aten" else None
    return write and functools.wraps(write)(lambda input, *args, **kwargs: write(input.clone(), *args, **kwargs))


def _routed(name: str) -> Callable[..., Any]:
    """Return a Tensor method as a function that calls the `__torch_dispatch__` of wrapper subclasses."""

    @functools.wraps(getattr(torch.Tensor, name))
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return routed_method(self, name)(self, *args, **kwargs)

    return call


def _calls_method(function: Callable[..., Any]) -> bool:
    """Whether a `torch` function only calls the Tensor method with the same name."""
    try:
        return [*inspect.signature(function).parameters] == ["input", "args", "kwargs"]
    except ValueError:  # builtin functions have no signature
        return False


def operator_name(name: str) -> str:
    """Return the name of the operator that a function of `nn.functional` computes.

    >>> operator_name("cross_entropy"), operator_name("relu")
    ('cross_entropy_loss', 'relu')
    """
    return _OPERATOR_NAMES.get(name, name)


@_cached
def schemas(name: str) -> tuple[FunctionSchema, ...]:
    """Return the schemas of an operator, one for each overload, in the order in which a call tries them.

    They are declared with the operation (the fact `schema`), or derived from the signature of its public function.  In-place and
    operator methods have the overloads whose first argument is a tensor.

    Args:
        name: the operator's name without its namespace: `add`, `add_`, `linalg_norm`, `huber_loss`.

    >>> for schema in schemas("add"):
    ...     print(schema)
    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
    """
    namespace, plain = namespace_of(name), _without_inplace_suffix(name)
    function = function_of(name) or function_of(plain)  # called first because it may import the module that declares the schema
    texts = _declared(name) or _declared(plain)
    if not texts and function is None:
        return ()
    base = ""
    if not texts or any("(" not in text for text in texts):
        try:
            base = str(derive(plain, function_of(plain) or function, namespace)).partition("::")[2]
        except (TypeError, ValueError):  # not an operator: a function such as `torch.save`
            return ()
    if texts and all("(" in text and _operator_in(text) == name for text in texts):
        return tuple(parse(text, namespace) for text in texts)
    is_function = name == plain and not name.startswith("__")
    if not is_function:  # declarations without arguments are for dimension names, which methods do not accept
        texts = [text if "(" in text else plain for text in texts]
    found = tuple(parse(_complete_schema(text, plain, base), namespace) for text in texts or [base])
    return found if is_function else tuple(_method_schema(name, schema) for schema in found if schema.arguments[0].is_tensor)


def _declared(name: str) -> Sequence[str]:
    """Return the declared schemas of an operator; for an in-place operator without any, those of its functional form."""
    facts = facts_of(name)
    # PyTorch's `special_xlogy` has other overloads than its `xlogy`.
    is_declared = facts is not None and name.startswith("special_") == facts.name.startswith("special_")
    declared = facts.schema if facts is not None and is_declared else ()
    texts = (declared,) if isinstance(declared, str) else declared
    own = [text for text in texts if _operator_in(text) == name]
    return own or [text for text in texts if not is_inplace(_operator_in(text))]


def _operator_in(text: str) -> str:
    return text.partition("(")[0].partition(".")[0]


def _complete_schema(text: str, name: str, derived: str) -> str:
    """Rename a declared schema to `name`, which may be an alias. If it has no arguments, add those of the schema `derived`."""
    head, _, rest = text.partition("(")
    overload_name = head.partition(".")[2]
    arguments = rest or derived.partition("(")[2]
    return f"{name}.{overload_name}({arguments}" if overload_name else f"{name}({arguments}"


def _method_schema(name: str, schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of an in-place or operator method, derived from the function's schema."""
    first, separator, rest = schema.text.partition("(")[2].rpartition(" -> ")[0].partition(", ")
    returns = schema.text.rpartition(" -> ")[2]
    if is_inplace(name):
        first, returns = f"Tensor(a!) self{')' * (not separator)}", "Tensor(a!)"
    overload_name = re.sub("^Tensor_(?=Tensor|Scalar)", "", schema.overload_name)  # methods lack `Scalar_Tensor`
    head = f"{namespace_of(name)}::{name}" + (f".{overload_name}" if overload_name else "")
    return parse(f"{head}({first}{separator}{rest} -> {returns}")


# --- choosing an overload -------------------------------------------------------------------------------------------


def overload(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the name of the operator overload that accepts these arguments, which are in the order of the schema.

    >>> overload("add", [torch.ones(1), 2], {}), overload("eq", [torch.ones(1), 2], {}), overload("relu", [torch.ones(1)], {})
    ('Tensor', 'Scalar', 'default')
    """
    candidates = schemas(name)
    for schema in candidates:
        values = bound_arguments(schema, args, kwargs)
        if values is not None and fits(schema, values):
            return schema.overload_name or "default"
    return (candidates[0].overload_name if candidates else "") or "default"


def bound_arguments(schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of an operator call by name, or None if they do not match the schema."""
    positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(positional):
        return None
    values = dict(zip(positional, args, strict=False)) | {
        name: value for name, value in kwargs.items() if name not in _OMITTED_ARGUMENTS
    }
    known = {argument.name for argument in schema.arguments}
    if not values.keys() <= known or any(a.name not in values and not a.has_default_value() for a in schema.arguments):
        return None
    return values


def fits(schema: FunctionSchema, values: dict[str, Any]) -> bool:
    """Whether arguments, given by name, have the types of a schema.  A number is accepted for a tensor."""
    return all(_is_of_type(values[each.name], each.type) for each in schema.arguments if each.name in values)


def _is_of_type(value: Any, kind: str) -> bool:
    """Whether a value may be an argument of the schema type `kind`, such as `"int[2]"` or `"Tensor?"`."""
    if kind.endswith("?"):
        return value is None or _is_of_type(value, kind[:-1])
    if kind.endswith("]"):
        item = kind[: kind.rindex("[")]
        if isinstance(value, (list, tuple)):
            return all(_is_of_type(each, item) for each in value)
        return kind[-2] != "[" and _is_of_type(value, item)
    is_number = hasattr(type(value), "__index__") or isinstance(value, (float, complex))
    is_tensor = isinstance(value, torch.Tensor)
    if kind == "Tensor":
        return is_tensor or is_number or hasattr(type(value), "__torch_function__")
    if kind in ("Scalar", "float"):
        return is_number and not is_tensor
    if kind in ("int", "SymInt"):
        return hasattr(type(value), "__index__") and not isinstance(value, (bool, torch.Tensor))
    types: dict[str, Any] = {"bool": bool, "str": str, "ScalarType": torch.dtype, "Device": (torch.device, str)}
    return kind not in types or isinstance(value, types[kind])


# --- translation of function calls to operator calls ----------------------------------------------------------------


class OperatorCall(NamedTuple):
    """An operator call: the schema of the overload, and its arguments."""

    schema: FunctionSchema
    args: list[Any]
    kwargs: dict[str, Any]


def operator_call(name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> OperatorCall | None:
    """Translate a call of a public function to a call of an operator.

    Arguments are in the order of the schema, without trailing defaults; keyword-only arguments are in `kwargs`.

    Args:
        name: the operator's name.
        function: the public function; its signature gives the argument names.
        args: the positional arguments of the function call.
        kwargs: the keyword arguments of the function call.

    Returns:
        The call, or None if no schema takes these arguments.

    >>> operator_call("huber_loss", F.huber_loss, ["x", "y"], {"delta": 0.5}).args
    ['x', 'y', 1, 0.5]
    """
    declared = schemas(name)
    candidates = [(schema, named_arguments(schema, function, args, kwargs)) for schema in declared]
    candidates += [(schema, bound_arguments(schema, args, kwargs)) for schema in declared]
    fallback = None
    for schema, values in candidates:
        if values is None:
            continue
        values = {each.name: _convert_argument(values[each.name], each) for each in schema.arguments if each.name in values}
        if fits(schema, values):
            return OperatorCall(schema, *ordered(schema, values))
        fallback = fallback or OperatorCall(schema, *ordered(schema, values))
    return fallback


def named_arguments(
    schema: FunctionSchema, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], missing: Any = None
) -> dict[str, Any] | None:
    """Return the arguments of a function call by their names in a schema, or None if the schema does not match.

    Args:
        schema: the operator's schema.
        function: the called function.
        args: the positional arguments of the function call.
        kwargs: the keyword arguments of the function call.
        missing: a value for required arguments that the function does not have. If None, such a schema does not match.

    Raises:
        TypeError: the function does not accept these arguments.
    """
    parameters = _parameters(function)
    if parameters is None:
        return bound_arguments(schema, args, kwargs)
    if "axis" not in parameters.parameters:
        kwargs = {"dim" if key == "axis" else key: value for key, value in kwargs.items()}
    given = parameters.bind(*args, **kwargs).arguments
    names = _names_in_schema(schema, function)
    positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    known = {argument.name: argument for argument in schema.arguments}
    values: dict[str, Any] = {}
    for parameter in parameters.parameters.values():
        value = given.get(parameter.name, parameter.default)
        target = names.get(parameter.name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = given.get(parameter.name, ())
            if parameter.name == "args":  # a function with several argument orders
                if len(values) + len(rest) > len(positional):
                    return None
                values.update(zip(positional[len(values) :], rest, strict=False))
            elif parameter.name == "rest" and rest:  # `rest` holds the sizes after the first one
                values[positional[-1]] = [values[positional[-1]], *rest]
            elif target is not None and (rest or parameter.name not in kwargs):
                values[target] = list(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else list(rest)
        elif parameter.kind is parameter.VAR_KEYWORD:
            for key, each in given.get(parameter.name, {}).items():
                if key not in _OMITTED_ARGUMENTS:
                    values[key] = each
        elif target is None:
            if parameter.name in given and not (_is_internal(parameter.name) or _equal(value, parameter.default)):
                return None
        elif parameter.name in given or (target not in values and _must_pass_default(value, known[target])):
            values[target] = value
    return _complete_arguments(schema, values, missing)


def _complete_arguments(schema: FunctionSchema, values: dict[str, Any], missing: Any) -> dict[str, Any] | None:
    """Drop None values of arguments that are not optional, and set missing arguments to `missing`.

    Return None if an argument is unknown, or if one is missing and `missing` is None.
    """
    known = {argument.name: argument for argument in schema.arguments}
    if not values.keys() <= known.keys():
        return None
    values = {name: value for name, value in values.items() if value is not None or _takes_none(known[name])}
    for argument in schema.arguments:
        if argument.name not in values and not argument.has_default_value():
            if missing is None:
                return None
            values[argument.name] = missing
    return values


def _must_pass_default(default: Any, argument: Argument) -> bool:
    """Whether to pass a parameter's default to the operator: it has one, and the operator's default is not None."""
    return default is not _EMPTY and argument.default is not None


def _takes_none(argument: Argument) -> bool:
    return argument.type.endswith("?") or argument.type == "Any"


def _is_internal(name: str) -> bool:
    return name in _OMITTED_ARGUMENTS or name.startswith("_")


@functools.lru_cache(maxsize=4096)
def _parameters(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return inspect.Signature([each for each in parameters if each.name != "legacy"])


@functools.lru_cache(maxsize=4096)
def _names_in_schema(schema: FunctionSchema, function: Callable[..., Any]) -> dict[str, str]:
    """Map parameter names to argument names of a schema: by equal names, then the remaining ones by position."""
    parameters = inspect.signature(function).parameters
    known = {argument.name: argument for argument in schema.arguments}
    names = {name: name for name in parameters if name in known}
    by_position = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY and not _is_internal(p.name)]
    taken = {name for name in by_position if name in names}
    rest = [a.name for a in schema.arguments if not a.kwarg_only and a.name not in taken]
    unnamed = [name for name in by_position if name not in names and name not in ("args", "rest", "kwargs")]
    return names | dict(zip(unnamed, rest, strict=False))


def ordered(schema: FunctionSchema, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Split the arguments of an operator call into positional ones, without trailing defaults, and keywords, without defaults."""
    positional: list[Any] = []
    needed = 0
    keywords: dict[str, Any] = {}
    for argument in schema.arguments:
        value = values.get(argument.name, argument.default)
        if argument.name in _OMITTED_ARGUMENTS:
            continue
        is_default = argument.has_default_value() and _equal(value, argument.default)
        if not argument.kwarg_only:
            positional.append(value)
            needed = needed if is_default else len(positional)
        elif not is_default:
            keywords[argument.name] = value
    return positional[:needed], keywords


def _convert_argument(value: Any, argument: Argument) -> Any:
    """Convert a function's argument: a tuple or number to a list, the name of a reduction to its index."""
    kind = argument.type.rstrip("?")
    if isinstance(value, (tuple, list)):
        return list(value)
    if kind.endswith("]") and value is not None and not isinstance(value, (str, torch.Tensor)):
        length = kind[kind.rindex("[") + 1 : -1]
        return [value] * int(length or 1)
    if argument.name == "reduction" and isinstance(value, str):
        return REDUCTIONS.index(value)
    return value


def _equal(value: Any, default: Any) -> bool:
    """Whether an argument equals the default, where a list of equal numbers matches a scalar default."""
    if value is default:
        return True
    if isinstance(value, (list, tuple)) and isinstance(default, (int, float)):
        return len(value) > 0 and all(type(item) in (int, float) and item == default for item in value)
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return all(type(item) in (int, float, str) for item in value) and list(value) == list(default)
    if isinstance(value, (list, tuple)):
        return default is None and len(value) == 0
    numbers = (int, float)
    return (type(value) is type(default) or (type(value) in numbers and type(default) in numbers)) and (
        isinstance(value, (int, float, str, bool)) and value == default
    )


# --- translation of operator calls to function calls ----------------------------------------------------------------


def as_operator(name: str) -> Callable[..., Any] | None:
    """Return a function that takes the arguments of an operator as its schemas declare them; None if there is no such function.

    >>> as_operator("l1_loss")(torch.ones(2), torch.zeros(2), 2)
    tensor(2.)
    """
    function = function_of(name)
    parameters = None if function is None or name in ATEN else _parameters(function)
    candidates = schemas(name)
    if parameters is None or all(_has_same_signature(schema, function) for schema in candidates):
        return function  # type: ignore[no-any-return]  # Any

    @functools.wraps(function)
    def compute(*args: Any, **kwargs: Any) -> Any:
        for schema in candidates:
            values = bound_arguments(schema, args, kwargs)
            if values is not None and fits(schema, values):
                given = _function_arguments(schema, function, values)
                return function(*given.args, **given.kwargs, **{key: kwargs[key] for key in _OMITTED_ARGUMENTS & kwargs.keys()})
        return function(*args, **kwargs)

    return compute


def _has_same_signature(schema: FunctionSchema, function: Callable[..., Any]) -> bool:
    """Whether a function takes the arguments of a schema unchanged, with the same defaults."""
    parameters = inspect.signature(function)
    own = [each for each in parameters.parameters.values() if not _is_internal(each.name) or each.name in ("out", "generator")]
    if any(each.kind is each.VAR_POSITIONAL and each.name not in ("size", "args", "rest") for each in own):
        return False
    names = _names_in_schema(schema, function)
    defaults = {names[each.name]: each.default for each in own if each.name in names and each.default is not each.empty}
    if any(_defaults_differ(each, defaults[each.name]) for each in schema.arguments if each.name in defaults):
        return False
    positional = [names.get(each.name) for each in own if each.kind is each.POSITIONAL_OR_KEYWORD]
    wanted = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    return positional[: len(wanted)] == wanted or any(each.name == "args" for each in own)


def _defaults_differ(argument: Argument, default: Any) -> bool:
    """Whether an operator's argument has another default than the function's parameter."""
    own = argument.default if argument.has_default_value() else None
    if own == []:  # functions have the default None instead
        return default is None
    return own is not None and default is not None and not (_equal(own, default) or _equal(default, own))


def _function_arguments(schema: FunctionSchema, function: Callable[..., Any], values: dict[str, Any]) -> inspect.BoundArguments:
    """Return the arguments of the function call that corresponds to an operator call."""
    parameters = inspect.signature(function)
    given = inspect.BoundArguments(parameters, OrderedDict())
    names = _names_in_schema(schema, function)
    defaults = {argument.name: argument for argument in schema.arguments}
    for parameter in parameters.parameters.values():
        target = names.get(parameter.name, "")
        if target not in values and not (target in defaults and _defaults_differ(defaults[target], parameter.default)):
            continue
        value = values[target] if target in values else defaults[target].default
        if target == "reduction" and isinstance(parameter.default, str):
            value = REDUCTIONS[value]
        if value == [] and parameter.default is None:
            value = None
        if parameter.kind is parameter.VAR_POSITIONAL and not value:
            value = ((),)  # the shape of a scalar, which `zeros(*size)` takes as one argument
        given.arguments[parameter.name] = value
    return given
