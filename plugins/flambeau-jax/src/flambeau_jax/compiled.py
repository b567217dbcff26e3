"""Functions of arrays, compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy

__all__ = ["Compiled"]

_NEEDS_VALUES = (  # the function looks into an array, or at a number, so that it cannot be traced
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)  # fmt: skip
_TRACED = object()  # among the parameters that a program is compiled for, the place of what it is given each time


class _Slice(NamedTuple):
    """A slice with a hash, which Python's own has since 3.12."""

    start: Any
    stop: Any
    step: Any


@cache
def _is_array(kind: type) -> bool:
    return issubclass(kind, (jax.Array, numpy.ndarray, numpy.generic))


@cache
def _is_array_or_number(kind: type) -> bool:
    return _is_array(kind) or issubclass(kind, (float, complex))


class Compiled:
    """A function that is compiled once for each combination of shapes, dtypes and parameters.

    Floats are traced as arrays are, for the learning rate of each step may be another one.  A function that decides by the
    value of a float is compiled for each value, and one that decides by what is in an array is not compiled at all.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_traced: Callable[[type], bool] | None = _is_array_or_number

        def program(fixed: tuple[Any, ...], structure: Any, traced: list[Any]) -> Any:
            values = iter(traced)
            leaves = [next(values) if each is _TRACED else slice(*each) if type(each) is _Slice else each for each in fixed]
            args, kwargs = jax.tree_util.tree_unflatten(structure, leaves)
            return function(*args, **kwargs)

        program.__name__ = name  # for JAX's logs
        self.program = jax.jit(program, static_argnums=(0, 1))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_traced = self.is_traced
        if is_traced is None:
            return self.function(*args, **kwargs)
        given = tuple([None if type(each) is dict else each for each in args])  # XLA needs no workspace
        leaves, structure = jax.tree_util.tree_flatten((given, kwargs))
        fixed: list[Any] = []
        traced: list[Any] = []
        for each in leaves:
            if is_traced(type(each)):
                traced.append(each)
                fixed.append(_TRACED)
            else:
                fixed.append(_Slice(each.start, each.stop, each.step) if type(each) is slice else each)
        try:
            return self.program(tuple(fixed), structure, traced)
        except _NEEDS_VALUES:
            numbers = any(isinstance(each, (float, complex)) for each in traced)
            self.is_traced = _is_array if numbers and is_traced is _is_array_or_number else None
        return self(*args, **kwargs)
