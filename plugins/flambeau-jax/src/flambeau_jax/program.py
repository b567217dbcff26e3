"""Programs recorded by `torch.compile`, each compiled as one XLA program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["CompiledProgram", "number_in_program"]

try:
    from jax._src.lax.lax import _convert_element_type  # JAX has no public function that creates weakly typed scalars
except ImportError:
    _convert_element_type = None


class CompiledProgram:
    """The function of a recorded program, compiled by XLA at its first call.

    If the function requires the value of an array, it runs without compilation.
    """

    def __init__(self, function: Callable[[Sequence[Any]], tuple[Any, ...]], name: str) -> None:
        self.function = function

        def program(values: list[Any]) -> tuple[Any, ...]:
            return function(values)

        program.__name__ = name  # for JAX's logs
        self.program: Callable[[list[Any]], tuple[Any, ...]] | None = jax.jit(program)

    def __call__(self, values: list[Any]) -> tuple[Any, ...]:
        if self.program is not None:
            try:
                return self.program(values)
            except (jax.errors.JAXTypeError, jax.errors.JAXIndexError):
                self.program = None
        return self.function(values)


def number_in_program(array: Any) -> Any:
    """Convert a traced one-element array to a weakly typed scalar, which adopts the dtype of other operands."""
    number = jnp.reshape(array, ())
    if jnp.issubdtype(number.dtype, jnp.bool_):
        return number
    wide = jnp.float64 if jnp.issubdtype(number.dtype, jnp.floating) else jnp.int64
    if _convert_element_type is None:
        return number.astype(wide)
    return _convert_element_type(number, jnp.dtype(wide), weak_type=True)
