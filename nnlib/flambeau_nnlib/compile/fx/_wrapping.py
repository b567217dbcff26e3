"""Functions that become nodes of graphs, instead of being traced through: what `torch.fx.wrap` was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["wrap", "wrapped_functions"]

T = TypeVar("T", bound=Callable[..., Any] | str)

wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}  # the global names that `wrap` was given


def wrap(fn_or_name: T) -> T:
    """Let calls of a function become nodes of traced graphs, instead of tracing through it; usable as a decorator.

    Args:
        fn_or_name: a function of the module in which this is called, or its name there, or that of a builtin.

    Raises:
        NotImplementedError: called elsewhere than at the top level of a module.
        RuntimeError: the argument is neither.

    As in ::

        @torch.fx.wrap
        def first_half(x):
            return x[: len(x) // 2]
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped_functions[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name
