"""Context managers that are also decorators of functions and generators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["context_decorator"]


class _DecoratorContextManager:
    """A base class of context managers that decorate functions: each call runs inside a new context from `clone`."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = context_decorator(self.clone, orig_func)
        return decorated

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return a new context manager like this one.  Override it if `__init__` takes arguments."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A base class of context managers without arguments, which can be used as decorators: `@name` or `@name()`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)


def context_decorator(ctx: Any, func: Any) -> Any:
    """Wrap `func` so that each call runs inside a context; for a generator, each step does.

    Args:
        ctx: a context manager, or a function that returns a new one for each call.
        func: the function.

    Raises:
        RuntimeError: `func` is a class.
    """
    make = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else (lambda: ctx)
    if inspect.isclass(func):
        raise RuntimeError(f"Cannot decorate classes; it is ambiguous whether {func} or its methods are meant")
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(make, func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


def _wrap_generator(make: Callable[[], Any], func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        steps = func(*args, **kwargs)
        try:
            with make():
                response = steps.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with make():
                        steps.close()
                    raise
                except BaseException as error:
                    with make():
                        response = steps.throw(error)
                else:
                    with make():
                        response = steps.send(request)
        except StopIteration as end:
            return end.value

    return generator
