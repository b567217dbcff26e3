"""The types of arguments: those that a function's parameters are declared with, or that their defaults have.

Generated code looks whether flags and numbers are just of their types before it goes straight on, which costs next to nothing.
Whatever is not, and every argument of a call that failed, is looked at here, where PyTorch's rules are: a flag is True or
False, an integer may be another library's or a tensor of no dimensions, a number may be of any kind.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..tensors.tensor import Tensor
from ..values import dtypes
from .signatures import UNSET, signature_of

__all__ = [
    "Dims",
    "NotATensor",
    "Number",
    "as_float",
    "as_int",
    "as_number",
    "as_python",
    "blaming_arguments",
    "check",
    "checking",
    "fits_at_once",
    "looking_at_arguments",
    "overrides_nothing",
    "types_of",
]

Dims: TypeAlias = Any  # a dimension, or several
Number: TypeAlias = Any  # of Python, of another library, or a tensor of no dimensions


class NotATensor(TypeError, AttributeError):
    """Something else was given where a tensor was wanted.

    PyTorch has a TypeError for it where a function is compiled, and Python's AttributeError where it is written in Python and
    asks what it was given for a tensor's methods.  Programs may expect either, so this is both.
    """


def _is_constant(value: Any) -> bool:
    """Whether this is a tensor that stands for a number."""
    return isinstance(value, Tensor) and not value.ndim and not value.requires_grad


def _is_whole(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value.ndim and value.dtype.category == dtypes.INTEGER
    return hasattr(value, "__index__") and type(value) is not bool and not getattr(value, "shape", ())


def _is_position(name: str, value: Any) -> bool:
    """Whether this is a tensor of one element, where PyTorch takes it for the position or the length that it holds."""
    return name in _POSITIONS and isinstance(value, Tensor) and value.numel() == 1 and value.dtype.category == dtypes.INTEGER


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (bool, int, float, complex))
        or _is_constant(value)
        or (not isinstance(value, Tensor) and getattr(value, "shape", None) == () and hasattr(value, "item"))
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _are_whole(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(map(_is_whole, value))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtypes.dtype) or value in (bool, int, float, complex)


def _are_several(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def _either(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def _one_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {  # by how they are declared: what they are called, and what is one
    "Tensor": ("Tensor", _is_tensor),
    "torch.Tensor": ("Tensor", _is_tensor),
    "Tensor | Number": ("Tensor", _either(_is_tensor, _is_number)),
    "Sequence[Tensor]": ("tuple of Tensors", _are_several),
    "Sequence[Tensor | Sequence[Tensor]]": ("tuple of Tensors", _are_several),  # as separate arguments, or in a sequence
    "bool": ("bool", _one_of(bool)),
    "int": ("int", _is_whole),
    "int | Tensor": ("int", _either(_is_whole, _is_tensor)),
    "Sequence[int]": ("tuple of ints", _are_whole),
    "Dims": ("tuple of ints", _either(_is_whole, _are_whole)),
    "Dims | bool": ("tuple of ints", _either(_is_whole, _are_whole, _one_of(bool))),
    "float": ("float", _is_number),
    "Number": ("Number", _is_number),
    "Number | str": ("Number", _either(_is_number, _one_of(str))),
    "str": ("str", _one_of(str)),
    "Dtype": ("torch.dtype", _is_dtype),
    "dtypes.dtype": ("torch.dtype", _is_dtype),
}
_AT_ONCE = {  # what generated code looks at: types, and those that would pass for something else than they are
    "bool": "type({0}) is bool",
    "int": "type({0}) is int",
    "int | Tensor": "type({0}) is int",
    "Dims": "type({0}) is not bool and {0} is not None",
    "Sequence[int]": "type({0}) is not int",
    "float": "type({0}) in NUMBERS",
    "Number": "type({0}) in NUMBERS",
    "Number | str": "(type({0}) in NUMBERS or type({0}) is str)",
    "Sequence[Tensor]": "type({0}) is not Tensor",
}
NUMBERS = {bool, int, float, complex}
_NUMBERS = ("int", "float", "Number", "Number | str")  # types of which a tensor of no dimensions may be
_POSITIONS = {
    "end",
    "groups",
    "ignore_index",
    "index",
    "k",
    "length",
    "minlength",
    "num_samples",
    "output_size",
    "start",
    "storage_offset",
}
_MAY_BE_TENSORS = ("Tensor", "torch.Tensor", "Tensor | Number")
_OF_EVERYBODY = ("Tensor", "torch.Tensor", "Sequence[int]")  # what is checked for functions outside of the core, too


@functools.cache
def types_of(function: Callable[..., Any]) -> dict[str, str]:
    """How the parameters are declared, of those whose types are checked; with ` | None` where that may be given.

    Functions outside of the core hand on what they are given to operations that check it: of theirs, it is the tensors and the
    sequences.
    """
    found = {}
    for name, parameter in signature_of(function).parameters.items():
        declared = parameter.annotation
        if declared is parameter.empty:
            declared = type(parameter.default).__name__
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared = f"Sequence[{declared}]"
        if isinstance(declared, str) and declared.removesuffix(" | None") in _TYPES:
            found[name] = declared
    if function.__module__.startswith("flambeau."):
        return found
    return {name: declared for name, declared in found.items() if declared.startswith(_OF_EVERYBODY)}


def fits_at_once(function: Callable[..., Any]) -> list[str]:
    """Conditions, as source, under which the flags and whole numbers of a call need not be looked at."""
    made = []
    for name, declared in types_of(function).items():
        test = _AT_ONCE.get(declared.removesuffix(" | None"), "").format(name)
        if test:
            made.append(f"({name} is None or {test})" if declared.endswith("None") else test)
    return made


def blaming_arguments(function: Callable[..., Any], key: str, namespace: dict[str, Any], body: str, offering: str) -> str:
    """The body of a generated function, with a TypeError in place of its own where an argument is not of its type.

    First, where an argument overrides what is done with it, the call is offered: by the statement `offering`.
    """
    namespace[f"types_{key}"] = types_of(function)
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    offered = "" if offering == "raise" else f"        if may_override({_packed(function)}):\n            {offering}\n"
    return f"    try:\n{indented}    except Exception:\n{offered}        {checking(function, key)}\n        raise\n"


def _packed(function: Callable[..., Any]) -> str:
    """All arguments in a tuple."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*{}", inspect.Parameter.VAR_KEYWORD: "*{}.values()"}
    names = [stars.get(each.kind, "{}").format(each.name) for each in signature_of(function).parameters.values()]
    return "(" + "".join(f"{each}, " for each in names) + ")"


def checking(function: Callable[..., Any], key: str) -> str:
    """The call that refuses arguments that are not of their types."""
    names = [each.name for each in signature_of(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
    given = "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"
    space = next((f"{each}_" for each in ("fft", "linalg", "special") if each in function.__module__.split(".")), "")
    return f"check_arguments({space + function.__name__!r}, types_{key}, {given})"


def check(function: str, types: Mapping[str, str], given: Mapping[str, Any]) -> None:
    """Refuse what is not of the type that its parameter is declared with.

    Raises:
        TypeError: names the function, the argument and its position, what was expected, and what was given.
    """
    for position, (name, value) in enumerate(given.items(), 1):
        declared = types.get(name)
        if declared is None or value is UNSET or (hasattr(type(value), "__torch_function__") and not isinstance(value, Tensor)):
            continue
        wanted, fits = _TYPES[declared.removesuffix(" | None")]
        if (value is None and declared.endswith(" | None")) or fits(value) or (wanted == "int" and _is_position(name, value)):
            if wanted == "tuple of Tensors":
                sequence = len(value) == 1 and isinstance(value[0], (tuple, list)) and "|" in declared
                _check_tensors(value[0] if sequence else value, position - 1)
            continue
        refusal = NotATensor if wanted == "Tensor" else TypeError
        raise refusal(
            f"{function}(): argument '{name}' (position {position}) must be {wanted}, not {type(value).__name__}"
        ) from None


def overrides_nothing(function: Callable[..., Any], required: Sequence[str]) -> list[str]:
    """Conditions, as source, under which no required argument, and no other that may be a tensor, has a say in the call."""
    tests = [f"type({name}) in DIRECT" for name in required]
    tests += ["DIRECT.issuperset(map(type, tensors))"] if "tensors" in required else []
    for name, declared in types_of(function).items():
        parameter = signature_of(function).parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            tests.append(f"DIRECT.issuperset(map(type, {name}))")
        elif parameter.default is not parameter.empty and declared.removesuffix(" | None") in _MAY_BE_TENSORS:
            tests.append(f"({name} is None or type({name}) in DIRECT)")
    return tests


def looking_at_arguments(function: Callable[..., Any], key: str, offering: str, required: Sequence[str]) -> str:
    """Lines that look whether an argument overrides the call, is to be refused, or is to be made a number, if it may be any."""
    settled = " and ".join([*overrides_nothing(function, required), *fits_at_once(function)])
    offered = "" if offering == "raise" else f"        if may_override({_packed(function)}):\n            {offering}\n"
    looks = f"{offered}        {checking(function, key)}\n{_in_python(function)}"
    return f"    if not ({settled}):\n{looks}" if settled else ""


def _in_python(function: Callable[..., Any]) -> str:
    """Lines that turn tensors of no dimensions, where numbers are declared, into those numbers."""
    names = [name for name, declared in types_of(function).items() if declared.removesuffix(" | None") in _NUMBERS]
    parameters = signature_of(function).parameters
    return "".join(
        f"        {name} = as_python({name})\n" for name in names if parameters[name].kind is not inspect.Parameter.VAR_POSITIONAL
    )


def as_python(value: Any) -> Any:
    """A number as Python has it, where a tensor stands for it."""
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad else value


def as_number(function: str, name: str, value: Any) -> Any:
    """What PyTorch hands to a compiled function as a number of any kind."""
    if not isinstance(value, Tensor):
        return value
    if not _is_constant(value):
        raise TypeError(f"{function}(): argument '{name}' must be Number, not Tensor")
    return value.item()


def as_int(function: str, name: str, value: Any) -> int:
    """What PyTorch hands to a compiled function as an integer."""
    if type(value) is int:
        return value
    if not _is_whole(value) and not _is_position(name, value):
        raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}")
    return operator.index(value)


def as_float(function: str, name: str, value: Any) -> float:
    """What PyTorch hands to a compiled function as a fraction."""
    if type(value) is float:
        return value
    if not _is_number(value) or isinstance(value, complex):
        raise TypeError(f"{function}(): argument '{name}' must be float, not {type(value).__name__}")
    return float(value)


def _check_tensors(values: Sequence[Any], position: int) -> None:
    for index, each in enumerate(values):
        if not _is_tensor(each) and not hasattr(type(each), "__torch_function__"):
            raise NotATensor(
                f"expected Tensor as element {index} in argument {position}, but got {type(each).__name__}"
            ) from None
