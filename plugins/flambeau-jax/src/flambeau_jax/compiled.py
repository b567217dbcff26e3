"""The forwards of all operations, compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy

__all__ = ["Compiled"]

_NEEDS_VALUES = (  # the forward looks into an array, or at a number, so that it cannot be traced
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)  # fmt: skip
_TRACED = object()  # in the parameters that a program is compiled for, the place of something that it takes


@cache
def _is_array(kind: type) -> bool:
    return issubclass(kind, (jax.Array, numpy.ndarray, numpy.generic))


@cache
def _is_array_or_number(kind: type) -> bool:
    return _is_array(kind) or issubclass(kind, (float, complex))


class Compiled:
    """The forward of one operation, compiled once for each combination of shapes, dtypes and parameters.

    Floats are traced as arrays are, for the learning rate of each step may be another one.  A forward that decides by the
    value of a float is compiled for each value, and one that decides by what is in an array is not compiled at all.
    """

    def __init__(self, name: str, forward: Callable[..., Any]) -> None:
        self.forward = forward = partial(forward, jnp)
        self.is_traced: Callable[[type], bool] | None = _is_array_or_number

        def program(args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...], traced: list[Any]) -> Any:
            values = iter(traced)
            filled = [next(values) if each is _TRACED else each for each in args]
            return forward(*filled, **{name: next(values) if each is _TRACED else each for name, each in kwargs})

        program.__name__ = name  # for JAX's logs
        self.program = jax.jit(program, static_argnums=(0, 1))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_traced is None:
            return self.forward(*args, **kwargs)
        traced: list[Any] = []
        fixed = tuple([self._fixed(each, traced) for each in args])
        named = tuple([(name, self._fixed(each, traced)) for name, each in kwargs.items()]) if kwargs else ()
        try:
            hash((fixed, named))
        except TypeError:  # an index, which holds slices and arrays
            return self.forward(*args, **kwargs)
        try:
            return self.program(fixed, named, traced)
        except _NEEDS_VALUES:
            numbers = any(isinstance(each, (float, complex)) for each in traced)
            self.is_traced = _is_array if numbers and self.is_traced is _is_array_or_number else None
        return self(*args, **kwargs)

    def _fixed(self, value: Any, traced: list[Any]) -> Any:
        """A parameter to compile for; what is no such goes to ``traced``."""
        if self.is_traced(type(value)):  # type: ignore[misc]  # is not None where this is called
            traced.append(value)
            return _TRACED
        if type(value) is list:
            return tuple(value)
        return None if type(value) is dict else value  # XLA needs no workspace
