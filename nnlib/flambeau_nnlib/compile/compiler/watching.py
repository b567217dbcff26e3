"""Observe the code that runs while a call is captured."""

from __future__ import annotations

import gc
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any

from flambeau.extension.capture import is_own_file, refuse

__all__ = ["Watch"]

# Functions with effects that a replay would not repeat, or with results that differ between calls.
_NOT_REPEATED = frozenset({("builtins", "print"), ("builtins", "input"), ("io", "open"), ("_io", "open"), ("posix", "urandom")})
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_MODULES = frozenset({"time", "_random", "_socket", "_io", "_datetime"})


class Watch:
    """Context manager that records which user code runs, and rejects the capture if a replay would behave differently.

    Attributes:
        codes: the code objects that ran, with their globals.
    """

    def __init__(self) -> None:
        self.codes: dict[CodeType, dict[str, Any]] = {}
        self._own: dict[CodeType, bool] = {}
        self._of_queues = _functions_of_queues()

    def __enter__(self) -> Watch:
        self._previous, self._collects = sys.getprofile(), gc.isenabled()
        gc.disable()  # a collection would run `gc.callbacks`, and these calls would be recorded
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(self._previous)
        if self._collects:
            gc.enable()

    def _is_own(self, code: CodeType) -> bool:
        own = self._own.get(code)
        if own is None:
            own = self._own[code] = is_own_file(code.co_filename)
        return own

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code in self._of_queues:
                refuse(f"a replay would not call {code.co_qualname}() again")
            if code not in self.codes and not self._is_own(code) and not _is_standard(code.co_filename):
                self.codes[code] = frame.f_globals
        elif event == "c_call" and not self._is_own(frame.f_code):
            owner = getattr(arg, "__self__", None)
            name = getattr(arg, "__name__", "")
            matters = (arg.__module__, name) in _NOT_REPEATED or arg.__module__ in _MODULES or type(owner).__module__ in _MODULES
            if matters and not self._is_own(_caller(frame).f_code):
                refuse(f"a replay would not call {name}() again")


def _functions_of_queues() -> set[CodeType]:
    """Return the code objects of CUDA functions that select streams, record events, or wait for streams or events."""
    cuda = sys.modules.get("flambeau.cuda")
    if cuda is None:
        return set()
    functions = [cuda.Event.record, cuda.set_stream, cuda.StreamContext.__enter__, cuda.synchronize]
    functions += [cls.synchronize for cls in (cuda.Event, cuda.Stream)]
    return {function.__code__ for function in functions}


def _caller(frame: FrameType) -> FrameType:
    """Return the innermost frame outside of the standard library, to find out who opens a file, for example."""
    current: FrameType | None = frame
    while current is not None and _is_standard(current.f_code.co_filename):
        current = current.f_back
    return current or frame


def _is_standard(filename: str) -> bool:
    """Whether a file belongs to Python's standard library, whose globals do not change."""
    return filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename
