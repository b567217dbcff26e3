"""flambeau on JAX: a device type ``jax`` whose arrays are immutable and whose kernels XLA compiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from flambeau.backend import Backend, hookimpl

from .compiled import Compiled
from .kernels import KERNELS

__all__ = ["JaxBackend"]

jax.config.update("jax_enable_x64", True)  # PyTorch programs count in int64
if jax.config.jax_compilation_cache_dir is None:  # small programs, many of them, and the same ones in every run
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    jax.config.update("jax_compilation_cache_dir", os.path.join(caches, "flambeau-jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


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

    def kernel_of(self, name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
        return Compiled(name, partial(forward, self.xp))

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

    def reinterpret(self, array: Any, wanted: Any) -> Any:
        return array.view(self.dtypes[wanted])

    def copy(self, array: Any) -> Any:
        return array  # nobody can write to it

    def synchronize(self, index: int | None = None) -> None:
        jax.effects_barrier()

    def report(self) -> str:
        return f"jax {jax.__version__} on {jax.default_backend()}"


_backend = JaxBackend()


@hookimpl
def flambeau_backend(name: str) -> JaxBackend | None:
    return _backend if name == "jax" else None
