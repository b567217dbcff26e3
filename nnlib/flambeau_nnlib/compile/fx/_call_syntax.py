"""Find out which arguments of a call were written as positional and which as keyword arguments.

`__torch_function__` receives all arguments by parameter, so it cannot distinguish `cat(x, dim=1)` from `cat(x, 1)`. Generated
code should match the program, so the bytecode instruction of the call is inspected.
"""

from __future__ import annotations

import dis
import inspect
import os
import sys
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, MethodType
from typing import Any

import flambeau

__all__ = ["as_written", "calling_frame", "current_instruction", "is_operator"]

_CORE = str(Path(flambeau.__file__).parent) + os.sep
# Required parameters that have a default in flambeau, because they can be passed under two names.
_REQUIRED = {"split": ["tensor", "split_size_or_sections"]}
_OURS = {"split": ["split_size"]}
_CALLS = {"CALL", "PRECALL", "CALL_KW"}


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame outside of flambeau's core, starting at `frame`."""
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
    """Return the index of a frame's current instruction. `f_lasti` may point to the inline cache after the instruction."""
    return bisect_right(_instructions(frame.f_code), frame.f_lasti, key=lambda instruction: instruction.offset) - 1


def current_instruction(frame: FrameType) -> dis.Instruction | None:
    """Return the current instruction of a frame."""
    number = _position(frame)
    return _instructions(frame.f_code)[number] if number >= 0 else None


def is_operator(frame: FrameType | None) -> bool:
    """Whether a frame is executing an operator, such as `a + b`, rather than a call."""
    instruction = None if frame is None else current_instruction(frame)
    return instruction is not None and instruction.opname in ("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE")


def _argument_counts(frame: FrameType) -> tuple[int, tuple[str, ...]] | None:
    """Return the number of positional arguments and the keyword names of a frame's current call, or None if unknown."""
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
    """Return the positional and keyword arguments of a call as they are written in the program.

    For functions that PyTorch implements in Python, required arguments are positional and all others are keyword arguments,
    as in PyTorch's graphs.
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
    counted = None if frame is None else _argument_counts(frame)
    if counted is None:
        return args, kwargs
    positional, names = [parameter.name for parameter in parameters[: counted[0]]], counted[1]
    if not explicit <= {*positional, *names} or not set(names) <= values.keys():
        return args, kwargs
    return tuple(values[name] for name in positional), {name: values[name] for name in names}


def frame_above(depth: int = 2) -> FrameType | None:
    """Return the frame outside of flambeau's core that called the current function."""
    return calling_frame(sys._getframe(depth))
