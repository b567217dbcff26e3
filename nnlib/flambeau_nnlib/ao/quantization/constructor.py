"""Constructors of observers with some arguments already bound, for quantization configurations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["Constructible", "Constructor"]


class Constructor:
    """A class with some arguments bound. Functions in `callable_args` are called for each new instance.

    Attributes:
        p: a `functools.partial` of the class.
        callable_args: functions without arguments by argument name; each returns the value of that argument.
    """

    def __init__(self, p: Callable[..., Any], callable_args: dict[str, Callable[[], Any]] | None = None) -> None:
        self.p, self.callable_args = p, callable_args or {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = {name: make() for name, make in self.callable_args.items() if name not in kwargs}
        return self.p(*args, **made, **kwargs)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> Constructor:
        """Return a constructor with additional bound arguments."""
        return Constructor(partial(self.p, **kwargs), self.callable_args)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> Constructor:
        """Return a constructor with additional arguments, computed by these functions for each new instance."""
        return Constructor(self.p, {**self.callable_args, **kwargs})


class Constructible:
    """Base class that adds `with_args`, which binds arguments of the constructor, as in `functools.partial`."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Constructor:
        """Return a constructor with these arguments bound.

        Example:
            >>> from flambeau.ao.quantization import MinMaxObserver
            >>> observer = MinMaxObserver.with_args(quant_min=0, quant_max=15)
            >>> observer().quant_max
            15
        """
        return Constructor(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable[[], Any]) -> Constructor:
        """Return a constructor whose arguments are computed by these functions for each new instance."""
        return Constructor(partial(cls), kwargs)
