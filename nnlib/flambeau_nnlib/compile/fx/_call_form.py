"""How a call was written: which arguments by position, which by name.

Functions of ours hand their arguments on by their parameters, so `__torch_function__` cannot tell `cat(x, dim=1)` from
`cat(x, 1)`.  Generated code shall show what the program says, so the instruction that made the call is looked at.
"""

from __future__ import annotations

import dis
import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, MethodType
from typing import Any

import flambeau

__all__ = ["as_written", "calling_frame", "current_instruction", "is_operator"]

_CORE = str(Path(flambeau.__file__).parent)
_REQUIRED = {"split": ["tensor", "split_size_or_sections"]}  # where a default stands for one of two names of a parameter
_OURS = {"split": ["split_size"]}
_CALLS = {"CALL", "PRECALL", "CALL_KW"}


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """The frame outside the core that a frame was called from."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_CORE, "<flambeau.")) and file != __file__:
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _position(frame: FrameType) -> int:
    """The number of the instruction that a frame is at; its counter may stand in the cache that follows the instruction."""
    return bisect_right(_instructions(frame.f_code), frame.f_lasti, key=lambda instruction: instruction.offset) - 1


def current_instruction(frame: FrameType) -> dis.Instruction | None:
    """The instruction that a frame is at."""
    number = _position(frame)
    return _instructions(frame.f_code)[number] if number >= 0 else None


def is_operator(frame: FrameType | None) -> bool:
    """Whether a frame is at an operator, such as `a + b`, and not at a call."""
    instruction = None if frame is None else current_instruction(frame)
    return instruction is not None and instruction.opname in ("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE")


def _counts(frame: FrameType) -> tuple[int, tuple[str, ...]] | None:
    """How many arguments the call at which a frame is has by position, and the names of the others; None if that is not known."""
    number, listed = _position(frame), _instructions(frame.f_code)
    call = listed[number] if number >= 0 else None
    if call is None or call.opname not in _CALLS or call.arg is None:
        return None
    before = listed[number - 1]
    if before.opname == "PRECALL":
        before = listed[number - 2]
    names: tuple[str, ...] = ()
    if before.opname == "KW_NAMES" or call.opname == "CALL_KW":
        names = frame.f_code.co_consts[before.arg or 0]
    return call.arg - len(names), names


def as_written(
    function: Callable[..., Any], frame: FrameType | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, by position and by name as the program in `frame` gives them.

    Functions that are written in Python in PyTorch get what they require by position and all the rest by name there.
    """
    try:
        signature = inspect.signature(function)
        given = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    parameters = list(signature.parameters.values())
    if any(parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) for parameter in parameters):
        return args, kwargs
    explicit = {name for name, value in given.arguments.items() if value is not signature.parameters[name].default}
    given.apply_defaults()
    values = given.arguments
    if not isinstance(function, MethodType):
        name = getattr(function, "__name__", "")
        required = _REQUIRED.get(name) or [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        rest = [key for key in values if key not in required and key not in _OURS.get(name, ())]
        return tuple(values[key] for key in required), {key: values[key] for key in rest}
    counted = None if frame is None else _counts(frame)
    if counted is None:
        return args, kwargs
    positional, names = [parameter.name for parameter in parameters[: counted[0]]], counted[1]
    if not explicit <= {*positional, *names} or not set(names) <= values.keys():
        return args, kwargs
    return tuple(values[name] for name in positional), {name: values[name] for name in names}


def frame_above(depth: int = 2) -> FrameType | None:
    """The frame outside the core from which a function was called."""
    return calling_frame(sys._getframe(depth))
