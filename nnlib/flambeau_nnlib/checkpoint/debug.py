"""Logs of operations, for an error that says which of them differ."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import flambeau as torch

from ..amp.policies import operation_name
from .settings import tensors_in

__all__ = ["Log"]


class Log:
    """The operations of the forward pass and of the last recomputation."""

    def __init__(self) -> None:
        self.forward = _LogMode()
        self.recomputation = _LogMode()

    def contexts(self) -> tuple[AbstractContextManager, AbstractContextManager]:
        return self.forward, self.recomputation

    def report(self) -> str:
        passes = {"original forward": self.forward.calls, "recomputation": self.recomputation.calls}
        lines = [
            "An error happened while unpacking tensors; these operations ran, each with where it was called."
        ]
        for title, calls in passes.items():
            lines.append(f"\n--- {title} ---")
            for i, (name, place) in enumerate(calls):
                lines.append(f"{name}   ({i + 1} of {len(calls)} in {title})\n    {place}")
        return "\n".join(lines)


class _LogMode(torch.overrides.TorchFunctionMode):
    def __enter__(self) -> Any:
        self.calls: list[tuple[str, str]] = []
        return super().__enter__()

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(True for _ in tensors_in(result)):
            caller = traceback.extract_stack(limit=2)[0]
            self.calls.append((operation_name(func), f"{caller.filename}:{caller.lineno}:{caller.name}"))
        return result
