"""Logs of operations, for an error message that shows where the recomputation differs from the forward pass."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch
from flambeau.extension import operation_name

from .settings import tensors_in

__all__ = ["Log"]


class Log:
    """Operations of the forward pass and of the last recomputation."""

    def __init__(self) -> None:
        self.forward = _LogMode()
        self.recomputation = _LogMode()

    def contexts(self) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return self.forward, self.recomputation

    def report(self) -> str:
        passes = {"original forward": self.forward.calls, "recomputation": self.recomputation.calls}
        lines = ["An error happened while unpacking tensors; these operations ran, each with where it was called."]
        for title, calls in passes.items():
            lines.append(f"\n--- {title} ---")
            for i, (name, caller) in enumerate(calls):
                lines.append(f"{name}   ({i + 1} of {len(calls)} in {title})\n    {caller}")
        return "\n".join(lines)


class _LogMode(torch.overrides.TorchFunctionMode):
    def __enter__(self) -> Any:
        self.calls: list[tuple[str, str]] = []
        return super().__enter__()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(True for _ in tensors_in(result)):
            self.calls.append((operation_name(func), _caller()))
        return result


def _caller() -> str:
    """Return the file, line and function that called the running operation: the innermost frame outside of flambeau's core."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_core(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}"


def _is_core(module: str) -> bool:
    return module == "flambeau" or module.startswith("flambeau.")
