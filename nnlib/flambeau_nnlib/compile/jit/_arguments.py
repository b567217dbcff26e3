"""Types of the parameters of scripted functions, and conversion of arguments to these types."""

from __future__ import annotations

import ast
import builtins
import inspect
import numbers
import re
import types
import typing
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import flambeau as torch

from ._decorators import is_instance
from ._kinds import conflict, interface_methods, named_type
from ._sources import source_of
from ._types import is_enum, is_interface, is_named_tuple, is_script_class
from .annotations import BROADCASTING_LISTS, BroadcastingList

__all__ = [
    "Conversion",
    "annotations_of_function",
    "argument_conversion",
    "check_interface",
    "is_of_library",
    "missing_method",
    "problem_of_type_comment",
    "unchanged",
    "with_broadcasting_sizes",
]

_PACKAGES = frozenset({"torch", "flambeau", "flambeau_nnlib", "flambeau_vision"})

# Types of Python values that are never valid for a parameter of type Tensor. Other values, such as proxies of tracers, are
# passed unchanged.
_NOT_TENSORS = (bool, int, float, complex, str, list, tuple, dict)


class _MismatchError(Exception):
    """An argument does not have the type of its parameter."""


def is_of_library(function: Any) -> bool:
    """Whether a function or class belongs to flambeau.

    Programs that import flambeau as PyTorch also import `flambeau_vision` as torchvision, so its functions are found by file.
    """
    if str(getattr(function, "__module__", "")).partition(".")[0] in _PACKAGES:
        return True
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and "flambeau_vision" in PurePath(code.co_filename).parts


def annotations_of_function(function: Callable[..., Any], source: str = "") -> dict[str, Any]:
    """Return the annotations of a function, with strings evaluated, or those of its type comment.

    Args:
        function: the function.
        source: its source code, which may contain a comment such as `# type: (Tensor, int) -> Tensor`.
    """
    names = _names_of(function)
    hints = {name: _evaluated(kind, names) for name, kind in getattr(function, "__annotations__", {}).items()}
    hints = with_broadcasting_sizes(hints, source)
    if hints or "# type:" not in source.replace("#type:", "# type:"):
        return hints
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    for name in parameters:  # a comment after each parameter
        single = re.search(rf"\b{name}\b[^#\n]*#\s*type:\s*([^(\n#]+)", source)
        hints.update({name: _evaluated(single[1].strip(), names)} if single is not None else {})
    whole = re.search(r"#\s*type:\s*(\([^#\n]*)", source)
    if whole is not None:
        given, _, returned = (part.strip() for part in whole[1].partition("->"))
        kinds = _evaluated(f"{given[:-1]},)" if given[1:-1].strip() else "()", names)
        if isinstance(kinds, tuple) and len(kinds) == len(parameters) and kinds != (...,):
            hints.update(zip(parameters, kinds, strict=True))
        elif kinds is Any:
            hints.update(dict.fromkeys(parameters, Any))
        if returned:
            hints["return"] = _evaluated(returned, names)
    return hints


def with_broadcasting_sizes(hints: dict[str, Any], source: str) -> dict[str, Any]:
    """Replace the types of parameters annotated as `_size_2_t` by `BroadcastingList2[int]`.

    The alias is a union in Python. PyTorch's compiler recognizes its name, so the source is searched for the name.
    """
    found = re.findall(r"\b(\w+)\s*:\s*(?:\w+\.)*_size_([1-6])_t\b", source)
    return {**hints, **{name: BroadcastingList(int, int(length)) for name, length in found if name in hints}}


def problem_of_type_comment(function: Callable[..., Any], source: str) -> str:
    """Return what is wrong with the type comment of a function, or an empty string."""
    comment = re.search(r"#[ \t]*type[ \t]*:(?!\s*ignore).*", source)
    if comment is None or getattr(function, "__annotations__", {}):
        return ""
    if not comment[0].startswith("# type:"):
        line = source[: comment.start()].count("\n") + 1
        return f"The annotation prefix in line {line} is probably invalid.\nIt must be '# type:'"
    try:
        given = ast.parse(comment[0].removeprefix("# type:").partition("->")[0].strip(), mode="eval").body
    except SyntaxError:
        return ""
    count = len(given.elts) if isinstance(given, ast.Tuple) else 1
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    is_whole = comment[0].removeprefix("# type:").strip().startswith("(") and "..." not in comment[0]
    if not is_whole or count == len(parameters):
        return ""
    return f"Number of type annotations ({count}) did not match the number of function parameters ({len(parameters)})"


def _names_of(function: Callable[..., Any]) -> dict[str, Any]:
    names = {
        **vars(typing),
        **vars(builtins),
        **BROADCASTING_LISTS,
        "Tensor": torch.Tensor,
        "Device": torch.device,
        "number": numbers.Number,
        **getattr(function, "__globals__", {}),
    }
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # the name is assigned after the definition of the function
            continue
    return names


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Evaluate an annotation; return `Any` if it names something unknown."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except Exception:
        return Any


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Conversion = Callable[[tuple[Any, ...], dict[str, Any]], Arguments]


def unchanged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Return the arguments of a call unchanged."""
    return args, kwargs


def argument_conversion(function: Callable[..., Any], source: str = "", *, is_method: bool = False) -> Conversion:
    """Return a function that checks and converts the arguments of a call, as compiled code does.

    Parameters without annotation are tensors. Numbers are converted to the annotated type `float` or `bool`, tensors of one
    element to numbers, tuples to lists, and strings to devices.

    Args:
        function: the function. Arguments of functions of flambeau are not converted.
        source: its source code, for types in comments.
        is_method: whether the first parameter is `self`, which is not checked.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return unchanged
    plain = inspect.unwrap(function)
    if not isinstance(plain, types.FunctionType) or is_of_library(plain):
        return unchanged
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return unchanged
    hints = annotations_of_function(plain, source)
    kinds = [hints.get(parameter.name, torch.Tensor) for parameter in parameters]
    if is_method and kinds:
        kinds[0] = Any
    by_name = {parameter.name: (place, kind) for place, (parameter, kind) in enumerate(zip(parameters, kinds, strict=True))}
    first = int(is_method)

    def argument(value: Any, name: str) -> Any:
        place, kind = by_name[name]
        try:
            return _converted(value, kind)
        except _MismatchError:
            pass
        inferred = name not in hints
        expected = "Tensor (inferred)" if inferred else named_type(kind) or str(kind)
        note = f"\nInferred '{name}' to be of type 'Tensor' because it was not annotated with an explicit type." * inferred
        raise RuntimeError(
            f"{function.__name__}() Expected a value of type '{expected}' for argument '{name}' but instead found type "
            f"'{type(value).__name__}'.{note}\nPosition: {place - first}\nValue: {value!r}"
        )

    names = [parameter.name for parameter in parameters]
    defaults = {}  # the defaults that have another type than their parameters, such as `factor: float = 2`
    for parameter, kind in zip(parameters, kinds, strict=True):
        if parameter.default is not parameter.empty and _needs_conversion(parameter.default, kind):
            defaults[parameter.name] = parameter.default, kind

    def convert(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if len(args) <= len(names):
            args = tuple(map(argument, args, names))
        kwargs = {name: argument(value, name) if name in by_name else value for name, value in kwargs.items()}
        for name, (default, kind) in defaults.items():
            if name not in kwargs and by_name[name][0] >= len(args):
                kwargs[name] = _converted(default, kind)
        return args, kwargs

    return convert


def _needs_conversion(default: Any, kind: Any) -> bool:
    try:
        return _converted(default, kind) is not default
    except _MismatchError:  # such as None for a tensor
        return False


def _converted(value: Any, kind: Any) -> Any:
    """Return a value as an annotated type.

    Raises:
        _MismatchError: PyTorch's compiled code does not accept the value for this type.
    """
    if kind is torch.Tensor:
        return _require(value, not isinstance(value, _NOT_TENSORS))
    if kind in (int, float, bool, str, complex):
        return _plain(value, kind)
    if kind is types.NoneType:
        return _require(value, value is None)
    if kind is torch.device:
        return torch.device(value) if isinstance(value, str) else value
    if isinstance(kind, BroadcastingList):
        return _list([value] * kind.length if isinstance(value, (int, float)) else value, kind.element)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if type(None) in inside and len(inside) == 2:
            return None if value is None else _converted(value, inside[inside[0] is type(None)])
        return value if is_instance(value, kind) else _converted_to_one(value, inside)
    if origin is list and inside:
        return _list(value, inside[0])
    if origin is tuple and inside and ... not in inside and inside != ((),):
        return _tuple(value, inside)
    if origin is dict:
        return _dict(value, *inside) if len(inside) == 2 else value
    if is_named_tuple(kind):
        return _named_tuple(value, kind)
    if is_enum(kind):
        return _require(value, isinstance(value, kind))
    if is_interface(kind):
        check_interface(value, kind)
    elif is_script_class(kind):
        return _require(value, not isinstance(value, (*_NOT_TENSORS, torch.Tensor, types.NoneType)))
    return value


def _converted_to_one(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Return a value as the first of several types that accepts it."""
    for kind in kinds:
        try:
            return _converted(value, kind)
        except _MismatchError:
            continue
    raise _MismatchError


def _named_tuple(value: Any, cls: Any) -> Any:
    """Return a named tuple with its fields as the types that the class annotates. Fields without annotation are tensors."""
    _require(value, isinstance(value, cls))
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # an annotation that names a class local to a function
        return value
    fields = [_converted(field, hints.get(name, torch.Tensor)) for name, field in zip(cls._fields, value, strict=True)]
    same = all(new is old for new, old in zip(fields, value, strict=True))
    return value if same else cls(*fields)


def check_interface(value: Any, interface: type) -> None:
    """Raise RuntimeError if a module or object does not implement an interface."""
    if issubclass(interface, torch.nn.Module) and not isinstance(value, torch.jit.ScriptModule):
        raise RuntimeError(
            f"'{type(value).__name__}' is not compatible with interface '{interface.__name__}': "
            "only a ScriptModule class can be subtype of module interface"
        )
    problem = missing_method(type(value), interface)
    if problem:
        raise RuntimeError(problem)


def missing_method(cls: type, interface: type) -> str:
    """Return a message that names the method of an interface that a class lacks; an empty string if it has all of them."""
    names = f"'{cls.__name__}' is not compatible with interface '{interface.__name__}'"
    for name, declared in interface_methods(interface).items():
        method = inspect.unwrap(getattr(cls, name, None))  # type: ignore[arg-type]
        if not isinstance(method, types.FunctionType) or method is torch.nn.Module.forward:
            return f"{names} because method with name '{name}' is not defined"
        expected, hints = (annotations_of_function(function, source_of(function)) for function in (vars(interface)[name], method))
        parameters = [list(signature.parameters)[1:] for signature in (declared, inspect.signature(method))]
        fits = len(parameters[0]) <= len(parameters[1]) and all(
            _accepts(hints.get(own, torch.Tensor), expected.get(given, torch.Tensor))
            for given, own in zip(*parameters, strict=False)
        )
        returned = expected.get("return", Any)
        if not fits or not _accepts(returned, hints.get("return", returned)):
            return f"{names} because the signature of method '{name}' is incompatible with the interface"
    return ""


def _accepts(declared: Any, given: Any) -> bool:
    """Whether values of an annotated type may be passed where another type is declared. Unknown types are accepted."""
    return declared is Any or (given is not Any and not conflict(named_type(given), named_type(declared)))


def _require(value: Any, holds: bool) -> Any:
    if not holds:
        raise _MismatchError
    return value


def _plain(value: Any, kind: type) -> Any:
    if type(value) is kind:
        return value
    if type(value) is torch.Tensor and kind is not str and value.numel() == 1:
        return kind(value.item())
    if type(value) in (bool, int, float) and kind is not str:
        _require(value, kind is not int or type(value) is bool)
        return kind(value)
    if isinstance(value, torch.Tensor):
        return _require(value, kind is not str and value.numel() == 1)
    return _require(value, not isinstance(value, (*_NOT_TENSORS, types.NoneType)) or isinstance(value, kind))


def _list(value: Any, kind: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _require(value, not isinstance(value, (*_NOT_TENSORS, torch.Tensor, types.NoneType)))
    elements = [_converted(element, kind) for element in value]
    same = isinstance(value, list) and all(new is old for new, old in zip(elements, value, strict=True))
    return value if same else elements


def _dict(value: Any, key_kind: Any, kind: Any) -> Any:
    if not isinstance(value, dict):
        return _require(value, not isinstance(value, (*_NOT_TENSORS, torch.Tensor, types.NoneType)))
    converted = {_converted(key, key_kind): _converted(element, kind) for key, element in value.items()}
    same = all(new is old for new, old in zip(converted.values(), value.values(), strict=True))
    return value if same else converted


def _tuple(value: Any, kinds: tuple[Any, ...]) -> Any:
    if not isinstance(value, (list, tuple)):
        return _require(value, not isinstance(value, (*_NOT_TENSORS, torch.Tensor, types.NoneType)))
    _require(value, len(value) == len(kinds))
    elements = tuple(map(_converted, value, kinds))
    same = isinstance(value, tuple) and all(new is old for new, old in zip(elements, value, strict=True))
    return value if same else elements
