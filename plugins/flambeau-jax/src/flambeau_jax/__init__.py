"""flambeau on JAX: a device type ``jax`` whose arrays are immutable and whose kernels XLA compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from flambeau.backend import Backend, hookimpl

from .kernels import KERNELS

__all__ = ["JaxBackend"]

jax.config.update("jax_enable_x64", True)  # PyTorch programs count in int64


class JaxBackend(Backend):
    """Arrays are ``jax.Array``; ``xp`` is ``jax.numpy``, which follows the array API standard."""

    name = "jax"
    device_type = "jax"
    mutable = False
    xp = jnp
    array_type = type(jnp.zeros(()))

    @property
    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        return KERNELS

    def dtype_of(self, array: Any) -> Any:
        return self._dtype_of_raw[jnp.dtype(array.dtype)]

    @property
    def dtypes(self) -> Mapping[Any, Any]:
        return _DTYPES

    # --- arrays ---

    def asarray(self, data: Any, raw_dtype: Any = None, *, index: int = 0, copy: bool | None = None) -> Any:
        if raw_dtype is not None and not hasattr(data, "dtype"):
            data = numpy.asarray(data, dtype=raw_dtype)  # with NumPy's checks of range, and faster
        return jnp.asarray(data, dtype=raw_dtype)

    def wrap(self, array: Any) -> Any:
        return jnp.asarray(array)

    def to_host(self, array: Any) -> Any:
        return numpy.asarray(array)

    def from_host(self, data: Any, index: int = 0) -> Any:
        return jnp.array(data)

    def tolist(self, array: Any) -> Any:
        return numpy.asarray(array).tolist()

    def item(self, array: Any) -> Any:
        return array.item()

    def astype(self, array: Any, raw_dtype: Any) -> Any:
        real = jnp.iscomplexobj(array) and not jnp.issubdtype(raw_dtype, jnp.complexfloating) and raw_dtype != jnp.dtype(bool)
        return (array.real if real else array).astype(raw_dtype)

    def copy(self, array: Any) -> Any:
        return array  # nobody can write to it

    def synchronize(self, index: int | None = None) -> None:
        jax.effects_barrier()

    def report(self) -> str:
        return f"jax {jax.__version__} on {jax.default_backend()}"


def _dtypes() -> dict[Any, Any]:
    from flambeau import dtypes

    found = {each: getattr(jnp, each.name, None) for each in dtypes.ALL}
    return {each: jnp.dtype(raw) for each, raw in found.items() if raw is not None}


_DTYPES = _dtypes()
_backend = JaxBackend()


@hookimpl
def flambeau_backend(name: str) -> JaxBackend | None:
    return _backend if name == "jax" else None
