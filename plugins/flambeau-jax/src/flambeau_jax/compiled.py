"""Functions of arrays, compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy

__all__ = ["PROGRAMS", "Compiled", "Programs"]

_NEEDS_VALUES = (  # the function looks into an array, or at a number, so that it cannot be traced
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)  # fmt: skip
_TRACED = object()  # among the parameters that a program is compiled for, the place of what it is given each time

# Optimizing is most of the work of compiling, and a program on few elements runs no faster for it.
_FEW = 1024
_UNOPTIMIZED = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


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


@cache
def _unoptimized() -> dict[str, Any]:
    """The options to compile fast with, as far as this version of XLA has them."""
    return {name: value for name, value in _UNOPTIMIZED.items() if _has_option(name, value)}


def _has_option(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options={name: value}).lower().compile()
    except RuntimeError:  # "No such compile option"
        return False
    return True


def _are_few(traced: Iterable[Any]) -> bool:
    """Whether there are so few elements, all arrays together, that any program will do."""
    return sum([getattr(each, "size", 1) for each in traced]) <= _FEW


class Programs:
    """The programs used last, `most` of them at least: shapes that are new all the time do not fill the memory.

    A program that is forgotten is loaded from JAX's folder of compiled programs when it is needed again.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.forget()

    def forget(self) -> None:
        """Let go of them all."""
        self.young: dict[Any, Callable[..., Any]] = {}
        self.old: dict[Any, Callable[..., Any]] = {}  # as many, of those that have not been used since these were young

    def get(self, key: Any) -> Callable[..., Any] | None:
        program = self.young.get(key)
        if program is None:
            program = self.old.pop(key, None)
            if program is not None:
                self.put(key, program)
        return program

    def put(self, key: Any, program: Callable[..., Any]) -> None:
        if len(self.young) >= self.most:
            self.old, self.young = self.young, {}
        self.young[key] = program


PROGRAMS = Programs(2048)


class Compiled:
    """A function that is compiled once for each combination of shapes, dtypes and parameters.

    Arrays of few elements get a program that is soon compiled, others one that runs fast.  Floats are traced as arrays are,
    for the learning rate of each step may be another one.  A function that decides by the value of a float is compiled for
    each value, and one that decides by what is in an array is not compiled at all.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.is_traced: Callable[[type], bool] | None = _is_array_or_number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_traced = self.is_traced
        if is_traced is None:
            return self.function(*args, **kwargs)
        given = tuple([None if type(each) is dict else each for each in args])  # XLA needs no workspace
        leaves, structure = jax.tree_util.tree_flatten((given, kwargs))
        fixed: list[Any] = []
        traced: list[Any] = []
        kinds: list[Any] = []
        for each in leaves:
            if is_traced(type(each)):
                traced.append(each)
                fixed.append(_TRACED)
                kinds.append(each.aval if isinstance(each, jax.Array) else getattr(each, "dtype", None))
                kinds.append(getattr(each, "shape", None))
            else:
                fixed.append(_Slice(each.start, each.stop, each.step) if type(each) is slice else each)
        if any(isinstance(each, jax.core.Tracer) for each in traced):
            return self.function(*given, **kwargs)  # a part of a program
        key = self, structure, tuple(map(type, leaves)), tuple(fixed), tuple(kinds)  # types, because True == 1 == 1.0
        program = PROGRAMS.get(key)
        if program is None:
            try:
                program = self._compile(fixed, structure, traced)
                PROGRAMS.put(key, program)
            except _NEEDS_VALUES:
                numbers = any(isinstance(each, (float, complex)) for each in traced)
                self.is_traced = _is_array if numbers and is_traced is _is_array_or_number else None
                return self(*args, **kwargs)
        return program(traced)

    def _compile(self, fixed: list[Any], structure: Any, traced: list[Any]) -> Callable[..., Any]:
        """The program alone: what JAX keeps of one that it has traced itself slows all later compilations down."""

        def program(traced: list[Any]) -> Any:
            values = iter(traced)
            leaves = [next(values) if each is _TRACED else slice(*each) if type(each) is _Slice else each for each in fixed]
            args, kwargs = jax.tree_util.tree_unflatten(structure, leaves)
            return self.function(*args, **kwargs)

        program.__name__ = self.name  # for JAX's logs
        options = _unoptimized() if _are_few(traced) else None
        return jax.jit(program, compiler_options=options).lower(traced).compile()
