"""Functions of arrays compiled by XLA, and the cache of compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy

__all__ = ["PROGRAMS", "Compiled", "Programs"]

_NEEDS_VALUES = (  # raised if a function requires concrete values, so that it cannot be traced
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)  # fmt: skip
_TRACED = object()  # placeholder for traced arguments in the cache key

# Optimization dominates the compile time, and does not pay for programs on few elements.
_FEW = 1024
_UNOPTIMIZED = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


class _Slice(NamedTuple):
    """A hashable slice for cache keys; Python's slices are hashable only since 3.12."""

    start: Any
    stop: Any
    step: Any


@cache
def _is_array(kind: type) -> bool:
    return issubclass(kind, (jax.Array, jax.core.Tracer, numpy.ndarray, numpy.generic))


@cache
def _is_array_or_number(kind: type) -> bool:
    return _is_array(kind) or issubclass(kind, (float, complex))


@cache
def _unoptimized() -> dict[str, Any]:
    """Return the options for fast compilation that this XLA version supports."""
    return {name: value for name, value in _UNOPTIMIZED.items() if _has_option(name, value)}


def _has_option(name: str, value: Any) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options={name: value}).lower().compile()
    except RuntimeError:  # the error "No such compile option"
        return False
    return True


def _are_few(traced: Iterable[Any]) -> bool:
    """Whether all arrays together have so few elements that optimization does not pay."""
    return sum([getattr(value, "size", 1) for value in traced]) <= _FEW


class Programs:
    """A cache that keeps at least the `most` programs used last. Its size is limited, because each new shape adds a program.

    A program that was dropped is loaded from JAX's compilation cache on disk when it is needed again.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.forget()

    def forget(self) -> None:
        """Drop all programs."""
        self.young: dict[Any, Callable[..., Any]] = {}
        self.old: dict[Any, Callable[..., Any]] = {}  # up to `most` programs that were last used before `young` was emptied

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
    """A function that is compiled once per combination of shapes, dtypes and parameters.

    Programs on few elements are compiled without optimization, which is faster.  Floats are traced like arrays, since a learning
    rate may change at each step.  If the function branches on the value of a float, it is compiled for each value.  If it
    branches on the contents of an array, it is not compiled.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function
        self.is_traced: Callable[[type], bool] | None = _is_array_or_number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_traced = self.is_traced
        if is_traced is None:
            return self.function(*args, **kwargs)
        inputs = tuple([None if type(leaf) is dict else leaf for leaf in args])  # a workspace dict cannot be traced
        leaves, structure = jax.tree_util.tree_flatten((inputs, kwargs))
        fixed: list[Any] = []
        traced: list[Any] = []
        kinds: list[Any] = []
        for leaf in leaves:
            if is_traced(type(leaf)):
                traced.append(leaf)
                fixed.append(_TRACED)
                kinds.append(leaf.aval if isinstance(leaf, jax.Array) else getattr(leaf, "dtype", None))
                kinds.append(getattr(leaf, "shape", None))
            else:
                fixed.append(_Slice(leaf.start, leaf.stop, leaf.step) if type(leaf) is slice else leaf)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in traced):
            return self.function(*inputs, **kwargs)  # called while another program is being traced
        key = self, structure, tuple(map(type, leaves)), tuple(fixed), tuple(kinds)  # compares types, as True == 1 == 1.0
        program = PROGRAMS.get(key)
        if program is None:
            try:
                program = self._compile(fixed, structure, traced)
                PROGRAMS.put(key, program)
            except _NEEDS_VALUES:
                numbers = any(isinstance(leaf, (float, complex)) for leaf in traced)
                self.is_traced = _is_array if numbers and is_traced is _is_array_or_number else None
                return self(*args, **kwargs)
        return program(traced)

    def _compile(self, fixed: list[Any], structure: Any, traced: list[Any]) -> Callable[..., Any]:
        """Compile ahead of time, because the cache that `jax.jit` fills when called slows down all later compilations."""

        def program(traced: list[Any]) -> Any:
            values = iter(traced)
            leaves = [next(values) if item is _TRACED else slice(*item) if type(item) is _Slice else item for item in fixed]
            args, kwargs = jax.tree_util.tree_unflatten(structure, leaves)
            return self.function(*args, **kwargs)

        program.__name__ = self.name  # the name that JAX's logs show
        options = _unoptimized() if _are_few(traced) else None
        return jax.jit(program, compiler_options=options).lower(traced).compile()
