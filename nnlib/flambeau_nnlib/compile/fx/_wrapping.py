"""`torch.fx.wrap`: register functions that become nodes of graphs, instead of being traced into."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["wrap", "wrapped_functions"]

T = TypeVar("T", bound=Callable[..., Any] | str)

wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}  # the names registered with `wrap`, with their module's globals


def wrap(fn_or_name: T) -> T:
    """Register a function as a leaf: calls become nodes of traced graphs. It can be used as a decorator.

    Args:
        fn_or_name: a function of the calling module, or the name of such a function or of a builtin.

    Raises:
        NotImplementedError: it is not called at the top level of a module.
        RuntimeError: the argument is neither a callable nor a string.

    Example::

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
