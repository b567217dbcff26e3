"""Constructors with some of their arguments given, as configurations of quantization hold them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["Constructible", "Constructor"]


class Constructor:
    """A class with some arguments given; those in `callables` are called when a module is made.

    Attributes:
        p: a `functools.partial` of the class.
        callable_args: functions of no arguments, by the names of the arguments that they return.
    """

    def __init__(self, p: Callable[..., Any], callable_args: dict[str, Callable[[], Any]] | None = None) -> None:
        self.p, self.callable_args = p, callable_args or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = {name: make() for name, make in self.callable_args.items() if name not in kwargs}
        return self.p(*args, **made, **kwargs)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> Constructor:
        """The same with more arguments given."""
        return Constructor(partial(self.p, **kwargs), self.callable_args)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> Constructor:
        """The same with more arguments, which these functions return."""
        return Constructor(self.p, {**self.callable_args, **kwargs})


class Constructible:
    """What can be configured by a constructor with some arguments given."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Constructor:
        """A constructor with these arguments.

        Example:
            >>> from flambeau.ao.quantization import MinMaxObserver
            >>> observer = MinMaxObserver.with_args(quant_min=0, quant_max=15)
            >>> observer().quant_max
            15
        """
        return Constructor(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> Constructor:
        """A constructor with arguments that these functions return whenever a module is made."""
        return Constructor(partial(cls), kwargs)
