"""Which public function a program called, for messages about what happens deep inside of it."""

from __future__ import annotations

import sys

__all__ = ["called_function"]

_OUTSIDE = ("flambeau.conformance", "flambeau.cli")  # which call the functions as programs do


def called_function() -> str:
    """The name of the function of flambeau that the program has called, found on the stack; empty if it called none."""
    found, frame = "", sys._getframe(1)
    while frame is not None and _is_inside(str(frame.f_globals.get("__name__", ""))):
        code = frame.f_code
        if not code.co_name.startswith("<"):
            # One function may serve many names: then it holds the name in a variable.
            found = str(frame.f_locals["name"]) if "name" in code.co_freevars else code.co_name
        frame = frame.f_back  # type: ignore[assignment]  # None above the program
    return found.removesuffix("_method").removeprefix("_" if not found.startswith("__") else "")


def _is_inside(module: str) -> bool:
    return module.partition(".")[0].startswith("flambeau") and not module.startswith(_OUTSIDE)
