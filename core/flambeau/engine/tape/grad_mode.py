"""Turn the recording of operations on and off: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Self, TypeVar, overload

from .fast_path import leave_fast_path, return_to_fast_path

__all__ = [
    "enable_grad", "enforce_grad_layout_policy", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
    "is_multithreading_enabled", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip

grad_flag: ContextVar[bool] = ContextVar("grad_enabled", default=True)
_inference = ContextVar("inference_mode", default=False)
is_grad_enabled: Callable[[], bool] = grad_flag.get
is_inference_mode_enabled: Callable[[], bool] = _inference.get

_F = TypeVar("_F", bound=Callable[..., Any])


class Mode:
    """A context manager that is also a decorator, for functions and generator functions."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def clone(self) -> Mode:
        return type(self)()

    def __call__(self, function: _F) -> _F:
        if inspect.isgeneratorfunction(function):
            return _in_mode_generator(self, function)  # type: ignore[return-value]  # it has the signature of the function

        @functools.wraps(function)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return in_mode  # type: ignore[return-value]  # it has the signature of the function


def _in_mode_generator(mode: Mode, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a generator function so that its body runs inside the mode, and the code that iterates over it outside."""

    @functools.wraps(function)
    def in_mode(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        sent, send = None, generator.send
        try:
            while True:
                with mode.clone():
                    value = send(sent)
                try:
                    sent, send = (yield value), generator.send
                except GeneratorExit:
                    with mode.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    sent, send = error, generator.throw
        except StopIteration as stop:
            return stop.value

    return in_mode


class _GradMode(Mode):
    enabled = True

    def __init__(self) -> None:
        self._previous: list[bool] = []

    @overload
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]  # used as a decorator, the class returns a function

    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        if callable(function):  # a decorator without parentheses: @no_grad
            self.__init__()  # type: ignore[misc]  # called on the instance on purpose
            return self(function)
        return self

    def __enter__(self) -> None:
        self._previous.append(grad_flag.get())
        grad_flag.set(self.enabled)

    def __exit__(self, *exception: object) -> None:
        grad_flag.set(self._previous.pop())


class no_grad(_GradMode):
    """Context manager or decorator that disables recording: results do not require grad.

    Args:
        function: the function to decorate, for use as a decorator without parentheses.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    enabled = False


class enable_grad(_GradMode):
    """Context manager or decorator that enables recording, even inside of `no_grad`.

    Args:
        function: the function to decorate, for use as a decorator without parentheses.

    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """


class set_grad_enabled(Mode):
    """Turn recording on or off immediately; as a context manager, restore the previous mode on exit.

    Args:
        mode: whether operations are recorded.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self._previous = [grad_flag.get()]
        grad_flag.set(self.mode)

    def __call__(self, function: _F) -> _F:
        grad_flag.set(self._previous[0])  # a decorator: undo the change by `__init__`, the mode is for the function only
        return super().__call__(function)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        grad_flag.set(self.mode)

    def __exit__(self, *exception: object) -> None:
        grad_flag.set(self._previous[0])

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):
    """Context manager or decorator like `no_grad`; in addition, tensors created inside cannot take part in autograd later.

    Args:
        mode: whether inference mode is on; or the function to decorate, for use as a decorator without parentheses.

    >>> with torch.inference_mode():
    ...     x = torch.ones(2) * 2
    >>> x.is_inference()
    True
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...

    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # used as a decorator, the class returns a function

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):  # a decorator without parentheses: @inference_mode
            self.__init__()  # type: ignore[misc]  # called on the instance on purpose
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous: list[tuple[bool, bool]] = []

    def clone(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._previous.append((grad_flag.get(), _inference.get()))
        _inference.set(self.mode)
        if self.mode:
            grad_flag.set(False)
            leave_fast_path(inference=True)
        else:
            grad_flag.set(True)

    def __exit__(self, *exception: object) -> None:
        grad, inference = self._previous.pop()
        grad_flag.set(grad)
        _inference.set(inference)
        if self.mode:
            return_to_fast_path(inference=True)


class _Setting(Mode):
    """A setting of PyTorch's engine without effect in flambeau: the value is stored, and restored at the end of a context."""

    value: ContextVar[bool] = ContextVar("setting", default=True)
    mode: bool

    def __init__(self, mode: bool = True) -> None:
        self.mode, self._previous = bool(mode), self.value.get()
        self.value.set(self.mode)

    def __call__(self, function: _F) -> _F:
        self.value.set(self._previous)
        return super().__call__(function)

    def clone(self) -> _Setting:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        self.value.set(self._previous)


class set_multithreading_enabled(_Setting):
    """Function or context without effect: a backward pass always runs in the calling thread.

    Args:
        mode: the stored value.
    """

    value: ContextVar[bool] = ContextVar("multithreading", default=True)


class enforce_grad_layout_policy(_Setting):
    """Has no effect; a function or a context manager.  The backend determines the strides of a leaf's `grad`.

    Args:
        mode: the stored value.
    """

    value: ContextVar[bool] = ContextVar("grad_layout", default=True)


is_multithreading_enabled: Callable[[], bool] = set_multithreading_enabled.value.get
